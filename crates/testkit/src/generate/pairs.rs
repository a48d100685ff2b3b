//! Damage to pairs of calls and results: lost, duplicated, moved, split.

use super::DraftAccident;
use super::draft::{GeneratedDraft, GeneratedPart, GeneratedTurn, TurnSpeaker};
use super::sound::{self, DraftStyle};
use crate::random::Random;

/// Placeholders that agents and libraries write for a missing result. They are the only results
/// that repeat, and none may replace a real result.
pub const PLACEHOLDERS: [&str; 8] = [
    "[Tool use interrupted]",
    "[Tool result missing due to internal error]",
    "[Tool execution was interrupted]",
    "[System: Tool execution skipped/interrupted by user. No result provided for tool 'bash'.]",
    "No result was recorded for this tool call.",
    "No result provided",
    "aborted",
    "Tool call bash with id call_1 was cancelled - another message came in before it could be completed.",
];

pub(super) const ACCIDENTS: &[DraftAccident] = &[
    drop_answer,
    drop_answer,
    drop_call,
    drop_answer_turn,
    drop_calling_turn,
    repeat_answer,
    repeat_answer_differently,
    move_answer_later,
    move_answer_earlier,
    move_answer_to_the_front,
    split_answers,
    split_turn,
    put_answer_into_assistant,
    put_call_into_user,
    answer_with_placeholder,
    placeholder_before_answer,
    open_tail,
    invent_answer,
    call_a_hundred_times,
];

/// Removes a random part that `wanted` accepts.
fn take(
    random: &mut Random,
    draft: &mut GeneratedDraft,
    wanted: fn(&GeneratedPart) -> bool,
) -> Option<(usize, GeneratedPart)> {
    let places = draft.places(wanted);
    if places.is_empty() {
        return None;
    }
    let (turn, part) = *random.pick(&places);
    let part = draft.turns[turn].parts.remove(part);
    Some((turn, part))
}

/// A random part that `wanted` accepts.
fn any<'a>(
    random: &mut Random,
    draft: &'a mut GeneratedDraft,
    wanted: fn(&GeneratedPart) -> bool,
) -> Option<(usize, &'a mut GeneratedPart)> {
    let places = draft.places(wanted);
    if places.is_empty() {
        return None;
    }
    let (turn, part) = *random.pick(&places);
    Some((turn, &mut draft.turns[turn].parts[part]))
}

fn drop_answer(random: &mut Random, _: &DraftStyle, draft: &mut GeneratedDraft) {
    take(random, draft, GeneratedPart::is_answer);
    draft.sweep();
}

fn drop_call(random: &mut Random, _: &DraftStyle, draft: &mut GeneratedDraft) {
    take(random, draft, GeneratedPart::is_call);
    draft.sweep();
}

fn drop_turn(random: &mut Random, draft: &mut GeneratedDraft, wanted: fn(&GeneratedTurn) -> bool) {
    let places: Vec<usize> =
        (0..draft.turns.len()).filter(|at| wanted(&draft.turns[*at])).collect();
    if !places.is_empty() {
        draft.turns.remove(*random.pick(&places));
    }
}

fn drop_answer_turn(random: &mut Random, _: &DraftStyle, draft: &mut GeneratedDraft) {
    drop_turn(random, draft, GeneratedTurn::answers);
}

fn drop_calling_turn(random: &mut Random, _: &DraftStyle, draft: &mut GeneratedDraft) {
    drop_turn(random, draft, GeneratedTurn::calls);
}

/// Inserts a part into a random user turn from `from` on, or into a new one.
fn put(
    random: &mut Random,
    draft: &mut GeneratedDraft,
    from: usize,
    to: usize,
    part: GeneratedPart,
) {
    let mut places = draft.turns_of(TurnSpeaker::User);
    places.retain(|at| (from..to).contains(at));
    if places.is_empty() || random.chance(40) {
        let at = from + random.below(to.saturating_sub(from) + 1);
        let turn = sound::turn(random, TurnSpeaker::User, vec![part]);
        draft.turns.insert(at.min(draft.turns.len()), turn);
        return;
    }
    let parts = &mut draft.turns[*random.pick(&places)].parts;
    let at = if random.chance(50) { parts.len() } else { random.below(parts.len() + 1) };
    parts.insert(at, part);
}

fn repeat_answer(random: &mut Random, _: &DraftStyle, draft: &mut GeneratedDraft) {
    let Some((turn, GeneratedPart::Answer(answer))) = any(random, draft, GeneratedPart::is_answer)
    else {
        return;
    };
    let copy = GeneratedPart::Answer(answer.clone());
    let end = draft.turns.len();
    let far = if random.chance(50) { turn + 1 } else { end };
    put(random, draft, turn, far, copy);
}

fn repeat_answer_differently(random: &mut Random, _: &DraftStyle, draft: &mut GeneratedDraft) {
    let text = draft.sentence("second result");
    let Some((turn, GeneratedPart::Answer(answer))) = any(random, draft, GeneratedPart::is_answer)
    else {
        return;
    };
    let mut copy = answer.clone();
    copy.text = text;
    let end = draft.turns.len();
    let far = if random.chance(50) { turn + 1 } else { end };
    put(random, draft, turn, far, GeneratedPart::Answer(copy));
}

fn move_answer_later(random: &mut Random, _: &DraftStyle, draft: &mut GeneratedDraft) {
    let Some((turn, part)) = take(random, draft, GeneratedPart::is_answer) else { return };
    let end = draft.turns.len();
    put(random, draft, turn + 1, end, part);
    draft.sweep();
}

fn move_answer_earlier(random: &mut Random, _: &DraftStyle, draft: &mut GeneratedDraft) {
    let Some((turn, part)) = take(random, draft, GeneratedPart::is_answer) else { return };
    put(random, draft, 0, turn, part);
    draft.sweep();
}

fn move_answer_to_the_front(random: &mut Random, _: &DraftStyle, draft: &mut GeneratedDraft) {
    let Some((turn, part)) = take(random, draft, GeneratedPart::is_answer) else { return };
    let before = turn.saturating_sub(1);
    draft.turns.insert(before, sound::turn(random, TurnSpeaker::User, vec![part]));
    draft.sweep();
}

fn split_answers(random: &mut Random, _: &DraftStyle, draft: &mut GeneratedDraft) {
    let several =
        |turn: &GeneratedTurn| turn.parts.iter().filter(|part| part.is_answer()).count() > 1;
    split(random, draft, several);
}

fn split_turn(random: &mut Random, _: &DraftStyle, draft: &mut GeneratedDraft) {
    let several =
        |turn: &GeneratedTurn| turn.parts.iter().filter(|part| part.is_call()).count() > 1;
    split(random, draft, several);
}

fn split(random: &mut Random, draft: &mut GeneratedDraft, wanted: fn(&GeneratedTurn) -> bool) {
    let places: Vec<usize> =
        (0..draft.turns.len()).filter(|at| wanted(&draft.turns[*at])).collect();
    if places.is_empty() {
        return;
    }
    let at = *random.pick(&places);
    let last = draft.turns[at].parts.pop();
    let speaker = draft.turns[at].speaker;
    let turn = sound::turn(random, speaker, last.into_iter().collect());
    draft.turns.insert(at + 1, turn);
}

fn put_answer_into_assistant(random: &mut Random, _: &DraftStyle, draft: &mut GeneratedDraft) {
    let Some((turn, part)) = take(random, draft, GeneratedPart::is_answer) else { return };
    let places = draft.turns_of(TurnSpeaker::Assistant);
    let near: Vec<usize> = places.into_iter().filter(|at| at.abs_diff(turn) <= 2).collect();
    match near.is_empty() {
        true => draft.turns[turn].parts.push(part),
        false => draft.turns[*random.pick(&near)].parts.push(part),
    }
    draft.sweep();
}

fn put_call_into_user(random: &mut Random, _: &DraftStyle, draft: &mut GeneratedDraft) {
    let users = draft.turns_of(TurnSpeaker::User);
    let Some((_, part)) = take(random, draft, GeneratedPart::is_call) else { return };
    if users.is_empty() {
        return;
    }
    draft.turns[*random.pick(&users)].parts.push(part);
    draft.sweep();
}

fn answer_with_placeholder(random: &mut Random, _: &DraftStyle, draft: &mut GeneratedDraft) {
    let text = (*random.pick(&PLACEHOLDERS)).to_owned();
    if let Some((_, GeneratedPart::Answer(answer))) = any(random, draft, GeneratedPart::is_answer) {
        answer.text = text;
    }
}

/// A placeholder is where the result belongs; the real result comes later.
fn placeholder_before_answer(random: &mut Random, _: &DraftStyle, draft: &mut GeneratedDraft) {
    let text = (*random.pick(&PLACEHOLDERS)).to_owned();
    let Some((turn, GeneratedPart::Answer(answer))) = any(random, draft, GeneratedPart::is_answer)
    else {
        return;
    };
    let real = answer.clone();
    answer.text = text;
    let end = draft.turns.len();
    put(random, draft, turn + 1, end, GeneratedPart::Answer(real));
}

fn open_tail(random: &mut Random, style: &DraftStyle, draft: &mut GeneratedDraft) {
    let (call, _) = sound::pair(random, style, draft);
    let (other, answer) = sound::pair(random, style, draft);
    let calls = vec![GeneratedPart::Call(call), GeneratedPart::Call(other)];
    draft.turns.push(sound::turn(random, TurnSpeaker::Assistant, calls));
    if random.chance(50) {
        draft.turns.push(sound::turn(
            random,
            TurnSpeaker::User,
            vec![GeneratedPart::Answer(answer)],
        ));
    }
}

fn invent_answer(random: &mut Random, style: &DraftStyle, draft: &mut GeneratedDraft) {
    let (_, answer) = sound::pair(random, style, draft);
    let end = draft.turns.len();
    put(random, draft, 0, end, GeneratedPart::Answer(answer));
}

fn call_a_hundred_times(random: &mut Random, style: &DraftStyle, draft: &mut GeneratedDraft) {
    if !random.chance(8) {
        return;
    }
    let count = 120 + random.below(20);
    let (calls, answers): (Vec<GeneratedPart>, Vec<GeneratedPart>) = (0..count)
        .map(|_| sound::pair(random, style, draft))
        .map(|(call, answer)| (GeneratedPart::Call(call), GeneratedPart::Answer(answer)))
        .unzip();
    draft.turns.push(GeneratedTurn::new(TurnSpeaker::Assistant, calls));
    draft.turns.push(GeneratedTurn::new(TurnSpeaker::User, answers));
}
