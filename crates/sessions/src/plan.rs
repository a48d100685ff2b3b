//! Maps a repair back to records: which stay, which change, which are new.

use std::collections::HashSet;

use foxwedge_core::{
    MessageFlags, PartKind, PartSource, Repair, RepairedMessage, RepairedPart, Role, Span,
};

use super::{SessionAgent, linked_file::LinkedFileRewriter};

/// A record of the repaired conversation.
#[derive(Clone, Copy, Debug)]
pub(super) struct PlannedRecord<'p, 'a> {
    /// The role of the message.
    pub(super) role: Role,
    /// The index of the repaired message it is part of.
    pub(super) slot: usize,
    /// Whether the repaired message keeps at least one existing record.
    pub(super) joins: bool,
    pub(super) origin: RecordOrigin<'p, 'a>,
}

/// Where a record comes from.
#[derive(Clone, Copy, Debug)]
pub(super) enum RecordOrigin<'p, 'a> {
    /// An existing record that stays as it is.
    Unchanged(u32),
    /// An existing record with new content.
    Changed(u32, &'p [RepairedPart<'a>]),
    /// A new record, with an existing one as its template.
    New(u32, &'p [RepairedPart<'a>]),
}

impl PlannedRecord<'_, '_> {
    /// The existing record, if there is one.
    pub(super) fn record(&self) -> Option<u32> {
        match self.origin {
            RecordOrigin::Unchanged(record) | RecordOrigin::Changed(record, _) => Some(record),
            RecordOrigin::New(..) => None,
        }
    }
}

/// The records of the repaired conversation, in order.
pub(super) fn plan_records<'p, 'a>(
    rewriter: &LinkedFileRewriter<'_, 'a>,
    repair: &'p Repair<'a>,
) -> Vec<PlannedRecord<'p, 'a>> {
    let mut planned = Vec::with_capacity(rewriter.chain.records.len());
    // A record goes to the first repaired message of its role. The rest of its parts become new
    // records.
    let mut owned = HashSet::new();
    let mut near = rewriter.chain.records.first().copied().unwrap_or(0);
    for (at, message) in repair.messages.iter().enumerate() {
        if let (Some(original), false) = (message.origin(), message.is_touched()) {
            for &record in rewriter.chain.records_of(original) {
                let origin = RecordOrigin::Unchanged(record);
                planned.push(PlannedRecord { role: message.role, slot: at, joins: true, origin });
                near = record;
            }
            continue;
        }
        let mut unread = unread_records(rewriter, message).into_iter();
        for (record, parts) in pieces_by_record(rewriter, message) {
            // Neovate writes results in records of another role.
            let record = match record {
                None if rewriter.mixes_turns() => unread.next(),
                record => record,
            };
            let fragment = record.and_then(|record| rewriter.fragment(record));
            let own = fragment.is_some_and(|fragment| fragment.role == message.role);
            let origin = match record.filter(|&record| own && owned.insert(record)) {
                Some(record) if holds_exactly(rewriter, record, parts) => {
                    RecordOrigin::Unchanged(record)
                }
                Some(record) => RecordOrigin::Changed(record, parts),
                None => RecordOrigin::New(record.unwrap_or(near), parts),
            };
            near = record.unwrap_or(near);
            planned.push(PlannedRecord { role: message.role, slot: at, joins: false, origin });
        }
        planned.extend(unread.filter(|record| owned.insert(*record)).map(|record| {
            let origin = RecordOrigin::Unchanged(record);
            PlannedRecord { role: message.role, slot: at, joins: false, origin }
        }));
        let own = planned.iter_mut().rev().take_while(|planned| planned.slot == at);
        let own: Vec<&mut PlannedRecord<'_, '_>> = own.collect();
        let joins = own.iter().any(|planned| planned.record().is_some());
        own.into_iter().for_each(|planned| planned.joins = joins);
    }
    planned
}

/// Records of a message without parts whose content may be in unknown fields. They stay, and take
/// new parts of the message.
fn unread_records(
    rewriter: &LinkedFileRewriter<'_, '_>,
    message: &RepairedMessage<'_>,
) -> Vec<u32> {
    let records = message.origin().map_or(&[][..], |at| rewriter.chain.records_of(at));
    let is_unread = |record: &u32| {
        rewriter.fragment(*record).is_some_and(|fragment| {
            let unread = fragment.range().is_empty() && fragment.role == message.role;
            unread && fragment.flags.has(MessageFlags::UNKNOWN_BODY)
        })
    };
    records.iter().copied().filter(is_unread).collect()
}

/// The parts of a repaired message, grouped by the record they come from.
fn pieces_by_record<'p, 'a>(
    rewriter: &LinkedFileRewriter<'_, 'a>,
    message: &'p RepairedMessage<'a>,
) -> impl Iterator<Item = (Option<u32>, &'p [RepairedPart<'a>])> {
    let record_of = |part: &RepairedPart<'_>| {
        let span = part.part.span;
        (span != Span::NOWHERE).then(|| rewriter.record_at(span)).flatten()
    };
    message
        .parts
        .chunk_by(move |one, two| {
            // Agents expect each tool result in a record of its own; pi has no other place for it.
            let mut both = [one, two].into_iter();
            let is_answer = |part: &RepairedPart<'_>| matches!(part.part.kind, PartKind::Answer(_));
            let answers = match rewriter.agent {
                SessionAgent::Pi => both.any(is_answer),
                _ => both.all(is_answer),
            };
            let (one, two) = (record_of(one), record_of(two));
            one == two && !(answers && one.is_none())
        })
        .map(move |parts| (parts.first().and_then(record_of), parts))
}

/// Whether these parts are exactly the content of a record, unchanged.
fn holds_exactly(
    rewriter: &LinkedFileRewriter<'_, '_>,
    record: u32,
    repaired: &[RepairedPart<'_>],
) -> bool {
    let parts = rewriter.parts(record);
    parts.len() == repaired.len()
        && parts.iter().zip(repaired).all(|(part, new)| {
            part.span == new.part.span && *new.source() == PartSource::Input && new.patch.is_empty()
        })
}
