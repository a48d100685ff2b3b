//! Checks requests before they are sent: finds what the provider would refuse, and repairs it.
//!
//! A valid request in the upstream's own format is forwarded byte for byte. An invalid one is
//! patched in place; one in another format is converted. Every change is reported.

mod conversion;
mod guard_report;
mod overflow;
mod rename;

use bytes::Bytes;
use foxwedge_core::{CheckOptions, EditLog, Format, Profile, Repair, Report, RuleSet, check};
use foxwedge_formats::{OutlinedDocument, model::IdentifierReplacement};
use foxwedge_upstream::TokenCounters;
use foxwedge_upstream::{CountedList, RepairChange, changes_of};

use crate::config::{GuardMode, ModelRoute};

pub(crate) use guard_report::count_rejected;
pub use guard_report::{FindingTally, GuardAction};
pub(crate) use overflow::{ContextBudget, ContextOverflow, compact_request, find_overflow};

/// A request to check.
#[derive(Clone, Copy)]
pub(crate) struct GuardInput<'a> {
    /// The body, as received.
    pub(crate) body: &'a Bytes,
    /// The parsed body.
    pub(crate) reading: &'a OutlinedDocument<'a>,
    /// The client's format.
    pub(crate) from: Format,
    /// The upstream's format.
    pub(crate) to: Format,
    /// The route, with its guard settings.
    pub(crate) route: &'a ModelRoute,
    /// The upstream's name of the model.
    pub(crate) model: &'a str,
}

/// A request that may be sent.
#[derive(Clone, Debug)]
pub struct GuardedRequest {
    /// The bytes for the upstream.
    pub body: Bytes,
    /// What the guard did.
    pub action: GuardAction,
    /// The findings.
    pub findings: Vec<FindingTally>,
    /// The changes of the repair.
    pub changes: CountedList<RepairChange>,
    /// What the upstream's format cannot express, in sentences without content.
    pub losses: CountedList<String>,
    /// Tools that have another name in the upstream's request.
    pub names: Vec<IdentifierReplacement>,
    /// Tools with free text whose calls have it in an object.
    pub free_text_tools: Vec<String>,
    /// Tokens before and after compaction, if the request was compacted.
    pub compacted: Option<(u64, u64)>,
}

/// Why a request is not sent.
#[derive(Debug)]
pub(crate) enum GuardRefusal {
    /// The route is strict, and the history has findings.
    Findings(Report),
    /// It cannot be converted to the upstream's format.
    Unreadable(foxwedge_formats::ReadError),
}

/// Checks a request, and repairs it where the route allows that.
pub(crate) fn guard_request(
    input: GuardInput<'_>,
    counters: &TokenCounters,
) -> Result<GuardedRequest, GuardRefusal> {
    let mut guarded = if input.from == input.to {
        guard_same_format(input)?
    } else {
        conversion::guard_converted(input)?
    };
    overflow::compact_if_needed(&mut guarded, input, counters);
    Ok(guarded)
}

/// The check options of a route.
pub(crate) fn route_check_options(route: &ModelRoute, format: Format, model: &str) -> CheckOptions {
    let profile = route.upstream.profile(format, model);
    CheckOptions { profile, rules: RuleSet::of(profile), policy: route.guard.repair_policy() }
}

/// The profile for which a request of a route is parsed.
pub(crate) fn profile_of(route: &ModelRoute, model: &str, from: Format, to: Format) -> Profile {
    if from == to { route.upstream.profile(to, model) } else { Profile::for_format(from) }
}

/// Guards a request that stays in its format.
fn guard_same_format(input: GuardInput<'_>) -> Result<GuardedRequest, GuardRefusal> {
    let options = route_check_options(input.route, input.to, input.model);
    let draft = &input.reading.draft;
    let mut guarded = GuardedRequest::untouched(input.body.clone());
    match input.route.guard.mode {
        GuardMode::Off => {}
        GuardMode::Observe => guarded.add_findings(&check(draft, &options)),
        GuardMode::Strict => {
            let report = check(draft, &options);
            if !report.is_clean() {
                return Err(GuardRefusal::Findings(report));
            }
        }
        GuardMode::Fix => {
            let (patched, repair) = input.reading.fix(&options);
            guarded.add_findings(&repair.before);
            if !repair.is_untouched() {
                let mut bytes = Vec::with_capacity(input.body.len());
                patched.for_each(|part| bytes.extend_from_slice(part.as_bytes()));
                let Repair { edits, .. } = repair;
                guarded.apply_repair(bytes, edits);
            }
        }
    }
    rename::rename_model(&mut guarded, input);
    Ok(guarded)
}

impl GuardedRequest {
    /// A request that was neither checked nor changed.
    pub(crate) fn untouched(body: Bytes) -> GuardedRequest {
        GuardedRequest {
            body,
            action: GuardAction::None,
            findings: Vec::new(),
            changes: CountedList::default(),
            losses: CountedList::default(),
            names: Vec::new(),
            free_text_tools: Vec::new(),
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
