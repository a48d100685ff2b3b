//! Repairs a `UIMessage` list. A tool part holds the result of its call, so a placeholder changes
//! the state of the part.

use std::collections::{HashMap, HashSet};

use foxwedge_core::{
    MissingAnswer, Part, PartKind, PartSource, Repair, RepairedMessage, RepairedPart, Role, Span,
};
use foxwedge_json::{
    FieldChange, FieldChanges, OutputChunk, SpliceWriter, field_text, field_value, quote,
    write_patched,
};

use super::{approval::text_of_unstarted, part::INVOCATION};
use crate::{
    ParsedSession,
    derived_id::derive_uuid,
    emit::{FileEdits, emit},
    nested_changes::write_with_changes,
    open_calls::OpenCalls,
    rewritten_file::RewrittenFile,
};

/// Writes the list that a repair produces.
pub(crate) fn rewrite<'a>(session: &ParsedSession<'a>, repair: &Repair<'a>) -> RewrittenFile<'a> {
    let mut plan = UiPartPlan::default();
    let mut edits = FileEdits::default();
    for message in repair.messages.iter() {
        plan.add_message(session, message);
        // The only new message is the one that keeps a list from becoming empty.
        let is_text = |part: &&RepairedPart<'_>| matches!(part.part.kind, PartKind::Text(_));
        if let Some(part) =
            message.parts.iter().find(is_text).filter(|_| message.origin().is_none())
        {
            edits.first.push(new_message(part));
        }
    }
    let draft = session.draft();
    let mut parts_by_record: HashMap<u32, Vec<&Part<'a>>> = HashMap::new();
    for (at, message) in draft.messages.iter().enumerate() {
        let Some(&record) = session.chain.records_of(at).first() else { continue };
        let parts = draft.parts_of(message).iter();
        let own = parts.filter(|part| !matches!(part.kind, PartKind::Answer(_)));
        parts_by_record.entry(record).or_default().extend(own);
    }
    for (record, parts) in parts_by_record {
        let removed = parts.iter().filter(|part| !plan.kept.contains(&part.span));
        let changes: Vec<(Span, Vec<OutputChunk>)> = removed
            .map(|part| (part.span, Vec::new()))
            .chain(parts.iter().filter_map(|part| {
                let text = plan.placeholders.get(&part.span)?;
                Some((part.span, close_tool_part(session.log.source, part.span, text)))
            }))
            .collect();
        let gone = changes.iter().filter(|(_, chunks)| chunks.is_empty()).count();
        if !parts.is_empty() && gone == parts.len() {
            edits.changed.insert(record, Vec::new());
        } else if !changes.is_empty() {
            edits.changed.insert(record, write_with_changes(session, record, changes));
        }
    }
    emit(session, repair, edits)
}

/// What happens to the parts of a list.
#[derive(Default)]
struct UiPartPlan {
    /// Parts that stay.
    kept: HashSet<Span>,
    /// The texts that tool parts get, by their position.
    placeholders: HashMap<Span, String>,
    /// The calls of the current turn.
    open: OpenCalls,
    in_reply: bool,
}

impl UiPartPlan {
    fn add_message(&mut self, session: &ParsedSession<'_>, message: &RepairedMessage<'_>) {
        let is_reply = message.role == Role::Assistant;
        if is_reply && !self.in_reply {
            self.open = OpenCalls::default();
        }
        self.in_reply = is_reply;
        let message = message.with_parts(session.draft());
        // A result belongs to the tool part that holds it, whatever its id.
        for repaired in message.parts.iter().filter(|part| *part.source() == PartSource::Input) {
            let Part { span, kind } = &repaired.part;
            match kind {
                PartKind::Answer(_) => drop(self.open.mark_answered(*span)),
                _ => drop((self.kept.insert(*span), self.open.note(kind, *span))),
            }
        }
        for repaired in &message.parts {
            let PartSource::Text(text) = repaired.source() else { continue };
            if matches!(repaired.part.kind, PartKind::Answer(_))
                && let Some(call) = self.open.note(&repaired.part.kind, Span::NOWHERE)
            {
                self.placeholders.insert(call, text.to_string());
            }
        }
    }
}

/// Closes a tool part: as denied if the user denied it, else as failed with this text.
fn close_tool_part(source: &str, part: Span, text: &str) -> Vec<OutputChunk> {
    if let Some(changes) = invocation_changes(source, part, text) {
        let mut out = SpliceWriter::new(source, &[]);
        write_patched(&mut out, part, vec![(INVOCATION, FieldChange::Nested(changes))]);
        return out.finish();
    }
    let approval = field_value(source, part, "approval");
    let approved = approval.and_then(|approval| field_value(source, approval, "approved"));
    let state = |state: &str| ("state", FieldChange::Text(quote(state)));
    let is_streaming = field_text(source, part, "state").as_deref() == Some("input-streaming");
    let is_unstarted = is_streaming || approval.is_some() && approved.is_none();
    let text = if is_unstarted { text_of_unstarted(MissingAnswer::NotStarted, text) } else { text };
    let mut changes: FieldChanges<'_> = match approved.map(|approved| approved.of(source)) {
        Some("false") => vec![state("output-denied")],
        approved => {
            let mut changes =
                vec![state("output-error"), ("errorText", FieldChange::Text(quote(text)))];
            // A failed part cannot have an open approval.
            if approval.is_some() && approved != Some("true") {
                changes.push(("approval", FieldChange::Remove));
            }
            changes
        }
    };
    // A call whose input never arrived has none, and providers require one.
    if field_value(source, part, "input").is_none()
        && field_text(source, part, "rawInput").is_none()
    {
        changes.push(("input", FieldChange::Text("{}".to_owned())));
    }
    let mut out = SpliceWriter::new(source, &[]);
    write_patched(&mut out, part, changes);
    out.finish()
}

/// Closes a tool part of version 4, which has no state for failures. `None` for later versions.
fn invocation_changes<'c>(source: &str, part: Span, text: &str) -> Option<FieldChanges<'c>> {
    let kind = field_text(source, part, "type")?;
    let invocation = field_value(source, part, INVOCATION).filter(|_| kind == "tool-invocation")?;
    let state = field_text(source, invocation, "state")?;
    let is_unstarted = state == "partial-call";
    let text = if is_unstarted { text_of_unstarted(MissingAnswer::NotStarted, text) } else { text };
    let mut changes = vec![
        ("state", FieldChange::Text(quote("result"))),
        ("result", FieldChange::Text(quote(text))),
    ];
    if field_value(source, invocation, "args").is_none() {
        changes.push(("args", FieldChange::Text("{}".to_owned())));
    }
    Some(changes)
}

/// A new message of the user.
fn new_message(part: &RepairedPart<'_>) -> Vec<OutputChunk> {
    let PartSource::Text(text) = part.source() else { return Vec::new() };
    let id = quote(&derive_uuid(&["message", text], 0));
    let text = quote(text);
    vec![OutputChunk::Text(format!(
        "{{\"id\":{id},\"role\":\"user\",\"parts\":[{{\"type\":\"text\",\"text\":{text}}}]}}"
    ))]
}
