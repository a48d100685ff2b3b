//! The laws of runs, judged on generated sessions.
//!
//! One case is one seed. The seed decides the events and how their log is damaged. A slow oracle
//! computes the expected state; a monitor checks that every effect is well formed.

mod grammar;
mod watch;
mod steady;
mod judge;
mod stored;

use std::panic::{AssertUnwindSafe, catch_unwind};

use foxwedge_core::{Format, Policy, Profile};
use foxwedge_run::{RunEvent, wire};

use super::story;
use crate::{
    Random,
    laws::{LawBreach, LawCase, LawOptions, LawTally},
};

pub use grammar::UiGrammar;
pub use judge::judge;
pub use steady::steady;
pub use watch::Watch;

/// A broken law: its name, and what was observed.
pub type RunBreach = (&'static str, String);

/// Runs all cases in sequence.
pub fn campaign(options: &LawOptions) -> LawTally {
    let mut tally = LawTally::default();
    for seed in options.seed..options.seed + options.cases {
        run(seed, &mut tally);
    }
    tally
}

/// Runs one case. A broken law is reported with the fewest events that break it.
pub fn run(seed: u64, tally: &mut LawTally) {
    let events = story(&mut Random::new(seed));
    tally.cases += 1;
    let Err((law, what)) = seen(seed, &events) else {
        tally.sound += 1;
        return;
    };
    let breaks = |events: &[RunEvent]| seen(seed, events).is_err_and(|(other, _)| other == law);
    let events = fewest(events, &breaks);
    let what = seen(seed, &events).err().map_or(what, |(_, what)| what);
    let document = events.iter().map(wire::write).collect::<Vec<_>>().join("\n");
    let (format, profile) = (Format::Anthropic, Profile::Anthropic);
    let case =
        LawCase { seed, agent: None, wire: format, profile, policy: Policy::default(), size: 0 };
    tally.violations.push(LawBreach { law, case, what, document });
}

/// Judges a case. A panic counts as a broken law.
fn seen(seed: u64, events: &[RunEvent]) -> Result<(), RunBreach> {
    match catch_unwind(AssertUnwindSafe(|| judge(seed, events))) {
        Ok(judged) => judged,
        Err(panic) => {
            let message = panic.downcast_ref::<String>().cloned();
            let message =
                message.or(panic.downcast_ref::<&str>().map(|message| (*message).to_owned()));
            Err(("total", message.unwrap_or_default()))
        }
    }
}

/// Removes events while the law stays broken: many at once first, then fewer.
fn fewest(mut events: Vec<RunEvent>, breaks: &dyn Fn(&[RunEvent]) -> bool) -> Vec<RunEvent> {
    let mut portion = events.len().div_ceil(2);
    while portion > 0 {
        let mut at = 0;
        while at < events.len() {
            let end = (at + portion).min(events.len());
            let fewer = [&events[..at], &events[end..]].concat();
            if breaks(&fewer) {
                events = fewer;
            } else {
                at = end;
            }
        }
        portion /= 2;
    }
    events
}
