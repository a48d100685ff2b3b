//! Writes records of Codex.

use std::collections::HashSet;

use foxwedge_core::{CallFamily, Draft, Message, Part, PartKind, Span};

use crate::{ParsedSession, emit::FileEdits, lines::RecordState};
use foxwedge_json::{FieldChange, FieldChanges, OutputChunk, SpliceWriter, write_patched};
use foxwedge_json::{field_text, field_value};

/// Wraps an item in a record. The record it follows is the template.
pub(crate) fn write_envelope(
    session: &ParsedSession<'_>,
    out: &mut SpliceWriter<'_>,
    near: u32,
    ordinal: Option<u64>,
    item: Vec<OutputChunk>,
) {
    out.text("{");
    if let Some(time) = field_value(out.source, session.span(near), "timestamp") {
        out.text("\"timestamp\":");
        out.copy(time);
        out.text(",");
    }
    if let Some(ordinal) = ordinal {
        out.text(&format!("\"ordinal\":{ordinal},"));
    }
    out.text("\"type\":\"response_item\",\"payload\":");
    out.append(item);
    out.text("}");
}

/// Numbers for new records. Newer files number their records. A new record at the end gets the next
/// number; one in the middle gets none, so that the others keep theirs and none occurs twice.
pub(crate) struct CodexOrdinals {
    last: Option<u64>,
    /// The last record that stays.
    record: Option<u32>,
    /// The first record of the conversation. A new first record goes before it.
    first: Option<u32>,
}

impl CodexOrdinals {
    /// `edits` shows which records are removed, and so which one will be the last.
    pub(crate) fn new(session: &ParsedSession<'_>, edits: &FileEdits) -> CodexOrdinals {
        let source = session.log.source;
        let records = &session.log.records;
        let number =
            |span: Span| field_value(source, span, "ordinal")?.of(source).parse::<u64>().ok();
        let whole = || {
            (0..u32::try_from(records.len()).unwrap_or(0))
                .zip(records)
                .rev()
                .filter(|(_, record)| record.state != RecordState::Torn)
        };
        let goes = |record: u32| edits.changed.get(&record).is_some_and(Vec::is_empty);
        let last = whole().find(|(at, _)| !goes(*at)).map(|(at, _)| at);
        let first = session.chain.records.iter().min().copied();
        CodexOrdinals {
            last: whole().find_map(|(_, record)| number(record.span)),
            record: last,
            first,
        }
    }

    /// The number of a new record that follows `anchor`, or is the first one.
    pub(crate) fn next(&mut self, anchor: Option<u32>) -> Option<u64> {
        let is_followed = match anchor {
            Some(_) => anchor < self.record,
            None => self.first <= self.record,
        };
        if is_followed {
            return None;
        }
        self.last = self.last.and_then(|last| last.checked_add(1));
        self.last
    }
}

/// The ids of calls to Codex's own shell. Codex stores their results like those of any other call;
/// the API has a separate result type for them.
pub(crate) fn shell_calls<'d>(draft: &'d Draft<'_>) -> HashSet<&'d str> {
    let calls = draft.parts.iter().filter_map(|part| match &part.kind {
        PartKind::Call(call) if call.name.as_deref() == Some("local_shell") => {
            let kind = field_text(draft.source, part.span, "type");
            call.id.as_deref().filter(|_| kind.as_deref() == Some("local_shell_call"))
        }
        _ => None,
    });
    calls.collect()
}

/// Writes an item as it is sent, without Codex's internal fields.
pub(crate) fn write_item(
    out: &mut String,
    source: &str,
    message: &Message,
    parts: &[Part<'_>],
    shells: &HashSet<&str>,
) {
    const OWN: &str = "internal_chat_message_metadata_passthrough";
    let item = message.span.of(source);
    let mut changes: FieldChanges<'_> = Vec::new();
    if item.contains(OWN) {
        changes.push((OWN, FieldChange::Remove));
    }
    if let [Part { kind: PartKind::Answer(answer), .. }] = parts
        && answer.family == CallFamily::Function
        && answer.id.as_deref().is_some_and(|id| shells.contains(id))
    {
        changes.push(("type", FieldChange::Text("\"local_shell_call_output\"".to_owned())));
    }
    if changes.is_empty() {
        out.push_str(item);
        return;
    }
    let mut writer = SpliceWriter::new(source, &[]);
    write_patched(&mut writer, message.span, changes);
    let chunks = writer.finish();
    out.extend(chunks.iter().flat_map(|chunk| chunk.pieces(source)));
}
