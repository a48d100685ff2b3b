//! Carries out what a strategy planned, and makes sound again what it leaves.

use super::{NewWords, Repair, Slot, finish, work::Work};
use crate::{
    check::{Question, check},
    compact::Plan,
    draft::{Output, Role},
    transcript::Transcript,
};

/// The words of a compaction: a strategy decides where there are some, others what they say.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Words {
    /// What is left of each answer that shrinks, in the order of the plan.
    pub answers: Vec<String>,
    /// The summary that stands for what was condensed.
    pub summary: Option<String>,
}

/// Carries out a plan. Units go, answers get their new words, a summary takes the place of the
/// first unit that goes; then the engine looks at the result as at any other history, so that roles
/// alternate where they have to and no reasoning stands on a past that is gone.
pub fn carry_out<'a>(
    transcript: &Transcript<'a>,
    question: &Question,
    plan: &Plan,
    words: Words,
) -> Repair<'a> {
    let draft = transcript.draft();
    let before = check(draft, question);
    let mut work = Work::new(draft, question);
    for (shrunk, text) in plan.shrunk.iter().zip(words.answers) {
        shrink(&mut work, shrunk.message, shrunk.part, text);
    }
    let gone: Vec<usize> = plan.gone.iter().flat_map(|gone| gone.messages.clone()).collect();
    let summary = words.summary.filter(|_| plan.condense);
    work.changed = !gone.is_empty() || !plan.shrunk.is_empty();
    work.remove_slots(&gone);
    if let (Some(summary), Some(&first)) = (summary, gone.first()) {
        // As many slots stand before the first that goes as messages did.
        let at = first.min(work.slots.len());
        work.slots.insert(at, Slot::say(Role::User, NewWords::Given(summary.into())));
    }
    work.settle();
    finish(work, before)
}

/// Gives an answer other words.
fn shrink(work: &mut Work<'_, '_>, message: usize, part: usize, text: String) {
    let Some(header) = work.input.messages.get(message) else { return };
    let index = part.wrapping_sub(header.range().start);
    let slot = work.touch(message);
    let Some(piece) = slot.pieces.get_mut(index) else { return };
    if let Some(answer) = piece.part.kind.answer_mut() {
        answer.output = Output::Full;
        answer.media = false;
        piece.patch.set_output(NewWords::Given(text.into()));
        piece.patch.bare = true;
    }
}
