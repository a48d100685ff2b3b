//! A provider refused the shape of a history: it says why, so it can be repaired, once.

use bytes::Bytes;
use foxwedge_core::{Explanation, Policy, Profile, Question, RuleSet, Wire, explain};
use foxwedge_dialect::{read, text, want};

use super::{Change, CountedList, changes, policy};
use crate::config::Route;

/// What a refusal is about.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) enum Class {
    /// The shape of the history: the rule, as the number in its code.
    Shape(u16),
    /// Something else.
    Other,
}

/// Says what a refusal is about.
pub(crate) fn classify(error: &str) -> (Class, Option<Explanation<'_>>) {
    match explain(error) {
        Some(explanation) => (Class::Shape(explanation.code), Some(explanation)),
        None => (Class::Other, None),
    }
}

/// A request that was repaired for what its provider said.
pub(crate) struct Healed {
    pub(crate) body: Bytes,
    /// What was asked of it: more than we knew before.
    pub(crate) question: Question,
    /// The steps.
    pub(crate) changes: CountedList<Change>,
}

/// The request, repaired for the rule that the refusal names; `None` if that changes nothing.
pub(crate) fn heal(
    sent: &Bytes,
    wire: Wire,
    route: &Route,
    explanation: &Explanation<'_>,
) -> Option<Healed> {
    let source = text(sent).ok()?;
    let own = route.upstream.profile(wire);
    // The rules we knew did not help, so those that were named count, whoever has them; and the
    // strictest form of all of them last.
    let mut named = RuleSet::of(own);
    [explanation.code].iter().chain(explanation.also).for_each(|code| named.add(*code));
    let bold = Policy { bold: true, ..policy(&route.guard) };
    let tries = [
        Question { profile: own, rules: named, policy: bold },
        Question { profile: Profile::Strict, rules: named, policy: bold },
        Question { profile: Profile::Strict, rules: RuleSet::of(Profile::Strict), policy: bold },
    ];
    tries.into_iter().find_map(|question| {
        let reading = read(source, wire, want(question.profile)).ok()?;
        let (patched, repair) = reading.fix(&question);
        let body = patched.to_string();
        // The same bytes would be refused again.
        (body != source).then(|| {
            let changes = changes(repair.edits);
            Healed { body: body.into(), question, changes }
        })
    })
}
