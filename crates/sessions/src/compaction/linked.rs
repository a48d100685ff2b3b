//! Compactions in files whose records are linked. The remaining messages are written again after a
//! new root, as a separate chain. The old chain stays unchanged but is no longer on the path.

use std::collections::{HashMap, HashSet};

use crate::chain::ChainStatus;
use foxwedge_core::Span;

use super::{
    CompactedFile, CompactedFileMessage, ParsedSession,
    call_index::AnswerCallIndex,
    claude_code,
    ids::CompactionIds,
    mark, neovate,
    record_links::{CompactedRecordSource, RecordLinks, ReplacementMessage},
};
use crate::{SessionAgent, emit::FileEdits};
use foxwedge_json::{FieldChange, FieldChanges, OutputChunk, SpliceWriter, write_patched};
use foxwedge_json::{field_text, object_fields, quote};

/// A record of the new chain.
pub(super) struct CompactedRecord {
    pub(super) id: String,
    pub(super) source: CompactedRecordSource,
    /// The record that its successors continue from once the compaction is removed.
    restores_to: Option<String>,
}

/// Writes the records of a compaction.
pub(super) fn write_compaction(
    session: &ParsedSession<'_>,
    compacted: &CompactedFile<'_>,
    ids: &mut CompactionIds<'_>,
) -> FileEdits {
    let leaf = last_message(session);
    let leaf_id = leaf.and_then(|leaf| record_id(session, leaf));
    let mut plan = plan_records(session, compacted, ids, leaf.unwrap_or(0));
    if let Some(last) = plan.last_mut() {
        last.restores_to = leaf_id.map(str::to_owned);
    }
    let new_ids = replacement_ids(session, &plan, compacted);
    let mut edits = FileEdits::default();
    let mut parent: Option<String> = None;
    if session.agent == SessionAgent::ClaudeCode {
        let (id, chunks) =
            claude_code::write_boundary(session, compacted, ids, leaf.unwrap_or(0), leaf_id);
        edits.last.push(chunks);
        parent = Some(id);
    }
    for (at, planned) in plan.iter().enumerate() {
        let links = RecordLinks {
            id: &planned.id,
            parent: parent.as_deref(),
            time: ids.next_time(),
            mark: mark::standing_for(&ids.compaction, planned.restores_to.as_deref()),
            marker: Some(compacted.marker).filter(|_| at == 0),
        };
        let mut out = SpliceWriter::new(session.log.source, &[]);
        match (session.agent, &planned.source) {
            (SessionAgent::Neovate, source) => neovate::write(session, &mut out, source, &links),
            (_, source) => claude_code::write(session, &mut out, source, &links, ids, &new_ids),
        }
        edits.last.push(out.finish());
        parent = Some(planned.id.clone());
    }
    edits
}

fn record_id<'a>(session: &ParsedSession<'a>, record: u32) -> Option<&'a str> {
    session.log.links.get(record as usize)?.id
}

/// The parent of the next message: the last message on the path.
fn last_message(session: &ParsedSession<'_>) -> Option<u32> {
    let mut records = session.chain.statuses.iter().zip(&session.log.links);
    let last =
        records.rposition(|(status, link)| *status == ChainStatus::Path && link.fragment.is_some());
    last.and_then(|last| u32::try_from(last).ok())
}

fn plan_records(
    session: &ParsedSession<'_>,
    compacted: &CompactedFile<'_>,
    ids: &mut CompactionIds<'_>,
    leaf: u32,
) -> Vec<CompactedRecord> {
    let call_index = AnswerCallIndex::of(&compacted.messages, session.agent.wire());
    let mut plan = Vec::new();
    for (at, message) in compacted.messages.iter().enumerate() {
        if let Some(origin) = session.kept_origin(message) {
            for &record in session.chain.records_of(origin) {
                let old = record_id(session, record).unwrap_or_default();
                let new = ids.new_id(&["copy", old]);
                let restores_to = Some(old.to_owned());
                plan.push(CompactedRecord {
                    id: new,
                    source: CompactedRecordSource::Copy(record, origin),
                    restores_to,
                });
            }
            continue;
        }
        let own = message.origin.map_or(&[][..], |origin| session.chain.records_of(origin));
        let template = own.first().copied().unwrap_or(leaf);
        let records = match session.agent {
            SessionAgent::Neovate => neovate::split_roles(message.json, at, &call_index),
            _ => claude_code::split_blocks(message.json),
        };
        let restores_to = restore_target(session, compacted, at, message);
        for (number, (role, content)) in records.into_iter().enumerate() {
            let id = ids.new_id(&["said", &at.to_string(), &number.to_string()]);
            let replacement = ReplacementMessage {
                role,
                content,
                template,
                existed: message.origin.is_some(),
                position: at,
            };
            plan.push(CompactedRecord {
                id,
                source: CompactedRecordSource::Replacement(replacement),
                restores_to: restores_to.clone(),
            });
        }
    }
    plan
}

/// The last record that a new or changed message replaces.
fn restore_target(
    session: &ParsedSession<'_>,
    compacted: &CompactedFile<'_>,
    at: usize,
    remaining: &CompactedFileMessage<'_>,
) -> Option<String> {
    // A new message replaces everything before the next existing one.
    let message = remaining.origin.or_else(|| {
        let later = compacted.messages.iter().skip(at).find_map(|remaining| remaining.origin);
        later.unwrap_or(session.chain.groups.len()).checked_sub(1)
    })?;
    let record = session.chain.records_of(message).last()?;
    record_id(session, *record).map(str::to_owned)
}

/// The new record for each old one whose message remains.
fn replacement_ids<'a, 'p>(
    session: &ParsedSession<'a>,
    plan: &'p [CompactedRecord],
    compacted: &CompactedFile<'_>,
) -> HashMap<&'a str, &'p str> {
    let mut new_ids = HashMap::new();
    let changed = compacted.messages.iter().filter_map(|message| message.origin);
    let changed: HashMap<u32, usize> = changed
        .filter_map(|origin| Some((*session.chain.records_of(origin).first()?, origin)))
        .collect();
    for planned in plan {
        let old: &[u32] = match &planned.source {
            CompactedRecordSource::Copy(record, _) => std::slice::from_ref(record),
            CompactedRecordSource::Replacement(replacement) if replacement.existed => changed
                .get(&replacement.template)
                .map_or(&[], |origin| session.chain.records_of(*origin)),
            CompactedRecordSource::Replacement(_) => &[],
        };
        for old in old.iter().filter_map(|record| record_id(session, *record)) {
            new_ids.entry(old).or_insert(planned.id.as_str());
        }
    }
    new_ids
}

/// Removes a compaction; `None` if the messages it hid are gone.
pub(super) fn remove_compaction(
    session: &ParsedSession<'_>,
    compaction: &str,
) -> Option<FileEdits> {
    let source = session.log.source;
    let own = mark::records(session, compaction);
    let first = *own.first()?;
    let own: HashSet<u32> = own.into_iter().collect();
    // For each of our records the record it replaces, as JSON.
    let mut targets: HashMap<&str, String> = HashMap::new();
    for &record in &own {
        let span = session.span(record);
        let target = mark::of(source, span).and_then(|mark| field_text(source, mark, "for"));
        if let Some(id) = record_id(session, record) {
            targets.insert(id, target.map_or("null".to_owned(), |id| quote(&id)));
        }
    }
    let others = (0..).zip(&session.log.links).filter(|(at, _)| !own.contains(at));
    let existing: HashSet<String> = others.filter_map(|(_, link)| link.id).map(quote).collect();
    if targets.values().any(|id| id != "null" && !existing.contains(id)) {
        return None;
    }
    let mut edits = FileEdits::default();
    let count = u32::try_from(session.log.records.len()).unwrap_or(0);
    for record in first..count {
        if own.contains(&record) {
            edits.changed.insert(record, Vec::new());
        } else if let Some(chunks) = restore_links(source, session.span(record), &targets) {
            edits.changed.insert(record, chunks);
        }
    }
    Some(edits)
}

/// Restores the links of a later record that refer to records of the compaction.
fn restore_links(
    source: &str,
    record: Span,
    targets: &HashMap<&str, String>,
) -> Option<Vec<OutputChunk>> {
    const CARRIED: &str = "compactMetadata";
    const NAMES: [&str; 5] =
        ["parentUuid", "logicalParentUuid", "sourceToolAssistantUUID", "leafUuid", "messageId"];
    let mut changes: FieldChanges<'_> = Vec::new();
    for field in object_fields(source, record) {
        let value = field.value.of(source);
        if let Some(name) = NAMES.into_iter().find(|name| *name == field.key) {
            let target = targets.get(value.trim_matches('"'));
            changes.extend(target.map(|target| (name, FieldChange::Text(target.clone()))));
        } else if field.key == CARRIED {
            // A later compaction may have carried over some of our records.
            let mut text = value.to_owned();
            for (id, target) in targets.iter().filter(|(_, target)| *target != "null") {
                text = text.replace(&quote(id), target);
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
