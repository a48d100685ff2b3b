//! Gemini CLI: a `$set` record holds the messages that replace all earlier ones, as in the agent's
//! own compression.

use std::collections::{HashMap, HashSet};

use foxwedge_core::Span;

mod reply;

use super::{
    CompactedFile, CompactedFileMessage, ParsedSession, call_index::AnswerCallIndex,
    ids::CompactionIds, mark, whole_span,
};
use crate::{
    emit::FileEdits,
    gemini_cli::versions_until,
    gemini_history::{GeminiHistoryStep, GeminiMessageVersion},
    lines::RecordContainer,
};
use foxwedge_json::{FieldChange, FieldChanges, OutputChunk, SpliceWriter, write_patched};
use foxwedge_json::{array_elements, field_text, field_value, quote};

/// Whether a file is a single object, on one line or several. Nothing can be appended to it.
pub(super) fn is_old(session: &ParsedSession<'_>) -> bool {
    let holds_all = |span: Span| field_value(session.log.source, span, "messages").is_some();
    match session.log.records.as_slice() {
        _ if session.log.container != RecordContainer::Lines => true,
        [only] => holds_all(only.span),
        _ => false,
    }
}

/// Writes the record of a compaction.
pub(super) fn write_compaction<'a>(
    session: &ParsedSession<'a>,
    compacted: &CompactedFile<'_>,
    ids: &mut CompactionIds<'a>,
) -> FileEdits {
    let call_index = AnswerCallIndex::of(&compacted.messages, session.agent.wire());
    let (owners, written) = (message_owners(session), Vec::new());
    let mut writer = GeminiSnapshotWriter { session, compacted, owners, call_index, written, ids };
    let mut at = 0;
    while at < compacted.messages.len() {
        at = writer.write_next(at);
    }
    let mut out = SpliceWriter::new(session.log.source, &[]);
    out.text("{\"$set\":{\"messages\":[");
    for (at, message) in writer.written.into_iter().enumerate() {
        if at > 0 {
            out.text(",");
        }
        out.append(message);
    }
    out.text("]");
    if let Some(time) = ids.next_time() {
        out.text(&format!(",\"lastUpdated\":{}", quote(&time)));
    }
    out.text(&format!("}},\"{}\":{}}}", mark::MARK, mark::plain(&ids.compaction)));
    FileEdits { last: vec![out.finish()], ..FileEdits::default() }
}

/// For each message of the conversation its entry, and its index in the entry.
fn message_owners(session: &ParsedSession<'_>) -> Vec<(usize, u32)> {
    let entries = session.entries.iter().enumerate();
    entries
        .flat_map(|(at, entry)| (entry.first..entry.last).map(move |m| (at, m - entry.first)))
        .collect()
}

/// Writes the `$set` record of a compaction.
struct GeminiSnapshotWriter<'j, 'a> {
    session: &'j ParsedSession<'a>,
    compacted: &'j CompactedFile<'j>,
    owners: Vec<(usize, u32)>,
    call_index: AnswerCallIndex<'j>,
    written: Vec<Vec<OutputChunk>>,
    ids: &'j mut CompactionIds<'a>,
}

impl<'a> GeminiSnapshotWriter<'_, 'a> {
    /// Writes the next message. Returns the index of the message after it.
    fn write_next(&mut self, at: usize) -> usize {
        let Some(&message) = self.compacted.messages.get(at) else { return at + 1 };
        let own = self.kept_entry(at);
        let entry = own.and_then(|(entry, _)| self.session.entries.get(entry)).copied();
        if let (Some((number, first)), Some(entry)) = (own, entry) {
            let count = entry.last - entry.first;
            let whole = count == 1 || first == 0 && self.kept_entry(at + 1) == Some((number, 1));
            if whole {
                self.written.push(vec![OutputChunk::Copy(entry.span)]);
                return at + count as usize;
            }
        }
        if field_text(message.json, whole_span(message.json), "role").as_deref() == Some("model") {
            return self.write_reply(at, message);
        }
        let parts = parts(message.json);
        self.write_user(at, &message, &parts);
        at + 1
    }

    /// The entry of an unchanged message, and its index in the entry.
    fn kept_entry(&self, at: usize) -> Option<(usize, u32)> {
        let message = self.compacted.messages.get(at)?;
        self.owners.get(self.session.kept_origin(message)?).copied()
    }

    /// Writes a user message, including tool results.
    fn write_user(&mut self, at: usize, message: &CompactedFileMessage<'_>, parts: &[&str]) {
        let id = self.ids.new_id(&["user", &at.to_string()]);
        let mut out = SpliceWriter::new(self.session.log.source, &[]);
        out.text(&format!("{{\"id\":{}", quote(&id)));
        if let Some(time) = self.message_time(message) {
            out.text(&format!(",\"timestamp\":{time}"));
        }
        let mark = self.mark_for(at, message);
        out.text(&format!(
            ",\"type\":\"user\",\"content\":[{}],\"{}\":{mark}}}",
            parts.join(","),
            mark::MARK
        ));
        self.written.push(out.finish());
    }

    /// The time of a message. A new message gets a time just before the snapshot.
    fn message_time(&mut self, message: &CompactedFileMessage<'_>) -> Option<String> {
        let source = self.session.log.source;
        let old =
            self.entry_of(message).and_then(|entry| field_value(source, entry.span, "timestamp"));
        match old {
            Some(old) => Some(old.of(source).to_owned()),
            None => self.ids.next_time().map(|time| quote(&time)),
        }
    }

    /// The entry that a message comes from.
    fn entry_of(&self, message: &CompactedFileMessage<'_>) -> Option<GeminiMessageVersion<'a>> {
        let (entry, _) = *self.owners.get(message.origin?)?;
        self.session.entries.get(entry).copied()
    }

    /// The mark with the entry that a message replaces, or the first of several.
    fn mark_for(&self, at: usize, message: &CompactedFileMessage<'_>) -> String {
        let before =
            self.compacted.messages.iter().take(at).rev().find_map(|message| message.origin);
        let first = before.map_or(0, |before| before + 1);
        let owner = self.owners.get(message.origin.unwrap_or(first));
        let entry = owner.and_then(|(entry, _)| self.session.entries.get(*entry));
        mark::standing_for(&self.ids.compaction, entry.map(|entry| entry.id))
    }
}

/// The parts of a message.
fn parts(json: &str) -> Vec<&str> {
    let list = field_value(json, whole_span(json), "parts");
    let parts = list.map(|list| array_elements(json, list)).unwrap_or_default();
    parts.into_iter().map(|part| part.of(json)).collect()
}

/// Removes a compaction. A rewind to one of its messages becomes a rewind to the message it
/// replaced.
pub(super) fn remove_compaction(session: &ParsedSession<'_>, compaction: &str) -> FileEdits {
    let (source, log) = (session.log.source, &session.log);
    let own = mark::records(session, compaction);
    let first = own.first().copied().unwrap_or(u32::MAX);
    let inside = || log.entries.iter().filter(|entry| own.contains(&entry.record));
    let targets: HashMap<&str, String> = inside()
        .filter_map(|entry| {
            let target = field_text(source, mark::of(source, entry.span)?, "for")?;
            Some((entry.id, target.into_owned()))
        })
        .collect();
    let ids: HashSet<&str> = inside().map(|entry| entry.id).collect();
    let hidden = versions_until(log, first);
    let mut edits = FileEdits::default();
    for &(record, step) in log.steps.iter().filter(|(record, _)| *record > first) {
        let changes: FieldChanges<'_> = match step {
            GeminiHistoryStep::Rewind(id) => {
                let target = targets.get(id).map(|target| FieldChange::Text(quote(target)));
                target.map(|target| ("$rewindTo", target)).into_iter().collect()
            }
            GeminiHistoryStep::Reset => {
                let list = restored_messages(session, record, &ids, &hidden);
                let list = list.map(|list| vec![("messages", FieldChange::Chunks(list))]);
                list.map(|list| ("$set", FieldChange::Nested(list))).into_iter().collect()
            }
        };
        if !changes.is_empty() {
            let mut out = SpliceWriter::new(source, &[]);
            write_patched(&mut out, session.span(record), changes);
            edits.changed.insert(record, out.finish());
        }
    }
    edits.changed.extend(own.into_iter().map(|record| (record, Vec::new())));
    edits
}

/// Restores the hidden messages in a later snapshot. When the agent resumes a session, it writes
/// all messages again, including those of the compaction. A snapshot without all of them is a
/// compression by the agent, and stays as it is.
fn restored_messages(
    session: &ParsedSession<'_>,
    record: u32,
    ids: &HashSet<&str>,
    hidden: &[GeminiMessageVersion<'_>],
) -> Option<Vec<OutputChunk>> {
    let entries = &session.log.entries;
    let from = entries.partition_point(|entry| entry.record < record);
    let entries_of_record = || entries.iter().skip(from).take_while(|entry| entry.record == record);
    let present: HashSet<&str> = entries_of_record().map(|entry| entry.id).collect();
    if !ids.is_subset(&present) {
        return None;
    }
    // Tool results become separate messages, named after the reply.
    let is_own = |entry: &GeminiMessageVersion<'_>| {
        ids.contains(entry.id)
            || entry.id.strip_suffix("_response").is_some_and(|id| ids.contains(id))
    };
    let mut spans: Vec<Span> = Vec::new();
    let mut hidden = Some(hidden);
    for entry in entries_of_record() {
        match is_own(entry) {
            true => spans.extend(hidden.take().into_iter().flatten().map(|entry| entry.span)),
            false => spans.push(entry.span),
        }
    }
    let mut out = SpliceWriter::new(session.log.source, &[]);
    for (at, span) in spans.into_iter().enumerate() {
        out.text(if at == 0 { "[" } else { "," });
        out.copy(span);
    }
    out.text("]");
    Some(out.finish())
}
