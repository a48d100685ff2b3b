//! From a repair back to records: which stay, which change, which are new.

use std::collections::HashSet;

use foxwedge_core::{Kind, Piece, Repair, Role, Slot, Source, Span};

use super::desk::Desk;

/// A record of the repaired conversation.
#[derive(Clone, Copy, Debug)]
pub(super) struct Planned<'p, 'a> {
    /// Who speaks.
    pub(super) role: Role,
    /// The slot it is part of.
    pub(super) slot: usize,
    /// Another record of the same message stays.
    pub(super) joins: bool,
    pub(super) made: Made<'p, 'a>,
}

/// Where a record comes from.
#[derive(Clone, Copy, Debug)]
pub(super) enum Made<'p, 'a> {
    /// It stays as it is.
    Kept(u32),
    /// It says something else.
    Changed(u32, &'p [Piece<'a>]),
    /// It is new, and shaped like another one.
    New(u32, &'p [Piece<'a>]),
}

impl Planned<'_, '_> {
    /// The record it was.
    pub(super) fn record(&self) -> Option<u32> {
        match self.made {
            Made::Kept(record) | Made::Changed(record, _) => Some(record),
            Made::New(..) => None,
        }
    }
}

/// The records of the repaired conversation, in order.
pub(super) fn plan<'p, 'a>(desk: &Desk<'_, 'a>, repair: &'p Repair<'a>) -> Vec<Planned<'p, 'a>> {
    let mut planned = Vec::with_capacity(desk.chain.records.len());
    // A record goes to the first slot of its own role; what else of it is left becomes new.
    let mut owned = HashSet::new();
    let mut near = desk.chain.records.first().copied().unwrap_or(0);
    for (at, slot) in repair.slots.iter().enumerate() {
        if let (Some(message), false) = (slot.origin, slot.touched) {
            for &record in desk.chain.records_of(message) {
                let made = Made::Kept(record);
                planned.push(Planned { role: slot.role, slot: at, joins: true, made });
                near = record;
            }
            continue;
        }
        for (record, pieces) in groups(desk, slot) {
            let fragment = record.and_then(|record| desk.fragment(record));
            let own = fragment.is_some_and(|fragment| fragment.role == slot.role);
            let made = match record.filter(|&record| own && owned.insert(record)) {
                Some(record) if is_whole(desk, record, pieces) => Made::Kept(record),
                Some(record) => Made::Changed(record, pieces),
                None => Made::New(record.unwrap_or(near), pieces),
            };
            near = record.unwrap_or(near);
            planned.push(Planned { role: slot.role, slot: at, joins: false, made });
        }
        let own = planned.iter_mut().rev().take_while(|planned| planned.slot == at);
        let own: Vec<&mut Planned<'_, '_>> = own.collect();
        let joins = own.iter().any(|planned| planned.record().is_some());
        own.into_iter().for_each(|planned| planned.joins = joins);
    }
    planned
}

/// The pieces of a slot, by the record they come from.
fn groups<'p, 'a>(
    desk: &Desk<'_, 'a>,
    slot: &'p Slot<'a>,
) -> impl Iterator<Item = (Option<u32>, &'p [Piece<'a>])> {
    let record_of = |piece: &Piece<'_>| {
        let span = piece.part.span;
        (span != Span::NOWHERE).then(|| desk.record_at(span)).flatten()
    };
    slot.pieces
        .chunk_by(move |one, two| {
            // Agents expect an answer in a record of its own.
            let answers = [one, two].iter().all(|piece| matches!(piece.part.kind, Kind::Answer(_)));
            let (one, two) = (record_of(one), record_of(two));
            one == two && !(answers && one.is_none())
        })
        .map(move |pieces| (pieces.first().and_then(record_of), pieces))
}

/// Whether pieces are all that a record holds, as it holds it.
fn is_whole(desk: &Desk<'_, '_>, record: u32, pieces: &[Piece<'_>]) -> bool {
    let parts = desk.parts(record);
    parts.len() == pieces.len()
        && parts.iter().zip(pieces).all(|(part, piece)| {
            part.span == piece.part.span && piece.source == Source::Kept && piece.patch.is_empty()
        })
}
