//! Repairs a history once after a provider refused it, based on the error message.

use bytes::Bytes;
use foxwedge_core::{CheckOptions, ErrorExplanation, Format, Policy, Profile, RuleSet, explain};
use foxwedge_formats::{outline_options, read, text};

use crate::{CountedList, RepairChange, changes_of};

/// What a provider error is about.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum RejectionClass {
    /// The shape of the history: the rule, as the number in its code.
    Shape(u16),
    /// Something else.
    Other,
}

/// Classifies a provider error.
pub fn classify_rejection(error: &str) -> (RejectionClass, Option<ErrorExplanation<'_>>) {
    match explain(error) {
        Some(explanation) => (RejectionClass::Shape(explanation.code), Some(explanation)),
        None => (RejectionClass::Other, None),
    }
}

/// A request that was repaired after a provider error.
pub struct RepairedRetry {
    /// The body.
    pub body: Bytes,
    /// The options of the repair: stricter than those of the first check.
    pub check_options: CheckOptions,
    /// The changes.
    pub changes: CountedList<RepairChange>,
}

/// Repairs the request for the rule that the error names; `None` if that changes nothing.
pub fn repair_for_retry(
    sent: &Bytes,
    format: Format,
    profile: Profile,
    policy: Policy,
    explanation: &ErrorExplanation<'_>,
) -> Option<RepairedRetry> {
    let source = text(sent).ok()?;
    // The rules of the profile did not help, so add the named rules, whatever profile they belong
    // to; the strictest profile comes last.
    let mut rules = RuleSet::of(profile);
    [explanation.code].iter().chain(explanation.other_codes).for_each(|code| rules.add(*code));
    let policy = Policy { allow_unsafe: true, ..policy };
    let tries = [
        CheckOptions { profile, rules, policy },
        CheckOptions { profile: Profile::Strict, rules, policy },
        CheckOptions { profile: Profile::Strict, rules: RuleSet::of(Profile::Strict), policy },
    ];
    tries.into_iter().find_map(|check_options| {
        let reading = read(source, format, outline_options(check_options.profile)).ok()?;
        let (patched, repair) = reading.fix(&check_options);
        let body = patched.to_string();
        // The same bytes would be refused again.
        (body != source).then(|| {
            let changes = changes_of(repair.edits);
            RepairedRetry { body: body.into(), check_options, changes }
        })
    })
}
