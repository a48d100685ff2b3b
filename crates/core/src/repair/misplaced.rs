//! Blocks in messages of the wrong role, and broken blocks of the provider's own tools.
//!
//! Misplaced answers are not touched here: pairing knows where they belong.

use super::{content::messages_with, state::RepairState};
use crate::{
    draft::{MessageFlags, MessageLayout, PartKind},
    report::Strategy,
    rules::{RuleSet, server_calls},
};

/// Removes misplaced calls and reasoning (FW304), dead server calls (FW601) and server answers
/// without a call (FW602).
pub(super) fn remove_misplaced(work: &mut RepairState<'_, '_>, found: RuleSet) {
    if found.has(304) {
        let draft = work.draft();
        for at in messages_with(work, &draft, 304) {
            remove_strays(work, at);
        }
    }
    if found.has(601) {
        let found = server_calls::dead_calls(&work.draft());
        remove_server_parts(
            work,
            601,
            &found,
            "the unfinished call of the provider's own tool is removed",
        );
    }
    if found.has(602) {
        let found = server_calls::orphan_answers(&work.draft());
        remove_server_parts(work, 602, &found, "the answer of the provider's own tool is removed");
    }
}

fn remove_strays(work: &mut RepairState<'_, '_>, at: usize) {
    let layout = work.input.layout();
    let slot = work.load_message(at);
    let (user, assistant) = (slot.role.is_user(), slot.role.is_assistant());
    if layout == MessageLayout::Chat && !slot.flags.has(MessageFlags::STRAY_CALLS) || assistant {
        return;
    }
    slot.flags = slot.flags.without(MessageFlags::STRAY_CALLS);
    let ids =
        slot.parts.iter().filter(|piece| piece.is_call()).filter_map(|piece| piece.part.kind.id());
    let ids: Vec<String> = ids.map(str::to_owned).collect();
    let calls = slot.retain_parts(|piece| !piece.is_call());
    let blocks = layout == MessageLayout::Blocks;
    let reasoning = slot.retain_parts(|piece| !(blocks && user && piece.is_reasoning()));
    if layout == MessageLayout::Chat {
        slot.touched = true;
    }
    if calls > 0 || layout == MessageLayout::Chat {
        let note = "a call outside an assistant message is removed".to_owned();
        work.note_edit(304, Strategy::Drop, at, ids, note);
    }
    if reasoning > 0 {
        let note = "reasoning in a user message is removed".to_owned();
        work.note_edit(304, Strategy::Drop, at, Vec::new(), note);
    }
}

/// Removes pieces given as (message, part) of the present draft.
fn remove_server_parts(
    work: &mut RepairState<'_, '_>,
    code: u16,
    found: &[(usize, usize)],
    note: &str,
) {
    if found.is_empty() {
        return;
    }
    let draft = work.draft();
    let mut gone = Vec::new();
    for group in found.chunk_by(|one, other| one.0 == other.0) {
        let at = group[0].0;
        let first = draft.messages[at].first as usize;
        let mut index = 0;
        let mut ids = Vec::new();
        work.load_message(at).retain_parts(|piece| {
            let hit = group.binary_search_by_key(&(first + index), |&(_, part)| part).is_ok();
            index += 1;
            if hit && matches!(piece.part.kind, PartKind::ServerCall(_) | PartKind::ServerAnswer(_))
            {
                ids.extend(piece.part.kind.id().map(str::to_owned));
            }
            !hit
        });
        // A user message that is empty now is looked at again: it may have to stay.
        if work.messages[at].parts.is_empty() && !work.messages[at].role.is_user() {
            gone.push(at);
        }
        work.note_edit(code, Strategy::Drop, at, ids, note.to_owned());
    }
    work.remove_messages(&gone);
}
