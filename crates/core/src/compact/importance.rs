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
    clues::{CallClue, CallEffect},
    plan::{CompactionInput, CompactionPlan, DropReason, DroppedUnit, ShrinkError, TokenLimits},
    score::{ScoreReason, UnitScore},
    units::UnitHold,
};
use crate::draft::PartKind;

/// Plans to drop what matters least until the rest fits.
///
/// # Errors
/// If what has to stay does not fit, shrunk as far as it goes.
pub fn plan_importance(
    scene: &mut CompactionInput<'_, '_>,
    limits: TokenLimits,
) -> Result<CompactionPlan, ShrinkError> {
    let mut plan = CompactionPlan::unchanged(scene);
    if plan.expected <= limits.max_tokens() {
        return Ok(plan);
    }
    scene.hold_ends(true);
    let scores = score_units(scene, scene.newest(limits.goal() / 4));
    let mut gone = Vec::new();
    for at in by_points(&scores) {
        if plan.expected <= limits.goal() {
            break;
        }
        if let Some(unit) = scene.units.get(at).filter(|unit| unit.hold == UnitHold::Free) {
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
            let why = DropReason::Unimportant(score);
            plan.dropped.push(DroppedUnit { messages: unit.messages.clone(), tokens, reason: why });
        }
    }
    plan.dropped.sort_by_key(|gone| gone.messages.start);
    budget::shrink_to_fit(scene, plan, limits)
}

/// Units by their points, the least first; equals in their order. A table of points keeps it linear.
fn by_points(scores: &[UnitScore]) -> impl Iterator<Item = usize> {
    let mut table: Vec<Vec<usize>> = vec![Vec::new(); UnitScore::POINTS_LIMIT];
    for (at, score) in scores.iter().enumerate() {
        let points = (score.points() as usize).min(UnitScore::POINTS_LIMIT - 1);
        table[points].push(at);
    }
    table.into_iter().flatten()
}

/// How much each unit matters; from `newest` on they are the newest.
pub fn score_units(scene: &CompactionInput<'_, '_>, newest: usize) -> Vec<UnitScore> {
    let draft = scene.transcript.draft();
    let count = scene.units.len().max(1);
    let mut scores = Vec::with_capacity(scene.units.len());
    let mut constraints = scene.clues.constraints.iter().copied().peekable();
    for (at, unit) in scene.units.iter().enumerate() {
        let recency = (at + 1) * usize::from(UnitScore::NEWEST) / count;
        let mut score = UnitScore::default();
        score.recency = u8::try_from(recency).unwrap_or(0);
        if at >= newest {
            score.add(ScoreReason::Newest);
        }
        let mut calls = false;
        let mut words = false;
        for message in unit.messages.clone() {
            while constraints.next_if(|&other| other < message).is_some() {}
            if constraints.next_if_eq(&message).is_some() {
                score.add(ScoreReason::Constraint);
            }
            let Some(header) = draft.messages.get(message) else { continue };
            if header.role.is_user() {
                if scene.is_user_input(message) {
                    score.add(ScoreReason::User);
                }
            } else if header.role.is_assistant() {
                for part in draft.parts_of(header) {
                    calls |= matches!(part.kind, PartKind::Call(_));
                    words |= matches!(part.kind, PartKind::Text(_));
                }
            }
        }
        if words && !calls {
            score.add(ScoreReason::Decision);
        }
        scores.push(score);
    }
    score_calls(scene, &mut scores);
    scores
}

/// So many of the newest units say which files are being worked on.
const RECENT_UNITS: usize = 8;

/// Goes through the calls from the newest to the oldest: only then it is known what came later.
fn score_calls(scene: &CompactionInput<'_, '_>, scores: &mut [UnitScore]) {
    let pairing = scene.transcript.pairing();
    let mut later = LaterCalls::default();
    let recent = scene.units.len().saturating_sub(RECENT_UNITS);
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
        if clues.iter().any(|clue| clue.effect == CallEffect::Writes) {
            score.add(ScoreReason::Change);
        }
        if clues
            .iter()
            .any(|clue| clue.failed && !later.successful_calls.contains(&clue.call_digest))
        {
            score.add(ScoreReason::Failure);
        }
        if clues.iter().any(|clue| later.recent_files.contains(&clue.file_digest)) {
            score.add(ScoreReason::RecentFile);
        }
        // A turn is stale only if all of it is, and a change is never undone by a later one.
        if clues.iter().all(|clue| clue.effect != CallEffect::Writes && later.repeats(clue)) {
            score.add(ScoreReason::Repeated);
        } else if clues
            .iter()
            .all(|clue| clue.effect == CallEffect::Reads && later.supersedes(clue))
        {
            score.add(ScoreReason::Superseded);
        }
        for clue in clues {
            later.note(clue, at >= recent);
        }
    }
}

/// Clues are digests: they need no hashing any more.
type DigestSet = HashSet<u64, BuildHasherDefault<CallDigestHasher>>;

#[derive(Default)]
struct CallDigestHasher(u64);

impl Hasher for CallDigestHasher {
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
struct LaterCalls {
    /// Calls that were made.
    calls: DigestSet,
    /// Calls that worked.
    successful_calls: DigestSet,
    /// Files that were read or changed.
    files: DigestSet,
    /// Files that were touched just now.
    recent_files: DigestSet,
}

impl LaterCalls {
    fn repeats(&self, clue: &CallClue) -> bool {
        clue.call_digest != 0 && self.calls.contains(&clue.call_digest)
    }

    fn supersedes(&self, clue: &CallClue) -> bool {
        self.repeats(clue) || clue.file_digest != 0 && self.files.contains(&clue.file_digest)
    }

    fn note(&mut self, clue: &CallClue, recent: bool) {
        if clue.call_digest != 0 {
            self.calls.insert(clue.call_digest);
            if !clue.failed {
                self.successful_calls.insert(clue.call_digest);
            }
        }
        if clue.file_digest != 0 {
            if !clue.failed {
                self.files.insert(clue.file_digest);
            }
            if recent {
                self.recent_files.insert(clue.file_digest);
            }
        }
    }
}
