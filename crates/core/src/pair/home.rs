//! Matching inside one turn: the answers that stand directly behind the calls they answer.

use std::collections::{HashMap, HashSet, VecDeque};

use super::{Fate, Group, PairedAnswer, Pairing, answer_key, call_at, call_key, join};
use crate::draft::{Draft, Kind, Wire};

/// Above this many calls in a turn a table pays for itself.
const SMALL: usize = 12;

/// Answers what can be answered at home, in order; returns the answers that found nothing.
pub(super) fn answer(draft: &Draft<'_>, pairing: &mut Pairing) -> Vec<usize> {
    let mut open = Vec::new();
    let mut next = 0;
    for group in 0..pairing.groups.len() {
        let (start, end) = {
            let group = &pairing.groups[group];
            (group.home.start, group.spill.end.max(group.home.end))
        };
        while pairing.answers.get(next).is_some_and(|answer| answer.message < start) {
            open.push(next);
            next += 1;
        }
        let first = next;
        while pairing.answers.get(next).is_some_and(|answer| answer.message < end) {
            next += 1;
        }
        let before = open.len();
        by_id(draft, pairing, group, first..next, &mut open);
        if open.len() > before {
            without_id(draft, pairing, group, &mut open, before);
        }
    }
    open.extend(next..pairing.answers.len());
    open
}

fn by_id(
    draft: &Draft<'_>,
    pairing: &mut Pairing,
    group: usize,
    answers: std::ops::Range<usize>,
    open: &mut Vec<usize>,
) {
    let calls = pairing.groups[group].calls.clone();
    if calls.len() <= SMALL {
        for answer in answers {
            let key = answer_key(draft, pairing.answers[answer].part);
            let found = key.and_then(|key| {
                calls.clone().find(|&call| {
                    let call = &pairing.calls[call];
                    call.answer.is_none() && call_key(draft, call.part) == Some(key)
                })
            });
            match found {
                Some(call) => join(draft, pairing, call, answer),
                None => open.push(answer),
            }
        }
        return;
    }
    let mut waiting: HashMap<_, VecDeque<usize>> = HashMap::new();
    for call in calls {
        if let Some(key) = call_key(draft, pairing.calls[call].part) {
            waiting.entry(key).or_default().push_back(call);
        }
    }
    for answer in answers {
        let key = answer_key(draft, pairing.answers[answer].part);
        match key.and_then(|key| waiting.get_mut(&key)).and_then(VecDeque::pop_front) {
            Some(call) => join(draft, pairing, call, answer),
            None => open.push(answer),
        }
    }
}

/// Pairs what has no id by order. Gemini's ids are optional: there the name decides first, and an
/// id on one side only is no contradiction.
fn without_id(
    draft: &Draft<'_>,
    pairing: &mut Pairing,
    group: usize,
    open: &mut Vec<usize>,
    from: usize,
) {
    let optional = draft.wire == Wire::Gemini;
    // An id that a call of this turn has says whose answer it is; nothing else may.
    let calls = pairing.groups[group].calls.clone();
    let known: HashSet<String> = if optional {
        let ids = calls.filter_map(|call| call_at(draft, pairing.calls[call].part)?.id.as_deref());
        ids.map(str::to_owned).collect()
    } else {
        HashSet::new()
    };
    for by_name in [true, false] {
        if by_name && !optional {
            continue;
        }
        let mut waiting: HashMap<Option<String>, VecDeque<usize>> = HashMap::new();
        for call in pairing.groups[group].calls.clone() {
            if pairing.calls[call].answer.is_some() {
                continue;
            }
            let Some(outline) = call_at(draft, pairing.calls[call].part) else { continue };
            if optional || outline.id.is_none() {
                let name = outline.name.as_deref().map(str::to_owned).filter(|_| by_name);
                waiting.entry(name).or_default().push_back(call);
            }
        }
        let candidates = open.split_off(from);
        for answer in candidates {
            let Kind::Answer(outline) = &draft.parts[pairing.answers[answer].part].kind else {
                continue;
            };
            let name = outline.name.as_deref().map(str::to_owned).filter(|_| by_name);
            let queue = waiting.get_mut(&name);
            let bound = outline.id.as_deref().is_some_and(|id| known.contains(id));
            let free = !bound && (optional || outline.id.is_none());
            let found = queue.filter(|_| free).and_then(|queue| {
                let fits = |&call: &usize| {
                    call_at(draft, pairing.calls[call].part).is_some_and(|call| {
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
                Some(call) => join(draft, pairing, call, answer),
                None => open.push(answer),
            }
        }
    }
}

/// One open call and one answer behind it belong together, if one of them has no id and nothing
/// else claimed either.
pub(super) fn the_only_ones(draft: &Draft<'_>, pairing: &mut Pairing) {
    for group in 0..pairing.groups.len() {
        let Group { home, spill, calls, .. } = pairing.groups[group].clone();
        let mut open = calls.filter(|&call| pairing.calls[call].answer.is_none());
        let (Some(call), None) = (open.next(), open.next()) else { continue };
        let first = pairing.answers.partition_point(|answer| answer.message < home.start);
        let here = pairing.answers[first..].iter().enumerate();
        let here = here.take_while(|(_, answer)| answer.message < spill.end.max(home.end));
        let mut orphans = here.filter(|(_, answer)| answer.fate == Fate::Orphan);
        let (Some((at, answer)), None) = (orphans.next(), orphans.next()) else { continue };
        let Kind::Answer(outline) = &draft.parts[answer.part].kind else { continue };
        let Some(asked) = call_at(draft, pairing.calls[call].part) else { continue };
        if (asked.id.is_none() || outline.id.is_none()) && asked.family == outline.family {
            join(draft, pairing, call, first + at);
        }
    }
}

/// Where ids are optional, an answer that stands apart is recognised by its name: in the last turn
/// before it, or the next one behind it.
pub(super) fn by_name(draft: &Draft<'_>, pairing: &mut Pairing) {
    let mut open: HashMap<(usize, &str), VecDeque<usize>> = HashMap::new();
    for (index, call) in pairing.calls.iter().enumerate() {
        let name = call_at(draft, call.part).and_then(|call| call.name.as_deref());
        if let (None, Some(name)) = (call.answer, name) {
            open.entry((call.group, name)).or_default().push_back(index);
        }
    }
    for answer in 0..pairing.answers.len() {
        let PairedAnswer { message, part, fate } = pairing.answers[answer];
        let Kind::Answer(outline) = &draft.parts[part].kind else { continue };
        let Some(name) = outline.name.as_deref().filter(|_| fate == Fate::Orphan) else { continue };
        let next = pairing.groups.partition_point(|group| group.messages.start <= message);
        let found = [next.checked_sub(1), Some(next)].into_iter().flatten().find_map(|group| {
            let queue = open.get_mut(&(group, name))?;
            let fits = |&call: &usize| {
                let id = call_at(draft, pairing.calls[call].part).and_then(|call| call.id.as_ref());
                id.is_none() || outline.id.is_none()
            };
            if queue.front().is_some_and(fits) { queue.pop_front() } else { None }
        });
        if let Some(call) = found {
            join(draft, pairing, call, answer);
        }
    }
}
