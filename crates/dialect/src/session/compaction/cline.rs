//! Cline, Roo Code and Kilo Code: what is hidden stays in the list and names what hides it. That is
//! the summary, if everything hidden stands before it; else a marker, which hides itself, too.

use std::collections::{HashMap, HashSet};

use foxwedge_core::Span;

use super::{
    CompactedFile, CompactedFileMessage, CompactionError, ParsedSession, ids::CompactionIds, mark,
    whole_span,
};
use crate::{
    json::{field_text, field_value, quote},
    session::{
        lines::{RecordContainer, RecordState},
        placement::longest_increasing,
        records::HistoryControl,
        rewritten_file::{FilePiece, RewrittenFile},
    },
    splice::{FieldChange, FieldChanges, OutputChunk, SpliceWriter, write_patched},
};

/// The fields that hide messages, and the fields of what hides them.
const HIDDEN: [&str; 2] = ["condenseParent", "truncationParent"];
const HIDING: [&str; 4] = ["isSummary", "condenseId", "isTruncationMarker", "truncationId"];

/// What changes in the list.
#[derive(Default)]
struct ClineListChanges {
    /// Records that are written anew; nothing for one that goes.
    records: HashMap<u32, Vec<OutputChunk>>,
    before: HashMap<u32, Vec<Vec<OutputChunk>>>,
    behind: HashMap<u32, Vec<Vec<OutputChunk>>>,
}

/// How the messages of a compaction are known.
struct ClineCompactionMark<'o> {
    id: &'o str,
    mark: String,
}

/// The file with a compaction in it.
pub(super) fn write_compaction<'a>(
    session: &ParsedSession<'a>,
    condensed: &CompactedFile<'_>,
    fresh: &mut CompactionIds<'_>,
) -> Result<RewrittenFile<'a>, CompactionError> {
    if !is_whole(session) {
        return Err(CompactionError::Damaged);
    }
    let numbers = (0..session.log.records.len()).filter_map(|at| mark::number(session, at));
    let number = numbers.max().unwrap_or(0).saturating_add(1);
    let id = fresh.compaction.clone();
    let own = ClineCompactionMark { id: &id, mark: mark::numbered(&id, number) };
    let stays = records_in_place(session, condensed);
    let visible: Vec<u32> = session.chain.records.clone();
    let staying: HashSet<u32> = stays.iter().flatten().copied().collect();
    let hidden: Vec<u32> =
        visible.iter().copied().filter(|record| !staying.contains(record)).collect();
    let first = stays.iter().flatten().next().copied();
    let last = visible.last().copied().ok_or(CompactionError::Empty)?;
    let condenses = condensed.messages.first().is_some_and(is_summary)
        && hidden.iter().all(|record| first.is_none_or(|first| *record < first));
    let tag = if condenses { "condenseParent" } else { "truncationParent" };
    let mut changed = ClineListChanges::default();
    for &record in &hidden {
        let mut out = SpliceWriter::new(session.log.source, &[]);
        write_patched(&mut out, session.span(record), vec![(tag, FieldChange::Text(quote(&id)))]);
        changed.records.insert(record, out.finish());
    }
    if let Some(&boundary) = hidden.last().filter(|_| !condenses) {
        let marker = write_marker(session, condensed, boundary, &own);
        changed.behind.entry(boundary).or_default().push(marker);
    }
    let mut next_to_stay = stays.clone();
    let mut next = None;
    for stay in next_to_stay.iter_mut().rev() {
        next = stay.or(next);
        *stay = next;
    }
    let mut anchor = None;
    for (at, (shown, stay)) in condensed.messages.iter().zip(&stays).enumerate() {
        if stay.is_some() {
            anchor = *stay;
            continue;
        }
        // A changed one behind what it was; any other behind what stands before it, or before the
        // first that stays, or at the end.
        let next = next_to_stay.get(at).copied().flatten();
        let old = shown.origin.and_then(|origin| session.chain.records_of(origin).first());
        let old = old.filter(|old| anchor < Some(**old) && next.is_none_or(|next| **old < next));
        anchor = anchor.and(old.copied()).or(anchor);
        let near = anchor.or(first).unwrap_or(last);
        let summary = condenses && at == 0;
        let new =
            write_message(session, shown, near, anchor.is_none() && first.is_some(), &own, summary);
        match (anchor, first) {
            (None, Some(first)) => changed.before.entry(first).or_default().push(new),
            _ => changed.behind.entry(near).or_default().push(new),
        }
    }
    Ok(write_list(session, changed))
}

/// The file without a compaction; `None` if it is not whole.
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

/// Whether the list has its end, and every byte of it was read as it is.
fn is_whole(session: &ParsedSession<'_>) -> bool {
    let log = &session.log;
    matches!(log.container, RecordContainer::List(_))
        && log.source.as_bytes() == log.bytes
        && log.records.iter().all(|record| record.state == RecordState::Whole)
}

fn is_summary(shown: &CompactedFileMessage<'_>) -> bool {
    let role = field_text(shown.json, whole_span(shown.json), "role");
    shown.origin.is_none() && role.as_deref() == Some("user")
}

/// For each message that is left its record, if it can stay where it is.
fn records_in_place(
    session: &ParsedSession<'_>,
    condensed: &CompactedFile<'_>,
) -> Vec<Option<u32>> {
    let record = |message: usize| session.chain.records_of(message).first().copied();
    // An earlier summary hides what stands before it, also what would be new there.
    let begins_anew =
        |record: u32| session.log.controls.contains(&(record, HistoryControl::Summary));
    let candidates: Vec<Option<u32>> = condensed
        .messages
        .iter()
        .enumerate()
        .map(|(at, shown)| {
            let record = session.kept_origin(shown).and_then(record)?;
            (at == 0 || !begins_anew(record)).then_some(record)
        })
        .collect();
    let order: Vec<u32> = candidates.iter().flatten().copied().collect();
    let mut rise = longest_increasing(&order);
    // A message that is left twice stays once.
    candidates.into_iter().map(|record| record.filter(|record| rise.remove(record))).collect()
}

/// The time of something new beside a record.
fn time_beside(session: &ParsedSession<'_>, near: u32, before: bool) -> Option<String> {
    let time = |record: u32| session.log.records.get(record as usize)?.time;
    let earlier = if before { near.checked_sub(1).and_then(time) } else { time(near) };
    let spelled = earlier.or_else(|| time(near))?;
    let later = spelled.parse::<u64>().ok().and_then(|time| time.checked_add(1));
    Some(later.map_or_else(|| spelled.to_owned(), |time| time.to_string()))
}

fn write_marker(
    session: &ParsedSession<'_>,
    condensed: &CompactedFile<'_>,
    near: u32,
    own: &ClineCompactionMark<'_>,
) -> Vec<OutputChunk> {
    let mut out = SpliceWriter::new(session.log.source, &[]);
    out.text(&format!("{{\"role\":\"user\",\"content\":{}", quote(condensed.marker)));
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

/// A message that is new or changed.
fn write_message(
    session: &ParsedSession<'_>,
    shown: &CompactedFileMessage<'_>,
    near: u32,
    before: bool,
    own: &ClineCompactionMark<'_>,
    summary: bool,
) -> Vec<OutputChunk> {
    let json = shown.json;
    let value =
        |key: &str| field_value(json, whole_span(json), key).map(|value| value.of(json).to_owned());
    let old = shown.origin.and_then(|origin| session.draft().messages.get(origin));
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

/// Writes the list, in its own spacing.
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
