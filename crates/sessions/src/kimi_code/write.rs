//! Writes records of Kimi Code.

use foxwedge_core::{Draft, PartKind, PartSource, RepairedMessage, Role, Span};

use crate::{
    ParsedSession, chat_messages::joined_text, derived_id::derive_uuid, values::last_call,
};
use foxwedge_json::{FieldChange, SpliceWriter, write_patched};
use foxwedge_json::{field_text, field_value, quote};

/// Writes a record whose message changed.
pub(crate) fn write_changed(
    out: &mut SpliceWriter<'_>,
    draft: &Draft<'_>,
    record: Span,
    message: &RepairedMessage<'_>,
) {
    let message = &*message.with_parts(draft);
    if message.role == Role::Assistant {
        // A reply in one record that loses some of its calls.
        let calls = message.parts.iter().filter(|part| matches!(part.part.kind, PartKind::Call(_)));
        let calls: Vec<&str> = calls.map(|part| part.part.span.of(out.source)).collect();
        let calls = FieldChange::Text(format!("[{}]", calls.join(",")));
        let inner = FieldChange::Nested(vec![("toolCalls", calls)]);
        return write_patched(out, record, vec![("message", inner)]);
    }
    // A result without its call, as a text.
    let text = quote(&joined_text(out.source, draft, message));
    write_user_message(out, record, &text);
}

/// Writes a new record, with the record before it as the template. A message that moves is copied with
/// its whole record.
pub(crate) fn write_new(
    session: &ParsedSession<'_>,
    out: &mut SpliceWriter<'_>,
    near: u32,
    message: &RepairedMessage<'_>,
) {
    let draft = session.draft();
    if let (Some(origin), false) = (message.origin(), message.is_touched())
        && let Some(&record) = session.chain.records_of(origin).first()
    {
        return out.copy(session.span(record));
    }
    let message = &*message.with_parts(draft);
    let template = session.span(near);
    let answer = message.parts.iter().find_map(|part| match &part.part.kind {
        PartKind::Answer(answer) => Some((answer.id.as_deref().unwrap_or(""), part)),
        _ => None,
    });
    let text = |words: &str| quote(words);
    match answer {
        Some((id, part)) => {
            let words = match part.source() {
                PartSource::Text(words) => text(words),
                _ => text(&joined_text(out.source, draft, message)),
            };
            let parent = call_uuid(session, id).unwrap_or_else(|| derive_uuid(&["call", id], 0));
            let (parent, id) = (quote(&parent), quote(id));
            write_head(out, template, "context.append_loop_event");
            out.text(&format!(
                ",\"event\":{{\"type\":\"tool.result\",\"parentUuid\":{parent},\"toolCallId\":{id},\
                 \"result\":{{\"output\":{words},\"isError\":true}}}}"
            ));
            write_time(out, template);
        }
        None => {
            let words = text(&joined_text(out.source, draft, message));
            write_user_message(out, template, &words);
        }
    }
}

/// The id of the event with a call.
fn call_uuid(session: &ParsedSession<'_>, id: &str) -> Option<String> {
    let draft = session.draft();
    let part = last_call(draft, id)?;
    field_text(draft.source, part.span, "uuid").map(std::borrow::Cow::into_owned)
}

fn write_user_message(out: &mut SpliceWriter<'_>, template: Span, text: &str) {
    write_head(out, template, "context.append_message");
    out.text(&format!(
        ",\"message\":{{\"role\":\"user\",\"content\":[{{\"type\":\"text\",\"text\":{text}}}],\
         \"toolCalls\":[]}}"
    ));
    write_time(out, template);
}

fn write_head(out: &mut SpliceWriter<'_>, template: Span, kind: &str) {
    out.text(&format!("{{\"type\":\"{kind}\""));
    if let Some(agent) = field_value(out.source, template, "agentId") {
        out.text(",\"agentId\":");
        out.copy(agent);
    }
}

fn write_time(out: &mut SpliceWriter<'_>, template: Span) {
    let time = field_value(out.source, template, "time");
    out.text(",\"time\":");
    match time {
        Some(time) => out.copy(time),
        None => out.text("0"),
    }
    out.text("}");
}
