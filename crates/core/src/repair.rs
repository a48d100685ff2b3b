//! Turns a draft that a provider would refuse into one that it takes.
//!
//! Recover before you invent, invent before you drop. A repair is data: the new order of
//! messages ([`Slot`]s), each either kept byte for byte or rewritten from [`Piece`]s, and a list
//! of [`Edit`]s that says what was done and why. Dialects turn it back into bytes.

use std::{borrow::Cow, sync::Arc};

use crate::{
    check::{Question, check, count},
    draft::{Content, Draft, Marks, Part, Role},
    placeholder,
    report::{Applicability, Finding, Report, Strategy},
    rules::RuleSet,
    span::Span,
};

mod work;
mod edits;
mod patch;
mod sources;
mod flaws;
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

pub use compaction::{Words, carry_out};
pub use content::legal_name;
pub use edits::EditLog;
pub use ids::fresh_id;
pub use losses::RepairLosses;
pub use patch::Patch;
pub use sources::{NewWords, QuotedAnswer, Source};
use work::Work;

/// A repaired history, as data.
#[derive(Clone, Debug)]
pub struct Repair<'a> {
    /// The messages in their new order; none if nothing was done.
    pub slots: Arc<Vec<Slot<'a>>>,
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
    pub later: RepairLosses,
    changed: bool,
}

impl<'a> Repair<'a> {
    /// Gives every message that changes its pieces, also where only its role or another field does.
    pub fn open_touched(&mut self, draft: &Draft<'a>) {
        let closed = |slot: &Slot<'_>| slot.touched && !slot.opened;
        if self.slots.iter().any(closed) {
            let slots = Arc::make_mut(&mut self.slots).iter_mut();
            slots.filter(|slot| closed(slot)).for_each(|slot| slot.open(draft));
        }
    }

    /// Whether the input stays as it is, byte for byte.
    pub fn is_untouched(&self) -> bool {
        !self.changed
    }
}

/// One message of the repaired history.
#[derive(Clone, Debug)]
pub struct Slot<'a> {
    /// The message of the input whose other fields it keeps; `None` if it is new.
    pub origin: Option<usize>,
    /// Who speaks.
    pub role: Role,
    /// Its parts. Those of a slot that is not touched stay in the input, and so do those of one of
    /// which only other fields change, until it is opened.
    pub pieces: Vec<Piece<'a>>,
    /// What its content field holds.
    pub content: Content,
    /// Rare properties.
    pub marks: Marks,
    /// It cannot be copied from the input as it is.
    pub touched: bool,
    /// Its role has to be written anew.
    pub recast: bool,
    /// Its item id has to go.
    pub without_id: bool,
    opened: bool,
}

impl<'a> Slot<'a> {
    /// The slot with its pieces, whether they were taken over from the input or not.
    pub fn with_pieces<'s>(&'s self, draft: &Draft<'a>) -> Cow<'s, Slot<'a>> {
        if self.opened {
            return Cow::Borrowed(self);
        }
        let mut slot = self.clone();
        slot.open(draft);
        Cow::Owned(slot)
    }
}

/// One part of a repaired message.
#[derive(Clone, Debug)]
pub struct Piece<'a> {
    /// Its outline.
    pub part: Part<'a>,
    /// Where its content comes from.
    pub source: Source<'a>,
    /// What changes inside it.
    pub patch: Patch,
}

/// How arguments are spelled anew.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ArgumentsFix {
    /// An object becomes a string.
    ToString,
    /// A string becomes an object: parsed, else closed, else wrapped.
    ToObject,
    /// A string that is no object: closed if it is the beginning of one, else wrapped.
    Mend,
    /// Nothing becomes an empty object.
    Empty,
    /// Another value is wrapped into an object.
    Wrap,
    /// Free text that is not there becomes an empty one.
    NoText,
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
    pub mended: Vec<usize>,
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
const ROUNDS: usize = 48;

/// Repairs a draft under a profile and a policy. What cannot be repaired is in `after`.
pub fn repair<'a>(draft: &Draft<'a>, question: &Question) -> Repair<'a> {
    let before = check(draft, question);
    if before.is_clean() {
        return untouched(before);
    }
    finish(Work::new(draft, question), before)
}

/// Repairs what is wrong with the history so far, until nothing is.
fn finish<'a>(mut work: Work<'_, 'a>, before: Report) -> Repair<'a> {
    let question = work.question;
    let mut after = work.changed.then(|| count(&work.draft(), question));
    for _ in 0..ROUNDS {
        let edits = work.edits.len();
        let found = fixable(after.as_ref().unwrap_or(&before), question);
        if found == RuleSet::default() {
            leave_something(&mut work);
            binding::release(&mut work);
        } else {
            round(&mut work, found);
        }
        if work.edits.len() == edits {
            break;
        }
        after = Some(count(&work.draft(), question));
    }
    let after = match after {
        None => before.clone(),
        Some(after) if after.unlisted() > 0 => check(&work.draft(), question),
        Some(after) => after,
    };
    Repair {
        changed: work.changed || !work.edits.is_empty(),
        slots: Arc::new(work.slots),
        edits: work.edits,
        body: work.body,
        surrogates: Arc::new(work.surrogates),
        before,
        after,
        later: RepairLosses::default(),
    }
}

/// A history that said something does not become an empty one, which nobody takes and no reader
/// recognises: a short user message stands for what is gone.
fn leave_something(work: &mut Work<'_, '_>) {
    if work.slots.is_empty() && !work.input.messages.is_empty() {
        let words = placeholder::opening(work.policy().language);
        work.slots.push(Slot::say(Role::User, words));
        let note = "nothing else is left: a short user message says so".to_owned();
        work.note(314, Strategy::Insert, 0, Vec::new(), note);
    }
}

/// Nothing to do.
fn untouched<'a>(report: Report) -> Repair<'a> {
    Repair {
        slots: Arc::default(),
        edits: EditLog::default(),
        body: BodyEdits::default(),
        surrogates: Arc::default(),
        before: report.clone(),
        after: report,
        later: RepairLosses::default(),
        changed: false,
    }
}

/// The rules that found something we may repair.
fn fixable(report: &Report, question: &Question) -> RuleSet {
    let mut found = RuleSet::default();
    for kind in report.counts.iter().filter(|kind| kind.is_fixable(question.policy.bold)) {
        found.add(kind.rule.code);
    }
    found
}

/// Whether the policy lets us repair what was found.
fn may(question: &Question, finding: &Finding) -> bool {
    match finding.fix.applicability {
        Applicability::Safe => true,
        Applicability::Unsafe => question.policy.bold,
        Applicability::None => false,
    }
}

type Phase = fn(&mut Work<'_, '_>, RuleSet);

/// What is repaired when. A phase builds on the ones before it being done: who speaks, what is
/// not there at all, what belongs together, what it is called and says, where it stands.
const PHASES: [(&[u16], Phase); 10] = [
    (&[701, 702, 703, 704, 801, 802, 803, 804], flaws::mend),
    (&[407], roles::name),
    (&[304, 601, 602], misplaced::remove),
    (&[503], reasoning::unsigned),
    (&[308, 301, 206], content::clear),
    (&[101, 102, 103, 104, 105, 304], pairs::mend),
    (&[201, 202, 203, 204], ids::rename),
    (&[302, 316, 303, 315, 207, 107, 205, 309, 311, 312, 313, 307], content::mend),
    (&[305, 306, 310, 108, 106, 406, 402, 404, 401, 403, 405], turns::arrange),
    (&[501, 502], reasoning::mend),
];

/// Runs the first phase that has something to do; what that uncovers is found by the next check.
fn round(work: &mut Work<'_, '_>, found: RuleSet) {
    for (codes, phase) in PHASES {
        let edits = work.edits.len();
        if codes.iter().any(|&code| found.has(code)) {
            phase(work, found);
            work.settle();
        }
        if work.edits.len() > edits {
            return;
        }
    }
}
