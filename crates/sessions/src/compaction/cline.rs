//! Cline, Roo Code and Kilo Code: hidden messages stay in the list and name the message that hides
//! them. That is the summary, if all hidden messages precede it; else a marker, which also hides
//! itself.

use std::collections::{HashMap, HashSet};

use foxwedge_core::Span;

use super::{
    CompactedFile, CompactedFileMessage, CompactionError, ParsedSession, ids::CompactionIds, mark,
    whole_span,
};
use crate::{
    lines::{RecordContainer, RecordState},
    placement::longest_increasing,
    records::HistoryControl,
    rewritten_file::{FilePiece, RewrittenFile},
};
use foxwedge_json::{FieldChange, FieldChanges, OutputChunk, SpliceWriter, write_patched};
use foxwedge_json::{field_text, field_value, quote};

/// The fields of hidden messages, and the fields of the messages that hide them.
const HIDDEN: [&str; 2] = ["condenseParent", "truncationParent"];
const HIDING: [&str; 4] = ["isSummary", "condenseId", "isTruncationMarker", "truncationId"];

/// The changes to the list.
#[derive(Default)]
struct ClineListChanges {
    /// Records with new content; empty for a record that is removed.
    records: HashMap<u32, Vec<OutputChunk>>,
    before: HashMap<u32, Vec<Vec<OutputChunk>>>,
    behind: HashMap<u32, Vec<Vec<OutputChunk>>>,
}

/// Identifies the messages of a compaction.
struct ClineCompactionMark<'o> {
    id: &'o str,
    mark: String,
}

/// Writes a compaction into the file.
pub(super) fn write_compaction<'a>(
    session: &ParsedSession<'a>,
    compacted: &CompactedFile<'_>,
    ids: &mut CompactionIds<'_>,
) -> Result<RewrittenFile<'a>, CompactionError> {
    // Newer versions of Cline, which write an object around the list, do not know hidden messages.
    if session.log.source.trim_start().starts_with('{') {
        return Err(CompactionError::NotWritten("Cline"));
    }
    if !is_whole(session) {
        return Err(CompactionError::Damaged);
    }
    let numbers = (0..session.log.records.len()).filter_map(|at| mark::number(session, at));
    let number = numbers.max().unwrap_or(0).saturating_add(1);
    let id = ids.compaction.clone();
    let own = ClineCompactionMark { id: &id, mark: mark::numbered(&id, number) };
    let stays = records_in_place(session, compacted);
    let visible: Vec<u32> = session.chain.records.clone();
    let staying: HashSet<u32> = stays.iter().flatten().copied().collect();
    let hidden: Vec<u32> =
        visible.iter().copied().filter(|record| !staying.contains(record)).collect();
    let first = stays.iter().flatten().next().copied();
    let last = visible.last().copied().ok_or(CompactionError::Empty)?;
    let is_condensed = compacted.messages.first().is_some_and(is_summary)
        && hidden.iter().all(|record| first.is_none_or(|first| *record < first));
    let tag = if is_condensed { "condenseParent" } else { "truncationParent" };
    let mut changed = ClineListChanges::default();
    for &record in &hidden {
        let mut out = SpliceWriter::new(session.log.source, &[]);
        write_patched(&mut out, session.span(record), vec![(tag, FieldChange::Text(quote(&id)))]);
        changed.records.insert(record, out.finish());
    }
    if let Some(&boundary) = hidden.last().filter(|_| !is_condensed) {
        let marker = write_marker(session, compacted, boundary, &own);
        changed.behind.entry(boundary).or_default().push(marker);
    }
    let mut next_to_stay = stays.clone();
    let mut next = None;
    for stay in next_to_stay.iter_mut().rev() {
        next = stay.or(next);
        *stay = next;
    }
    let mut anchor = None;
    for (at, (message, stay)) in compacted.messages.iter().zip(&stays).enumerate() {
        if stay.is_some() {
            anchor = *stay;
            continue;
        }
        // A changed message follows its old version. Any other follows the message before it, or
        // precedes the first one that stays, or goes to the end.
        let next = next_to_stay.get(at).copied().flatten();
        let old = message.origin.and_then(|origin| session.chain.records_of(origin).first());
        let old = old.filter(|old| anchor < Some(**old) && next.is_none_or(|next| **old < next));
        anchor = anchor.and(old.copied()).or(anchor);
        let near = anchor.or(first).unwrap_or(last);
        let summary = is_condensed && at == 0;
        let new = write_message(
            session,
            message,
            near,
            anchor.is_none() && first.is_some(),
            &own,
            summary,
        );
        match (anchor, first) {
            (None, Some(first)) => changed.before.entry(first).or_default().push(new),
            _ => changed.behind.entry(near).or_default().push(new),
        }
    }
    Ok(write_list(session, changed))
}

/// Removes a compaction; `None` if the file is damaged.
pub(super) fn remove_compaction<'a>(
    session: &ParsedSession<'a>,
    compaction: &str,
) -> Option<RewrittenFile<'a>> {
    if !is_whole(session) {
        return None;
    }
    let source = session.log.source;
    let own: HashSet<u32> = mark::records(session, compaction).into_iter().collect();
    let mut changed = ClineListChanges::default();
    for (at, link) in (0..).zip(&session.log.links) {
        if own.contains(&at) {
            changed.records.insert(at, Vec::new());
        } else if [link.parent, link.source].contains(&Some(compaction)) {
            let names = |key: &&str| {
                field_text(source, session.span(at), key).as_deref() == Some(compaction)
            };
            let tags = HIDDEN.into_iter().filter(names);
            let mut out = SpliceWriter::new(source, &[]);
            write_patched(
                &mut out,
                session.span(at),
                tags.map(|tag| (tag, FieldChange::Remove)).collect(),
            );
            changed.records.insert(at, out.finish());
        }
    }
    Some(write_list(session, changed))
}

/// Whether the list is complete and the file was read without cleaning.
fn is_whole(session: &ParsedSession<'_>) -> bool {
    let log = &session.log;
    matches!(log.container, RecordContainer::List(_))
        && log.source.as_bytes() == log.bytes
        && log.records.iter().all(|record| record.state == RecordState::Whole)
}

fn is_summary(message: &CompactedFileMessage<'_>) -> bool {
    let role = field_text(message.json, whole_span(message.json), "role");
    message.origin.is_none() && role.as_deref() == Some("user")
}

/// For each remaining message its record, if that can stay in place.
fn records_in_place(
    session: &ParsedSession<'_>,
    compacted: &CompactedFile<'_>,
) -> Vec<Option<u32>> {
    let record = |message: usize| session.chain.records_of(message).first().copied();
    // An earlier summary hides everything before it, including new messages.
    let is_earlier_summary =
        |record: u32| session.log.controls.contains(&(record, HistoryControl::Summary));
    let candidates: Vec<Option<u32>> = compacted
        .messages
        .iter()
        .enumerate()
        .map(|(at, remaining)| {
            let record = session.kept_origin(remaining).and_then(record)?;
            (at == 0 || !is_earlier_summary(record)).then_some(record)
        })
        .collect();
    let order: Vec<u32> = candidates.iter().flatten().copied().collect();
    let mut in_order = longest_increasing(&order);
    // A message that remains twice stays once.
    candidates.into_iter().map(|record| record.filter(|record| in_order.remove(record))).collect()
}

/// The timestamp of a new message next to a record.
fn time_beside(session: &ParsedSession<'_>, near: u32, before: bool) -> Option<String> {
    let time = |record: u32| session.log.records.get(record as usize)?.time;
    let earlier = if before { near.checked_sub(1).and_then(time) } else { time(near) };
    let base = earlier.or_else(|| time(near))?;
    let later = base.parse::<u64>().ok().and_then(|time| time.checked_add(1));
    Some(later.map_or_else(|| base.to_owned(), |time| time.to_string()))
}

fn write_marker(
    session: &ParsedSession<'_>,
    compacted: &CompactedFile<'_>,
    near: u32,
    own: &ClineCompactionMark<'_>,
) -> Vec<OutputChunk> {
    let mut out = SpliceWriter::new(session.log.source, &[]);
    out.text(&format!("{{\"role\":\"user\",\"content\":{}", quote(compacted.marker)));
    if let Some(time) = time_beside(session, near, false) {
        out.text(&format!(",\"ts\":{time}"));
    }
    let quoted = quote(own.id);
    out.text(&format!(
        ",\"isTruncationMarker\":true,\"truncationId\":{quoted},\"truncationParent\":{quoted}"
    ));
    out.text(&format!(",\"{}\":{}}}", mark::MARK, own.mark));
    out.finish()
}

/// Writes a new or changed message.
fn write_message(
    session: &ParsedSession<'_>,
    message: &CompactedFileMessage<'_>,
    near: u32,
    before: bool,
    own: &ClineCompactionMark<'_>,
    summary: bool,
) -> Vec<OutputChunk> {
    let json = message.json;
    let value =
        |key: &str| field_value(json, whole_span(json), key).map(|value| value.of(json).to_owned());
    let old = message.origin.and_then(|origin| session.draft().messages.get(origin));
    let mut changes: FieldChanges<'_> = Vec::new();
    for key in ["role", "content"] {
        changes.extend(value(key).map(|value| (key, FieldChange::Text(value))));
    }
    if old.is_none() {
        changes
            .extend(time_beside(session, near, before).map(|time| ("ts", FieldChange::Text(time))));
    }
    if summary {
        changes.push(("isSummary", FieldChange::Text("true".to_owned())));
        changes.push(("condenseId", FieldChange::Text(quote(own.id))));
    } else {
        let tags = HIDING.into_iter().chain(HIDDEN);
        changes.extend(tags.map(|key| (key, FieldChange::Remove)));
    }
    changes.push((mark::MARK, FieldChange::Text(own.mark.clone())));
    let mut out = SpliceWriter::new(session.log.source, &[]);
    write_patched(&mut out, old.map_or(Span::NOWHERE, |old| old.span), changes);
    out.finish()
}

/// Writes the list with its original spacing.
fn write_list<'a>(session: &ParsedSession<'a>, mut changed: ClineListChanges) -> RewrittenFile<'a> {
    let log = &session.log;
    let records = log.records.as_slice();
    let gap = match records {
        [one, two, ..] => FilePiece::Read(Span { start: one.span.end, end: two.span.start }),
        _ => FilePiece::Text(",".to_owned()),
    };
    let mut pieces = Vec::new();
    let (mut done, mut follows) = (0, false);
    for (at, record) in (0..).zip(records) {
        let new = changed.records.remove(&at);
        if new.as_ref().is_some_and(Vec::is_empty) {
            if follows {
                done = record.span.end;
            } else {
                pieces.push(FilePiece::Read(Span { start: done, end: record.span.start }));
                let next = records.get(at as usize + 1).map(|next| next.span.start);
                done = next.unwrap_or(record.span.end);
            }
            continue;
        }
        pieces.push(FilePiece::Read(Span { start: done, end: record.span.start }));
        for new in changed.before.remove(&at).into_iter().flatten() {
            pieces.extend(new.into_iter().map(FilePiece::from));
            pieces.push(gap.clone());
        }
        match new {
            Some(chunks) => pieces.extend(chunks.into_iter().map(FilePiece::from)),
            None => pieces.push(FilePiece::Read(record.span)),
        }
        for new in changed.behind.remove(&at).into_iter().flatten() {
            pieces.push(gap.clone());
            pieces.extend(new.into_iter().map(FilePiece::from));
        }
        (done, follows) = (record.span.end, true);
    }
    pieces.push(FilePiece::Read(Span::new(done as usize, log.source.len())));
    RewrittenFile { bytes: log.bytes, source: log.source, pieces }
}
