//! Matches the answers directly after a turn with its calls.

use std::{
    borrow::Cow,
    collections::{HashMap, HashSet, VecDeque},
};

use super::{
    CallPairing, ResultMatch, across_turns::pass_to_older_call, answer_key, call_at, call_key,
    join_answer,
};
use crate::draft::{Draft, Format, PartKind};
use crate::sorting::sort_by_key;
use foxwedge_json::{field_text, field_value};

/// Above this many calls in a turn, a hash table pays off.
const SMALL_TURN: usize = 12;

/// Matches answers in the home of each turn, in order. Returns the answers without a match.
pub(super) fn match_in_turns(draft: &Draft<'_>, pairing: &mut CallPairing) -> Vec<usize> {
    let mut open = Vec::new();
    let mut next = 0;
    for turn in 0..pairing.turns.len() {
        let (start, end) = {
            let turn = &pairing.turns[turn];
            (turn.home().start, turn.spill().end.max(turn.home().end))
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
        match_by_id(draft, pairing, turn, first..next, &mut open);
        if open.len() > before {
            match_hints(draft, pairing, turn, &mut open, before, id_number);
            if draft.format == Format::OpenaiChat {
                match_hints(draft, pairing, turn, &mut open, before, tool_hint);
            }
            match_without_id(draft, pairing, turn, &mut open, before);
        }
        if pairing.turns[turn].messages().len() > 1 {
            match_last_message(draft, pairing, turn);
        }
    }
    open.extend(next..pairing.answers.len());
    open
}

fn match_by_id(
    draft: &Draft<'_>,
    pairing: &mut CallPairing,
    turn: usize,
    answers: std::ops::Range<usize>,
    open: &mut Vec<usize>,
) {
    let calls = pairing.turns[turn].calls();
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
    // The first open call of each id, and for each call the next one of its id.
    let mut waiting: HashMap<_, Option<u32>> = HashMap::new();
    let mut next_of_id: Vec<Option<u32>> = vec![None; calls.len()];
    for at in (0..calls.len()).rev() {
        if let Some(key) = call_key(draft, pairing.calls[calls.start + at].part()) {
            next_of_id[at] = waiting.insert(key, u32::try_from(at).ok()).flatten();
        }
    }
    for answer in answers {
        let key = answer_key(draft, pairing.answers[answer].part());
        let first = key.and_then(|key| waiting.get_mut(&key));
        let found = first.and_then(|first| {
            let at = first.take()? as usize;
            *first = next_of_id[at];
            Some(calls.start + at)
        });
        match found {
            Some(call) => join_answer(draft, pairing, call, answer),
            None => open.push(answer),
        }
    }
}

/// Where several messages of a turn use one id and there are too few answers, the answers belong to
/// the last message.
fn match_last_message(draft: &Draft<'_>, pairing: &mut CallPairing, turn: usize) {
    let mut same: HashMap<_, Vec<usize>> = HashMap::new();
    for call in pairing.turns[turn].calls() {
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
        let mut chosen: Vec<usize> = Vec::new();
        for in_message in calls.chunk_by(of_message).rev() {
            let room = answers.len() - chosen.len();
            chosen.extend(in_message.iter().take(room));
        }
        sort_by_key(&mut chosen, |call| *call);
        // Where answers name their tool, the names decide.
        let name = |call: usize| call_at(draft, pairing.calls[call].part())?.name.as_deref();
        let answer_tool = |answer: usize| match &draft.parts[pairing.answers[answer].part()].kind {
            PartKind::Answer(answer) => answer.tool(),
            _ => None,
        };
        let same_tool = |call: usize, answer: usize| {
            answer_tool(answer).is_some() && answer_tool(answer) == name(call)
        };
        let fits = calls
            .iter()
            .filter(|&&call| {
                pairing.calls[call].answer().is_some_and(|answer| same_tool(call, answer))
            })
            .count();
        let moved =
            chosen.iter().zip(&answers).filter(|(call, answer)| same_tool(**call, **answer));
        if draft.format == Format::Gemini && moved.count() < fits {
            continue;
        }
        for &call in &calls {
            pairing.calls[call].set_answer(None);
        }
        for (call, answer) in chosen.into_iter().zip(answers) {
            join_answer(draft, pairing, call, answer);
        }
    }
}

/// Matches answers without a valid id by another field that says to which call they belong.
fn match_hints<'d>(
    draft: &'d Draft<'_>,
    pairing: &mut CallPairing,
    turn: usize,
    open: &mut Vec<usize>,
    from: usize,
    hint: fn(&'d Draft<'_>, usize) -> Option<Cow<'d, str>>,
) {
    let mut waiting: HashMap<Cow<'_, str>, VecDeque<usize>> = HashMap::new();
    for call in pairing.turns[turn].calls() {
        if pairing.calls[call].answer().is_none()
            && let Some(hint) = hint(draft, pairing.calls[call].part())
        {
            waiting.entry(hint).or_default().push_back(call);
        }
    }
    if waiting.is_empty() {
        return;
    }
    for answer in open.split_off(from) {
        let part = pairing.answers[answer].part();
        let PartKind::Answer(outline) = &draft.parts[part].kind else { continue };
        let queue = hint(draft, part).and_then(|hint| waiting.get_mut(&hint));
        let found = queue.and_then(|queue| {
            let fits = |&call: &usize| {
                call_at(draft, pairing.calls[call].part())
                    .is_some_and(|call| call.family == outline.family)
            };
            let position = queue.iter().take(64).position(fits)?;
            queue.remove(position)
        });
        match found {
            Some(call) => join_answer(draft, pairing, call, answer),
            None => open.push(answer),
        }
    }
}

/// The tool of a call, or the tool that an answer without an id names: some servers write names
/// instead of ids.
fn tool_hint<'d>(draft: &'d Draft<'_>, part: usize) -> Option<Cow<'d, str>> {
    let part = draft.parts.get(part)?;
    match &part.kind {
        PartKind::Call(call) => call.name.as_deref().map(Cow::Borrowed),
        PartKind::Answer(answer) if answer.id.is_none() && !part.span.is_empty() => {
            let name = |key| field_text(draft.source, part.span, key);
            name("name").or_else(|| name("tool_name"))
        }
        _ => None,
    }
}

/// The number that a call or an answer has in place of an id. It is not valid and counts as missing.
fn id_number<'d>(draft: &'d Draft<'_>, part: usize) -> Option<Cow<'d, str>> {
    let part = draft.parts.get(part)?;
    let (is_call, is_missing) = match &part.kind {
        PartKind::Call(call) => (true, call.id.is_none()),
        PartKind::Answer(answer) => (false, answer.id.is_none()),
        _ => return None,
    };
    let field = |object, key| field_value(draft.source, object, key);
    if !is_missing || part.span.is_empty() {
        return None;
    }
    let value = match (draft.format, is_call) {
        (Format::OpenaiChat | Format::Anthropic | Format::GeminiInteractions, true) => {
            field(part.span, "id")
        }
        (Format::OpenaiChat, false) => field(part.span, "tool_call_id"),
        (Format::Anthropic, false) => field(part.span, "tool_use_id"),
        (Format::OpenaiResponses, _) | (Format::GeminiInteractions, false) => {
            field(part.span, "call_id")
        }
        (Format::Bedrock, true) => field(field(part.span, "toolUse")?, "toolUseId"),
        (Format::Bedrock, false) => field(field(part.span, "toolResult")?, "toolUseId"),
        // Ids are optional there, and names decide first.
        (Format::Gemini, _) => None,
    };
    let value = value?.of(draft.source);
    let is_number = value.starts_with(|first: char| first == '-' || first.is_ascii_digit());
    is_number.then_some(Cow::Borrowed(value))
}

/// Matches answers without an id by order. Gemini's ids are optional: there the name decides first,
/// and an id on one side only is no contradiction.
fn match_without_id(
    draft: &Draft<'_>,
    pairing: &mut CallPairing,
    turn: usize,
    open: &mut Vec<usize>,
    from: usize,
) {
    let optional = draft.format == Format::Gemini;
    // An answer with the id of a call of this turn belongs to that call only.
    let calls = pairing.turns[turn].calls();
    let turn_ids: HashSet<String> = if optional {
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
        for call in pairing.turns[turn].calls() {
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
            let bound = outline.id.as_deref().is_some_and(|id| turn_ids.contains(id));
            let free = !bound && (optional || outline.id.is_none());
            let found = queue.filter(|_| free).and_then(|queue| {
                let fits = |&call: &usize| {
                    call_at(draft, pairing.calls[call].part()).is_some_and(|call| {
                        (call.id.is_none() || outline.id.is_none())
                            && call.family == outline.family
                            // A different name means a different tool.
                            && (!optional
                                || by_name
                                || call.name.is_none()
                                || outline.name.is_none())
                    })
                };
                let position = queue.iter().take(64).position(fits)?;
                queue.remove(position)
            });
            match found {
                Some(call) => join_answer(draft, pairing, call, answer),
                None => open.push(answer),
            }
        }
    }
}

/// Matches one open call with one unmatched answer after it, if one of them has no id and neither
/// has another candidate.
pub(super) fn match_single_pairs(draft: &Draft<'_>, pairing: &mut CallPairing) {
    for index in 0..pairing.turns.len() {
        let turn = &pairing.turns[index];
        let (home, spill, calls) = (turn.home(), turn.spill(), turn.calls());
        let mut open = calls.filter(|&call| pairing.calls[call].answer().is_none());
        let (Some(call), None) = (open.next(), open.next()) else { continue };
        let first = pairing.answers.partition_point(|answer| answer.message() < home.start);
        let after_turn = pairing.answers[first..].iter().enumerate();
        let after_turn =
            after_turn.take_while(|(_, answer)| answer.message() < spill.end.max(home.end));
        let mut orphans =
            after_turn.filter(|(_, answer)| answer.result_match() == ResultMatch::Orphan);
        let (Some((at, answer)), None) = (orphans.next(), orphans.next()) else { continue };
        let PartKind::Answer(outline) = &draft.parts[answer.part()].kind else { continue };
        let Some(call_outline) = call_at(draft, pairing.calls[call].part()) else { continue };
        if (call_outline.id.is_none() || outline.id.is_none())
            && call_outline.family == outline.family
        {
            join_answer(draft, pairing, call, first + at);
        }
    }
}

/// The number of turns that are searched for an open call of a name.
const MAX_TURNS: usize = 64;

/// Where ids are optional, matches an answer elsewhere by its name: with the last turn before it
/// that has an open call of that name, or with the next one after it.
pub(super) fn match_by_name(draft: &Draft<'_>, pairing: &mut CallPairing) {
    // By name: the turns with open calls, in order.
    let mut open: HashMap<&str, Vec<(usize, VecDeque<usize>)>> = HashMap::new();
    for (index, call) in pairing.calls.iter().enumerate() {
        let name = call_at(draft, call.part()).and_then(|call| call.name.as_deref());
        let (None, Some(name)) = (call.answer(), name) else { continue };
        let turns = open.entry(name).or_default();
        match turns.last_mut().filter(|(turn, _)| *turn == call.turn()) {
            Some((_, calls)) => calls.push_back(index),
            None => turns.push((call.turn(), VecDeque::from([index]))),
        }
    }
    for answer in 0..pairing.answers.len() {
        let paired = pairing.answers[answer];
        let (message, part, result_match) =
            (paired.message(), paired.part(), paired.result_match());
        let PartKind::Answer(outline) = &draft.parts[part].kind else { continue };
        let Some(name) = outline.tool().filter(|_| result_match == ResultMatch::Orphan) else {
            continue;
        };
        let Some(turns) = open.get_mut(name) else { continue };
        let next = pairing.turns.partition_point(|turn| turn.messages().start <= message);
        let next_turn = turns.partition_point(|(turn, _)| *turn < next);
        let has_open_call = |turn: &(usize, VecDeque<usize>)| {
            let call = turn.1.front().and_then(|&call| call_at(draft, pairing.calls[call].part()));
            call.is_some_and(|call| call.id.is_none() || outline.id.is_none())
        };
        let before = (0..next_turn).rev().take(MAX_TURNS).find(|&at| has_open_call(&turns[at]));
        let later = turns
            .get(next_turn)
            .filter(|turn| turn.0 == next && has_open_call(turn))
            .map(|_| next_turn);
        let Some(at) = before.or(later) else { continue };
        let Some(call) = turns.get_mut(at).and_then(|(_, calls)| calls.pop_front()) else {
            continue;
        };
        let newer = next.checked_sub(1).filter(|_| before.is_some());
        match newer.and_then(|turn| answered_call(draft, pairing, turn, name)) {
            Some(newer) if newer > call => {
                pass_to_older_call(draft, pairing, [call, newer], answer)
            }
            _ => join_answer(draft, pairing, call, answer),
        }
    }
}

/// The last call of a turn that has this name and an answer, and shares no id with that answer.
fn answered_call(
    draft: &Draft<'_>,
    pairing: &CallPairing,
    turn: usize,
    name: &str,
) -> Option<usize> {
    let mut calls = pairing.turns.get(turn)?.calls().clone().rev().take(MAX_TURNS);
    calls.find(|&call| {
        let outline = call_at(draft, pairing.calls[call].part());
        let answer = pairing.calls[call].answer().map(|answer| pairing.answers[answer].part());
        let Some((outline, answer)) = outline.zip(answer) else { return false };
        (outline.id.is_none() || answer_key(draft, answer).is_none())
            && outline.name.as_deref() == Some(name)
    })
}
