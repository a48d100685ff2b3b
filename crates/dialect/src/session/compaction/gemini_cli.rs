//! Gemini CLI: a `$set` record holds the messages that take the place of all before it, as the
//! agent's own compression writes it.

use std::collections::{HashMap, HashSet};

use foxwedge_core::Span;

mod reply;

use super::{
    CompactedFile, CompactedFileMessage, ParsedSession, call_index::AnswerCallIndex,
    ids::CompactionIds, mark, whole_span,
};
use crate::{
    json::{array_elements, field_text, field_value, quote},
    session::{
        emit::FileEdits,
        gemini_cli::{GeminiHistoryStep, GeminiMessageVersion, versions_until},
        lines::RecordContainer,
    },
    splice::{FieldChange, FieldChanges, OutputChunk, SpliceWriter, write_patched},
};

/// Whether a file is a single object, spread over lines or on one: nothing can be added to it.
pub(super) fn is_old(session: &ParsedSession<'_>) -> bool {
    let holds_all = |span: Span| field_value(session.log.source, span, "messages").is_some();
    match session.log.records.as_slice() {
        _ if session.log.container != RecordContainer::Lines => true,
        [only] => holds_all(only.span),
        _ => false,
    }
}

/// The record of a compaction.
pub(super) fn write_compaction<'a>(
    session: &ParsedSession<'a>,
    condensed: &CompactedFile<'_>,
    fresh: &mut CompactionIds<'a>,
) -> FileEdits {
    let partners = AnswerCallIndex::of(&condensed.messages, session.agent.wire());
    let (owners, written) = (message_owners(session), Vec::new());
    let mut job = GeminiSnapshotWriter { session, condensed, owners, partners, written, fresh };
    let mut at = 0;
    while at < condensed.messages.len() {
        at = job.write_next(at);
    }
    let mut out = SpliceWriter::new(session.log.source, &[]);
    out.text("{\"$set\":{\"messages\":[");
    for (at, message) in job.written.into_iter().enumerate() {
        if at > 0 {
            out.text(",");
        }
        out.append(message);
    }
    out.text("]");
    if let Some(time) = fresh.next_time() {
        out.text(&format!(",\"lastUpdated\":{}", quote(&time)));
    }
    out.text(&format!("}},\"{}\":{}}}", mark::MARK, mark::plain(&fresh.compaction)));
    FileEdits { last: vec![out.finish()], ..FileEdits::default() }
}

/// For each message of the conversation the entry it comes from, and its place in it.
fn message_owners(session: &ParsedSession<'_>) -> Vec<(usize, u32)> {
    let entries = session.entries.iter().enumerate();
    entries
        .flat_map(|(at, entry)| (entry.first..entry.last).map(move |m| (at, m - entry.first)))
        .collect()
}

/// A snapshot while it is being made.
struct GeminiSnapshotWriter<'j, 'a> {
    session: &'j ParsedSession<'a>,
    condensed: &'j CompactedFile<'j>,
    owners: Vec<(usize, u32)>,
    partners: AnswerCallIndex<'j>,
    written: Vec<Vec<OutputChunk>>,
    fresh: &'j mut CompactionIds<'a>,
}

impl<'a> GeminiSnapshotWriter<'_, 'a> {
    /// Writes the next message, and says where the one behind it begins.
    fn write_next(&mut self, at: usize) -> usize {
        let Some(&shown) = self.condensed.messages.get(at) else { return at + 1 };
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
        if field_text(shown.json, whole_span(shown.json), "role").as_deref() == Some("model") {
            return self.write_reply(at, shown);
        }
        let parts = parts(shown.json);
        self.write_user(at, &shown, &parts);
        at + 1
    }

    /// The entry of a message that is left as it was, and its place in it.
    fn kept_entry(&self, at: usize) -> Option<(usize, u32)> {
        let shown = self.condensed.messages.get(at)?;
        self.owners.get(self.session.kept_origin(shown)?).copied()
    }

    /// Something that the user says, answers included.
    fn write_user(&mut self, at: usize, shown: &CompactedFileMessage<'_>, parts: &[&str]) {
        let id = self.fresh.new_id(&["user", &at.to_string()]);
        let mut out = SpliceWriter::new(self.session.log.source, &[]);
        out.text(&format!("{{\"id\":{}", quote(&id)));
        if let Some(time) = self.message_time(shown) {
            out.text(&format!(",\"timestamp\":{time}"));
        }
        let mark = self.mark_for(at, shown);
        out.text(&format!(
            ",\"type\":\"user\",\"content\":[{}],\"{}\":{mark}}}",
            parts.join(","),
            mark::MARK
        ));
        self.written.push(out.finish());
    }

    /// When a message was written; a new one, just before the snapshot.
    fn message_time(&mut self, shown: &CompactedFileMessage<'_>) -> Option<String> {
        let source = self.session.log.source;
        let old =
            self.entry_of(shown).and_then(|entry| field_value(source, entry.span, "timestamp"));
        match old {
            Some(old) => Some(old.of(source).to_owned()),
            None => self.fresh.next_time().map(|time| quote(&time)),
        }
    }

    /// The entry that a message comes from.
    fn entry_of(&self, shown: &CompactedFileMessage<'_>) -> Option<GeminiMessageVersion<'a>> {
        let (entry, _) = *self.owners.get(shown.origin?)?;
        self.session.entries.get(entry).copied()
    }

    /// Names the entry that a message stands for, or the first of those.
    fn mark_for(&self, at: usize, shown: &CompactedFileMessage<'_>) -> String {
        let before = self.condensed.messages.iter().take(at).rev().find_map(|shown| shown.origin);
        let first = before.map_or(0, |before| before + 1);
        let owner = self.owners.get(shown.origin.unwrap_or(first));
        let entry = owner.and_then(|(entry, _)| self.session.entries.get(*entry));
        mark::standing_for(&self.fresh.compaction, entry.map(|entry| entry.id))
    }
}

/// The parts of a content.
fn parts(json: &str) -> Vec<&str> {
    let list = field_value(json, whole_span(json), "parts");
    let parts = list.map(|list| array_elements(json, list)).unwrap_or_default();
    parts.into_iter().map(|part| part.of(json)).collect()
}

/// The file without a compaction. Whoever rewound to a message of it rewinds to what that stood for.
pub(super) fn remove_compaction(session: &ParsedSession<'_>, compaction: &str) -> FileEdits {
    let (source, log) = (session.log.source, &session.log);
    let own = mark::records(session, compaction);
    let first = own.first().copied().unwrap_or(u32::MAX);
    let inside = || log.entries.iter().filter(|entry| own.contains(&entry.record));
    let stands: HashMap<&str, String> = inside()
        .filter_map(|entry| {
            let before = field_text(source, mark::of(source, entry.span)?, "for")?;
            Some((entry.id, before.into_owned()))
        })
        .collect();
    let ids: HashSet<&str> = inside().map(|entry| entry.id).collect();
    let hidden = versions_until(log, first);
    let mut edits = FileEdits::default();
    for &(record, step) in log.steps.iter().filter(|(record, _)| *record > first) {
        let changes: FieldChanges<'_> = match step {
            GeminiHistoryStep::Rewind(id) => {
                let before = stands.get(id).map(|before| FieldChange::Text(quote(before)));
                before.map(|before| ("$rewindTo", before)).into_iter().collect()
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

/// When the agent resumes a session, it writes all messages once more: those of the compaction give
/// way to what it hid. A snapshot that does not hold all of them is a compression of the agent's own.
fn restored_messages(
    session: &ParsedSession<'_>,
    record: u32,
    ids: &HashSet<&str>,
    hidden: &[GeminiMessageVersion<'_>],
) -> Option<Vec<OutputChunk>> {
    let entries = &session.log.entries;
    let from = entries.partition_point(|entry| entry.record < record);
    let told = || entries.iter().skip(from).take_while(|entry| entry.record == record);
    let there: HashSet<&str> = told().map(|entry| entry.id).collect();
    if !ids.is_subset(&there) {
        return None;
    }
    // Answers are told as messages of their own, named after the reply.
    let is_own = |entry: &GeminiMessageVersion<'_>| {
        ids.contains(entry.id)
            || entry.id.strip_suffix("_response").is_some_and(|id| ids.contains(id))
    };
    let mut spans: Vec<Span> = Vec::new();
    let mut hidden = Some(hidden);
    for entry in told() {
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
