//! Carries out what a strategy planned, and makes sound again what it leaves.

use super::{NewText, Repair, RepairedMessage, run_rounds, state::RepairState};
use crate::{
    check::{CheckOptions, check},
    compact::CompactionPlan,
    draft::{AnswerShape, Role},
    transcript::Transcript,
};

/// The words of a compaction: a strategy decides where there are some, others what they say.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct CompactionText {
    /// What is left of each answer that shrinks, in the order of the plan.
    pub answers: Vec<String>,
    /// The summary that stands for what was condensed.
    pub summary: Option<String>,
}

/// Carries out a plan. Units go, answers get their new words, a summary takes the place of the
/// first unit that goes; then the engine looks at the result as at any other history, so that roles
/// alternate where they have to and no reasoning stands on a past that is gone.
pub fn apply_plan<'a>(
    transcript: &Transcript<'a>,
    question: &CheckOptions,
    plan: &CompactionPlan,
    words: CompactionText,
) -> Repair<'a> {
    let draft = transcript.draft();
    let before = check(draft, question);
    let mut work = RepairState::new(draft, question);
    for (shrunk, text) in plan.shrunk.iter().zip(words.answers) {
        shrink_answer(&mut work, shrunk.message, shrunk.part, text);
    }
    let gone: Vec<usize> = plan.dropped.iter().flat_map(|gone| gone.messages.clone()).collect();
    let summary = words.summary.filter(|_| plan.condense);
    work.changed = !gone.is_empty() || !plan.shrunk.is_empty();
    work.remove_messages(&gone);
    if let (Some(summary), Some(&first)) = (summary, gone.first()) {
        // As many slots stand before the first that goes as messages did.
        let at = first.min(work.messages.len());
        work.messages
            .insert(at, RepairedMessage::with_text(Role::User, NewText::Supplied(summary.into())));
    }
    work.update_content_shapes();
    run_rounds(work, before)
}

/// Gives an answer other words.
fn shrink_answer(work: &mut RepairState<'_, '_>, message: usize, part: usize, text: String) {
    let Some(header) = work.input.messages.get(message) else { return };
    let index = part.wrapping_sub(header.range().start);
    let slot = work.edit_message(message);
    let Some(piece) = slot.parts.get_mut(index) else { return };
    if let Some(answer) = piece.part.kind.answer_mut() {
        answer.output = AnswerShape::Full;
        answer.media = false;
        piece.patch.set_output(NewText::Supplied(text.into()));
        piece.patch.content_only = true;
    }
}
