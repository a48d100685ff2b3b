//! Repairs the order of messages: split turns, neighbors, bridges, first and last messages.

use std::collections::HashSet;

use super::{RepairedMessage, RepairedPart, content::found_messages, order, state::RepairState};
use crate::sorting::{sort_by, sort_by_key};
use crate::{
    draft::{ContentShape, Draft, Format, MessageFlags, MessageLayout, PartKind, Role},
    pairing::{CallPairing, call_at},
    placeholder,
    profile::{Profile, requires_answers_alone},
    report::Strategy,
    rules::{RuleSet, empty_message, split_turn},
};

/// Fixes FW106, FW406, FW402, FW404, FW401, FW403 and FW405.
pub(super) fn order_turns(state: &mut RepairState<'_, '_>, rules: RuleSet) {
    order::order_parts(state, rules);
    if rules.has(106) {
        join_turns(state);
    }
    // A message with only reasoning is removed first: without it, instructions may be in a valid
    // place.
    let only_reasoning = |message: &RepairedMessage<'_>| {
        let not_reasoning = |kind: &PartKind<'_>| !matches!(kind, PartKind::Reasoning(_));
        message.role.is_assistant() && !message.holds(state.input, not_reasoning)
    };
    let waits = rules.has(406) && rules.has(501) && state.messages.iter().any(only_reasoning);
    if rules.has(406) && !waits {
        demote_system(state);
        // An empty one is removed before a message is inserted beside it.
        if state.is_enabled(301) && !found_messages(state, 301).is_empty() {
            return;
        }
    }
    if rules.has(402) || rules.has(404) {
        join_neighbors(state, rules);
    }
    // Reasoning without following content is removed first: a message that will be removed needs no
    // opening or continuation.
    let is_removed_later = |state: &RepairState<'_, '_>, at: Option<usize>| {
        let message = at.and_then(|at| state.messages.get(at));
        let not_reasoning = |kind: &PartKind<'_>| !matches!(kind, PartKind::Reasoning(_));
        rules.has(501) && message.is_some_and(|message| !message.holds(state.input, not_reasoning))
    };
    let not_system = |message: &RepairedMessage<'_>| !message.role.is_system();
    // Instructions that become a user message are an opening.
    let first = state.messages.iter().position(not_system);
    if rules.has(401) && !waits && !is_removed_later(state, first) {
        insert_opening(state);
    }
    if rules.has(403) && !is_removed_later(state, state.messages.len().checked_sub(1)) {
        append_continuation(state);
    }
    if rules.has(405) {
        declare_tools(state);
    }
}

/// Joins each turn into one message. Where answers are separate messages, each message of the turn
/// gets its own answers instead, so that every message keeps its bytes.
pub(super) fn join_turns(state: &mut RepairState<'_, '_>) {
    let (draft, pairing) = state.draft_with_pairing();
    if draft.layout() == MessageLayout::Items {
        return split_item_turns(state, &draft, &pairing);
    }
    if !pairing.turns.iter().any(|turn| turn.messages().len() > 1) {
        return;
    }
    let mut old: Vec<Option<RepairedMessage<'_>>> =
        std::mem::take(&mut state.messages).into_iter().map(Some).collect();
    let mut next = 0;
    for turn in pairing.turns.iter().filter(|turn| turn.messages().len() > 1) {
        state.messages.extend(old[next..turn.messages().start].iter_mut().filter_map(Option::take));
        let ids: Vec<String> = pairing.calls[turn.calls()]
            .iter()
            .filter_map(|call| call_at(&draft, call.part())?.id.as_deref().map(str::to_owned))
            .collect();
        next = turn.messages().end;
        // Calls that are still running have no answers to insert between the messages.
        let calls = pairing.calls[turn.calls()].iter();
        let answered: HashSet<usize> =
            calls.filter(|call| call.answer().is_some()).map(|call| call.message()).collect();
        let running = turn.messages().rev().skip(1).any(|at| !answered.contains(&at));
        let position = state.messages.len();
        let joins = draft.layout() == MessageLayout::Blocks || running;
        if joins {
            let mut joined = old[turn.messages().start].take();
            let mut parts = Vec::new();
            for at in turn.messages().skip(1) {
                if let (Some(joined), Some(other)) = (joined.as_mut(), old[at].take()) {
                    merge_messages(state.input, joined, other, &mut parts);
                }
            }
            if let Some(mut joined) = joined {
                joined.parts.fill(&mut parts);
                state.messages.push(joined);
            }
        } else {
            next = turn.home().end.max(next);
            // Answers, grouped by the message of their call.
            let mut answers: Vec<Vec<usize>> = vec![Vec::new(); turn.messages().len()];
            for call in &pairing.calls[turn.calls()] {
                if let Some(answer) = call.answer() {
                    let at = pairing.answers[answer].message();
                    if turn.home().contains(&at) {
                        answers[call.message() - turn.messages().start].push(at);
                    }
                }
            }
            for (at, turn_answers) in turn.messages().zip(answers) {
                state.messages.extend(old[at].take());
                let mut turn_answers = turn_answers;
                sort_by_key(&mut turn_answers, |at| *at);
                state.messages.extend(turn_answers.into_iter().filter_map(|at| old[at].take()));
            }
            state.messages.extend(old[turn.home()].iter_mut().filter_map(Option::take));
        }
        let (strategy, note) = if joins {
            (Strategy::Merge, "the messages of the turn are merged")
        } else {
            (Strategy::Reorder, "the results are moved to the message with their calls")
        };
        state.note_edit(106, strategy, position, ids, note.to_owned());
    }
    state.messages.extend(old[next..].iter_mut().filter_map(Option::take));
}

/// Moves answers before the text that ends the turn of their calls, and before the reasoning that
/// led to this text.
fn split_item_turns<'a>(state: &mut RepairState<'_, 'a>, draft: &Draft<'a>, pairing: &CallPairing) {
    let is_reasoning = |at: usize| draft.holds_only_reasoning(&draft.messages[at]);
    let mut old: Vec<Option<RepairedMessage<'a>>> =
        std::mem::take(&mut state.messages).into_iter().map(Some).collect();
    let mut next = 0;
    for turn in &pairing.turns {
        let mut calls = pairing.calls[turn.calls()].iter().peekable();
        for text in split_turn::answer_positions(draft, pairing, turn) {
            let reasoning = (next..text).rev().take_while(|&at| is_reasoning(at)).count();
            let cut = text - reasoning;
            state.messages.extend(old[next..cut].iter_mut().filter_map(Option::take));
            next = cut;
            let mut answers = Vec::new();
            while let Some(call) = calls.next_if(|call| call.message() < cut) {
                let at = call.answer().map(|answer| pairing.answers[answer].message());
                answers.extend(at.filter(|at| turn.home().contains(at)));
            }
            sort_by_key(&mut answers, |at| *at);
            let ids: Vec<String> = answers
                .iter()
                .flat_map(|&at| draft.parts_of(&draft.messages[at]))
                .filter_map(|part| match &part.kind {
                    PartKind::Answer(answer) => answer.id.as_deref().map(str::to_owned),
                    _ => None,
                })
                .collect();
            state.messages.extend(answers.into_iter().filter_map(|at| old[at].take()));
            let position = state.messages.len().saturating_sub(1);
            let note = "the results are moved before the text that follows their calls".to_owned();
            state.note_edit(106, Strategy::Reorder, position, ids, note);
        }
    }
    state.messages.extend(old[next..].iter_mut().filter_map(Option::take));
}

/// Appends the parts of one message to another of the same role. They are collected in `parts`, so
/// that a run of messages takes linear time; [`PartList::fill`] moves them into the message.
///
/// [`PartList::fill`]: super::PartList::fill
fn merge_messages<'a>(
    input: &Draft<'a>,
    into: &mut RepairedMessage<'a>,
    mut from: RepairedMessage<'a>,
    parts: &mut Vec<RepairedPart<'a>>,
) {
    if parts.is_empty() {
        into.load_parts(input);
        parts.extend(into.parts.take());
    }
    from.load_parts(input);
    parts.extend(from.parts);
    into.set_content(ContentShape::List);
    let unbound = into.flags.has(MessageFlags::UNBOUND) && from.flags.has(MessageFlags::UNBOUND);
    into.flags = into.flags.with(from.flags).without(MessageFlags::EMPTY_CALLS);
    if !unbound {
        into.flags = into.flags.without(MessageFlags::UNBOUND);
    }
    into.touch();
}

/// Turns system messages into user messages where the provider accepts none.
fn demote_system(state: &mut RepairState<'_, '_>) {
    for at in found_messages(state, 406) {
        let message = state.mark_message(at);
        message.role = Role::User;
        message.mark_new_role();
        state.note_edit(
            406,
            Strategy::Recode,
            at,
            Vec::new(),
            "the system message becomes a user message".to_owned(),
        );
    }
}

/// Joins adjacent messages of one role, and inserts a bridge between answers and the user.
fn join_neighbors(state: &mut RepairState<'_, '_>, rules: RuleSet) {
    // Bedrock requires a bridge in its own layout only.
    let bridge = state.is_enabled(404)
        && (state.options.profile != Profile::Bedrock
            || state.input.layout() == MessageLayout::Blocks);
    let order = state.is_enabled(402);
    let profile = state.options.profile;
    let alone = requires_answers_alone(profile, state.input);
    let (format, layout) = (state.input.format, state.input.layout());
    let words = placeholder::bridge_text(state.policy().language);
    let input = state.input;
    let pairing = CallPairing::only_unknown_turns(&state.draft());
    let gemini_joins = if order && profile == Profile::Gemini && format == Format::Gemini {
        joined_contents(state)
    } else {
        HashSet::new()
    };
    let new = Vec::with_capacity(state.messages.len());
    let old = std::mem::replace(&mut state.messages, new);
    // Whether the last message holds answers, including those of messages joined to it.
    let mut answered = false;
    let bridge_message = assistant_message(layout, words);
    // The parts of the last message, if others were joined to it.
    let mut joined_parts = Vec::new();
    for (index, message) in old.into_iter().enumerate() {
        let answers = bridge
            && alone
            && layout == MessageLayout::Blocks
            && message.holds(input, |kind| matches!(kind, PartKind::Answer(_)));
        let was_answered = std::mem::replace(&mut answered, answers);
        // Nothing is joined or inserted in a turn that holds something of an unknown type.
        let after_unknown = index > 0 && pairing.is_in_unknown_turn(index - 1);
        let in_unknown = after_unknown && pairing.is_in_unknown_turn(index);
        if let Some(last) = state.messages.last_mut().filter(|_| in_unknown) {
            last.parts.fill(&mut joined_parts);
        }
        let Some(before) = state.messages.last_mut().filter(|_| !in_unknown) else {
            state.messages.push(message);
            continue;
        };
        // Its role stays unknown, so it takes in no other message.
        // In a chat, neither a message of another format nor its neighbor changes.
        let is_unknown = [before.role, message.role].contains(&Role::Unknown);
        let takes_in = !(after_unknown && before.role == Role::Unknown
            || layout == MessageLayout::Chat && is_unknown);
        let users = before.role.is_user() && message.role.is_user();
        let needs_bridge = bridge
            && message.role.is_user()
            && match layout {
                MessageLayout::Blocks => alone && users && was_answered && !answers,
                MessageLayout::Chat | MessageLayout::Items => before.role == Role::Answer,
            };
        let assistants = before.role.is_assistant() && message.role.is_assistant();
        let joins = match profile {
            Profile::Gemini => gemini_joins.contains(&index),
            _ => users || assistants,
        };
        // Two messages with only reasoning are removed.
        let only_reasoning = |message: &RepairedMessage<'_>| {
            !message.holds(input, |kind| !matches!(kind, PartKind::Reasoning(_)))
        };
        let removed_later = rules.has(501)
            && assistants
            && joined_parts.iter().all(RepairedPart::is_reasoning)
            && only_reasoning(before)
            && only_reasoning(&message);
        if needs_bridge {
            before.parts.fill(&mut joined_parts);
            state.messages.push(bridge_message.clone());
            state.messages.push(message);
            let at = state.messages.len() - 1;
            state.note_edit(
                404,
                Strategy::Insert,
                at,
                Vec::new(),
                format!("`{words}` is inserted between result and user message"),
            );
        } else if order && joins && takes_in && !removed_later {
            merge_messages(input, before, message, &mut joined_parts);
            answered |= was_answered;
            let at = state.messages.len() - 1;
            state.note_edit(
                402,
                Strategy::Merge,
                at,
                Vec::new(),
                "neighboring messages of one role are merged; the second keeps only its content"
                    .to_owned(),
            );
        } else {
            before.parts.fill(&mut joined_parts);
            state.messages.push(message);
        }
    }
    if let Some(last) = state.messages.last_mut() {
        last.parts.fill(&mut joined_parts);
    }
}

/// The contents of Gemini that are joined to the one before them: those found, and the chunks of a
/// stream before them.
fn joined_contents(state: &RepairState<'_, '_>) -> HashSet<usize> {
    let mut joined: HashSet<usize> = found_messages(state, 402).into_iter().collect();
    let is_model = |at: usize| state.messages[at].role.is_assistant();
    for at in (1..state.messages.len().saturating_sub(1)).rev() {
        let is_chunk = |at: usize| {
            is_model(at)
                && !state.messages[at].holds(state.input, |kind| matches!(kind, PartKind::Call(_)))
        };
        if joined.contains(&(at + 1)) && is_chunk(at) && is_model(at - 1) {
            joined.insert(at);
        }
    }
    joined
}

fn assistant_message<'a>(layout: MessageLayout, text: &'static str) -> RepairedMessage<'a> {
    let mut message = RepairedMessage::with_text(Role::Assistant, text);
    if layout == MessageLayout::Chat {
        message.set_content(ContentShape::Text);
    }
    message
}

fn insert_opening(state: &mut RepairState<'_, '_>) {
    let Some(&at) = found_messages(state, 401).first() else { return };
    let text = placeholder::opening_text(state.policy().language);
    state.note_edit(
        401,
        Strategy::Insert,
        at,
        Vec::new(),
        "a short user message is inserted at the start".to_owned(),
    );
    state.messages.insert(at, RepairedMessage::with_text(Role::User, text));
}

fn append_continuation(state: &mut RepairState<'_, '_>) {
    if !found_messages(state, 403).is_empty() {
        end_with_user(state);
    }
}

/// Fixes FW403.
pub(super) fn end_with_user(state: &mut RepairState<'_, '_>) {
    let Some(at) = state.messages.len().checked_sub(1) else { return };
    let draft = state.draft();
    // An empty last message is removed instead of continued. So is one that would be refused as
    // empty as soon as another message follows.
    let has_other_content = |flags: MessageFlags| {
        flags.has(MessageFlags::OTHER_BODY) || flags.has(MessageFlags::UNKNOWN_BODY)
    };
    let profile = state.options.profile;
    let empty = draft.messages.get(at).is_some_and(|message| {
        let refused = state.is_enabled(301) && empty_message::is_empty(&draft, profile, message);
        (message.range().is_empty() || refused) && !has_other_content(message.flags)
    });
    let before = at.checked_sub(1).and_then(|before| draft.messages.get(before));
    let after_client = before.is_some_and(|message| !message.role.is_assistant());
    if empty && after_client && at + 1 == state.messages.len() {
        let note = "the last message is empty and is removed".to_owned();
        state.note_edit(403, Strategy::Drop, at, Vec::new(), note);
        state.messages.pop();
        return;
    }
    let words = placeholder::continue_text(state.policy().language);
    state.note_edit(403, Strategy::Insert, at, Vec::new(), format!("`{words}` is appended"));
    state.messages.push(RepairedMessage::with_text(Role::User, words));
}

fn declare_tools(state: &mut RepairState<'_, '_>) {
    let Some(&at) = found_messages(state, 405).first() else { return };
    let draft = state.draft();
    let mut names: Vec<String> = Vec::new();
    for part in draft.message_parts() {
        if let PartKind::Call(call) = &part.kind {
            names.extend(call.name.as_deref().map(str::to_owned));
        }
    }
    sort_by(&mut names, String::cmp);
    names.dedup();
    if names.is_empty() {
        names.push("unknown_tool".to_owned());
    }
    let note = format!("the tools of the history are declared: {}", names.join(", "));
    state.note_edit(405, Strategy::Insert, at, Vec::new(), note);
    state.body.declare = names;
}
