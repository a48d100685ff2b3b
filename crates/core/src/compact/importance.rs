//! Keeps what matters: what the user wants, decisions, failures, files that are being worked on.
//!
//! Every unit gets points; what was read or done again later has none. Units go by their points,
//! and among equals the oldest first.

use std::{
    collections::HashSet,
    hash::{BuildHasherDefault, Hasher},
};

use super::{
    budget,
    clues::{CallClue, Effect},
    plan::{CannotShrink, Gone, Limits, Plan, Scene, Why},
    score::{Reason, Score},
    units::Hold,
};
use crate::draft::Kind;

/// Plans to drop what matters least until the rest fits.
///
/// # Errors
/// If what has to stay does not fit, shrunk as far as it goes.
pub fn importance(scene: &mut Scene<'_, '_>, limits: Limits) -> Result<Plan, CannotShrink> {
    let mut plan = Plan::nothing(scene);
    if plan.expected <= limits.most() {
        return Ok(plan);
    }
    scene.hold_ends(true);
    let scores = scores(scene, scene.newest(limits.goal() / 4));
    let mut gone = Vec::new();
    for at in by_points(&scores) {
        if plan.expected <= limits.goal() {
            break;
        }
        if let Some(unit) = scene.units.get(at).filter(|unit| unit.hold == Hold::Free) {
            plan.expected = plan.expected.saturating_sub(scene.tokens(unit));
            gone.push(at);
        }
    }
    // The last to go may have been large: what fits beside the rest stays after all.
    for at in gone.into_iter().rev() {
        let (Some(unit), Some(&score)) = (scene.units.get(at), scores.get(at)) else { continue };
        if plan.expected + scene.tokens(unit) <= limits.goal() {
            plan.expected += scene.tokens(unit);
        } else {
            let tokens = scene.tokens(unit);
            let why = Why::Unimportant(score);
            plan.gone.push(Gone { messages: unit.messages.clone(), tokens, why });
        }
    }
    plan.gone.sort_by_key(|gone| gone.messages.start);
    budget::inside(scene, plan, limits)
}

/// Units by their points, the least first; equals in their order. A table of points keeps it linear.
fn by_points(scores: &[Score]) -> impl Iterator<Item = usize> {
    let mut table: Vec<Vec<usize>> = vec![Vec::new(); Score::MOST];
    for (at, score) in scores.iter().enumerate() {
        let points = (score.points() as usize).min(Score::MOST - 1);
        table[points].push(at);
    }
    table.into_iter().flatten()
}

/// How much each unit matters; from `newest` on they are the newest.
pub fn scores(scene: &Scene<'_, '_>, newest: usize) -> Vec<Score> {
    let draft = scene.transcript.draft();
    let count = scene.units.len().max(1);
    let mut scores = Vec::with_capacity(scene.units.len());
    let mut constraints = scene.clues.constraints.iter().copied().peekable();
    for (at, unit) in scene.units.iter().enumerate() {
        let recency = (at + 1) * usize::from(Score::NEWEST) / count;
        let mut score = Score::default();
        score.recency = u8::try_from(recency).unwrap_or(0);
        if at >= newest {
            score.add(Reason::Newest);
        }
        let mut calls = false;
        let mut words = false;
        for message in unit.messages.clone() {
            while constraints.next_if(|&other| other < message).is_some() {}
            if constraints.next_if_eq(&message).is_some() {
                score.add(Reason::Constraint);
            }
            let Some(header) = draft.messages.get(message) else { continue };
            if header.role.is_user() {
                if scene.is_wish(message) {
                    score.add(Reason::User);
                }
            } else if header.role.is_assistant() {
                for part in draft.parts_of(header) {
                    calls |= matches!(part.kind, Kind::Call(_));
                    words |= matches!(part.kind, Kind::Text(_));
                }
            }
        }
        if words && !calls {
            score.add(Reason::Decision);
        }
        scores.push(score);
    }
    look_back(scene, &mut scores);
    scores
}

/// So many of the newest units say which files are being worked on.
const RECENT: usize = 8;

/// Goes through the calls from the newest to the oldest: only then it is known what came later.
fn look_back(scene: &Scene<'_, '_>, scores: &mut [Score]) {
    let pairing = scene.transcript.pairing();
    let mut later = Later::default();
    let recent = scene.units.len().saturating_sub(RECENT);
    let mut next = pairing.calls.len();
    for (at, unit) in scene.units.iter().enumerate().rev() {
        let end = next;
        while next > 0
            && pairing.calls.get(next - 1).is_some_and(|c| c.message() >= unit.messages.start)
        {
            next -= 1;
        }
        let clues = scene.clues.calls.get(next..end).unwrap_or(&[]);
        if clues.is_empty() {
            continue;
        }
        let Some(score) = scores.get_mut(at) else { continue };
        if clues.iter().any(|clue| clue.effect == Effect::Writes) {
            score.add(Reason::Change);
        }
        if clues.iter().any(|clue| clue.failed && !later.worked.contains(&clue.same)) {
            score.add(Reason::Failure);
        }
        if clues.iter().any(|clue| later.recent.contains(&clue.file)) {
            score.add(Reason::RecentFile);
        }
        // A turn is stale only if all of it is, and a change is never undone by a later one.
        if clues.iter().all(|clue| clue.effect != Effect::Writes && later.repeats(clue)) {
            score.add(Reason::Repeated);
        } else if clues.iter().all(|clue| clue.effect == Effect::Reads && later.supersedes(clue)) {
            score.add(Reason::Superseded);
        }
        for clue in clues {
            later.note(clue, at >= recent);
        }
    }
}

/// Clues are digests: they need no hashing any more.
type Digests = HashSet<u64, BuildHasherDefault<Same>>;

#[derive(Default)]
struct Same(u64);

impl Hasher for Same {
    fn write(&mut self, bytes: &[u8]) {
        for &byte in bytes {
            self.0 = self.0.rotate_left(8) ^ u64::from(byte);
        }
    }

    fn write_u64(&mut self, digest: u64) {
        self.0 = digest;
    }

    fn finish(&self) -> u64 {
        self.0
    }
}

/// What happened later.
#[derive(Default)]
struct Later {
    /// Calls that were made.
    made: Digests,
    /// Calls that worked.
    worked: Digests,
    /// Files that were read or changed.
    files: Digests,
    /// Files that were touched just now.
    recent: Digests,
}

impl Later {
    fn repeats(&self, clue: &CallClue) -> bool {
        clue.same != 0 && self.made.contains(&clue.same)
    }

    fn supersedes(&self, clue: &CallClue) -> bool {
        self.repeats(clue) || clue.file != 0 && self.files.contains(&clue.file)
    }

    fn note(&mut self, clue: &CallClue, recent: bool) {
        if clue.same != 0 {
            self.made.insert(clue.same);
            if !clue.failed {
                self.worked.insert(clue.same);
            }
        }
        if clue.file != 0 {
            if !clue.failed {
                self.files.insert(clue.file);
            }
            if recent {
                self.recent.insert(clue.file);
            }
        }
    }
}
