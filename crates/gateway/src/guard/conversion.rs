//! A request for an upstream of another format: converted, and valid in that format.

use foxwedge_core::{CheckOptions, Profile, RuleSet, check};
use foxwedge_formats::convert::{self, ConversionOptions};

use super::{GuardInput, GuardRefusal, GuardedRequest, guard_report};
use crate::{config::GuardMode, guard::GuardAction};
use foxwedge_upstream::{CountedList, changes_of};

pub(super) fn guard_converted(input: GuardInput<'_>) -> Result<GuardedRequest, GuardRefusal> {
    let GuardInput { body, reading, from, to, route, model } = input;
    let mut guarded = GuardedRequest::untouched(body.clone());
    match route.guard.mode {
        // The conversion repairs in every mode: a call without its result has no form in another
        // format.
        GuardMode::Off | GuardMode::Fix => {}
        GuardMode::Observe | GuardMode::Strict => {
            let profile = Profile::for_format(from);
            let rules = RuleSet::of(profile);
            let check_options =
                CheckOptions { profile, rules, policy: route.guard.repair_policy() };
            let report = check(&reading.draft, &check_options);
            if route.guard.mode == GuardMode::Strict && !report.is_clean() {
                return Err(GuardRefusal::Findings(report));
            }
            guarded.add_findings(&report);
        }
    }
    let options = ConversionOptions {
        profile: Some(route.upstream.profile(to, model)),
        chat_server: route.upstream.chat_server(model),
        policy: route.guard.repair_policy(),
        model: Some(model.to_owned()),
        stream: reading.envelope.stream.filter(|streams| *streams),
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
    guarded.free_text_tools = converted.free_text_tools;
    Ok(guarded)
}
