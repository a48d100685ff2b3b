//! Newer Claude models bind each signed thinking block to the exact history before it.
//!
//! An edit before such a block takes the thinking from the edit on with it: removing the later
//! blocks of the chain is accepted, keeping them over a changed prefix is refused.

use super::{Piece, work::Work};
use crate::{
    draft::{Facts, Kind, Seal, Wire},
    profile::{Profile, binds_thinking},
    report::Strategy,
};

/// Removes signed thinking that stands behind the first edit.
pub(super) fn release(work: &mut Work<'_, '_>) {
    let model = work.input.body.model.as_deref();
    let claude = match work.input.wire {
        Wire::Anthropic => true,
        Wire::Bedrock => model.is_some_and(|model| model.contains("claude")),
        Wire::OpenaiChat | Wire::OpenaiResponses | Wire::Gemini => false,
    };
    let asked =
        matches!(work.question.profile, Profile::Anthropic | Profile::Bedrock | Profile::Strict);
    if !claude || !asked || !binds_thinking(model) || !work.input.facts.any(Facts::REASONING) {
        return;
    }
    // The first change of the history is the cause; lines and links of a file are no part of it. A
    // compaction is no rule's doing; what it leaves behind is a signature of another history.
    let edits = || work.edits.iter();
    let earliest = edits().filter(|edit| edit.code < 700).min_by_key(|edit| edit.message);
    let Some(cause) =
        earliest.or(edits().next()).map(|edit| edit.code).or(work.changed.then_some(503))
    else {
        return;
    };
    let Some(first) = first_edit(work) else { return };
    // In the edited message itself, reasoning in front of the edit still stands on the old past.
    let edited = &work.slots[first];
    let kept = edited.origin == Some(first);
    let safe_head = if kept { untouched_head(work.input, first, edited) } else { 0 };
    let mut gone = Vec::new();
    for at in first..work.slots.len() {
        let signed = |kind: &Kind<'_>| matches!(kind, Kind::Reasoning(Seal::Signed));
        if !work.slots[at].holds(work.input, signed) {
            continue;
        }
        let slot = work.open(at);
        let safe = if at == first { safe_head } else { 0 };
        let mut index = 0;
        let lost = slot.keep(|piece| {
            index += 1;
            index <= safe || !matches!(piece.part.kind, Kind::Reasoning(Seal::Signed))
        });
        if lost > 0 {
            if slot.pieces.is_empty() {
                gone.push(at);
            }
            let note =
                "signed thinking goes: it is bound to the history before the edit".to_owned();
            work.note(cause, Strategy::Drop, at, Vec::new(), note);
        }
    }
    work.remove_slots(&gone);
}

/// The first slot that is not the input's message at that place, as it was.
fn first_edit(work: &Work<'_, '_>) -> Option<usize> {
    let changed = |at: usize| {
        let slot = &work.slots[at];
        slot.touched || slot.origin != Some(at)
    };
    // Outside the list is before everything: instructions and tools are part of the prefix.
    let places = work.surrogates.iter().map(|&span| work.input.message_at(span).unwrap_or(0));
    let surrogate = places.min();
    let first = (0..work.slots.len()).find(|&at| changed(at));
    match (first, surrogate) {
        (Some(first), Some(other)) => Some(first.min(other)),
        (first, other) => first.or(other),
    }
}

/// How many pieces at the head of a slot are those of its message, unchanged.
fn untouched_head(input: &crate::draft::Draft<'_>, at: usize, slot: &super::Slot<'_>) -> usize {
    let Some(message) = input.messages.get(at).filter(|_| !slot.recast) else { return 0 };
    let parts = input.parts_of(message);
    let same = |(piece, part): &(&Piece<'_>, &crate::draft::Part<'_>)| {
        piece.is_kept() && piece.part.span == part.span
    };
    if slot.opened { slot.pieces.iter().zip(parts).take_while(same).count() } else { parts.len() }
}
