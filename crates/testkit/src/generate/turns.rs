//! Accidents with whole messages: swapped, cut, inserted, in the wrong place, empty.

use super::Accident;
use super::draft::{Draft, Part, Speaker, Turn};
use super::sound::{self, Style};
use crate::random::Random;

pub(super) const ACCIDENTS: &[Accident] = &[
    swap_turns,
    cut_head,
    cut_tail,
    user_between_call_and_answer,
    system_anywhere,
    assistant_anywhere,
    text_before_answers,
    text_after_answers,
    text_after_calls,
    empty_text,
    blank_text,
    trailing_thinking,
    thinking_only,
    thinking_in_user,
    drop_thinking,
    dead_server_call,
    orphan_server_answer,
    paused_server_call,
    trailing_assistant,
    trailing_space,
    first_assistant,
    forget_everything,
];

fn somewhere(random: &mut Random, draft: &Draft) -> usize {
    random.below(draft.turns.len() + 1)
}

fn text(random: &mut Random, draft: &mut Draft, speaker: Speaker) -> Turn {
    let what = match speaker {
        Speaker::User => "user interjection",
        Speaker::Assistant => "assistant aside",
        Speaker::System => "system reminder",
    };
    let text = Part::Text(draft.sentence(what));
    sound::turn(random, speaker, vec![text])
}

fn swap_turns(random: &mut Random, _: &Style, draft: &mut Draft) {
    let count = draft.turns.len();
    if count > 1 {
        draft.turns.swap(random.below(count), random.below(count));
    }
}

fn cut_head(random: &mut Random, _: &Style, draft: &mut Draft) {
    let count = random.below(draft.turns.len());
    draft.turns.drain(..count);
}

fn cut_tail(random: &mut Random, _: &Style, draft: &mut Draft) {
    let count = 1 + random.below(draft.turns.len());
    draft.turns.truncate(count);
}

fn user_between_call_and_answer(random: &mut Random, _: &Style, draft: &mut Draft) {
    let places: Vec<usize> =
        (0..draft.turns.len()).filter(|at| draft.turns[*at].answers()).collect();
    if !places.is_empty() {
        let speaker = *random.pick(&[Speaker::User, Speaker::User, Speaker::System]);
        let turn = text(random, draft, speaker);
        draft.turns.insert(*random.pick(&places), turn);
    }
}

fn system_anywhere(random: &mut Random, _: &Style, draft: &mut Draft) {
    let turn = text(random, draft, Speaker::System);
    let at = somewhere(random, draft);
    draft.turns.insert(at, turn);
}

fn assistant_anywhere(random: &mut Random, _: &Style, draft: &mut Draft) {
    let turn = text(random, draft, Speaker::Assistant);
    let at = somewhere(random, draft);
    draft.turns.insert(at, turn);
}

/// Puts a new text into a random turn that `wanted` accepts.
fn put_text(random: &mut Random, draft: &mut Draft, wanted: fn(&Turn) -> bool, first: bool) {
    let places: Vec<usize> =
        (0..draft.turns.len()).filter(|at| wanted(&draft.turns[*at])).collect();
    if places.is_empty() {
        return;
    }
    let part = Part::Text(draft.sentence("remark"));
    let parts = &mut draft.turns[*random.pick(&places)].parts;
    let at = if first { 0 } else { parts.len() };
    parts.insert(at, part);
}

fn text_before_answers(random: &mut Random, _: &Style, draft: &mut Draft) {
    put_text(random, draft, Turn::answers, true);
}

fn text_after_answers(random: &mut Random, _: &Style, draft: &mut Draft) {
    put_text(random, draft, Turn::answers, false);
}

fn text_after_calls(random: &mut Random, _: &Style, draft: &mut Draft) {
    put_text(random, draft, Turn::calls, false);
}

/// Adds a text to a random turn, or makes it all the turn has.
fn hollow_out(random: &mut Random, draft: &mut Draft, words: &str) {
    if draft.turns.is_empty() {
        return;
    }
    let at = random.below(draft.turns.len());
    let turn = &mut draft.turns[at];
    let part = Part::Text(words.to_owned());
    if turn.speaker == Speaker::Assistant && !turn.calls() && random.chance(40) {
        turn.parts = vec![part];
    } else {
        turn.parts.insert(random.below(turn.parts.len() + 1), part);
    }
    turn.plain = random.chance(30);
}

fn empty_text(random: &mut Random, _: &Style, draft: &mut Draft) {
    hollow_out(random, draft, "");
}

fn blank_text(random: &mut Random, _: &Style, draft: &mut Draft) {
    let blank = *random.pick(&[" ", "\n\t ", "\u{a0}"]);
    hollow_out(random, draft, blank);
}

fn put_part(random: &mut Random, draft: &mut Draft, speaker: Speaker, part: Part, last: bool) {
    let places = draft.turns_of(speaker);
    if places.is_empty() {
        return;
    }
    let parts = &mut draft.turns[*random.pick(&places)].parts;
    let at = if last { parts.len() } else { random.below(parts.len() + 1) };
    parts.insert(at, part);
}

fn trailing_thinking(random: &mut Random, _: &Style, draft: &mut Draft) {
    let part = Part::Thinking(sound::thinking(random, draft));
    put_part(random, draft, Speaker::Assistant, part, true);
}

fn thinking_only(random: &mut Random, _: &Style, draft: &mut Draft) {
    let part = Part::Thinking(sound::thinking(random, draft));
    let at = somewhere(random, draft);
    draft.turns.insert(at, Turn::new(Speaker::Assistant, vec![part]));
}

fn thinking_in_user(random: &mut Random, _: &Style, draft: &mut Draft) {
    let part = Part::Thinking(sound::thinking(random, draft));
    put_part(random, draft, Speaker::User, part, false);
}

fn drop_thinking(random: &mut Random, _: &Style, draft: &mut Draft) {
    let all = random.chance(50);
    let mut dropped = false;
    for turn in &mut draft.turns {
        turn.parts.retain(|part| {
            let keep = !matches!(part, Part::Thinking(_)) || (dropped && !all);
            dropped |= !keep;
            keep
        });
    }
    draft.sweep();
}

fn dead_server_call(random: &mut Random, _: &Style, draft: &mut Draft) {
    let id = format!("srvtoolu_{}", draft.number());
    put_part(random, draft, Speaker::Assistant, Part::ServerCall(id), false);
}

fn orphan_server_answer(random: &mut Random, _: &Style, draft: &mut Draft) {
    let id = format!("srvtoolu_{}", draft.number());
    let speaker = if random.chance(80) { Speaker::Assistant } else { Speaker::User };
    put_part(random, draft, speaker, Part::ServerAnswer(id), false);
}

fn paused_server_call(random: &mut Random, _: &Style, draft: &mut Draft) {
    let id = format!("srvtoolu_{}", draft.number());
    draft.turns.push(sound::turn(random, Speaker::Assistant, vec![Part::ServerCall(id)]));
}

fn trailing_assistant(random: &mut Random, _: &Style, draft: &mut Draft) {
    let turn = text(random, draft, Speaker::Assistant);
    draft.turns.push(turn);
}

fn trailing_space(random: &mut Random, _: &Style, draft: &mut Draft) {
    let text =
        format!("{}{}", draft.sentence("assistant aside"), random.pick(&[" ", "\n", "  \n"]));
    draft.turns.push(sound::turn(random, Speaker::Assistant, vec![Part::Text(text)]));
}

fn first_assistant(random: &mut Random, _: &Style, draft: &mut Draft) {
    if random.chance(50) && draft.turns.len() > 1 {
        draft.turns.remove(0);
    } else {
        let turn = text(random, draft, Speaker::Assistant);
        draft.turns.insert(0, turn);
    }
}

fn forget_everything(random: &mut Random, _: &Style, draft: &mut Draft) {
    if random.chance(10) {
        draft.turns.clear();
    }
}
