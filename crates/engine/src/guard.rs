//! Nothing invalid gets through: says what the provider of a request would refuse, and repairs it.
//!
//! A sound request in the upstream's own format leaves as the very bytes that came. One that is not
//! is spliced; one in another format is told anew. Whatever was done is data.

mod counted_list;
mod conversion;
mod retry_repair;
mod guard_report;
mod overflow;
mod rename;

use bytes::Bytes;
use foxwedge_core::{
    CheckOptions, EditLog, Format, Policy, Profile, Repair, Report, RuleSet, check,
};
use foxwedge_dialect::{OutlinedDocument, model::IdentifierReplacement};

use crate::config::{GuardConfig, GuardMode, ModelRoute};

pub use counted_list::CountedList;
pub(crate) use guard_report::changes_of;
pub use guard_report::{FindingTally, GuardAction, RepairChange};
pub(crate) use overflow::{
    ContextBudget, ContextOverflow, TokenCounters, compact_request, find_overflow,
};
pub(crate) use retry_repair::{
    RejectionClass, RepairedRetry, classify_rejection, repair_for_retry,
};

/// A request that is to be judged.
#[derive(Clone, Copy)]
pub(crate) struct GuardInput<'a> {
    /// The body, as it came.
    pub(crate) body: &'a Bytes,
    /// The same, read.
    pub(crate) reading: &'a OutlinedDocument<'a>,
    /// The client's format.
    pub(crate) from: Format,
    /// The upstream's.
    pub(crate) to: Format,
    /// Where it goes, and what may happen to it.
    pub(crate) route: &'a ModelRoute,
    /// The upstream's name of the model.
    pub(crate) model: &'a str,
}

/// A request that may be sent.
#[derive(Clone, Debug)]
pub struct GuardedRequest {
    /// The bytes for the upstream.
    pub body: Bytes,
    /// What was done.
    pub action: GuardAction,
    /// What was found.
    pub findings: Vec<FindingTally>,
    /// The steps of the repair.
    pub changes: CountedList<RepairChange>,
    /// What the upstream's format cannot hold, in sentences without content.
    pub losses: CountedList<String>,
    /// Names of tools that the upstream knows under another name.
    pub names: Vec<IdentifierReplacement>,
    /// Tokens before and after, if it had to be made shorter.
    pub compacted: Option<(u64, u64)>,
}

/// Why a request is not sent.
#[derive(Debug)]
pub(crate) enum GuardRefusal {
    /// It is strict here, and something is wrong.
    Findings(Report),
    /// It cannot be told in the upstream's format.
    Unreadable(foxwedge_dialect::ReadError),
}

/// Judges a request, and repairs it where that is wanted.
pub(crate) fn guard_request(
    judging: GuardInput<'_>,
    scales: &TokenCounters,
) -> Result<GuardedRequest, GuardRefusal> {
    let mut guarded = if judging.from == judging.to {
        guard_same_format(judging)?
    } else {
        conversion::guard_converted(judging)?
    };
    overflow::compact_if_needed(&mut guarded, judging, scales);
    Ok(guarded)
}

/// What is asked of a history on this route.
pub(crate) fn route_check_options(route: &ModelRoute, wire: Format) -> CheckOptions {
    let profile = route.upstream.profile(wire);
    CheckOptions { profile, rules: RuleSet::of(profile), policy: repair_policy(&route.guard) }
}

pub(crate) fn repair_policy(guard: &GuardConfig) -> Policy {
    Policy { unanswered: guard.unanswered, language: guard.language, ..Policy::default() }
}

/// What a reader has to look at for a route.
pub(crate) fn profile_of(route: &ModelRoute, from: Format, to: Format) -> Profile {
    if from == to { route.upstream.profile(to) } else { Profile::for_format(from) }
}

/// A request that stays in its format.
fn guard_same_format(judging: GuardInput<'_>) -> Result<GuardedRequest, GuardRefusal> {
    let question = route_check_options(judging.route, judging.to);
    let draft = &judging.reading.draft;
    let mut guarded = GuardedRequest::untouched(judging.body.clone());
    match judging.route.guard.mode {
        GuardMode::Off => {}
        GuardMode::Observe => guarded.add_findings(&check(draft, &question)),
        GuardMode::Strict => {
            let report = check(draft, &question);
            if !report.is_clean() {
                return Err(GuardRefusal::Findings(report));
            }
        }
        GuardMode::Fix => {
            let (patched, repair) = judging.reading.fix(&question);
            guarded.add_findings(&repair.before);
            if !repair.is_untouched() {
                let mut bytes = Vec::with_capacity(judging.body.len());
                patched.for_each(|piece| bytes.extend_from_slice(piece.as_bytes()));
                let Repair { edits, .. } = repair;
                guarded.apply_repair(bytes, edits);
            }
        }
    }
    rename::rename_model(&mut guarded, judging);
    Ok(guarded)
}

impl GuardedRequest {
    /// One that nobody looked at.
    pub(crate) fn untouched(body: Bytes) -> GuardedRequest {
        GuardedRequest {
            body,
            action: GuardAction::None,
            findings: Vec::new(),
            changes: CountedList::default(),
            losses: CountedList::default(),
            names: Vec::new(),
            compacted: None,
        }
    }

    fn add_findings(&mut self, report: &Report) {
        if !report.is_clean() {
            self.findings = guard_report::count_findings(report);
            self.action = GuardAction::Observed;
        }
    }

    fn apply_repair(&mut self, body: Vec<u8>, edits: EditLog) {
        self.body = body.into();
        self.changes.append(changes_of(edits));
        self.action = GuardAction::Fixed;
    }
}
