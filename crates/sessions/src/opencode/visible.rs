//! Which messages the agent sends: those behind the last compaction, and before a revert.

use std::collections::HashSet;

use foxwedge_core::{Draft, Span};
use foxwedge_json::{JsonScanner, field_text};

use super::{RowFields, readable_parts};
use crate::{
    lines::RecordState,
    records::SessionRecords,
    rows::{RowRecord, read_row},
};

/// The messages that count, each with its record, in the order in which the agent sends them.
pub(crate) fn visible_messages(log: &SessionRecords<'_>, fragments: &Draft<'_>) -> Vec<(u32, u32)> {
    let records = records_sent(log);
    let mut ends = vec![fragments.messages.len(); log.links.len()];
    let mut next = fragments.messages.len();
    for (at, link) in log.links.iter().enumerate().rev() {
        ends[at] = next;
        next = link.fragment.map_or(next, |first| first as usize);
    }
    let mut visible = Vec::new();
    for record in records {
        let Some(link) = log.links.get(record).filter(|link| !link.is_hidden) else { continue };
        let Some(first) = link.fragment else { continue };
        let place = u32::try_from(record).unwrap_or(u32::MAX);
        let last = u32::try_from(ends[record]).unwrap_or(u32::MAX);
        visible.extend((first..last).map(|message| (place, message)));
    }
    visible
}

/// What a compaction looks at in a message.
struct CompactionView<'a> {
    record: usize,
    id: &'a str,
    /// The part that requests a compaction, and where the tail begins that stays.
    compaction: Option<Option<String>>,
    /// The message whose request this finished summary answers.
    answers: Option<String>,
    /// Whether it is any summary of that message.
    summarizes: Option<String>,
}

/// The records whose messages are sent.
fn records_sent(log: &SessionRecords<'_>) -> Vec<usize> {
    let is_message = |at: &usize| {
        log.records.get(*at).is_some_and(|it| it.kind == "message" && it.state != RecordState::Torn)
    };
    let mut messages: Vec<usize> = (0..log.records.len()).filter(is_message).collect();
    if let Some((id, keeps)) = reverted_from(log) {
        let at =
            messages.iter().position(|at| log.links.get(*at).and_then(|it| it.id) == Some(&id));
        messages.truncate(at.map_or(messages.len(), |at| at + usize::from(keeps)));
    }
    if !log.source.contains("\"compaction\"") {
        return messages;
    }
    let views: Vec<CompactionView<'_>> =
        messages.iter().filter_map(|at| compaction_view(log, *at)).collect();
    sent_after_compaction(&views)
}

/// The message from which on the user took the session back, and whether a part of it stays.
fn reverted_from(log: &SessionRecords<'_>) -> Option<(String, bool)> {
    let at = log.records.iter().position(|record| record.kind == "session")?;
    let row = read_record_row(log, at)?;
    let revert = RowFields::of(log.source, row.columns).text("revert")?.into_owned();
    let mut scan = JsonScanner::new(&revert);
    let object = scan.skip().and_then(|span| scan.end().map(|()| span)).ok()?;
    let id = field_text(&revert, object, "messageID")?.into_owned();
    Some((id, field_text(&revert, object, "partID").is_some()))
}

fn read_record_row<'a>(log: &SessionRecords<'a>, record: usize) -> Option<RowRecord<'a>> {
    let mut scan = JsonScanner::within(log.source, log.records.get(record)?.span);
    read_row(&mut scan, log.source).ok()
}

fn compaction_view<'a>(log: &SessionRecords<'a>, record: usize) -> Option<CompactionView<'a>> {
    let row = read_record_row(log, record)?;
    let fields = RowFields::of(log.source, row.object(log.source).unwrap_or(Span::NOWHERE));
    let text = |key: &str| fields.text(key).map(|text| text.into_owned());
    let is_user = fields.text("role").as_deref() == Some("user");
    let parts = readable_parts(log.source, &row);
    let compaction = parts.iter().find(|part| part.kind == "compaction").filter(|_| is_user);
    let summarizes = text("parentID").filter(|_| {
        !is_user && fields.get("summary").is_some_and(|it| it.of(log.source) == "true")
    });
    let is_whole = fields.text("finish").is_some() && fields.get("error").is_none();
    Some(CompactionView {
        record,
        id: row.id,
        compaction: compaction
            .map(|part| part.fields.text("tail_start_id").map(|id| id.into_owned())),
        answers: summarizes.clone().filter(|_| is_whole),
        summarizes,
    })
}

/// From the newest message back to the last compaction that was answered, or to its tail. Then the
/// compaction and its summary come before the tail.
fn sent_after_compaction(views: &[CompactionView<'_>]) -> Vec<usize> {
    let mut answered: HashSet<&str> = HashSet::new();
    let mut tail: Option<&str> = None;
    let mut first = 0;
    for (at, view) in views.iter().enumerate().rev() {
        first = at;
        if let Some(tail) = tail {
            if view.id == tail {
                break;
            }
            continue;
        }
        if let Some(start) = view.compaction.as_ref().filter(|_| answered.contains(view.id)) {
            match start.as_deref() {
                Some(start) if start != view.id => tail = Some(start),
                _ => break,
            }
            continue;
        }
        answered.extend(view.answers.as_deref());
    }
    let sent = views.get(first..).unwrap_or_default();
    let records = |views: &[CompactionView<'_>]| -> Vec<usize> {
        views.iter().map(|view| view.record).collect()
    };
    let with_tail = |view: &CompactionView<'_>| matches!(&view.compaction, Some(Some(_)));
    let Some(compaction) = sent.iter().rposition(with_tail) else { return records(sent) };
    let start = sent.get(compaction).and_then(|view| view.compaction.as_ref()?.as_deref());
    let tail = sent.iter().position(|view| Some(view.id) == start);
    let summary =
        sent.iter().enumerate().skip(compaction + 1).find(|(_, view)| {
            view.summarizes.as_deref() == sent.get(compaction).map(|view| view.id)
        });
    match (tail.filter(|tail| *tail < compaction), summary) {
        (Some(tail), Some((summary, _))) => {
            let part = |from: usize, to: usize| records(sent.get(from..to).unwrap_or_default());
            [part(compaction, summary + 1), part(tail, compaction), part(summary + 1, sent.len())]
                .concat()
        }
        _ => records(sent),
    }
}
