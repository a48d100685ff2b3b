//! Shrinks old, large answers in place, so that every call keeps its answer.
//!
//! Images go first, then long answers are cut down to their ends, then they are cleared; each time
//! the oldest first. The newest units are not touched unless there is no other way.

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

/// What may happen to answers.
#[derive(Clone, PartialEq, Debug)]
pub struct ElisionPolicy {
    /// Rules by tool; the first that fits counts.
    pub tools: Vec<ToolElisionRule>,
    /// What is left of a long answer, in tokens.
    pub kept_tokens: u32,
    /// So many of the newest units are left alone.
    pub recent_units: usize,
    /// What a note in place of an answer costs at most, in tokens.
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

/// What may happen to the answers of some tools.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ToolElisionRule {
    /// The tool's name; a star at its end stands for anything.
    pub tool: String,
    /// What may be left of its answers.
    pub treatment: AnswerTreatment,
}

/// What may be left of an answer.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum AnswerTreatment {
    /// All of it.
    Keep,
    /// Its ends, but not less.
    Shrink,
    /// Nothing: it is cleared before others are shrunk.
    Clear,
    /// As little as it takes.
    Any,
}

impl ToolElisionRule {
    fn matches_tool(&self, tool: &str) -> bool {
        match self.tool.strip_suffix('*') {
            Some(head) => tool.starts_with(head),
            None => self.tool == tool,
        }
    }
}

/// Less than this is not worth a changed prefix.
const MIN_SAVED_TOKENS: u64 = 48;

/// Plans to shrink answers until the history fits.
///
/// # Errors
/// If it does not fit, even with every answer shrunk that may be.
pub fn plan_elision(
    scene: &CompactionInput<'_, '_>,
    limits: TokenLimits,
) -> Result<CompactionPlan, ShrinkError> {
    let mut plan = CompactionPlan::unchanged(scene);
    if plan.expected <= limits.max_tokens() {
        return Ok(plan);
    }
    let mut work = AnswerElider::new(scene, &plan);
    let ends = AnswerRemainder::Ends(scene.elision.kept_tokens);
    let mut cleared = ElisionPass::new(ElisionTarget::ClearableAnswers, AnswerRemainder::Note);
    let mut images = ElisionPass::new(ElisionTarget::AnswersWithImages, AnswerRemainder::Text);
    let mut long = ElisionPass::new(ElisionTarget::LongAnswers, ends);
    let mut rest = ElisionPass::new(ElisionTarget::LongAnswers, AnswerRemainder::Note);
    let mut shrink = |plan: &mut CompactionPlan, count: usize| {
        let old = recent_start(scene, count);
        for pass in [&mut cleared, &mut images, &mut long, &mut rest] {
            work.run(pass, scene, plan, old, limits.goal());
        }
    };
    match limits.pace() {
        CompactionPace::WholeHistory => shrink(&mut plan, scene.units.len()),
        // As it grew: each time it was too long, the oldest answers of that time shrank.
        CompactionPace::Incremental => {
            plan.expected = scene.weights.overhead;
            for (at, unit) in scene.units.iter().enumerate() {
                plan.expected += scene.tokens(unit);
                if plan.expected > limits.max_tokens() {
                    shrink(&mut plan, at + 1);
                }
            }
        }
    }
    if plan.expected > limits.max_tokens() {
        for pass in [&mut cleared, &mut images, &mut long, &mut rest] {
            work.run(pass, scene, &mut plan, usize::MAX, limits.goal());
        }
    }
    work.finish(scene, &mut plan);
    if plan.expected <= limits.max_tokens() {
        Ok(plan)
    } else {
        Err(budget::build_shrink_error(scene, plan, limits))
    }
}

/// Where the newest of the first `count` units begin, which are left alone.
fn recent_start(scene: &CompactionInput<'_, '_>, count: usize) -> usize {
    let last = count.checked_sub(scene.elision.recent_units + 1).and_then(|at| scene.units.get(at));
    last.map_or(0, |unit| unit.messages.end)
}

/// Shrinks whatever answers are left in a plan: images, then down to the ends, then to a note.
pub(super) fn shrink_remaining(
    scene: &CompactionInput<'_, '_>,
    plan: &mut CompactionPlan,
    goal: u64,
) {
    let mut work = AnswerElider::new(scene, plan);
    let ends = scene.elision.kept_tokens;
    for (meant, keep) in [
        (ElisionTarget::AnswersWithImages, AnswerRemainder::Text),
        (ElisionTarget::LongAnswers, AnswerRemainder::Ends(ends.saturating_mul(8))),
        (ElisionTarget::LongAnswers, AnswerRemainder::Ends(ends)),
        (ElisionTarget::LongAnswers, AnswerRemainder::Note),
    ] {
        work.run(&mut ElisionPass::new(meant, keep), scene, plan, usize::MAX, goal);
    }
    work.finish(scene, plan);
}

/// What shrinking an answer saves.
pub(super) fn saved_tokens(scene: &CompactionInput<'_, '_>, shrunk: &ShrunkAnswer) -> u64 {
    let left = remaining_tokens(scene, shrunk.part, shrunk.keep);
    shrunk.tokens.saturating_sub(left)
}

/// What is left of an answer.
fn remaining_tokens(scene: &CompactionInput<'_, '_>, part: usize, keep: AnswerRemainder) -> u64 {
    let (all, media) = (scene.weights.of_part(part), scene.weights.of_media(part));
    let note = u64::from(scene.elision.note_tokens);
    match keep {
        AnswerRemainder::Text => all.saturating_sub(media) + note,
        AnswerRemainder::Ends(tokens) => all.min(u64::from(tokens) + note),
        AnswerRemainder::Note => all.min(note),
    }
}

/// One way through the answers, from the oldest on. It can be stopped and goes on where it was:
/// whatever it passed is done, so that many of them together are still linear.
struct ElisionPass {
    target: ElisionTarget,
    keep: AnswerRemainder,
    /// The first answer that it has not looked at.
    next: usize,
}

impl ElisionPass {
    fn new(meant: ElisionTarget, keep: AnswerRemainder) -> ElisionPass {
        ElisionPass { target: meant, keep, next: 0 }
    }
}

/// Which answers a pass looks at.
#[derive(Clone, Copy, PartialEq, Eq)]
enum ElisionTarget {
    /// Those of tools whose answers may be cleared at once.
    ClearableAnswers,
    /// Those with images.
    AnswersWithImages,
    /// Long ones.
    LongAnswers,
}

/// Answers while it is decided what is left of them.
struct AnswerElider {
    /// For each answer of the pairing that may shrink, in order.
    answers: Vec<ElisionCandidate>,
}

struct ElisionCandidate {
    message: usize,
    part: usize,
    treatment: AnswerTreatment,
    keep: Option<AnswerRemainder>,
    /// Its tokens, as things stand.
    current_tokens: u64,
}

impl AnswerElider {
    fn new(scene: &CompactionInput<'_, '_>, plan: &CompactionPlan) -> AnswerElider {
        let elision = scene.elision;
        let draft = scene.transcript.draft();
        let pairing = scene.transcript.pairing();
        let mut known: HashMap<&str, AnswerTreatment> = HashMap::new();
        let mut gone = plan.dropped.iter().map(|gone| gone.messages.clone()).peekable();
        let mut pinned = scene.pinned().peekable();
        let mut answers = Vec::with_capacity(pairing.answers.len());
        for answer in &pairing.answers {
            while gone.next_if(|range| range.end <= answer.message()).is_some() {}
            let is_gone = gone.peek().is_some_and(|range| range.contains(&answer.message()));
            while pinned.next_if(|range| range.end <= answer.message()).is_some() {}
            let is_pinned = pinned.peek().is_some_and(|range| range.contains(&answer.message()));
            if is_gone || is_pinned {
                continue;
            }
            let family = match &draft.parts[answer.part()].kind {
                // Without a call and without an id nobody knows whose answer it is.
                PartKind::Answer(said)
                    if answer.result_match() == ResultMatch::Orphan && said.id.is_none() =>
                {
                    continue;
                }
                PartKind::Answer(said) => said.family,
                _ => continue,
            };
            // A list of outcomes or of tools: words cannot stand in for those.
            let listed = matches!(family, CallFamily::Shell | CallFamily::ToolSearch);
            if !family.accepts_text() || listed {
                continue;
            }
            // The call of an answer may lie on the server, and with it the name of the tool.
            let call = answer.result_match().call().and_then(|call| pairing.calls.get(call));
            let treatment = match call.map(|call| &draft.parts[call.part()].kind) {
                Some(PartKind::Call(call)) if !elision.tools.is_empty() => {
                    let name = call.name.as_deref().unwrap_or("");
                    *known.entry(name).or_insert_with(|| elision.treatment(name))
                }
                _ => AnswerTreatment::Any,
            };
            if treatment != AnswerTreatment::Keep {
                answers.push(ElisionCandidate {
                    message: answer.message(),
                    part: answer.part(),
                    treatment,
                    keep: None,
                    current_tokens: scene.weights.of_part(answer.part()),
                });
            }
        }
        AnswerElider { answers }
    }

    /// Shrinks answers before the message `upto`, the oldest first, until the goal is reached.
    fn run(
        &mut self,
        pass: &mut ElisionPass,
        scene: &CompactionInput<'_, '_>,
        plan: &mut CompactionPlan,
        upto: usize,
        goal: u64,
    ) {
        let left = self.answers.get_mut(pass.next..).unwrap_or(&mut []).iter_mut();
        for answer in left.take_while(|answer| answer.message < upto) {
            if plan.expected <= goal {
                return;
            }
            pass.next += 1;
            let meant = match pass.target {
                ElisionTarget::ClearableAnswers => answer.treatment == AnswerTreatment::Clear,
                ElisionTarget::AnswersWithImages => scene.weights.of_media(answer.part) > 0,
                ElisionTarget::LongAnswers => true,
            };
            let may =
                pass.keep != AnswerRemainder::Note || answer.treatment != AnswerTreatment::Shrink;
            let left = remaining_tokens(scene, answer.part, pass.keep);
            if meant && may && left + MIN_SAVED_TOKENS <= answer.current_tokens {
                plan.expected = plan.expected.saturating_sub(answer.current_tokens - left);
                answer.current_tokens = left;
                answer.keep = Some(pass.keep);
            }
        }
    }

    /// Adds what was decided to the plan.
    fn finish(self, scene: &CompactionInput<'_, '_>, plan: &mut CompactionPlan) {
        for answer in self.answers {
            if let Some(keep) = answer.keep {
                plan.shrunk.push(ShrunkAnswer {
                    message: answer.message,
                    part: answer.part,
                    tokens: scene.weights.of_part(answer.part),
                    keep,
                });
            }
        }
    }
}
