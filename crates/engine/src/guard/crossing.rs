//! A request that goes to an upstream of another format: told anew, and sound over there.

use foxwedge_core::{Profile, Question, RuleSet, check};
use foxwedge_dialect::convert::{self, Options};

use super::{Guarded, Judging, Refusal, noted, policy};
use crate::{
    config::Mode,
    guard::{Action, CountedList, changes},
};

pub(super) fn cross(judging: Judging<'_>) -> Result<Guarded, Refusal> {
    let Judging { body, reading, from, to, route, model } = judging;
    let mut guarded = Guarded::untouched(body.clone());
    match route.guard.mode {
        // What cannot be told is not told, in every mode: a broken pair has no place over there.
        Mode::Off | Mode::Fix => {}
        Mode::Observe | Mode::Strict => {
            let profile = Profile::of(from);
            let rules = RuleSet::of(profile);
            let question = Question { profile, rules, policy: policy(&route.guard) };
            let report = check(&reading.draft, &question);
            if route.guard.mode == Mode::Strict && !report.is_clean() {
                return Err(Refusal::Findings(report));
            }
            guarded.observe(&report);
        }
    }
    let options = Options {
        profile: Some(route.upstream.profile(to)),
        policy: policy(&route.guard),
        model: Some(model.to_owned()),
        ..Options::default()
    };
    let converted =
        convert::request(reading.draft.source, from, to, &options).map_err(Refusal::Unreadable)?;
    if guarded.findings.is_empty() {
        guarded.findings = noted::edits([&converted.before, &converted.behind]);
    }
    guarded.changes.append(changes(converted.before));
    guarded.changes.append(changes(converted.behind));
    if !guarded.changes.is_empty() {
        guarded.action = Action::Fixed;
    }
    guarded.body = converted.body.into();
    let losses = converted.losses.len();
    guarded.losses = CountedList::of(losses, converted.losses.into_iter().map(|loss| loss.note));
    guarded.names = converted.names;
    Ok(guarded)
}
