//! Moves answers that are separate messages (chat messages, Responses items).

use super::{
    RepairedMessage, RepairedPart,
    pairs::{AnswerAction, PairingDecisions, PlaceholderTexts, placeholder_part, quoted_part},
    state::RepairState,
};
use crate::sorting::sort_by_key;
use crate::{
    draft::{ContentShape, Draft, MessageLayout, PartKind, Role},
    pairing::{CallPairing, ResultMatch, call_at},
};

/// Moves every answer to its decided place. Answers keep their bytes. Quotes follow the run of
/// answers in which they were, so that the run stays whole. Where answers are chat messages, a turn
/// that receives an answer is split: each message with calls is directly followed by its own
/// answers.
pub(super) fn move_answers<'a>(
    state: &mut RepairState<'_, 'a>,
    draft: &Draft<'a>,
    pairing: &CallPairing,
    decisions: &PairingDecisions,
) {
    let mut old: Vec<Option<RepairedMessage<'a>>> =
        std::mem::take(&mut state.messages).into_iter().map(Some).collect();
    // The answers that calls receive: (call, answer).
    let mut moved: Vec<(usize, RepairedMessage<'a>)> = Vec::new();
    // The old messages that are now quotes.
    let mut quotes = vec![false; old.len()];
    for (answer, &action) in pairing.answers.iter().zip(&decisions.actions) {
        if action == AnswerAction::Stay || quotes[answer.message()] {
            continue;
        }
        let Some(message) = old[answer.message()].take() else { continue };
        match action {
            AnswerAction::Stay | AnswerAction::Remove => {}
            AnswerAction::Move(call) => moved.push((call as usize, message)),
            AnswerAction::Quote => {
                old[answer.message()] = Some(quote_message(state, message, answer.result_match()));
                quotes[answer.message()] = true;
            }
        }
    }
    let mut texts = PlaceholderTexts::default();
    for &call in &decisions.placeholders {
        let paired = pairing.calls[call];
        if let Some(outline) = call_at(draft, paired.part()) {
            let message = RepairedMessage::new(
                Role::Answer,
                ContentShape::Text,
                vec![placeholder_part(state, &mut texts, &draft.parts[paired.part()], outline)],
            );
            moved.push((call, message));
        }
    }
    let mut messages = Vec::with_capacity(old.len() + decisions.placeholders.len());
    // Calls are numbered in the order of their turns.
    sort_by_key(&mut moved, |(call, _)| *call);
    let mut moved = moved.into_iter().peekable();
    let running = decisions.running.map_or(usize::MAX, |at| turn_start(draft, at));
    let late_quotes = old.iter_mut().zip(&quotes).skip(running).filter(|(_, quote)| **quote);
    let early_quotes: Vec<RepairedMessage<'a>> =
        late_quotes.filter_map(|(message, _)| message.take()).collect();
    let mut early_quotes = Some(early_quotes);
    let mut waiting_quotes = Vec::new();
    let mut turn_index = 0;
    let mut at = 0;
    while at < old.len() {
        if quotes[at] {
            waiting_quotes.extend(old[at].take());
        }
        if at == running {
            waiting_quotes.extend(early_quotes.take().into_iter().flatten());
        }
        if let Some(message) = old[at].take() {
            if message.role != Role::Answer {
                messages.append(&mut waiting_quotes);
            }
            messages.push(message);
        }
        at += 1;
        // The end of a turn: its answers belong here. Answers already here keep their order.
        while pairing.turns.get(turn_index).is_some_and(|turn| turn.messages().end == at) {
            let turn = &pairing.turns[turn_index];
            turn_index += 1;
            let mut received =
                std::iter::from_fn(|| moved.next_if(|(call, _)| *call < turn.calls().end));
            let Some(first) = received.next() else { continue };
            let mut home: Vec<(usize, RepairedMessage<'a>)> = Vec::new();
            for index in turn.home() {
                match old[index].take() {
                    Some(quote) if quotes[index] => waiting_quotes.push(quote),
                    Some(message) => home.push((answered_call(pairing, index), message)),
                    None => {}
                }
            }
            let has_existing = !home.is_empty();
            let mut existing = std::mem::take(&mut home).into_iter().peekable();
            for (call, message) in std::iter::once(first).chain(received) {
                home.extend(std::iter::from_fn(|| existing.next_if(|(other, _)| *other <= call)));
                home.push((call, message));
            }
            home.extend(existing);
            // Each message of the turn is followed by its own answers.
            if draft.layout() == MessageLayout::Chat {
                sort_by_key(&mut home, |(call, _)| {
                    pairing.calls.get(*call).map_or(usize::MAX, |it| it.message())
                });
            }
            let mut home = home.into_iter().peekable();
            if draft.layout() == MessageLayout::Chat {
                let calling_messages =
                    messages.split_off(messages.len().saturating_sub(turn.messages().len()));
                for (index, calling) in turn.messages().zip(calling_messages) {
                    messages.push(calling);
                    let call_message =
                        |call: usize| pairing.calls.get(call).map(|call| call.message());
                    while let Some((_, answer)) =
                        home.next_if(|(call, _)| call_message(*call) == Some(index))
                    {
                        messages.push(answer);
                    }
                }
            }
            // Reasoning at the end of the turn led to what follows its results, if anything does.
            let follows_reasoning = state.is_enabled(501) && !has_existing;
            let is_reasoning = |message: &&RepairedMessage<'a>| {
                let is_reasoning = |kind: &PartKind<'a>| matches!(kind, PartKind::Reasoning(_));
                message.holds(state.input, is_reasoning)
                    && !message.holds(state.input, |kind| !is_reasoning(kind))
            };
            let own = messages.iter().rev().take(turn.messages().len());
            let later = own.take_while(is_reasoning).filter(|_| follows_reasoning).count();
            let later = messages.split_off(messages.len() - later);
            messages.extend(home.map(|(_, message)| message));
            messages.extend(later);
            at = at.max(turn.home().end);
        }
    }
    messages.append(&mut waiting_quotes);
    state.messages = messages;
}

/// The call that the answer in a message answers; `usize::MAX` if there is none.
fn answered_call(pairing: &CallPairing, message: usize) -> usize {
    let after = pairing.answers.partition_point(|answer| answer.message() <= message);
    let last = after.checked_sub(1).and_then(|last| pairing.answers.get(last));
    let in_message = last.filter(|answer| answer.message() == message);
    in_message.and_then(|answer| answer.result_match().call()).unwrap_or(usize::MAX)
}

/// The first message of a turn: reasoning that is a separate item belongs to the call after it.
fn turn_start(draft: &Draft<'_>, turn: usize) -> usize {
    let before = draft.messages.get(..turn).unwrap_or(&[]).iter().rev();
    turn - before.take_while(|message| draft.holds_only_reasoning(message)).count()
}

fn quote_message<'a>(
    state: &RepairState<'_, 'a>,
    mut message: RepairedMessage<'a>,
    result_match: ResultMatch,
) -> RepairedMessage<'a> {
    message.load_parts(state.input);
    let parts: Vec<RepairedPart<'a>> = message
        .parts
        .into_iter()
        .filter(RepairedPart::is_answer)
        .map(|part| quoted_part(state, part, result_match))
        .collect();
    RepairedMessage::new(Role::User, ContentShape::List, parts)
}
