//! Shrinks old, large answers in place, so that every call keeps its answer.
//!
//! Removes images first, then truncates long answers to their ends, then clears them; each time the
//! oldest first. The newest units are changed only if nothing else is enough.

use std::collections::HashMap;

use super::{
    budget,
    plan::{
        AnswerRemainder, CompactionInput, CompactionPace, CompactionPlan, ShrinkError,
        ShrunkAnswer, TokenLimits,
    },
};
use crate::{
    draft::{CallFamily, PartKind},
    pairing::ResultMatch,
};

/// How answers may shrink.
#[derive(Clone, PartialEq, Debug)]
pub struct ElisionPolicy {
    /// Rules by tool; the first match applies.
    pub tools: Vec<ToolElisionRule>,
    /// The number of tokens kept of a long answer.
    pub kept_tokens: u32,
    /// The number of newest units that are left unchanged.
    pub recent_units: usize,
    /// The maximum number of tokens of a note that replaces an answer.
    pub note_tokens: u32,
}

impl Default for ElisionPolicy {
    fn default() -> ElisionPolicy {
        ElisionPolicy { tools: Vec::new(), kept_tokens: 160, recent_units: 3, note_tokens: 40 }
    }
}

impl ElisionPolicy {
    fn treatment(&self, tool: &str) -> AnswerTreatment {
        let rule = self.tools.iter().find(|rule| rule.matches_tool(tool));
        rule.map_or(AnswerTreatment::Any, |rule| rule.treatment)
    }
}

/// How the answers of some tools may shrink.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ToolElisionRule {
    /// The tool's name; a star at the end matches any suffix.
    pub tool: String,
    /// The minimum that remains of its answers.
    pub treatment: AnswerTreatment,
}

/// The minimum that remains of an answer.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum AnswerTreatment {
    /// All of it.
    Keep,
    /// At least its ends.
    Shrink,
    /// Nothing: it is cleared before others shrink.
    Clear,
    /// As little as necessary.
    Any,
}

impl ToolElisionRule {
    fn matches_tool(&self, tool: &str) -> bool {
        match self.tool.strip_suffix('*') {
            Some(prefix) => tool.starts_with(prefix),
            None => self.tool == tool,
        }
    }
}

/// Saving less than this is not worth a changed prefix.
const MIN_SAVED_TOKENS: u64 = 48;

/// Plans to shrink answers until the history fits.
///
/// # Errors
/// If it does not fit, even with all permitted answers shrunk.
pub fn plan_elision(
    input: &CompactionInput<'_, '_>,
    limits: TokenLimits,
) -> Result<CompactionPlan, ShrinkError> {
    let mut plan = CompactionPlan::unchanged(input);
    if plan.expected <= limits.max_tokens() {
        return Ok(plan);
    }
    let mut elider = AnswerElider::new(input, &plan);
    let ends = AnswerRemainder::Ends(input.elision.kept_tokens);
    let mut cleared = ElisionPass::new(ElisionTarget::ClearableAnswers, AnswerRemainder::Note);
    let mut images = ElisionPass::new(ElisionTarget::AnswersWithImages, AnswerRemainder::Text);
    let mut long = ElisionPass::new(ElisionTarget::LongAnswers, ends);
    let mut rest = ElisionPass::new(ElisionTarget::LongAnswers, AnswerRemainder::Note);
    let mut shrink = |plan: &mut CompactionPlan, count: usize| {
        let old = recent_start(input, count);
        for pass in [&mut cleared, &mut images, &mut long, &mut rest] {
            elider.run(pass, input, plan, old, limits.goal());
        }
    };
    match limits.pace() {
        CompactionPace::WholeHistory => shrink(&mut plan, input.units.len()),
        // Replays the growth: each time the history was too long, its oldest answers shrank.
        CompactionPace::Incremental => {
            plan.expected = input.weights.overhead;
            for (at, unit) in input.units.iter().enumerate() {
                plan.expected += input.tokens(unit);
                if plan.expected > limits.max_tokens() {
                    shrink(&mut plan, at + 1);
                }
            }
        }
    }
    if plan.expected > limits.max_tokens() {
        for pass in [&mut cleared, &mut images, &mut long, &mut rest] {
            elider.run(pass, input, &mut plan, usize::MAX, limits.goal());
        }
    }
    elider.finish(input, &mut plan);
    if plan.expected <= limits.max_tokens() {
        Ok(plan)
    } else {
        Err(budget::build_shrink_error(input, plan, limits))
    }
}

/// The first message of the newest of the first `count` units, which are left unchanged.
fn recent_start(input: &CompactionInput<'_, '_>, count: usize) -> usize {
    let last = count.checked_sub(input.elision.recent_units + 1).and_then(|at| input.units.get(at));
    last.map_or(0, |unit| unit.messages.end)
}

/// Shrinks the remaining answers of a plan: removes images, then truncates to the ends, then to a
/// note.
pub(super) fn shrink_remaining(
    input: &CompactionInput<'_, '_>,
    plan: &mut CompactionPlan,
    goal: u64,
) {
    let mut elider = AnswerElider::new(input, plan);
    let ends = input.elision.kept_tokens;
    for (target, keep) in [
        (ElisionTarget::AnswersWithImages, AnswerRemainder::Text),
        (ElisionTarget::LongAnswers, AnswerRemainder::Ends(ends.saturating_mul(8))),
        (ElisionTarget::LongAnswers, AnswerRemainder::Ends(ends)),
        (ElisionTarget::LongAnswers, AnswerRemainder::Note),
    ] {
        elider.run(&mut ElisionPass::new(target, keep), input, plan, usize::MAX, goal);
    }
    elider.finish(input, plan);
}

/// The tokens that shrinking an answer saves.
pub(super) fn saved_tokens(input: &CompactionInput<'_, '_>, shrunk: &ShrunkAnswer) -> u64 {
    let remaining = remaining_tokens(input, shrunk.part, shrunk.keep);
    shrunk.tokens.saturating_sub(remaining)
}

/// The remaining tokens of an answer.
fn remaining_tokens(input: &CompactionInput<'_, '_>, part: usize, keep: AnswerRemainder) -> u64 {
    let (all, media) = (input.weights.of_part(part), input.weights.of_media(part));
    let note = u64::from(input.elision.note_tokens);
    match keep {
        AnswerRemainder::Text => all.saturating_sub(media) + note,
        AnswerRemainder::Ends(tokens) => all.min(u64::from(tokens) + note),
        AnswerRemainder::Note => all.min(note),
    }
}

/// One pass over the answers, from the oldest on. It can stop and later resume where it stopped, so
/// that many runs together are still linear.
struct ElisionPass {
    target: ElisionTarget,
    keep: AnswerRemainder,
    /// The first answer that it has not visited.
    next: usize,
}

impl ElisionPass {
    fn new(target: ElisionTarget, keep: AnswerRemainder) -> ElisionPass {
        ElisionPass { target, keep, next: 0 }
    }
}

/// The answers that a pass shrinks.
#[derive(Clone, Copy, PartialEq, Eq)]
enum ElisionTarget {
    /// Answers of tools that may be cleared at once.
    ClearableAnswers,
    /// Answers with images.
    AnswersWithImages,
    /// All answers that are long enough.
    LongAnswers,
}

/// Decides how much of each answer remains.
struct AnswerElider {
    /// The answers of the pairing that may shrink, in order.
    answers: Vec<ElisionCandidate>,
}

struct ElisionCandidate {
    message: usize,
    part: usize,
    treatment: AnswerTreatment,
    keep: Option<AnswerRemainder>,
    /// Its current tokens.
    current_tokens: u64,
}

impl AnswerElider {
    fn new(input: &CompactionInput<'_, '_>, plan: &CompactionPlan) -> AnswerElider {
        let elision = input.elision;
        let draft = input.transcript.draft();
        let pairing = input.transcript.pairing();
        let mut treatments: HashMap<&str, AnswerTreatment> = HashMap::new();
        let mut dropped = plan.dropped.iter().map(|dropped| dropped.messages.clone()).peekable();
        let mut pinned = input.pinned().peekable();
        let mut answers = Vec::with_capacity(pairing.answers.len());
        for answer in &pairing.answers {
            while dropped.next_if(|range| range.end <= answer.message()).is_some() {}
            let is_dropped = dropped.peek().is_some_and(|range| range.contains(&answer.message()));
            while pinned.next_if(|range| range.end <= answer.message()).is_some() {}
            let is_pinned = pinned.peek().is_some_and(|range| range.contains(&answer.message()));
            if is_dropped || is_pinned {
                continue;
            }
            let family = match &draft.parts[answer.part()].kind {
                // Without a call and without an id, its tool is unknown.
                PartKind::Answer(outline)
                    if answer.result_match() == ResultMatch::Orphan && outline.id.is_none() =>
                {
                    continue;
                }
                PartKind::Answer(outline) => outline.family,
                _ => continue,
            };
            // A list of outcomes or of tools: text cannot replace those.
            let listed = matches!(family, CallFamily::Shell | CallFamily::ToolSearch);
            if !family.accepts_text() || listed {
                continue;
            }
            // The call of an answer, and with it the tool name, may be stored on the server.
            let call = answer.result_match().call().and_then(|call| pairing.calls.get(call));
            let treatment = match call.map(|call| &draft.parts[call.part()].kind) {
                Some(PartKind::Call(call)) if !elision.tools.is_empty() => {
                    let name = call.name.as_deref().unwrap_or("");
                    *treatments.entry(name).or_insert_with(|| elision.treatment(name))
                }
                _ => AnswerTreatment::Any,
            };
            if treatment != AnswerTreatment::Keep {
                answers.push(ElisionCandidate {
                    message: answer.message(),
                    part: answer.part(),
                    treatment,
                    keep: None,
                    current_tokens: input.weights.of_part(answer.part()),
                });
            }
        }
        AnswerElider { answers }
    }

    /// Shrinks answers before the message `end`, the oldest first, until the goal is reached.
    fn run(
        &mut self,
        pass: &mut ElisionPass,
        input: &CompactionInput<'_, '_>,
        plan: &mut CompactionPlan,
        end: usize,
        goal: u64,
    ) {
        let remaining = self.answers.get_mut(pass.next..).unwrap_or(&mut []).iter_mut();
        for answer in remaining.take_while(|answer| answer.message < end) {
            if plan.expected <= goal {
                return;
            }
            pass.next += 1;
            let matches_target = match pass.target {
                ElisionTarget::ClearableAnswers => answer.treatment == AnswerTreatment::Clear,
                ElisionTarget::AnswersWithImages => input.weights.of_media(answer.part) > 0,
                ElisionTarget::LongAnswers => true,
            };
            let allowed =
                pass.keep != AnswerRemainder::Note || answer.treatment != AnswerTreatment::Shrink;
            let remaining = remaining_tokens(input, answer.part, pass.keep);
            if matches_target && allowed && remaining + MIN_SAVED_TOKENS <= answer.current_tokens {
                plan.expected = plan.expected.saturating_sub(answer.current_tokens - remaining);
                answer.current_tokens = remaining;
                answer.keep = Some(pass.keep);
            }
        }
    }

    /// Adds the decisions to the plan.
    fn finish(self, input: &CompactionInput<'_, '_>, plan: &mut CompactionPlan) {
        for answer in self.answers {
            if let Some(keep) = answer.keep {
                plan.shrunk.push(ShrunkAnswer {
                    message: answer.message,
                    part: answer.part,
                    tokens: input.weights.of_part(answer.part),
                    keep,
                });
            }
        }
    }
}
