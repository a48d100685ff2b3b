//! Turns a draft that a provider would refuse into one that it takes.
//!
//! Recover before you invent, invent before you drop. A repair is data: the new order of
//! messages ([`Slot`]s), each either kept byte for byte or rewritten from [`Piece`]s, and a list
//! of [`Edit`]s that says what was done and why. Dialects turn it back into bytes.

use std::{borrow::Cow, sync::Arc};

use crate::{
    check::{CheckOptions, check, count_findings},
    draft::{ContentShape, Draft, MessageFlags, Part, Role},
    placeholder,
    report::{Finding, FixApplicability, Report, Strategy},
    rules::RuleSet,
    span::Span,
};

mod state;
mod edits;
mod patch;
mod sources;
mod defects;
mod roles;
mod misplaced;
mod pairs;
mod answers;
mod blocks;
mod ids;
mod content;
mod media;
mod order;
mod turns;
mod reasoning;
pub(crate) mod binding;
mod compaction;
mod losses;

pub use compaction::{CompactionText, apply_plan};
pub use content::legal_name;
pub use edits::EditLog;
pub use ids::fresh_id;
pub use losses::RepairLosses;
pub use patch::PartPatch;
pub use sources::{NewText, PartSource, QuotedAnswer};
use state::RepairState;

/// A repaired history, as data.
#[derive(Clone, Debug)]
pub struct Repair<'a> {
    /// The messages in their new order; none if nothing was done.
    pub messages: Arc<Vec<RepairedMessage<'a>>>,
    /// What was done, in order.
    pub edits: EditLog,
    /// What changes around the list of messages.
    pub body: BodyEdits,
    /// Strings whose half characters are to be replaced, as in [`crate::Body::surrogates`].
    pub surrogates: Arc<Vec<Span>>,
    /// What was wrong with the input.
    pub before: Report,
    /// What is still wrong: findings that have no repair, or none that may be done unasked.
    pub after: Report,
    /// What later rounds cost, where a file has to be read again to be repaired to the end.
    pub later_losses: RepairLosses,
    changed: bool,
}

impl<'a> Repair<'a> {
    /// Gives every message that changes its pieces, also where only its role or another field does.
    pub fn load_touched_parts(&mut self, draft: &Draft<'a>) {
        let closed = |slot: &RepairedMessage<'_>| slot.touched && !slot.parts_loaded;
        if self.messages.iter().any(closed) {
            let slots = Arc::make_mut(&mut self.messages).iter_mut();
            slots.filter(|slot| closed(slot)).for_each(|slot| slot.load_parts(draft));
        }
    }

    /// Whether the input stays as it is, byte for byte.
    pub fn is_untouched(&self) -> bool {
        !self.changed
    }
}

/// One message of the repaired history.
#[derive(Clone, Debug)]
pub struct RepairedMessage<'a> {
    /// The message of the input whose other fields it keeps; `None` if it is new.
    pub origin: Option<usize>,
    /// Who speaks.
    pub role: Role,
    /// Its parts. Those of a slot that is not touched stay in the input, and so do those of one of
    /// which only other fields change, until it is opened.
    pub parts: Vec<RepairedPart<'a>>,
    /// What its content field holds.
    pub content: ContentShape,
    /// Rare properties.
    pub flags: MessageFlags,
    /// It cannot be copied from the input as it is.
    pub touched: bool,
    /// Its role has to be written anew.
    pub role_changed: bool,
    /// Its item id has to go.
    pub without_id: bool,
    parts_loaded: bool,
}

impl<'a> RepairedMessage<'a> {
    /// The slot with its pieces, whether they were taken over from the input or not.
    pub fn with_parts<'s>(&'s self, draft: &Draft<'a>) -> Cow<'s, RepairedMessage<'a>> {
        if self.parts_loaded {
            return Cow::Borrowed(self);
        }
        let mut slot = self.clone();
        slot.load_parts(draft);
        Cow::Owned(slot)
    }
}

/// One part of a repaired message.
#[derive(Clone, Debug)]
pub struct RepairedPart<'a> {
    /// Its outline.
    pub part: Part<'a>,
    /// Where its content comes from.
    pub source: PartSource<'a>,
    /// What changes inside it.
    pub patch: PartPatch,
}

/// How arguments are spelled anew.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ArgumentsFix {
    /// An object becomes a string.
    ToString,
    /// A string becomes an object: parsed, else closed, else wrapped.
    ToObject,
    /// A string that is no object: closed if it is the beginning of one, else wrapped.
    CompleteObject,
    /// Nothing becomes an empty object.
    Empty,
    /// Another value is wrapped into an object.
    Wrap,
    /// Free text that is not there becomes an empty one.
    EmptyText,
    /// A value becomes free text that says the same.
    ToText,
}

/// What changes around the list of messages.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct BodyEdits {
    /// Tools to declare, by name.
    pub declare: Vec<String>,
    /// Thinking is switched off.
    pub thinking_off: bool,
    /// Flaws of the file that are mended (indices into [`crate::Body::flaws`]).
    pub fixed_defects: Vec<usize>,
}

/// One step of a repair.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Edit {
    /// The rule that asked for it.
    pub code: u16,
    /// What kind of step.
    pub strategy: Strategy,
    /// The message of the input it concerns.
    pub message: usize,
    /// The call ids it concerns.
    pub ids: Vec<String>,
    /// One sentence.
    pub note: String,
}

/// More rounds than any history needs; each round repairs what the one before it uncovered.
const MAX_ROUNDS: usize = 48;

/// Repairs a draft under a profile and a policy. What cannot be repaired is in `after`.
pub fn repair<'a>(draft: &Draft<'a>, question: &CheckOptions) -> Repair<'a> {
    let before = check(draft, question);
    if before.is_clean() {
        return unchanged_repair(before);
    }
    run_rounds(RepairState::new(draft, question), before)
}

/// Repairs what is wrong with the history so far, until nothing is.
fn run_rounds<'a>(mut work: RepairState<'_, 'a>, before: Report) -> Repair<'a> {
    let question = work.options;
    let mut after = work.changed.then(|| count_findings(&work.draft(), question));
    for _ in 0..MAX_ROUNDS {
        let edits = work.edits.len();
        let found = fixable_rules(after.as_ref().unwrap_or(&before), question);
        if found == RuleSet::default() {
            keep_nonempty(&mut work);
            binding::remove_bound_thinking(&mut work);
        } else {
            run_phase(&mut work, found);
        }
        if work.edits.len() == edits {
            break;
        }
        after = Some(count_findings(&work.draft(), question));
    }
    let after = match after {
        None => before.clone(),
        Some(after) if after.unlisted() > 0 => check(&work.draft(), question),
        Some(after) => after,
    };
    Repair {
        changed: work.changed || !work.edits.is_empty(),
        messages: Arc::new(work.messages),
        edits: work.edits,
        body: work.body,
        surrogates: Arc::new(work.surrogates),
        before,
        after,
        later_losses: RepairLosses::default(),
    }
}

/// A history that said something does not become an empty one, which nobody takes and no reader
/// recognises: a short user message stands for what is gone.
fn keep_nonempty(work: &mut RepairState<'_, '_>) {
    if work.messages.is_empty() && !work.input.messages.is_empty() {
        let words = placeholder::opening_text(work.policy().language);
        work.messages.push(RepairedMessage::with_text(Role::User, words));
        let note = "nothing else is left: a short user message says so".to_owned();
        work.note_edit(314, Strategy::Insert, 0, Vec::new(), note);
    }
}

/// Nothing to do.
fn unchanged_repair<'a>(report: Report) -> Repair<'a> {
    Repair {
        messages: Arc::default(),
        edits: EditLog::default(),
        body: BodyEdits::default(),
        surrogates: Arc::default(),
        before: report.clone(),
        after: report,
        later_losses: RepairLosses::default(),
        changed: false,
    }
}

/// The rules that found something we may repair.
fn fixable_rules(report: &Report, question: &CheckOptions) -> RuleSet {
    let mut found = RuleSet::default();
    for kind in report.counts.iter().filter(|kind| kind.is_fixable(question.policy.allow_unsafe)) {
        found.add(kind.rule.code);
    }
    found
}

/// Whether the policy lets us repair what was found.
fn is_allowed(question: &CheckOptions, finding: &Finding) -> bool {
    match finding.fix.applicability {
        FixApplicability::Safe => true,
        FixApplicability::Unsafe => question.policy.allow_unsafe,
        FixApplicability::None => false,
    }
}

type RepairPhase = fn(&mut RepairState<'_, '_>, RuleSet);

/// What is repaired when. A phase builds on the ones before it being done: who speaks, what is
/// not there at all, what belongs together, what it is called and says, where it stands.
const PHASES: [(&[u16], RepairPhase); 10] = [
    (&[701, 702, 703, 704, 801, 802, 803, 804], defects::fix_defects),
    (&[407], roles::fix_roles),
    (&[304, 601, 602], misplaced::remove_misplaced),
    (&[503], reasoning::remove_unsigned),
    (&[308, 301, 206], content::remove_empty),
    (&[101, 102, 103, 104, 105, 304], pairs::fix_pairs),
    (&[201, 202, 203, 204], ids::rename_ids),
    (&[302, 316, 303, 315, 207, 107, 205, 309, 311, 312, 313, 307], content::fix_content),
    (&[305, 306, 310, 108, 106, 406, 402, 404, 401, 403, 405], turns::order_turns),
    (&[501, 502], reasoning::fix_reasoning),
];

/// Runs the first phase that has something to do; what that uncovers is found by the next check.
fn run_phase(work: &mut RepairState<'_, '_>, found: RuleSet) {
    for (codes, phase) in PHASES {
        let edits = work.edits.len();
        if codes.iter().any(|&code| found.has(code)) {
            phase(work, found);
            work.update_content_shapes();
        }
        if work.edits.len() > edits {
            return;
        }
    }
}
