//! From a repair back to records: which stay, which change, which are new.

use std::collections::HashSet;

use foxwedge_core::{PartKind, PartSource, Repair, RepairedMessage, RepairedPart, Role, Span};

use super::linked_rewriter::LinkedFileRewriter;

/// A record of the repaired conversation.
#[derive(Clone, Copy, Debug)]
pub(super) struct PlannedRecord<'p, 'a> {
    /// Who speaks.
    pub(super) role: Role,
    /// The slot it is part of.
    pub(super) slot: usize,
    /// Another record of the same message stays.
    pub(super) joins: bool,
    pub(super) origin: RecordOrigin<'p, 'a>,
}

/// Where a record comes from.
#[derive(Clone, Copy, Debug)]
pub(super) enum RecordOrigin<'p, 'a> {
    /// It stays as it is.
    Unchanged(u32),
    /// It says something else.
    Changed(u32, &'p [RepairedPart<'a>]),
    /// It is new, and shaped like another one.
    New(u32, &'p [RepairedPart<'a>]),
}

impl PlannedRecord<'_, '_> {
    /// The record it was.
    pub(super) fn record(&self) -> Option<u32> {
        match self.origin {
            RecordOrigin::Unchanged(record) | RecordOrigin::Changed(record, _) => Some(record),
            RecordOrigin::New(..) => None,
        }
    }
}

/// The records of the repaired conversation, in order.
pub(super) fn plan_records<'p, 'a>(
    desk: &LinkedFileRewriter<'_, 'a>,
    repair: &'p Repair<'a>,
) -> Vec<PlannedRecord<'p, 'a>> {
    let mut planned = Vec::with_capacity(desk.chain.records.len());
    // A record goes to the first slot of its own role; what else of it is left becomes new.
    let mut owned = HashSet::new();
    let mut near = desk.chain.records.first().copied().unwrap_or(0);
    for (at, slot) in repair.messages.iter().enumerate() {
        if let (Some(message), false) = (slot.origin, slot.touched) {
            for &record in desk.chain.records_of(message) {
                let made = RecordOrigin::Unchanged(record);
                planned.push(PlannedRecord {
                    role: slot.role,
                    slot: at,
                    joins: true,
                    origin: made,
                });
                near = record;
            }
            continue;
        }
        for (record, pieces) in pieces_by_record(desk, slot) {
            let fragment = record.and_then(|record| desk.fragment(record));
            let own = fragment.is_some_and(|fragment| fragment.role == slot.role);
            let made = match record.filter(|&record| own && owned.insert(record)) {
                Some(record) if holds_exactly(desk, record, pieces) => {
                    RecordOrigin::Unchanged(record)
                }
                Some(record) => RecordOrigin::Changed(record, pieces),
                None => RecordOrigin::New(record.unwrap_or(near), pieces),
            };
            near = record.unwrap_or(near);
            planned.push(PlannedRecord { role: slot.role, slot: at, joins: false, origin: made });
        }
        let own = planned.iter_mut().rev().take_while(|planned| planned.slot == at);
        let own: Vec<&mut PlannedRecord<'_, '_>> = own.collect();
        let joins = own.iter().any(|planned| planned.record().is_some());
        own.into_iter().for_each(|planned| planned.joins = joins);
    }
    planned
}

/// The pieces of a slot, by the record they come from.
fn pieces_by_record<'p, 'a>(
    desk: &LinkedFileRewriter<'_, 'a>,
    slot: &'p RepairedMessage<'a>,
) -> impl Iterator<Item = (Option<u32>, &'p [RepairedPart<'a>])> {
    let record_of = |piece: &RepairedPart<'_>| {
        let span = piece.part.span;
        (span != Span::NOWHERE).then(|| desk.record_at(span)).flatten()
    };
    slot.parts
        .chunk_by(move |one, two| {
            // Agents expect an answer in a record of its own.
            let answers =
                [one, two].iter().all(|piece| matches!(piece.part.kind, PartKind::Answer(_)));
            let (one, two) = (record_of(one), record_of(two));
            one == two && !(answers && one.is_none())
        })
        .map(move |pieces| (pieces.first().and_then(record_of), pieces))
}

/// Whether pieces are all that a record holds, as it holds it.
fn holds_exactly(
    desk: &LinkedFileRewriter<'_, '_>,
    record: u32,
    pieces: &[RepairedPart<'_>],
) -> bool {
    let parts = desk.parts(record);
    parts.len() == pieces.len()
        && parts.iter().zip(pieces).all(|(part, piece)| {
            part.span == piece.part.span
                && piece.source == PartSource::Input
                && piece.patch.is_empty()
        })
}
