//! Nothing invalid gets through: says what the provider of a request would refuse, and repairs it.
//!
//! A sound request in the upstream's own format leaves as the very bytes that came. One that is not
//! is spliced; one in another format is told anew. Whatever was done is data.

mod counted;
mod crossing;
mod heal;
mod noted;
mod overflow;
mod rename;

use bytes::Bytes;
use foxwedge_core::{EditLog, Policy, Profile, Question, Repair, Report, RuleSet, Wire, check};
use foxwedge_dialect::{Reading, canon::Renamed};

use crate::config::{Guard, Mode, Route};

pub use counted::CountedList;
pub(crate) use heal::{Class, Healed, classify, heal};
pub(crate) use noted::changes;
pub use noted::{Action, Change, Noted};
pub(crate) use overflow::{ContextOverflow, Room, Scales, overflow, shorten};

/// A request that is to be judged.
#[derive(Clone, Copy)]
pub(crate) struct Judging<'a> {
    /// The body, as it came.
    pub(crate) body: &'a Bytes,
    /// The same, read.
    pub(crate) reading: &'a Reading<'a>,
    /// The client's format.
    pub(crate) from: Wire,
    /// The upstream's.
    pub(crate) to: Wire,
    /// Where it goes, and what may happen to it.
    pub(crate) route: &'a Route,
    /// The upstream's name of the model.
    pub(crate) model: &'a str,
}

/// A request that may be sent.
#[derive(Clone, Debug)]
pub struct Guarded {
    /// The bytes for the upstream.
    pub body: Bytes,
    /// What was done.
    pub action: Action,
    /// What was found.
    pub findings: Vec<Noted>,
    /// The steps of the repair.
    pub changes: CountedList<Change>,
    /// What the upstream's format cannot hold, in sentences without content.
    pub losses: CountedList<String>,
    /// Names of tools that the upstream knows under another name.
    pub names: Vec<Renamed>,
    /// Tokens before and after, if it had to be made shorter.
    pub compacted: Option<(u64, u64)>,
}

/// Why a request is not sent.
#[derive(Debug)]
pub(crate) enum Refusal {
    /// It is strict here, and something is wrong.
    Findings(Report),
    /// It cannot be told in the upstream's format.
    Unreadable(foxwedge_dialect::ReadError),
}

/// Judges a request, and repairs it where that is wanted.
pub(crate) fn guard(judging: Judging<'_>, scales: &Scales) -> Result<Guarded, Refusal> {
    let mut guarded =
        if judging.from == judging.to { same(judging)? } else { crossing::cross(judging)? };
    overflow::fit(&mut guarded, judging, scales);
    Ok(guarded)
}

/// What is asked of a history on this route.
pub(crate) fn question(route: &Route, wire: Wire) -> Question {
    let profile = route.upstream.profile(wire);
    Question { profile, rules: RuleSet::of(profile), policy: policy(&route.guard) }
}

pub(crate) fn policy(guard: &Guard) -> Policy {
    Policy { unanswered: guard.unanswered, language: guard.language, ..Policy::default() }
}

/// What a reader has to look at for a route.
pub(crate) fn profile_of(route: &Route, from: Wire, to: Wire) -> Profile {
    if from == to { route.upstream.profile(to) } else { Profile::of(from) }
}

/// A request that stays in its format.
fn same(judging: Judging<'_>) -> Result<Guarded, Refusal> {
    let question = question(judging.route, judging.to);
    let draft = &judging.reading.draft;
    let mut guarded = Guarded::untouched(judging.body.clone());
    match judging.route.guard.mode {
        Mode::Off => {}
        Mode::Observe => guarded.observe(&check(draft, &question)),
        Mode::Strict => {
            let report = check(draft, &question);
            if !report.is_clean() {
                return Err(Refusal::Findings(report));
            }
        }
        Mode::Fix => {
            let (patched, repair) = judging.reading.fix(&question);
            guarded.observe(&repair.before);
            if !repair.is_untouched() {
                let mut bytes = Vec::with_capacity(judging.body.len());
                patched.for_each(|piece| bytes.extend_from_slice(piece.as_bytes()));
                let Repair { edits, .. } = repair;
                guarded.fix(bytes, edits);
            }
        }
    }
    rename::rename(&mut guarded, judging);
    Ok(guarded)
}

impl Guarded {
    /// One that nobody looked at.
    pub(crate) fn untouched(body: Bytes) -> Guarded {
        Guarded {
            body,
            action: Action::None,
            findings: Vec::new(),
            changes: CountedList::default(),
            losses: CountedList::default(),
            names: Vec::new(),
            compacted: None,
        }
    }

    fn observe(&mut self, report: &Report) {
        if !report.is_clean() {
            self.findings = noted::findings(report);
            self.action = Action::Observed;
        }
    }

    fn fix(&mut self, body: Vec<u8>, edits: EditLog) {
        self.body = body.into();
        self.changes.append(changes(edits));
        self.action = Action::Fixed;
    }
}
