//! Who follows whom: split turns, neighbours, bridges, first and last messages.

use std::collections::HashSet;

use super::{RepairedMessage, order, state::RepairState};
use crate::{
    draft::{
        ContentShape, Draft, Format, MessageFlags, MessageLayout, Part, PartKind, Role, TextShape,
    },
    pairing::{CallPairing, call_at},
    placeholder,
    profile::{Profile, requires_answers_alone},
    report::Strategy,
    rules::{RuleSet, split_turn},
};

/// FW106, FW406, FW402, FW404, FW401, FW403 and FW405.
pub(super) fn order_turns(work: &mut RepairState<'_, '_>, found: RuleSet) {
    order::order_parts(work, found);
    if found.has(106) {
        join_turns(work);
    }
    // A message of nothing but reasoning goes first: instructions may be in their place without it.
    let thinks = |slot: &RepairedMessage<'_>| {
        let spoken = |kind: &PartKind<'_>| !matches!(kind, PartKind::Reasoning(_));
        slot.role.is_assistant() && !slot.holds(work.input, spoken)
    };
    if found.has(406) && !(found.has(501) && work.messages.iter().any(thinks)) {
        demote_system(work);
    }
    if found.has(402) || found.has(404) {
        join_neighbors(work);
    }
    // Reasoning that nothing follows is removed first: nobody has to open or close what goes.
    let goes = |work: &RepairState<'_, '_>, at: Option<usize>| {
        let slot = at.and_then(|at| work.messages.get(at));
        let spoken = |kind: &PartKind<'_>| !matches!(kind, PartKind::Reasoning(_));
        found.has(501) && slot.is_some_and(|slot| !slot.holds(work.input, spoken))
    };
    let spoken = |slot: &RepairedMessage<'_>| !slot.role.is_system();
    if found.has(401) && !goes(work, work.messages.iter().position(spoken)) {
        insert_opening(work);
    }
    if found.has(403) && !goes(work, work.messages.len().checked_sub(1)) {
        append_continuation(work);
    }
    if found.has(405) {
        declare_tools(work);
    }
}

/// One turn, one message. Where answers are messages of their own, each message of the turn gets
/// its answers instead, so that every message keeps its bytes.
pub(super) fn join_turns(work: &mut RepairState<'_, '_>) {
    let (draft, pairing) = work.draft_with_pairing();
    if draft.layout() == MessageLayout::Items {
        return split_item_turns(work, &draft, &pairing);
    }
    if !pairing.turns.iter().any(|group| group.messages().len() > 1) {
        return;
    }
    let mut old: Vec<Option<RepairedMessage<'_>>> =
        std::mem::take(&mut work.messages).into_iter().map(Some).collect();
    let mut next = 0;
    for group in pairing.turns.iter().filter(|group| group.messages().len() > 1) {
        work.messages.extend(old[next..group.messages().start].iter_mut().filter_map(Option::take));
        let ids: Vec<String> = pairing.calls[group.calls()]
            .iter()
            .filter_map(|call| call_at(&draft, call.part())?.id.as_deref().map(str::to_owned))
            .collect();
        next = group.messages().end;
        // Calls that are still running have no answers to put between the messages.
        let calls = pairing.calls[group.calls()].iter();
        let answered: HashSet<usize> =
            calls.filter(|call| call.answer().is_some()).map(|call| call.message()).collect();
        let running = group.messages().rev().skip(1).any(|at| !answered.contains(&at));
        let place = work.messages.len();
        let joins = draft.layout() == MessageLayout::Blocks || running;
        if joins {
            let mut whole = old[group.messages().start].take();
            for at in group.messages().skip(1) {
                if let (Some(whole), Some(other)) = (whole.as_mut(), old[at].take()) {
                    merge_messages(work.input, whole, other);
                }
            }
            work.messages.extend(whole);
        } else {
            next = group.home().end.max(next);
            // Answers by the message of their call.
            let mut answers: Vec<Vec<usize>> = vec![Vec::new(); group.messages().len()];
            for call in &pairing.calls[group.calls()] {
                if let Some(answer) = call.answer() {
                    let at = pairing.answers[answer].message();
                    if group.home().contains(&at) {
                        answers[call.message() - group.messages().start].push(at);
                    }
                }
            }
            for (at, own) in group.messages().zip(answers) {
                work.messages.extend(old[at].take());
                let mut own = own;
                own.sort_unstable();
                work.messages.extend(own.into_iter().filter_map(|at| old[at].take()));
            }
            work.messages.extend(old[group.home()].iter_mut().filter_map(Option::take));
        }
        let (strategy, note) = if joins {
            (Strategy::Merge, "the messages of the turn are joined")
        } else {
            (Strategy::Reorder, "each calling message is followed by its own answers")
        };
        work.note_edit(106, strategy, place, ids, note.to_owned());
    }
    work.messages.extend(old[next..].iter_mut().filter_map(Option::take));
}

/// Answers move in front of the text that ends the turn of their calls.
fn split_item_turns<'a>(work: &mut RepairState<'_, 'a>, draft: &Draft<'a>, pairing: &CallPairing) {
    let mut old: Vec<Option<RepairedMessage<'a>>> =
        std::mem::take(&mut work.messages).into_iter().map(Some).collect();
    let mut next = 0;
    for group in &pairing.turns {
        let mut calls = pairing.calls[group.calls()].iter().peekable();
        for cut in split_turn::answer_positions(draft, pairing, group) {
            work.messages.extend(old[next..cut].iter_mut().filter_map(Option::take));
            next = cut;
            let mut answers = Vec::new();
            while let Some(call) = calls.next_if(|call| call.message() < cut) {
                let at = call.answer().map(|answer| pairing.answers[answer].message());
                answers.extend(at.filter(|at| group.home().contains(at)));
            }
            answers.sort_unstable();
            let ids: Vec<String> = answers
                .iter()
                .flat_map(|&at| draft.parts_of(&draft.messages[at]))
                .filter_map(|part| match &part.kind {
                    PartKind::Answer(answer) => answer.id.as_deref().map(str::to_owned),
                    _ => None,
                })
                .collect();
            work.messages.extend(answers.into_iter().filter_map(|at| old[at].take()));
            let place = work.messages.len().saturating_sub(1);
            let note = "answers stand before the text behind their calls".to_owned();
            work.note_edit(106, Strategy::Reorder, place, ids, note);
        }
    }
    work.messages.extend(old[next..].iter_mut().filter_map(Option::take));
}

/// Puts the pieces of one message behind those of another of the same side.
fn merge_messages<'a>(
    input: &Draft<'a>,
    into: &mut RepairedMessage<'a>,
    mut from: RepairedMessage<'a>,
) {
    into.load_parts(input);
    from.load_parts(input);
    // Two messages of one block each are common; room for four would be the larger half of them.
    if into.parts.capacity() - into.parts.len() < from.parts.len() {
        into.parts.reserve_exact(from.parts.len().max(into.parts.len() / 2));
    }
    into.parts.extend(from.parts);
    into.content = ContentShape::List;
    let unbound = into.flags.has(MessageFlags::UNBOUND) && from.flags.has(MessageFlags::UNBOUND);
    into.flags = into.flags.with(from.flags).without(MessageFlags::EMPTY_CALLS);
    if !unbound {
        into.flags = into.flags.without(MessageFlags::UNBOUND);
    }
    into.touched = true;
}

/// System messages where none is taken become the user's.
fn demote_system(work: &mut RepairState<'_, '_>) {
    let draft = work.draft();
    for at in super::content::messages_with(work, &draft, 406) {
        let slot = work.mark_message(at);
        slot.role = Role::User;
        slot.role_changed = true;
        work.note_edit(
            406,
            Strategy::Recode,
            at,
            Vec::new(),
            "the system message becomes a user message".to_owned(),
        );
    }
}

/// Joins neighbours of one side, and puts a bridge between answers and the user.
fn join_neighbors(work: &mut RepairState<'_, '_>) {
    // Bedrock asks for a bridge in its own layout only.
    let bridge = work.is_enabled(404)
        && (work.options.profile != Profile::Bedrock
            || work.input.layout() == MessageLayout::Blocks);
    let order = work.is_enabled(402);
    let profile = work.options.profile;
    let alone = requires_answers_alone(profile, work.input);
    let (wire, layout) = (work.input.format, work.input.layout());
    let words = placeholder::bridge_text(work.policy().language);
    let input = work.input;
    let old = std::mem::take(&mut work.messages);
    // Whether the last slot holds answers: it grows with all that is joined to it.
    let mut answered = false;
    for slot in old {
        let answers = bridge
            && alone
            && layout == MessageLayout::Blocks
            && slot.holds(input, |kind| matches!(kind, PartKind::Answer(_)));
        let was_answered = std::mem::replace(&mut answered, answers);
        let Some(before) = work.messages.last_mut() else {
            work.messages.push(slot);
            continue;
        };
        let users = before.role.is_user() && slot.role.is_user();
        let needs_bridge = bridge
            && slot.role.is_user()
            && match layout {
                MessageLayout::Blocks => alone && users && was_answered && !answers,
                MessageLayout::Chat | MessageLayout::Items => before.role == Role::Answer,
            };
        let assistants = before.role.is_assistant() && slot.role.is_assistant();
        let joins = match profile {
            Profile::Gemini => {
                wire == Format::Gemini
                    && assistants
                    && slot.holds(input, |kind| matches!(kind, PartKind::Call(_)))
            }
            _ => users || assistants,
        };
        if needs_bridge {
            work.messages.push(assistant_message(layout, words));
            work.messages.push(slot);
            let at = work.messages.len() - 1;
            work.note_edit(
                404,
                Strategy::Insert,
                at,
                Vec::new(),
                format!("`{words}` stands between answer and user"),
            );
        } else if order && joins {
            merge_messages(input, before, slot);
            answered |= was_answered;
            let at = work.messages.len() - 1;
            work.note_edit(
                402,
                Strategy::Merge,
                at,
                Vec::new(),
                "neighbours of one side are joined; the second keeps only its content".to_owned(),
            );
        } else {
            work.messages.push(slot);
        }
    }
}

fn assistant_message<'a>(layout: MessageLayout, words: &'static str) -> RepairedMessage<'a> {
    let mut slot = RepairedMessage::with_text(Role::Assistant, words);
    if layout == MessageLayout::Chat {
        slot.content = ContentShape::Text;
    }
    slot
}

fn insert_opening(work: &mut RepairState<'_, '_>) {
    let draft = work.draft();
    let Some(&at) = super::content::messages_with(work, &draft, 401).first() else { return };
    let words = placeholder::opening_text(work.policy().language);
    work.note_edit(
        401,
        Strategy::Insert,
        at,
        Vec::new(),
        "a short user message opens the history".to_owned(),
    );
    work.messages.insert(at, RepairedMessage::with_text(Role::User, words));
}

fn append_continuation(work: &mut RepairState<'_, '_>) {
    let draft = work.draft();
    let Some(&at) = super::content::messages_with(work, &draft, 403).first() else { return };
    // A last message that says nothing needs no answer: it is not sent.
    let more = |marks: MessageFlags| {
        marks.has(MessageFlags::OTHER_BODY) || marks.has(MessageFlags::UNKNOWN_BODY)
    };
    let blank =
        |part: &Part<'_>| matches!(part.kind, PartKind::Text(TextShape::Empty | TextShape::Blank));
    let silent = draft
        .messages
        .get(at)
        .is_some_and(|message| draft.parts_of(message).iter().all(blank) && !more(message.flags));
    let before = at.checked_sub(1).and_then(|before| draft.messages.get(before));
    let asked = before.is_some_and(|message| !message.role.is_assistant());
    if silent && asked && at + 1 == work.messages.len() {
        let note = "the last message says nothing and is removed".to_owned();
        work.note_edit(403, Strategy::Drop, at, Vec::new(), note);
        work.messages.pop();
        return;
    }
    let words = placeholder::continue_text(work.policy().language);
    work.note_edit(403, Strategy::Insert, at, Vec::new(), format!("`{words}` closes the request"));
    work.messages.push(RepairedMessage::with_text(Role::User, words));
}

fn declare_tools(work: &mut RepairState<'_, '_>) {
    let draft = work.draft();
    let Some(&at) = super::content::messages_with(work, &draft, 405).first() else { return };
    let mut names: Vec<String> = Vec::new();
    for part in &draft.parts {
        if let PartKind::Call(call) = &part.kind {
            names.extend(call.name.as_deref().map(str::to_owned));
        }
    }
    names.sort();
    names.dedup();
    if names.is_empty() {
        names.push("unknown_tool".to_owned());
    }
    let note = format!("the tools of the history are declared: {}", names.join(", "));
    work.note_edit(405, Strategy::Insert, at, Vec::new(), note);
    work.body.declare = names;
}
