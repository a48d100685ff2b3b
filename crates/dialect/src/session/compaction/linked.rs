//! Compactions in files whose records are linked. What is left is written once more behind a new
//! root, as a chain of its own; the old chain is not touched and not on the path any more.

use std::collections::{HashMap, HashSet};

use foxwedge_core::{Span, chain::ChainStatus};

use super::{
    CompactedFile, CompactedFileMessage, ParsedSession, call_index::AnswerCallIndex, claude_code,
    ids::CompactionIds, mark, neovate,
};
use crate::{
    json::{field_text, object_fields, quote},
    session::{SessionAgent, emit::FileEdits},
    splice::{FieldChange, FieldChanges, OutputChunk, SpliceWriter, write_patched},
};

/// A record of the new chain.
pub(super) struct CompactedRecord {
    pub(super) id: String,
    pub(super) source: CompactedRecordSource,
    /// The record that whoever goes on behind it goes on from, once the compaction is taken back.
    restores_to: Option<String>,
}

/// What a record of the new chain is made of.
pub(super) enum CompactedRecordSource {
    /// A copy of a record, and which message it is part of.
    Copy(u32, usize),
    /// A message that is not as it was.
    Replacement(ReplacementMessage),
}

/// A message that is not as it was, or a piece of one.
pub(super) struct ReplacementMessage {
    pub(super) role: &'static str,
    /// Its content, as the agent spells it.
    pub(super) content: String,
    /// A record whose shape it takes; one of the message it was, if it was one.
    pub(super) template: u32,
    /// Whether it was a message before.
    pub(super) existed: bool,
    /// The place of the message among those that are left.
    pub(super) position: usize,
}

/// How a record is linked.
pub(super) struct RecordLinks<'l> {
    pub(super) id: &'l str,
    pub(super) parent: Option<&'l str>,
    pub(super) time: Option<String>,
    pub(super) mark: String,
    /// What the agent shows in place of the record.
    pub(super) marker: Option<&'l str>,
}

impl RecordLinks<'_> {
    /// The fields of a record that change.
    pub(super) fn changes(&self) -> FieldChanges<'static> {
        let parent = self.parent.map_or("null".to_owned(), quote);
        let mut changes: FieldChanges<'static> = vec![
            ("uuid", FieldChange::Text(quote(self.id))),
            ("parentUuid", FieldChange::Text(parent)),
            (mark::MARK, FieldChange::Text(self.mark.clone())),
        ];
        if let Some(time) = &self.time {
            changes.push(("timestamp", FieldChange::Text(quote(time))));
        }
        changes
    }
}

/// The records of a compaction.
pub(super) fn write_compaction(
    session: &ParsedSession<'_>,
    condensed: &CompactedFile<'_>,
    fresh: &mut CompactionIds<'_>,
) -> FileEdits {
    let tip = last_message(session);
    let end = tip.and_then(|tip| record_id(session, tip));
    let mut plan = plan_records(session, condensed, fresh, tip.unwrap_or(0));
    if let Some(last) = plan.last_mut() {
        last.restores_to = end.map(str::to_owned);
    }
    let twins = replacement_ids(session, &plan, condensed);
    let mut edits = FileEdits::default();
    let mut parent: Option<String> = None;
    if session.agent == SessionAgent::ClaudeCode {
        let (id, chunks) =
            claude_code::write_boundary(session, condensed, fresh, tip.unwrap_or(0), end);
        edits.last.push(chunks);
        parent = Some(id);
    }
    for (at, planned) in plan.iter().enumerate() {
        let links = RecordLinks {
            id: &planned.id,
            parent: parent.as_deref(),
            time: fresh.next_time(),
            mark: mark::standing_for(&fresh.compaction, planned.restores_to.as_deref()),
            marker: Some(condensed.marker).filter(|_| at == 0),
        };
        let mut out = SpliceWriter::new(session.log.source, &[]);
        match (session.agent, &planned.source) {
            (SessionAgent::Neovate, made) => neovate::write(session, &mut out, made, &links),
            (_, made) => claude_code::write(session, &mut out, made, &links, fresh, &twins),
        }
        edits.last.push(out.finish());
        parent = Some(planned.id.clone());
    }
    edits
}

fn record_id<'a>(session: &ParsedSession<'a>, record: u32) -> Option<&'a str> {
    session.log.links.get(record as usize)?.id
}

/// The record that the next message would hang on: the last message on the path.
fn last_message(session: &ParsedSession<'_>) -> Option<u32> {
    let mut records = session.chain.statuses.iter().zip(&session.log.links);
    let last = records
        .rposition(|(standing, link)| *standing == ChainStatus::Path && link.fragment.is_some());
    last.and_then(|last| u32::try_from(last).ok())
}

fn plan_records(
    session: &ParsedSession<'_>,
    condensed: &CompactedFile<'_>,
    fresh: &mut CompactionIds<'_>,
    tip: u32,
) -> Vec<CompactedRecord> {
    let partners = AnswerCallIndex::of(&condensed.messages, session.agent.wire());
    let mut plan = Vec::new();
    for (at, shown) in condensed.messages.iter().enumerate() {
        if let Some(origin) = session.kept_origin(shown) {
            for &record in session.chain.records_of(origin) {
                let old = record_id(session, record).unwrap_or_default();
                let new = fresh.new_id(&["copy", old]);
                let stands = Some(old.to_owned());
                plan.push(CompactedRecord {
                    id: new,
                    source: CompactedRecordSource::Copy(record, origin),
                    restores_to: stands,
                });
            }
            continue;
        }
        let own = shown.origin.map_or(&[][..], |origin| session.chain.records_of(origin));
        let template = own.first().copied().unwrap_or(tip);
        let pieces = match session.agent {
            SessionAgent::Neovate => neovate::split_roles(shown.json, at, &partners),
            _ => claude_code::split_blocks(shown.json),
        };
        let stands = restore_target(session, condensed, at, shown);
        for (piece, (role, content)) in pieces.into_iter().enumerate() {
            let id = fresh.new_id(&["said", &at.to_string(), &piece.to_string()]);
            let said = ReplacementMessage {
                role,
                content,
                template,
                existed: shown.origin.is_some(),
                position: at,
            };
            plan.push(CompactedRecord {
                id,
                source: CompactedRecordSource::Replacement(said),
                restores_to: stands.clone(),
            });
        }
    }
    plan
}

/// The last record of what a new or changed message stands for.
fn restore_target(
    session: &ParsedSession<'_>,
    condensed: &CompactedFile<'_>,
    at: usize,
    shown: &CompactedFileMessage<'_>,
) -> Option<String> {
    // A new one stands for everything before the next one that was there.
    let message = shown.origin.or_else(|| {
        let later = condensed.messages.iter().skip(at).find_map(|shown| shown.origin);
        later.unwrap_or(session.chain.groups.len()).checked_sub(1)
    })?;
    let record = session.chain.records_of(message).last()?;
    record_id(session, *record).map(str::to_owned)
}

/// The new record for each old one whose message is left.
fn replacement_ids<'a, 'p>(
    session: &ParsedSession<'a>,
    plan: &'p [CompactedRecord],
    condensed: &CompactedFile<'_>,
) -> HashMap<&'a str, &'p str> {
    let mut twins = HashMap::new();
    let changed = condensed.messages.iter().filter_map(|shown| shown.origin);
    let changed: HashMap<u32, usize> = changed
        .filter_map(|origin| Some((*session.chain.records_of(origin).first()?, origin)))
        .collect();
    for planned in plan {
        let old: &[u32] = match &planned.source {
            CompactedRecordSource::Copy(record, _) => std::slice::from_ref(record),
            CompactedRecordSource::Replacement(said) if said.existed => {
                changed.get(&said.template).map_or(&[], |origin| session.chain.records_of(*origin))
            }
            CompactedRecordSource::Replacement(_) => &[],
        };
        for old in old.iter().filter_map(|record| record_id(session, *record)) {
            twins.entry(old).or_insert(planned.id.as_str());
        }
    }
    twins
}

/// The file without a compaction; `None` if what it hid is gone.
pub(super) fn remove_compaction(
    session: &ParsedSession<'_>,
    compaction: &str,
) -> Option<FileEdits> {
    let source = session.log.source;
    let own = mark::records(session, compaction);
    let first = *own.first()?;
    let own: HashSet<u32> = own.into_iter().collect();
    // What each record of ours stands for, as JSON.
    let mut stands: HashMap<&str, String> = HashMap::new();
    for &record in &own {
        let span = session.span(record);
        let before = mark::of(source, span).and_then(|mark| field_text(source, mark, "for"));
        if let Some(id) = record_id(session, record) {
            stands.insert(id, before.map_or("null".to_owned(), |id| quote(&id)));
        }
    }
    let others = (0..).zip(&session.log.links).filter(|(at, _)| !own.contains(at));
    let there: HashSet<String> = others.filter_map(|(_, link)| link.id).map(quote).collect();
    if stands.values().any(|id| id != "null" && !there.contains(id)) {
        return None;
    }
    let mut edits = FileEdits::default();
    let count = u32::try_from(session.log.records.len()).unwrap_or(0);
    for record in first..count {
        if own.contains(&record) {
            edits.changed.insert(record, Vec::new());
        } else if let Some(chunks) = restore_links(source, session.span(record), &stands) {
            edits.changed.insert(record, chunks);
        }
    }
    Some(edits)
}

/// A later record that named records of the compaction.
fn restore_links(
    source: &str,
    record: Span,
    stands: &HashMap<&str, String>,
) -> Option<Vec<OutputChunk>> {
    const CARRIED: &str = "compactMetadata";
    const NAMES: [&str; 5] =
        ["parentUuid", "logicalParentUuid", "sourceToolAssistantUUID", "leafUuid", "messageId"];
    let mut changes: FieldChanges<'_> = Vec::new();
    for field in object_fields(source, record) {
        let value = field.value.of(source);
        if let Some(name) = NAMES.into_iter().find(|name| *name == field.key) {
            let before = stands.get(value.trim_matches('"'));
            changes.extend(before.map(|before| (name, FieldChange::Text(before.clone()))));
        } else if field.key == CARRIED {
            // A later compaction may have carried some of ours over.
            let mut text = value.to_owned();
            for (id, before) in stands.iter().filter(|(_, before)| *before != "null") {
                text = text.replace(&quote(id), before);
            }
            if text != value {
                changes.push((CARRIED, FieldChange::Text(text)));
            }
        }
    }
    if changes.is_empty() {
        return None;
    }
    let mut out = SpliceWriter::new(source, &[]);
    write_patched(&mut out, record, changes);
    Some(out.finish())
}
