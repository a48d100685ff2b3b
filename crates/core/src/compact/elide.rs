//! Shrinks old, large answers in place, so that every call keeps its answer.
//!
//! Images go first, then long answers are cut down to their ends, then they are cleared; each time
//! the oldest first. The newest units are not touched unless there is no other way.

use std::collections::HashMap;

use super::{
    budget,
    plan::{CannotShrink, Keep, Limits, Pace, Plan, Scene, Shrunk},
};
use crate::{
    draft::{Family, Kind},
    pair::Fate,
};

/// What may happen to answers.
#[derive(Clone, PartialEq, Debug)]
pub struct Elision {
    /// Rules by tool; the first that fits counts.
    pub tools: Vec<ToolRule>,
    /// What is left of a long answer, in tokens.
    pub ends: u32,
    /// So many of the newest units are left alone.
    pub recent: usize,
    /// What a note in place of an answer costs at most, in tokens.
    pub note: u32,
}

impl Default for Elision {
    fn default() -> Elision {
        Elision { tools: Vec::new(), ends: 160, recent: 3, note: 40 }
    }
}

impl Elision {
    fn treatment(&self, tool: &str) -> Treatment {
        let rule = self.tools.iter().find(|rule| rule.fits(tool));
        rule.map_or(Treatment::Any, |rule| rule.treatment)
    }
}

/// What may happen to the answers of some tools.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ToolRule {
    /// The tool's name; a star at its end stands for anything.
    pub tool: String,
    /// What may be left of its answers.
    pub treatment: Treatment,
}

/// What may be left of an answer.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Treatment {
    /// All of it.
    Keep,
    /// Its ends, but not less.
    Shrink,
    /// Nothing: it is cleared before others are shrunk.
    Clear,
    /// As little as it takes.
    Any,
}

impl ToolRule {
    fn fits(&self, tool: &str) -> bool {
        match self.tool.strip_suffix('*') {
            Some(head) => tool.starts_with(head),
            None => self.tool == tool,
        }
    }
}

/// Less than this is not worth a changed prefix.
const WORTH: u64 = 48;

/// Plans to shrink answers until the history fits.
///
/// # Errors
/// If it does not fit, even with every answer shrunk that may be.
pub fn elide(scene: &Scene<'_, '_>, limits: Limits) -> Result<Plan, CannotShrink> {
    let mut plan = Plan::nothing(scene);
    if plan.expected <= limits.most() {
        return Ok(plan);
    }
    let mut work = Eliding::new(scene, &plan);
    let ends = Keep::Ends(scene.elision.ends);
    let mut cleared = Pass::new(Meant::Cleared, Keep::Note);
    let mut images = Pass::new(Meant::Images, Keep::Text);
    let mut long = Pass::new(Meant::Long, ends);
    let mut rest = Pass::new(Meant::Long, Keep::Note);
    let mut shrink = |plan: &mut Plan, count: usize| {
        let old = older(scene, count);
        for pass in [&mut cleared, &mut images, &mut long, &mut rest] {
            work.run(pass, scene, plan, old, limits.goal());
        }
    };
    match limits.pace() {
        Pace::Once => shrink(&mut plan, scene.units.len()),
        // As it grew: each time it was too long, the oldest answers of that time shrank.
        Pace::Steady => {
            plan.expected = scene.weights.around;
            for (at, unit) in scene.units.iter().enumerate() {
                plan.expected += scene.tokens(unit);
                if plan.expected > limits.most() {
                    shrink(&mut plan, at + 1);
                }
            }
        }
    }
    if plan.expected > limits.most() {
        for pass in [&mut cleared, &mut images, &mut long, &mut rest] {
            work.run(pass, scene, &mut plan, usize::MAX, limits.goal());
        }
    }
    work.finish(scene, &mut plan);
    if plan.expected <= limits.most() { Ok(plan) } else { Err(budget::cannot(scene, plan, limits)) }
}

/// Where the newest of the first `count` units begin, which are left alone.
fn older(scene: &Scene<'_, '_>, count: usize) -> usize {
    let last = count.checked_sub(scene.elision.recent + 1).and_then(|at| scene.units.get(at));
    last.map_or(0, |unit| unit.messages.end)
}

/// Shrinks whatever answers are left in a plan: images, then down to the ends, then to a note.
pub(super) fn last_resort(scene: &Scene<'_, '_>, plan: &mut Plan, goal: u64) {
    let mut work = Eliding::new(scene, plan);
    let ends = scene.elision.ends;
    for (meant, keep) in [
        (Meant::Images, Keep::Text),
        (Meant::Long, Keep::Ends(ends.saturating_mul(8))),
        (Meant::Long, Keep::Ends(ends)),
        (Meant::Long, Keep::Note),
    ] {
        work.run(&mut Pass::new(meant, keep), scene, plan, usize::MAX, goal);
    }
    work.finish(scene, plan);
}

/// What shrinking an answer saves.
pub(super) fn saved(scene: &Scene<'_, '_>, shrunk: &Shrunk) -> u64 {
    let left = left_of(scene, shrunk.part, shrunk.keep);
    shrunk.tokens.saturating_sub(left)
}

/// What is left of an answer.
fn left_of(scene: &Scene<'_, '_>, part: usize, keep: Keep) -> u64 {
    let (all, media) = (scene.weights.of_part(part), scene.weights.of_media(part));
    let note = u64::from(scene.elision.note);
    match keep {
        Keep::Text => all.saturating_sub(media) + note,
        Keep::Ends(tokens) => all.min(u64::from(tokens) + note),
        Keep::Note => all.min(note),
    }
}

/// One way through the answers, from the oldest on. It can be stopped and goes on where it was:
/// whatever it passed is done, so that many of them together are still linear.
struct Pass {
    meant: Meant,
    keep: Keep,
    /// The first answer that it has not looked at.
    next: usize,
}

impl Pass {
    fn new(meant: Meant, keep: Keep) -> Pass {
        Pass { meant, keep, next: 0 }
    }
}

/// Which answers a pass looks at.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Meant {
    /// Those of tools whose answers may be cleared at once.
    Cleared,
    /// Those with images.
    Images,
    /// Long ones.
    Long,
}

/// Answers while it is decided what is left of them.
struct Eliding {
    /// For each answer of the pairing that may shrink, in order.
    answers: Vec<Candidate>,
}

struct Candidate {
    message: usize,
    part: usize,
    treatment: Treatment,
    keep: Option<Keep>,
    /// Its tokens, as things stand.
    now: u64,
}

impl Eliding {
    fn new(scene: &Scene<'_, '_>, plan: &Plan) -> Eliding {
        let elision = scene.elision;
        let draft = scene.transcript.draft();
        let pairing = scene.transcript.pairing();
        let mut known: HashMap<&str, Treatment> = HashMap::new();
        let mut gone = plan.gone.iter().map(|gone| gone.messages.clone()).peekable();
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
                Kind::Answer(said) if answer.fate() == Fate::Orphan && said.id.is_none() => {
                    continue;
                }
                Kind::Answer(said) => said.family,
                _ => continue,
            };
            // A list of outcomes or of tools: words cannot stand in for those.
            let listed = matches!(family, Family::Shell | Family::ToolSearch);
            if !family.takes_words() || listed {
                continue;
            }
            // The call of an answer may lie on the server, and with it the name of the tool.
            let call = answer.fate().call().and_then(|call| pairing.calls.get(call));
            let treatment = match call.map(|call| &draft.parts[call.part()].kind) {
                Some(Kind::Call(call)) if !elision.tools.is_empty() => {
                    let name = call.name.as_deref().unwrap_or("");
                    *known.entry(name).or_insert_with(|| elision.treatment(name))
                }
                _ => Treatment::Any,
            };
            if treatment != Treatment::Keep {
                answers.push(Candidate {
                    message: answer.message(),
                    part: answer.part(),
                    treatment,
                    keep: None,
                    now: scene.weights.of_part(answer.part()),
                });
            }
        }
        Eliding { answers }
    }

    /// Shrinks answers before the message `upto`, the oldest first, until the goal is reached.
    fn run(
        &mut self,
        pass: &mut Pass,
        scene: &Scene<'_, '_>,
        plan: &mut Plan,
        upto: usize,
        goal: u64,
    ) {
        let left = self.answers.get_mut(pass.next..).unwrap_or(&mut []).iter_mut();
        for answer in left.take_while(|answer| answer.message < upto) {
            if plan.expected <= goal {
                return;
            }
            pass.next += 1;
            let meant = match pass.meant {
                Meant::Cleared => answer.treatment == Treatment::Clear,
                Meant::Images => scene.weights.of_media(answer.part) > 0,
                Meant::Long => true,
            };
            let may = pass.keep != Keep::Note || answer.treatment != Treatment::Shrink;
            let left = left_of(scene, answer.part, pass.keep);
            if meant && may && left + WORTH <= answer.now {
                plan.expected = plan.expected.saturating_sub(answer.now - left);
                answer.now = left;
                answer.keep = Some(pass.keep);
            }
        }
    }

    /// Adds what was decided to the plan.
    fn finish(self, scene: &Scene<'_, '_>, plan: &mut Plan) {
        for answer in self.answers {
            if let Some(keep) = answer.keep {
                plan.shrunk.push(Shrunk {
                    message: answer.message,
                    part: answer.part,
                    tokens: scene.weights.of_part(answer.part),
                    keep,
                });
            }
        }
    }
}
