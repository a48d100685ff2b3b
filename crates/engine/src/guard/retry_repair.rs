//! A provider refused the shape of a history: it says why, so it can be repaired, once.

use bytes::Bytes;
use foxwedge_core::{CheckOptions, ErrorExplanation, Format, Policy, Profile, RuleSet, explain};
use foxwedge_dialect::{outline_options, read, text};

use super::{CountedList, RepairChange, changes_of, repair_policy};
use crate::config::ModelRoute;

/// What a refusal is about.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) enum RejectionClass {
    /// The shape of the history: the rule, as the number in its code.
    Shape(u16),
    /// Something else.
    Other,
}

/// Says what a refusal is about.
pub(crate) fn classify_rejection(error: &str) -> (RejectionClass, Option<ErrorExplanation<'_>>) {
    match explain(error) {
        Some(explanation) => (RejectionClass::Shape(explanation.code), Some(explanation)),
        None => (RejectionClass::Other, None),
    }
}

/// A request that was repaired for what its provider said.
pub(crate) struct RepairedRetry {
    pub(crate) body: Bytes,
    /// What was asked of it: more than we knew before.
    pub(crate) check_options: CheckOptions,
    /// The steps.
    pub(crate) changes: CountedList<RepairChange>,
}

/// The request, repaired for the rule that the refusal names; `None` if that changes nothing.
pub(crate) fn repair_for_retry(
    sent: &Bytes,
    wire: Format,
    route: &ModelRoute,
    explanation: &ErrorExplanation<'_>,
) -> Option<RepairedRetry> {
    let source = text(sent).ok()?;
    let own = route.upstream.profile(wire);
    // The rules we knew did not help, so those that were named count, whoever has them; and the
    // strictest form of all of them last.
    let mut named = RuleSet::of(own);
    [explanation.code].iter().chain(explanation.other_codes).for_each(|code| named.add(*code));
    let bold = Policy { allow_unsafe: true, ..repair_policy(&route.guard) };
    let tries = [
        CheckOptions { profile: own, rules: named, policy: bold },
        CheckOptions { profile: Profile::Strict, rules: named, policy: bold },
        CheckOptions {
            profile: Profile::Strict,
            rules: RuleSet::of(Profile::Strict),
            policy: bold,
        },
    ];
    tries.into_iter().find_map(|question| {
        let reading = read(source, wire, outline_options(question.profile)).ok()?;
        let (patched, repair) = reading.fix(&question);
        let body = patched.to_string();
        // The same bytes would be refused again.
        (body != source).then(|| {
            let changes = changes_of(repair.edits);
            RepairedRetry { body: body.into(), check_options: question, changes }
        })
    })
}
