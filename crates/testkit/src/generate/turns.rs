//! Damage to whole messages: swapped, removed, inserted, misplaced, empty.

use super::DraftAccident;
use super::draft::{GeneratedDraft, GeneratedPart, GeneratedTurn, TurnSpeaker};
use super::sound::{self, DraftStyle};
use crate::random::Random;

pub(super) const ACCIDENTS: &[DraftAccident] = &[
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

fn somewhere(random: &mut Random, draft: &GeneratedDraft) -> usize {
    random.below(draft.turns.len() + 1)
}

fn text(random: &mut Random, draft: &mut GeneratedDraft, speaker: TurnSpeaker) -> GeneratedTurn {
    let what = match speaker {
        TurnSpeaker::User => "user interjection",
        TurnSpeaker::Assistant => "assistant aside",
        TurnSpeaker::System => "system reminder",
    };
    let text = GeneratedPart::Text(draft.sentence(what));
    sound::turn(random, speaker, vec![text])
}

fn swap_turns(random: &mut Random, _: &DraftStyle, draft: &mut GeneratedDraft) {
    let count = draft.turns.len();
    if count > 1 {
        draft.turns.swap(random.below(count), random.below(count));
    }
}

fn cut_head(random: &mut Random, _: &DraftStyle, draft: &mut GeneratedDraft) {
    let count = random.below(draft.turns.len());
    draft.turns.drain(..count);
}

fn cut_tail(random: &mut Random, _: &DraftStyle, draft: &mut GeneratedDraft) {
    let count = 1 + random.below(draft.turns.len());
    draft.turns.truncate(count);
}

fn user_between_call_and_answer(random: &mut Random, _: &DraftStyle, draft: &mut GeneratedDraft) {
    let places: Vec<usize> =
        (0..draft.turns.len()).filter(|at| draft.turns[*at].answers()).collect();
    if !places.is_empty() {
        let speaker = *random.pick(&[TurnSpeaker::User, TurnSpeaker::User, TurnSpeaker::System]);
        let turn = text(random, draft, speaker);
        draft.turns.insert(*random.pick(&places), turn);
    }
}

fn system_anywhere(random: &mut Random, _: &DraftStyle, draft: &mut GeneratedDraft) {
    let turn = text(random, draft, TurnSpeaker::System);
    let at = somewhere(random, draft);
    draft.turns.insert(at, turn);
}

fn assistant_anywhere(random: &mut Random, _: &DraftStyle, draft: &mut GeneratedDraft) {
    let turn = text(random, draft, TurnSpeaker::Assistant);
    let at = somewhere(random, draft);
    draft.turns.insert(at, turn);
}

/// Inserts a new text into a random turn that `wanted` accepts.
fn put_text(
    random: &mut Random,
    draft: &mut GeneratedDraft,
    wanted: fn(&GeneratedTurn) -> bool,
    first: bool,
) {
    let places: Vec<usize> =
        (0..draft.turns.len()).filter(|at| wanted(&draft.turns[*at])).collect();
    if places.is_empty() {
        return;
    }
    let part = GeneratedPart::Text(draft.sentence("remark"));
    let parts = &mut draft.turns[*random.pick(&places)].parts;
    let at = if first { 0 } else { parts.len() };
    parts.insert(at, part);
}

fn text_before_answers(random: &mut Random, _: &DraftStyle, draft: &mut GeneratedDraft) {
    put_text(random, draft, GeneratedTurn::answers, true);
}

fn text_after_answers(random: &mut Random, _: &DraftStyle, draft: &mut GeneratedDraft) {
    put_text(random, draft, GeneratedTurn::answers, false);
}

fn text_after_calls(random: &mut Random, _: &DraftStyle, draft: &mut GeneratedDraft) {
    put_text(random, draft, GeneratedTurn::calls, false);
}

/// Adds a blank text to a random turn, or makes it the only content of the turn.
fn hollow_out(random: &mut Random, draft: &mut GeneratedDraft, text: &str) {
    if draft.turns.is_empty() {
        return;
    }
    let at = random.below(draft.turns.len());
    let turn = &mut draft.turns[at];
    let part = GeneratedPart::Text(text.to_owned());
    if turn.speaker == TurnSpeaker::Assistant && !turn.calls() && random.chance(40) {
        turn.parts = vec![part];
    } else {
        turn.parts.insert(random.below(turn.parts.len() + 1), part);
    }
    turn.plain = random.chance(30);
}

fn empty_text(random: &mut Random, _: &DraftStyle, draft: &mut GeneratedDraft) {
    hollow_out(random, draft, "");
}

fn blank_text(random: &mut Random, _: &DraftStyle, draft: &mut GeneratedDraft) {
    let blank = *random.pick(&[" ", "\n\t ", "\u{a0}"]);
    hollow_out(random, draft, blank);
}

fn put_part(
    random: &mut Random,
    draft: &mut GeneratedDraft,
    speaker: TurnSpeaker,
    part: GeneratedPart,
    last: bool,
) {
    let places = draft.turns_of(speaker);
    if places.is_empty() {
        return;
    }
    let parts = &mut draft.turns[*random.pick(&places)].parts;
    let at = if last { parts.len() } else { random.below(parts.len() + 1) };
    parts.insert(at, part);
}

fn trailing_thinking(random: &mut Random, _: &DraftStyle, draft: &mut GeneratedDraft) {
    let part = GeneratedPart::Thinking(sound::thinking(random, draft));
    put_part(random, draft, TurnSpeaker::Assistant, part, true);
}

fn thinking_only(random: &mut Random, _: &DraftStyle, draft: &mut GeneratedDraft) {
    let part = GeneratedPart::Thinking(sound::thinking(random, draft));
    let at = somewhere(random, draft);
    draft.turns.insert(at, GeneratedTurn::new(TurnSpeaker::Assistant, vec![part]));
}

fn thinking_in_user(random: &mut Random, _: &DraftStyle, draft: &mut GeneratedDraft) {
    let part = GeneratedPart::Thinking(sound::thinking(random, draft));
    put_part(random, draft, TurnSpeaker::User, part, false);
}

fn drop_thinking(random: &mut Random, _: &DraftStyle, draft: &mut GeneratedDraft) {
    let all = random.chance(50);
    let mut dropped = false;
    for turn in &mut draft.turns {
        turn.parts.retain(|part| {
            let keep = !matches!(part, GeneratedPart::Thinking(_)) || (dropped && !all);
            dropped |= !keep;
            keep
        });
    }
    draft.sweep();
}

fn dead_server_call(random: &mut Random, _: &DraftStyle, draft: &mut GeneratedDraft) {
    let id = format!("srvtoolu_{}", draft.number());
    put_part(random, draft, TurnSpeaker::Assistant, GeneratedPart::ServerCall(id), false);
}

fn orphan_server_answer(random: &mut Random, _: &DraftStyle, draft: &mut GeneratedDraft) {
    let id = format!("srvtoolu_{}", draft.number());
    let speaker = if random.chance(80) { TurnSpeaker::Assistant } else { TurnSpeaker::User };
    put_part(random, draft, speaker, GeneratedPart::ServerAnswer(id), false);
}

fn paused_server_call(random: &mut Random, _: &DraftStyle, draft: &mut GeneratedDraft) {
    let id = format!("srvtoolu_{}", draft.number());
    draft.turns.push(sound::turn(
        random,
        TurnSpeaker::Assistant,
        vec![GeneratedPart::ServerCall(id)],
    ));
}

fn trailing_assistant(random: &mut Random, _: &DraftStyle, draft: &mut GeneratedDraft) {
    let turn = text(random, draft, TurnSpeaker::Assistant);
    draft.turns.push(turn);
}

fn trailing_space(random: &mut Random, _: &DraftStyle, draft: &mut GeneratedDraft) {
    let text =
        format!("{}{}", draft.sentence("assistant aside"), random.pick(&[" ", "\n", "  \n"]));
    draft.turns.push(sound::turn(random, TurnSpeaker::Assistant, vec![GeneratedPart::Text(text)]));
}

fn first_assistant(random: &mut Random, _: &DraftStyle, draft: &mut GeneratedDraft) {
    if random.chance(50) && draft.turns.len() > 1 {
        draft.turns.remove(0);
    } else {
        let turn = text(random, draft, TurnSpeaker::Assistant);
        draft.turns.insert(0, turn);
    }
}

fn forget_everything(random: &mut Random, _: &DraftStyle, draft: &mut GeneratedDraft) {
    if random.chance(10) {
        draft.turns.clear();
    }
}
