//! Applies a compaction plan and makes the result valid again.

use super::{NewText, Repair, RepairedMessage, run_rounds, state::RepairState};
use crate::{
    check::{CheckOptions, check},
    compact::CompactionPlan,
    draft::{AnswerShape, Role},
    transcript::Transcript,
};

/// The texts of a compaction. The plan decides where they go; the caller supplies them.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct CompactionText {
    /// The new text of each shrunk answer, in the order of the plan.
    pub answers: Vec<String>,
    /// The summary that replaces the condensed units.
    pub summary: Option<String>,
}

/// Applies a plan: removes units, replaces answers by their shorter text, and puts a summary in the
/// place of the first removed unit. Then repairs the result like any other history, so that roles
/// alternate where required and no reasoning depends on a removed prefix.
pub fn apply_plan<'a>(
    transcript: &Transcript<'a>,
    options: &CheckOptions,
    plan: &CompactionPlan,
    texts: CompactionText,
) -> Repair<'a> {
    let draft = transcript.draft();
    let before = check(draft, options);
    let mut state = RepairState::new(draft, options);
    for (shrunk, text) in plan.shrunk.iter().zip(texts.answers) {
        shrink_answer(&mut state, shrunk.message, shrunk.part, text);
    }
    let removed: Vec<usize> =
        plan.dropped.iter().flat_map(|removed| removed.messages.clone()).collect();
    let summary = texts.summary.filter(|_| plan.condense);
    state.changed = !removed.is_empty() || !plan.shrunk.is_empty();
    state.remove_messages(&removed);
    if let (Some(summary), Some(&first)) = (summary, removed.first()) {
        // The number of messages before the first removed one is unchanged.
        let at = first.min(state.messages.len());
        state
            .messages
            .insert(at, RepairedMessage::with_text(Role::User, NewText::Supplied(summary.into())));
    }
    state.update_content_shapes();
    run_rounds(state, before)
}

/// Replaces the text of an answer.
fn shrink_answer(state: &mut RepairState<'_, '_>, message: usize, part: usize, text: String) {
    let Some(header) = state.input.messages.get(message) else { return };
    let index = part.wrapping_sub(header.range().start);
    let repaired = state.edit_message(message);
    let Some(repaired_part) = repaired.parts.get_mut(index) else { return };
    if let Some(answer) = repaired_part.part.kind.answer_mut() {
        answer.output = AnswerShape::Full;
        answer.media = false;
        repaired_part.patch.set_output(NewText::Supplied(text.into()));
        repaired_part.patch.content_only = true;
    }
}
