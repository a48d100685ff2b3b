//! Moves answers that are blocks inside messages.

use super::{
    RepairedMessage, RepairedPart,
    pairs::{AnswerAction, PairingDecisions, PlaceholderTexts, placeholder_part, quoted_part},
    state::RepairState,
};
use crate::sorting::sort_by_key;
use crate::{
    draft::{ContentShape, Draft, Role},
    pairing::{CallPairing, call_at},
};

/// Moves every answer to its decided place: after its turn, in one user message.
pub(super) fn move_answers<'a>(
    state: &mut RepairState<'_, 'a>,
    draft: &Draft<'a>,
    pairing: &CallPairing,
    decisions: &PairingDecisions,
) {
    // The answers that the calls of each turn receive: (call, answer).
    let mut received: Vec<(usize, RepairedPart<'a>)> = Vec::new();
    // Quotes of answers in an assistant message go after its run.
    let mut quotes: Vec<(usize, RepairedPart<'a>)> = Vec::new();
    let mut emptied = vec![false; state.messages.len()];
    // Load the homes that receive answers, and the messages that lose some.
    let mut loaded = vec![false; state.messages.len()];
    for (answer, action) in pairing.answers.iter().zip(&decisions.actions) {
        if *action != AnswerAction::Stay {
            loaded[answer.message()] = true;
        }
        if let AnswerAction::Move(call) = action {
            loaded[find_home(pairing, *call as usize).unwrap_or(answer.message())] = true;
        }
    }
    for &call in &decisions.placeholders {
        if let Some(home) = find_home(pairing, call) {
            loaded[home] = true;
        }
    }
    for answer in pairing.answers.iter().filter(|answer| loaded[answer.message()]) {
        state.load_message(answer.message());
    }
    drop(loaded);
    take_answers(state, draft, pairing, decisions, &mut received, &mut quotes, &mut emptied);
    let mut texts = PlaceholderTexts::default();
    received.reserve_exact(decisions.placeholders.len());
    for &call in &decisions.placeholders {
        let paired = pairing.calls[call];
        if let Some(outline) = call_at(draft, paired.part()) {
            received.push((
                call,
                placeholder_part(state, &mut texts, &draft.parts[paired.part()], outline),
            ));
        }
    }
    // New user messages: (index of the message they follow, message).
    let mut new_messages: Vec<(usize, RepairedMessage<'a>)> = Vec::new();
    // Calls are numbered in the order of their turns.
    sort_by_key(&mut received, |(call, _)| *call);
    let mut received = received.into_iter().peekable();
    while let Some(&(call, _)) = received.peek() {
        let turn = &pairing.turns[pairing.calls[call].turn()];
        let turn_answers =
            std::iter::from_fn(|| received.next_if(|(call, _)| turn.calls().contains(call)));
        if turn.home().is_empty() {
            let parts: Vec<RepairedPart<'a>> = turn_answers.map(|(_, part)| part).collect();
            new_messages.push((
                turn.messages().end - 1,
                RepairedMessage::new(Role::User, ContentShape::List, parts),
            ));
        } else {
            let home = turn.home().start;
            let present_calls = staying_calls(pairing, decisions, home);
            insert_answers(state.load_message(home), present_calls, turn_answers);
            emptied[home] = false;
        }
    }
    let mut opening = Vec::new();
    for (at, part) in quotes {
        if let Some(turn) = decisions.running.filter(|&turn| at >= turn) {
            let message = RepairedMessage::new(Role::User, ContentShape::List, vec![part]);
            match turn.checked_sub(1) {
                Some(before) => new_messages.push((before, message)),
                None => opening.push(message),
            }
            continue;
        }
        let run = draft.messages[at..].iter().take_while(|m| m.role.is_assistant()).count();
        let next = at + run;
        match state.messages.get(next).filter(|message| message.role.is_user()) {
            Some(_) => {
                // It was recorded before the user's content there.
                let message = state.edit_message(next);
                let answers = message.parts.iter().take_while(|part| part.is_answer()).count();
                message.parts.insert(answers, part);
                emptied[next] = false;
            }
            None => new_messages
                .push((next - 1, RepairedMessage::new(Role::User, ContentShape::List, vec![part]))),
        }
    }
    insert_messages(state, opening, new_messages, &emptied);
}

/// The message in which the answer of a call belongs.
fn find_home(pairing: &CallPairing, call: usize) -> Option<usize> {
    let home = &pairing.turns[pairing.calls[call].turn()].home();
    (!home.is_empty()).then_some(home.start)
}

/// Removes moved, quoted and dropped answers from their messages.
fn take_answers<'a>(
    state: &mut RepairState<'_, 'a>,
    draft: &Draft<'a>,
    pairing: &CallPairing,
    decisions: &PairingDecisions,
    received: &mut Vec<(usize, RepairedPart<'a>)>,
    quotes: &mut Vec<(usize, RepairedPart<'a>)>,
    emptied: &mut [bool],
) {
    let answer_actions = pairing.answers.iter().zip(&decisions.actions);
    let moving: Vec<_> =
        answer_actions.filter(|(_, action)| **action != AnswerAction::Stay).collect();
    for of_message in moving.chunk_by(|one, other| one.0.message() == other.0.message()) {
        let at = of_message[0].0.message();
        let first = draft.messages[at].first as usize;
        let old = state.messages[at].parts.take();
        let assistant = state.messages[at].role.is_assistant();
        let mut remaining = Vec::with_capacity(old.len());
        let mut next = of_message.iter().peekable();
        for (index, part) in old.into_iter().enumerate() {
            let Some((answer, action)) = next.next_if(|(answer, _)| answer.part() == first + index)
            else {
                remaining.push(part);
                continue;
            };
            match action {
                AnswerAction::Stay => remaining.push(part),
                AnswerAction::Remove => {}
                AnswerAction::Move(call) => received.push((*call as usize, part)),
                AnswerAction::Quote
                    if assistant || decisions.running.is_some_and(|turn| at >= turn) =>
                {
                    quotes.push((at, quoted_part(state, part, answer.result_match())));
                }
                AnswerAction::Quote => {
                    remaining.push(quoted_part(state, part, answer.result_match()))
                }
            }
        }
        let message = &mut state.messages[at];
        message.parts = remaining.into();
        message.touch();
        emptied[at] = message.parts.is_empty();
    }
}

/// Inserts answers into their home, between the existing ones, in the order of the calls. Existing
/// parts keep their order; all answers come before parts that follow the last one.
fn insert_answers<'a>(
    message: &mut RepairedMessage<'a>,
    mut present_calls: impl Iterator<Item = usize>,
    received: impl Iterator<Item = (usize, RepairedPart<'a>)>,
) {
    let existing = message.parts.take();
    let mut remaining = existing.iter().filter(|part| part.is_answer()).count();
    let mut received = received.peekable();
    let mut parts = Vec::with_capacity(existing.len() + 1);
    for part in existing {
        if remaining == 0 {
            parts.extend(received.by_ref().map(|(_, part)| part));
        } else if part.is_answer() {
            let call = present_calls.next().unwrap_or(usize::MAX);
            let before = std::iter::from_fn(|| received.next_if(|(new, _)| *new < call));
            parts.extend(before.map(|(_, part)| part));
            remaining -= 1;
        }
        parts.push(part);
    }
    parts.extend(received.map(|(_, part)| part));
    message.parts = parts.into();
    message.touch();
}

/// The calls of the answers that stay in a message, in order.
fn staying_calls(
    pairing: &CallPairing,
    decisions: &PairingDecisions,
    message: usize,
) -> impl Iterator<Item = usize> {
    let first = pairing.answers.partition_point(|answer| answer.message() < message);
    let from_message = pairing.answers.iter().zip(&decisions.actions).skip(first);
    from_message
        .take_while(move |(answer, _)| answer.message() == message)
        .filter(|(_, action)| **action == AnswerAction::Stay)
        .map(|(answer, _)| answer.result_match().call().unwrap_or(usize::MAX))
}

/// Inserts new messages after the ones they follow, and removes those that are now empty.
fn insert_messages<'a>(
    state: &mut RepairState<'_, 'a>,
    opening: Vec<RepairedMessage<'a>>,
    mut new_messages: Vec<(usize, RepairedMessage<'a>)>,
    emptied: &[bool],
) {
    sort_by_key(&mut new_messages, |(at, _)| *at);
    let mut new_messages = new_messages.into_iter().peekable();
    let mut new = opening;
    new.reserve_exact(state.messages.len() + new_messages.len());
    let old = std::mem::replace(&mut state.messages, new);
    for (at, message) in old.into_iter().enumerate() {
        if !emptied.get(at).copied().unwrap_or(false) {
            state.messages.push(message);
        }
        while let Some((_, message)) = new_messages.next_if(|(after, _)| *after == at) {
            state.messages.push(message);
        }
    }
}
