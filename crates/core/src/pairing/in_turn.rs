//! Matching inside one turn: the answers that stand directly behind the calls they answer.

use std::collections::{HashMap, HashSet, VecDeque};

use super::{
    CallPairing, ResultMatch, across_turns::pass_to_older_call, answer_key, call_at, call_key,
    join_answer,
};
use crate::draft::{Draft, Format, PartKind};

/// Above this many calls in a turn a table pays for itself.
const SMALL_TURN: usize = 12;

/// Answers what can be answered at home, in order; returns the answers that found nothing.
pub(super) fn match_in_turns(draft: &Draft<'_>, pairing: &mut CallPairing) -> Vec<usize> {
    let mut open = Vec::new();
    let mut next = 0;
    for group in 0..pairing.turns.len() {
        let (start, end) = {
            let group = &pairing.turns[group];
            (group.home().start, group.spill().end.max(group.home().end))
        };
        while pairing.answers.get(next).is_some_and(|answer| answer.message() < start) {
            open.push(next);
            next += 1;
        }
        let first = next;
        while pairing.answers.get(next).is_some_and(|answer| answer.message() < end) {
            next += 1;
        }
        let before = open.len();
        match_by_id(draft, pairing, group, first..next, &mut open);
        if open.len() > before {
            match_without_id(draft, pairing, group, &mut open, before);
        }
        if pairing.turns[group].messages().len() > 1 {
            match_last_message(draft, pairing, group);
        }
    }
    open.extend(next..pairing.answers.len());
    open
}

fn match_by_id(
    draft: &Draft<'_>,
    pairing: &mut CallPairing,
    group: usize,
    answers: std::ops::Range<usize>,
    open: &mut Vec<usize>,
) {
    let calls = pairing.turns[group].calls();
    if calls.len() <= SMALL_TURN {
        for answer in answers {
            let key = answer_key(draft, pairing.answers[answer].part());
            let found = key.and_then(|key| {
                calls.clone().find(|&call| {
                    let call = &pairing.calls[call];
                    call.answer().is_none() && call_key(draft, call.part()) == Some(key)
                })
            });
            match found {
                Some(call) => join_answer(draft, pairing, call, answer),
                None => open.push(answer),
            }
        }
        return;
    }
    // The first call of each id that waits, and behind each call the next one of its id.
    let mut waiting: HashMap<_, Option<u32>> = HashMap::new();
    let mut behind: Vec<Option<u32>> = vec![None; calls.len()];
    for at in (0..calls.len()).rev() {
        if let Some(key) = call_key(draft, pairing.calls[calls.start + at].part()) {
            behind[at] = waiting.insert(key, u32::try_from(at).ok()).flatten();
        }
    }
    for answer in answers {
        let key = answer_key(draft, pairing.answers[answer].part());
        let first = key.and_then(|key| waiting.get_mut(&key));
        let found = first.and_then(|first| {
            let at = first.take()? as usize;
            *first = behind[at];
            Some(calls.start + at)
        });
        match found {
            Some(call) => join_answer(draft, pairing, call, answer),
            None => open.push(answer),
        }
    }
}

/// Where messages of a turn use an id again and there are too few answers, those behind the last
/// message are its own.
fn match_last_message(draft: &Draft<'_>, pairing: &mut CallPairing, group: usize) {
    let mut same: HashMap<_, Vec<usize>> = HashMap::new();
    for call in pairing.turns[group].calls() {
        if let Some(key) = call_key(draft, pairing.calls[call].part()) {
            same.entry(key).or_default().push(call);
        }
    }
    for calls in same.into_values().filter(|calls| calls.len() > 1) {
        let answers: Vec<usize> =
            calls.iter().filter_map(|&call| pairing.calls[call].answer()).collect();
        if answers.is_empty() || answers.len() == calls.len() {
            continue;
        }
        let of_message = |one: &usize, other: &usize| {
            pairing.calls[*one].message() == pairing.calls[*other].message()
        };
        let mut wanted: Vec<usize> = Vec::new();
        for own in calls.chunk_by(of_message).rev() {
            let room = answers.len() - wanted.len();
            wanted.extend(own.iter().take(room));
        }
        wanted.sort_unstable();
        // Where answers name their tool, the names know better.
        let name = |call: usize| call_at(draft, pairing.calls[call].part())?.name.as_deref();
        let told = |answer: usize| match &draft.parts[pairing.answers[answer].part()].kind {
            PartKind::Answer(answer) => answer.tool(),
            _ => None,
        };
        let has = |call: usize, answer: usize| told(answer).is_some() && told(answer) == name(call);
        let fits = calls
            .iter()
            .filter(|&&call| pairing.calls[call].answer().is_some_and(|answer| has(call, answer)))
            .count();
        let moved = wanted.iter().zip(&answers).filter(|(call, answer)| has(**call, **answer));
        if draft.format == Format::Gemini && moved.count() < fits {
            continue;
        }
        for &call in &calls {
            pairing.calls[call].set_answer(None);
        }
        for (call, answer) in wanted.into_iter().zip(answers) {
            join_answer(draft, pairing, call, answer);
        }
    }
}

/// Pairs what has no id by order. Gemini's ids are optional: there the name decides first, and an
/// id on one side only is no contradiction.
fn match_without_id(
    draft: &Draft<'_>,
    pairing: &mut CallPairing,
    group: usize,
    open: &mut Vec<usize>,
    from: usize,
) {
    let optional = draft.format == Format::Gemini;
    // An id that a call of this turn has says whose answer it is; nothing else may.
    let calls = pairing.turns[group].calls();
    let known: HashSet<String> = if optional {
        let ids =
            calls.filter_map(|call| call_at(draft, pairing.calls[call].part())?.id.as_deref());
        ids.map(str::to_owned).collect()
    } else {
        HashSet::new()
    };
    for by_name in [true, false] {
        if by_name && !optional {
            continue;
        }
        let mut waiting: HashMap<Option<String>, VecDeque<usize>> = HashMap::new();
        for call in pairing.turns[group].calls() {
            if pairing.calls[call].answer().is_some() {
                continue;
            }
            let Some(outline) = call_at(draft, pairing.calls[call].part()) else { continue };
            if optional || outline.id.is_none() {
                let name = outline.name.as_deref().map(str::to_owned).filter(|_| by_name);
                waiting.entry(name).or_default().push_back(call);
            }
        }
        let candidates = open.split_off(from);
        for answer in candidates {
            let PartKind::Answer(outline) = &draft.parts[pairing.answers[answer].part()].kind
            else {
                continue;
            };
            let name = outline.tool().map(str::to_owned).filter(|_| by_name);
            let queue = waiting.get_mut(&name);
            let bound = outline.id.as_deref().is_some_and(|id| known.contains(id));
            let free = !bound && (optional || outline.id.is_none());
            let found = queue.filter(|_| free).and_then(|queue| {
                let fits = |&call: &usize| {
                    call_at(draft, pairing.calls[call].part()).is_some_and(|call| {
                        (call.id.is_none() || outline.id.is_none())
                            && call.family == outline.family
                            // Another name is another tool.
                            && (!optional
                                || by_name
                                || call.name.is_none()
                                || outline.name.is_none())
                    })
                };
                let place = queue.iter().take(64).position(fits)?;
                queue.remove(place)
            });
            match found {
                Some(call) => join_answer(draft, pairing, call, answer),
                None => open.push(answer),
            }
        }
    }
}

/// One open call and one answer behind it belong together, if one of them has no id and nothing
/// else claimed either.
pub(super) fn match_single_pairs(draft: &Draft<'_>, pairing: &mut CallPairing) {
    for group in 0..pairing.turns.len() {
        let turn = &pairing.turns[group];
        let (home, spill, calls) = (turn.home(), turn.spill(), turn.calls());
        let mut open = calls.filter(|&call| pairing.calls[call].answer().is_none());
        let (Some(call), None) = (open.next(), open.next()) else { continue };
        let first = pairing.answers.partition_point(|answer| answer.message() < home.start);
        let here = pairing.answers[first..].iter().enumerate();
        let here = here.take_while(|(_, answer)| answer.message() < spill.end.max(home.end));
        let mut orphans = here.filter(|(_, answer)| answer.result_match() == ResultMatch::Orphan);
        let (Some((at, answer)), None) = (orphans.next(), orphans.next()) else { continue };
        let PartKind::Answer(outline) = &draft.parts[answer.part()].kind else { continue };
        let Some(asked) = call_at(draft, pairing.calls[call].part()) else { continue };
        if (asked.id.is_none() || outline.id.is_none()) && asked.family == outline.family {
            join_answer(draft, pairing, call, first + at);
        }
    }
}

/// Turns that are looked at for an open call of a name.
const MAX_TURNS: usize = 64;

/// Where ids are optional, an answer that stands apart is recognised by its name: in the last turn
/// before it that still waits for one, or the next one behind it.
pub(super) fn match_by_name(draft: &Draft<'_>, pairing: &mut CallPairing) {
    // By name: the turns that wait, in order, with their open calls.
    let mut open: HashMap<&str, Vec<(usize, VecDeque<usize>)>> = HashMap::new();
    for (index, call) in pairing.calls.iter().enumerate() {
        let name = call_at(draft, call.part()).and_then(|call| call.name.as_deref());
        let (None, Some(name)) = (call.answer(), name) else { continue };
        let turns = open.entry(name).or_default();
        match turns.last_mut().filter(|(group, _)| *group == call.turn()) {
            Some((_, calls)) => calls.push_back(index),
            None => turns.push((call.turn(), VecDeque::from([index]))),
        }
    }
    for answer in 0..pairing.answers.len() {
        let paired = pairing.answers[answer];
        let (message, part, fate) = (paired.message(), paired.part(), paired.result_match());
        let PartKind::Answer(outline) = &draft.parts[part].kind else { continue };
        let Some(name) = outline.tool().filter(|_| fate == ResultMatch::Orphan) else { continue };
        let Some(turns) = open.get_mut(name) else { continue };
        let next = pairing.turns.partition_point(|group| group.messages().start <= message);
        let behind = turns.partition_point(|(group, _)| *group < next);
        let waits = |turn: &(usize, VecDeque<usize>)| {
            let call = turn.1.front().and_then(|&call| call_at(draft, pairing.calls[call].part()));
            call.is_some_and(|call| call.id.is_none() || outline.id.is_none())
        };
        let before = (0..behind).rev().take(MAX_TURNS).find(|&at| waits(&turns[at]));
        let later = turns.get(behind).filter(|turn| turn.0 == next && waits(turn)).map(|_| behind);
        let Some(at) = before.or(later) else { continue };
        let Some(call) = turns.get_mut(at).and_then(|(_, calls)| calls.pop_front()) else {
            continue;
        };
        let newer = next.checked_sub(1).filter(|_| before.is_some());
        match newer.and_then(|group| answered_call(draft, pairing, group, name)) {
            Some(newer) if newer > call => {
                pass_to_older_call(draft, pairing, [call, newer], answer)
            }
            _ => join_answer(draft, pairing, call, answer),
        }
    }
}

/// The last call of a turn that has this name, no id, and an answer.
fn answered_call(
    draft: &Draft<'_>,
    pairing: &CallPairing,
    group: usize,
    name: &str,
) -> Option<usize> {
    let mut calls = pairing.turns.get(group)?.calls().clone().rev().take(MAX_TURNS);
    calls.find(|&call| {
        let called = call_at(draft, pairing.calls[call].part());
        pairing.calls[call].answer().is_some()
            && called
                .is_some_and(|called| called.id.is_none() && called.name.as_deref() == Some(name))
    })
}
