//! A request that goes to an upstream of another format: told anew, and sound over there.

use foxwedge_core::{CheckOptions, Profile, RuleSet, check};
use foxwedge_dialect::convert::{self, ConversionOptions};

use super::{GuardInput, GuardRefusal, GuardedRequest, guard_report, repair_policy};
use crate::{
    config::GuardMode,
    guard::{CountedList, GuardAction, changes_of},
};

pub(super) fn guard_converted(judging: GuardInput<'_>) -> Result<GuardedRequest, GuardRefusal> {
    let GuardInput { body, reading, from, to, route, model } = judging;
    let mut guarded = GuardedRequest::untouched(body.clone());
    match route.guard.mode {
        // What cannot be told is not told, in every mode: a broken pair has no place over there.
        GuardMode::Off | GuardMode::Fix => {}
        GuardMode::Observe | GuardMode::Strict => {
            let profile = Profile::for_format(from);
            let rules = RuleSet::of(profile);
            let question = CheckOptions { profile, rules, policy: repair_policy(&route.guard) };
            let report = check(&reading.draft, &question);
            if route.guard.mode == GuardMode::Strict && !report.is_clean() {
                return Err(GuardRefusal::Findings(report));
            }
            guarded.add_findings(&report);
        }
    }
    let options = ConversionOptions {
        profile: Some(route.upstream.profile(to)),
        policy: repair_policy(&route.guard),
        model: Some(model.to_owned()),
        ..ConversionOptions::default()
    };
    let converted = convert::request(reading.draft.source, from, to, &options)
        .map_err(GuardRefusal::Unreadable)?;
    if guarded.findings.is_empty() {
        guarded.findings =
            guard_report::count_edits([&converted.source_edits, &converted.target_edits]);
    }
    guarded.changes.append(changes_of(converted.source_edits));
    guarded.changes.append(changes_of(converted.target_edits));
    if !guarded.changes.is_empty() {
        guarded.action = GuardAction::Fixed;
    }
    guarded.body = converted.body.into();
    let losses = converted.losses.len();
    guarded.losses = CountedList::of(losses, converted.losses.into_iter().map(|loss| loss.note));
    guarded.names = converted.renamed_tools;
    Ok(guarded)
}
