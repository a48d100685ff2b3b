//! Who follows whom: split turns, neighbours, bridges, first and last messages.

use std::collections::HashSet;

use super::{Slot, order, work::Work};
use crate::{
    draft::{Content, Draft, Kind, Layout, Marks, Part, Role, Text, Wire},
    pair::{Pairing, call_at},
    placeholder,
    profile::{Profile, answers_alone},
    report::Strategy,
    rules::{RuleSet, split_turn},
};

/// FW106, FW406, FW402, FW404, FW401, FW403 and FW405.
pub(super) fn arrange(work: &mut Work<'_, '_>, found: RuleSet) {
    order::arrange(work, found);
    if found.has(106) {
        join_turns(work);
    }
    // A message of nothing but reasoning goes first: instructions may be in their place without it.
    let thinks = |slot: &Slot<'_>| {
        let spoken = |kind: &Kind<'_>| !matches!(kind, Kind::Reasoning(_));
        slot.role.is_assistant() && !slot.holds(work.input, spoken)
    };
    if found.has(406) && !(found.has(501) && work.slots.iter().any(thinks)) {
        demote_system(work);
    }
    if found.has(402) || found.has(404) {
        neighbours(work);
    }
    // Reasoning that nothing follows is removed first: nobody has to open or close what goes.
    let goes = |work: &Work<'_, '_>, at: Option<usize>| {
        let slot = at.and_then(|at| work.slots.get(at));
        let spoken = |kind: &Kind<'_>| !matches!(kind, Kind::Reasoning(_));
        found.has(501) && slot.is_some_and(|slot| !slot.holds(work.input, spoken))
    };
    let spoken = |slot: &Slot<'_>| !slot.role.is_system();
    if found.has(401) && !goes(work, work.slots.iter().position(spoken)) {
        open(work);
    }
    if found.has(403) && !goes(work, work.slots.len().checked_sub(1)) {
        close(work);
    }
    if found.has(405) {
        declare(work);
    }
}

/// One turn, one message. Where answers are messages of their own, each message of the turn gets
/// its answers instead, so that every message keeps its bytes.
pub(super) fn join_turns(work: &mut Work<'_, '_>) {
    let (draft, pairing) = work.paired();
    if draft.layout() == Layout::Items {
        return part_items(work, &draft, &pairing);
    }
    if !pairing.groups.iter().any(|group| group.messages().len() > 1) {
        return;
    }
    let mut old: Vec<Option<Slot<'_>>> =
        std::mem::take(&mut work.slots).into_iter().map(Some).collect();
    let mut next = 0;
    for group in pairing.groups.iter().filter(|group| group.messages().len() > 1) {
        work.slots.extend(old[next..group.messages().start].iter_mut().filter_map(Option::take));
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
        let place = work.slots.len();
        let joins = draft.layout() == Layout::Blocks || running;
        if joins {
            let mut whole = old[group.messages().start].take();
            for at in group.messages().skip(1) {
                if let (Some(whole), Some(other)) = (whole.as_mut(), old[at].take()) {
                    merge(work.input, whole, other);
                }
            }
            work.slots.extend(whole);
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
                work.slots.extend(old[at].take());
                let mut own = own;
                own.sort_unstable();
                work.slots.extend(own.into_iter().filter_map(|at| old[at].take()));
            }
            work.slots.extend(old[group.home()].iter_mut().filter_map(Option::take));
        }
        let (strategy, note) = if joins {
            (Strategy::Merge, "the messages of the turn are joined")
        } else {
            (Strategy::Reorder, "each calling message is followed by its own answers")
        };
        work.note(106, strategy, place, ids, note.to_owned());
    }
    work.slots.extend(old[next..].iter_mut().filter_map(Option::take));
}

/// Answers move in front of the text that ends the turn of their calls.
fn part_items<'a>(work: &mut Work<'_, 'a>, draft: &Draft<'a>, pairing: &Pairing) {
    let mut old: Vec<Option<Slot<'a>>> =
        std::mem::take(&mut work.slots).into_iter().map(Some).collect();
    let mut next = 0;
    for group in &pairing.groups {
        let mut calls = pairing.calls[group.calls()].iter().peekable();
        for cut in split_turn::cuts(draft, pairing, group) {
            work.slots.extend(old[next..cut].iter_mut().filter_map(Option::take));
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
                    Kind::Answer(answer) => answer.id.as_deref().map(str::to_owned),
                    _ => None,
                })
                .collect();
            work.slots.extend(answers.into_iter().filter_map(|at| old[at].take()));
            let place = work.slots.len().saturating_sub(1);
            let note = "answers stand before the text behind their calls".to_owned();
            work.note(106, Strategy::Reorder, place, ids, note);
        }
    }
    work.slots.extend(old[next..].iter_mut().filter_map(Option::take));
}

/// Puts the pieces of one message behind those of another of the same side.
fn merge<'a>(input: &Draft<'a>, into: &mut Slot<'a>, mut from: Slot<'a>) {
    into.open(input);
    from.open(input);
    // Two messages of one block each are common; room for four would be the larger half of them.
    if into.pieces.capacity() - into.pieces.len() < from.pieces.len() {
        into.pieces.reserve_exact(from.pieces.len().max(into.pieces.len() / 2));
    }
    into.pieces.extend(from.pieces);
    into.content = Content::List;
    let unbound = into.marks.has(Marks::UNBOUND) && from.marks.has(Marks::UNBOUND);
    into.marks = into.marks.with(from.marks).without(Marks::EMPTY_CALLS);
    if !unbound {
        into.marks = into.marks.without(Marks::UNBOUND);
    }
    into.touched = true;
}

/// System messages where none is taken become the user's.
fn demote_system(work: &mut Work<'_, '_>) {
    let draft = work.draft();
    for at in super::content::places(work, &draft, 406) {
        let slot = work.mark(at);
        slot.role = Role::User;
        slot.recast = true;
        work.note(
            406,
            Strategy::Recode,
            at,
            Vec::new(),
            "the system message becomes a user message".to_owned(),
        );
    }
}

/// Joins neighbours of one side, and puts a bridge between answers and the user.
fn neighbours(work: &mut Work<'_, '_>) {
    // Bedrock asks for a bridge in its own layout only.
    let bridge = work.wants(404)
        && (work.question.profile != Profile::Bedrock || work.input.layout() == Layout::Blocks);
    let order = work.wants(402);
    let profile = work.question.profile;
    let alone = answers_alone(profile, work.input);
    let (wire, layout) = (work.input.wire, work.input.layout());
    let words = placeholder::bridge(work.policy().language);
    let input = work.input;
    let old = std::mem::take(&mut work.slots);
    // Whether the last slot holds answers: it grows with all that is joined to it.
    let mut answered = false;
    for slot in old {
        let answers = bridge
            && alone
            && layout == Layout::Blocks
            && slot.holds(input, |kind| matches!(kind, Kind::Answer(_)));
        let was_answered = std::mem::replace(&mut answered, answers);
        let Some(before) = work.slots.last_mut() else {
            work.slots.push(slot);
            continue;
        };
        let users = before.role.is_user() && slot.role.is_user();
        let needs_bridge = bridge
            && slot.role.is_user()
            && match layout {
                Layout::Blocks => alone && users && was_answered && !answers,
                Layout::Chat | Layout::Items => before.role == Role::Answer,
            };
        let assistants = before.role.is_assistant() && slot.role.is_assistant();
        let joins = match profile {
            Profile::Gemini => {
                wire == Wire::Gemini
                    && assistants
                    && slot.holds(input, |kind| matches!(kind, Kind::Call(_)))
            }
            _ => users || assistants,
        };
        if needs_bridge {
            work.slots.push(assistant(layout, words));
            work.slots.push(slot);
            let at = work.slots.len() - 1;
            work.note(
                404,
                Strategy::Insert,
                at,
                Vec::new(),
                format!("`{words}` stands between answer and user"),
            );
        } else if order && joins {
            merge(input, before, slot);
            answered |= was_answered;
            let at = work.slots.len() - 1;
            work.note(
                402,
                Strategy::Merge,
                at,
                Vec::new(),
                "neighbours of one side are joined; the second keeps only its content".to_owned(),
            );
        } else {
            work.slots.push(slot);
        }
    }
}

fn assistant<'a>(layout: Layout, words: &'static str) -> Slot<'a> {
    let mut slot = Slot::say(Role::Assistant, words);
    if layout == Layout::Chat {
        slot.content = Content::Text;
    }
    slot
}

fn open(work: &mut Work<'_, '_>) {
    let draft = work.draft();
    let Some(&at) = super::content::places(work, &draft, 401).first() else { return };
    let words = placeholder::opening(work.policy().language);
    work.note(
        401,
        Strategy::Insert,
        at,
        Vec::new(),
        "a short user message opens the history".to_owned(),
    );
    work.slots.insert(at, Slot::say(Role::User, words));
}

fn close(work: &mut Work<'_, '_>) {
    let draft = work.draft();
    let Some(&at) = super::content::places(work, &draft, 403).first() else { return };
    // A last message that says nothing needs no answer: it is not sent.
    let more = |marks: Marks| marks.has(Marks::OTHER_BODY) || marks.has(Marks::UNKNOWN_BODY);
    let blank = |part: &Part<'_>| matches!(part.kind, Kind::Text(Text::Empty | Text::Blank));
    let silent = draft
        .messages
        .get(at)
        .is_some_and(|message| draft.parts_of(message).iter().all(blank) && !more(message.marks));
    let before = at.checked_sub(1).and_then(|before| draft.messages.get(before));
    let asked = before.is_some_and(|message| !message.role.is_assistant());
    if silent && asked && at + 1 == work.slots.len() {
        work.slots.pop();
        let note = "the last message says nothing and is removed".to_owned();
        return work.note(403, Strategy::Drop, at, Vec::new(), note);
    }
    let words = placeholder::onward(work.policy().language);
    work.note(403, Strategy::Insert, at, Vec::new(), format!("`{words}` closes the request"));
    work.slots.push(Slot::say(Role::User, words));
}

fn declare(work: &mut Work<'_, '_>) {
    let draft = work.draft();
    let Some(&at) = super::content::places(work, &draft, 405).first() else { return };
    let mut names: Vec<String> = Vec::new();
    for part in &draft.parts {
        if let Kind::Call(call) = &part.kind {
            names.extend(call.name.as_deref().map(str::to_owned));
        }
    }
    names.sort();
    names.dedup();
    if names.is_empty() {
        names.push("unknown_tool".to_owned());
    }
    let note = format!("the tools of the history are declared: {}", names.join(", "));
    work.note(405, Strategy::Insert, at, Vec::new(), note);
    work.body.declare = names;
}
