//! Keeps the most important units: user requests, decisions, failures, files in use.
//!
//! Every unit gets points; calls that were repeated or superseded later have none. Units with the
//! fewest points are dropped first, the oldest first among equals.

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
use crate::sorting::sort_by_key;

/// Plans to drop the least important units until the rest fits.
///
/// # Errors
/// If what has to stay does not fit, even fully shrunk.
pub fn plan_importance(
    input: &mut CompactionInput<'_, '_>,
    limits: TokenLimits,
) -> Result<CompactionPlan, ShrinkError> {
    let mut plan = CompactionPlan::unchanged(input);
    if plan.expected <= limits.max_tokens() {
        return Ok(plan);
    }
    input.hold_ends(true);
    let scores = score_units(input, input.newest(limits.goal() / 4));
    let mut dropped = Vec::new();
    for at in by_points(&scores) {
        if plan.expected <= limits.goal() {
            break;
        }
        if let Some(unit) = input.units.get(at).filter(|unit| unit.hold == UnitHold::Free) {
            plan.expected = plan.expected.saturating_sub(input.tokens(unit));
            dropped.push(at);
        }
    }
    // The last dropped unit may have been large: keep units that fit after all.
    for at in dropped.into_iter().rev() {
        let (Some(unit), Some(&score)) = (input.units.get(at), scores.get(at)) else { continue };
        if plan.expected + input.tokens(unit) <= limits.goal() {
            plan.expected += input.tokens(unit);
        } else {
            let tokens = input.tokens(unit);
            let reason = DropReason::Unimportant(score);
            plan.dropped.push(DroppedUnit { messages: unit.messages.clone(), tokens, reason });
        }
    }
    sort_by_key(&mut plan.dropped, |dropped| dropped.messages.start);
    budget::shrink_to_fit(input, plan, limits)
}

/// Units by points, the fewest first; equals in their order. A bucket sort keeps it linear.
fn by_points(scores: &[UnitScore]) -> impl Iterator<Item = usize> {
    let mut table: Vec<Vec<usize>> = vec![Vec::new(); UnitScore::POINTS_LIMIT];
    for (at, score) in scores.iter().enumerate() {
        let points = (score.points() as usize).min(UnitScore::POINTS_LIMIT - 1);
        table[points].push(at);
    }
    table.into_iter().flatten()
}

/// The score of each unit; units from index `newest` on count as the newest.
pub fn score_units(input: &CompactionInput<'_, '_>, newest: usize) -> Vec<UnitScore> {
    let draft = input.transcript.draft();
    let count = input.units.len().max(1);
    let mut scores = Vec::with_capacity(input.units.len());
    let mut constraints = input.clues.constraints.iter().copied().peekable();
    for (at, unit) in input.units.iter().enumerate() {
        let recency = (at + 1) * usize::from(UnitScore::NEWEST) / count;
        let mut score = UnitScore::default();
        score.recency = u8::try_from(recency).unwrap_or(0);
        if at >= newest {
            score.add(ScoreReason::Newest);
        }
        let mut has_calls = false;
        let mut has_text = false;
        for message in unit.messages.clone() {
            while constraints.next_if(|&other| other < message).is_some() {}
            if constraints.next_if_eq(&message).is_some() {
                score.add(ScoreReason::Constraint);
            }
            let Some(header) = draft.messages.get(message) else { continue };
            if header.role.is_user() {
                if input.is_user_input(message) {
                    score.add(ScoreReason::User);
                }
            } else if header.role.is_assistant() {
                for part in draft.parts_of(header) {
                    has_calls |= matches!(part.kind, PartKind::Call(_));
                    has_text |= matches!(part.kind, PartKind::Text(_));
                }
            }
        }
        if has_text && !has_calls {
            score.add(ScoreReason::Decision);
        }
        scores.push(score);
    }
    score_calls(input, &mut scores);
    scores
}

/// The number of newest units whose files count as recent.
const RECENT_UNITS: usize = 8;

/// Visits the calls from the newest to the oldest, so that later calls are known.
fn score_calls(input: &CompactionInput<'_, '_>, scores: &mut [UnitScore]) {
    let pairing = input.transcript.pairing();
    let mut later = LaterCalls::default();
    let recent = input.units.len().saturating_sub(RECENT_UNITS);
    let mut next = pairing.calls.len();
    for (at, unit) in input.units.iter().enumerate().rev() {
        let end = next;
        while next > 0
            && pairing.calls.get(next - 1).is_some_and(|c| c.message() >= unit.messages.start)
        {
            next -= 1;
        }
        let clues = input.clues.calls.get(next..end).unwrap_or(&[]);
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
        // A turn is stale only if all its calls are, and a later call never makes a change
        // obsolete.
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

/// Digests need no further hashing.
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

/// The calls after the current one.
#[derive(Default)]
struct LaterCalls {
    /// Calls that were made.
    calls: DigestSet,
    /// Calls that succeeded.
    successful_calls: DigestSet,
    /// Files that were read or changed.
    files: DigestSet,
    /// Recently touched files.
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
