//! Blocks in messages of the wrong role, and broken blocks of the provider's own tools.
//!
//! Misplaced answers are not touched here: pairing moves them to their place.

use std::collections::HashMap;

use super::{content::found_messages, state::RepairState};
use crate::{
    draft::{Draft, MessageFlags, MessageLayout, PartKind},
    report::Strategy,
    rules::{RuleSet, server_calls},
};

/// Removes misplaced calls and reasoning (FW304), unfinished server calls and calls
/// without a maker (FW601), and server answers without a call (FW602).
pub(super) fn remove_misplaced(state: &mut RepairState<'_, '_>, rules: RuleSet) {
    if rules.has(304) {
        for at in found_messages(state, 304) {
            remove_strays(state, at);
        }
    }
    if rules.has(602) {
        return_server_answers(state);
    }
    if rules.has(601) && state.input.layout() == MessageLayout::Blocks {
        let parts = known_parts(state, server_calls::dead_calls_with_owned);
        let note = "the unfinished call of the provider's own tool is removed";
        remove_server_parts(state, 601, &parts, (note, ", with the calls it made"));
    }
    if rules.has(602) {
        let parts = known_parts(state, server_calls::orphan_answers);
        let note = "the result of the provider's own tool is removed";
        remove_server_parts(state, 602, &parts, (note, ""));
    }
    if rules.has(601) {
        let parts = known_parts(state, server_calls::ownerless_calls);
        let note = "the call is removed: what made it is not in the history";
        remove_server_parts(state, 601, &parts, (note, ""));
    }
}

/// The parts that `find` selects, without those in turns that hold something of an unknown type.
fn known_parts(
    state: &RepairState<'_, '_>,
    find: fn(&Draft<'_>) -> Vec<(usize, usize)>,
) -> Vec<(usize, usize)> {
    let (draft, pairing) = state.draft_with_pairing();
    let mut parts = find(&draft);
    parts.retain(|&(message, _)| !pairing.is_in_unknown_turn(message));
    parts
}

fn remove_strays(state: &mut RepairState<'_, '_>, at: usize) {
    let layout = state.input.layout();
    let message = state.load_message(at);
    let (user, assistant) = (message.role.is_user(), message.role.is_assistant());
    if layout == MessageLayout::Chat && !message.flags.has(MessageFlags::STRAY_CALLS) || assistant {
        return;
    }
    message.flags = message.flags.without(MessageFlags::STRAY_CALLS);
    let ids =
        message.parts.iter().filter(|part| part.is_call()).filter_map(|part| part.part.kind.id());
    let ids: Vec<String> = ids.map(str::to_owned).collect();
    let calls = message.retain_parts(|part| !part.is_call());
    let blocks = layout == MessageLayout::Blocks;
    let reasoning = message.retain_parts(|part| !(blocks && user && part.is_reasoning()));
    if layout == MessageLayout::Chat {
        message.touch();
    }
    if calls > 0 || layout == MessageLayout::Chat {
        let note = "a call outside an assistant message is removed".to_owned();
        state.note_edit(304, Strategy::Drop, at, ids, note);
    }
    if reasoning > 0 {
        let note = "reasoning in a user message is removed".to_owned();
        state.note_edit(304, Strategy::Drop, at, Vec::new(), note);
    }
}

/// Moves server answers in a user message to their calls in the message before it.
fn return_server_answers(state: &mut RepairState<'_, '_>) {
    let (draft, pairing) = state.draft_with_pairing();
    let mut strays = server_calls::stray_answers(&draft);
    strays.retain(|stray| {
        !pairing.is_in_unknown_turn(stray.answer.0) && !pairing.is_in_unknown_turn(stray.call.0)
    });
    let start = |part: usize| draft.parts[part].span.start;
    for strays in strays.chunk_by(|one, other| one.answer.0 == other.answer.0) {
        let (at, before) = (strays[0].answer.0, strays[0].call.0);
        let calls: HashMap<u32, u32> =
            strays.iter().map(|stray| (start(stray.answer.1), start(stray.call.1))).collect();
        let mut moved = HashMap::new();
        state.load_message(at).retain_parts(|part| {
            let call = calls.get(&part.part.span.start).filter(|_| part.is_kept());
            call.is_none_or(|call| moved.insert(*call, part.clone()).is_some())
        });
        for part in strays.iter().filter_map(|stray| moved.get(&start(stray.call.1))) {
            let ids = part.part.kind.id().into_iter().map(str::to_owned).collect();
            let note = "the result of the provider's own tool is moved to its call".to_owned();
            state.note_edit(602, Strategy::Recover, at, ids, note);
        }
        state.edit_message(before).parts.update(|parts| {
            for part in std::mem::take(parts) {
                let answer = moved.remove(&part.part.span.start);
                parts.push(part);
                parts.extend(answer);
            }
        });
    }
}

/// Removes parts given as (message, part) of the current draft. The second half of the note is
/// about client calls among them.
fn remove_server_parts(
    state: &mut RepairState<'_, '_>,
    code: u16,
    parts: &[(usize, usize)],
    (note, with_calls): (&str, &str),
) {
    if parts.is_empty() {
        return;
    }
    let draft = state.draft();
    let mut removed_messages = Vec::new();
    for in_message in parts.chunk_by(|one, other| one.0 == other.0) {
        let at = in_message[0].0;
        let first = draft.messages[at].first as usize;
        let mut index = 0;
        let mut ids = Vec::new();
        let mut calls = 0;
        state.load_message(at).retain_parts(|repaired_part| {
            let matched =
                in_message.binary_search_by_key(&(first + index), |&(_, part)| part).is_ok();
            index += 1;
            if matched
                && matches!(
                    repaired_part.part.kind,
                    PartKind::Call(_) | PartKind::ServerCall(_) | PartKind::ServerAnswer(_)
                )
            {
                ids.extend(repaired_part.part.kind.id().map(str::to_owned));
                calls += usize::from(repaired_part.is_call());
            }
            !matched
        });
        // A user message that is now empty is checked again: it may have to stay.
        if state.messages[at].parts.is_empty() && !state.messages[at].role.is_user() {
            removed_messages.push(at);
        }
        let with = if calls > 0 { with_calls } else { "" };
        state.note_edit(code, Strategy::Drop, at, ids, format!("{note}{with}"));
    }
    state.remove_messages(&removed_messages);
}
