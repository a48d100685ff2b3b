//! Writes events of Copilot CLI.

use std::{borrow::Cow, collections::HashSet};

use foxwedge_core::{Draft, PartKind, PartSource, RepairedMessage, Role, Span};

use crate::{ParsedSession, chat_messages::joined_text, derived_id::UsedIds};
use foxwedge_json::{FieldChange, FieldChanges, SpliceWriter, write_patched};
use foxwedge_json::{field_text, field_value, quote};

/// Writes a record whose message changed.
pub(crate) fn write_changed(
    out: &mut SpliceWriter<'_>,
    draft: &Draft<'_>,
    record: Span,
    message: &RepairedMessage<'_>,
) {
    let message = &*message.with_parts(draft);
    let kind = field_text(out.source, record, "type").unwrap_or_default();
    if message.role == Role::User && kind != "user.message" && kind != "system.notification" {
        // A result without its call, as a text.
        let data = format!("{{\"content\":{}}}", quote(&joined_text(out.source, draft, message)));
        let changes = vec![
            ("type", FieldChange::Text("\"user.message\"".to_owned())),
            ("data", FieldChange::Text(data)),
        ];
        return write_patched(out, record, changes);
    }
    let mut inner: FieldChanges<'_> = Vec::new();
    let text = joined_text(out.source, draft, message);
    let old = message.origin().and_then(|at| draft.messages.get(at));
    let old = old.map_or(&[][..], |old| draft.parts_of(old));
    let is_text = |kind: &PartKind<'_>| matches!(kind, PartKind::Text(_));
    let had_text = old.iter().any(|part| is_text(&part.kind));
    let same_text = message
        .parts
        .iter()
        .filter(|part| is_text(&part.part.kind))
        .all(|part| *part.source() == PartSource::Input && part.patch.is_empty());
    if !same_text || had_text && text.is_empty() {
        inner.push(("content", FieldChange::Text(quote(&text))));
    }
    if message.role == Role::Assistant {
        inner.push(("toolRequests", FieldChange::Text(calls(out.source, message))));
    }
    write_patched(out, record, vec![("data", FieldChange::Nested(inner))]);
}

/// Writes a new record, with the record before it as the template. A message that moves is copied with
/// its whole record.
pub(crate) fn write_new(
    session: &ParsedSession<'_>,
    out: &mut SpliceWriter<'_>,
    near: u32,
    message: &RepairedMessage<'_>,
    used: &mut UsedIds,
) {
    let draft = session.draft();
    if let (Some(origin), false) = (message.origin(), message.is_touched())
        && let Some(&record) = session.chain.records_of(origin).first()
    {
        return out.copy(session.span(record));
    }
    let message = &*message.with_parts(draft);
    let answer = message.parts.iter().find_map(|part| match &part.part.kind {
        PartKind::Answer(answer) => Some((answer.id.as_deref().unwrap_or(""), part)),
        _ => None,
    });
    let template = session.span(near);
    let parent = field_text(out.source, template, "id").unwrap_or_default();
    let seed = answer.map_or("text", |(id, _)| id);
    let id = used.derive(&["event", &parent, seed], |_| false);
    let (kind, data) = match (message.role, answer) {
        (_, Some((call, part))) => {
            let words = match part.source() {
                PartSource::Text(words) => words.to_string(),
                _ => joined_text(out.source, draft, message),
            };
            let (call, words) = (quote(call), quote(&words));
            let error = format!("{{\"message\":{words}}}");
            let data = format!("{{\"toolCallId\":{call},\"success\":false,\"error\":{error}}}");
            ("tool.execution_complete", data)
        }
        (Role::Assistant, None) => {
            let text = quote(&joined_text(out.source, draft, message));
            let calls = calls(out.source, message);
            let id = quote(&id);
            let data =
                format!("{{\"messageId\":{id},\"content\":{text},\"toolRequests\":{calls}}}");
            ("assistant.message", data)
        }
        (_, None) => {
            let text = quote(&joined_text(out.source, draft, message));
            ("user.message", format!("{{\"content\":{text}}}"))
        }
    };
    out.text(&format!("{{\"type\":\"{kind}\",\"data\":{data},\"id\":{}", quote(&id)));
    if let Some(time) = field_value(out.source, template, "timestamp") {
        out.text(",\"timestamp\":");
        out.copy(time);
    }
    out.text(&format!(",\"parentId\":{}}}", quote(&parent)));
}

/// The ids of all events in the file.
pub(crate) fn event_ids(session: &ParsedSession<'_>) -> HashSet<String> {
    let source = session.log.source;
    let ids = session.log.records.iter().map(|record| field_text(source, record.span, "id"));
    ids.flatten().map(Cow::into_owned).collect()
}

/// The requests of a reply.
fn calls(source: &str, message: &RepairedMessage<'_>) -> String {
    let mut list = String::from("[");
    for part in message.parts.iter() {
        let PartKind::Call(call) = &part.part.kind else { continue };
        if list.len() > 1 {
            list.push(',');
        }
        let id = part.patch.new_id(&part.part.kind);
        let changes = id.map(|id| ("toolCallId", FieldChange::Text(quote(id))));
        let changes: FieldChanges<'_> = changes.into_iter().collect();
        debug_assert!(call.typed, "all calls have a type");
        let mut out = SpliceWriter::new(source, &[]);
        write_patched(&mut out, part.part.span, changes);
        list.extend(out.finish().iter().flat_map(|chunk| chunk.pieces(source)));
    }
    list.push(']');
    list
}
