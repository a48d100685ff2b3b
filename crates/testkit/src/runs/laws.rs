//! The laws of runs, judged on generated sessions.
//!
//! One case is one seed: it decides the story and how its log is damaged. A slow second reading
//! says what is true; somebody who sees every effect says whether it is well formed.

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
    laws::{Breach, Case, Options, Tally},
};

pub use grammar::Grammar;
pub use judge::judge;
pub use steady::steady;
pub use watch::Watch;

/// A law that does not hold: its name, and what was seen.
pub type Broken = (&'static str, String);

/// Runs the cases one after another.
pub fn campaign(options: &Options) -> Tally {
    let mut tally = Tally::default();
    for seed in options.seed..options.seed + options.cases {
        run(seed, &mut tally);
    }
    tally
}

/// Runs one case; a broken law is shown on as few events as break it.
pub fn run(seed: u64, tally: &mut Tally) {
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
    let (wire, profile) = (Format::Anthropic, Profile::Anthropic);
    let case = Case { seed, agent: None, wire, profile, policy: Policy::default(), size: 0 };
    tally.violations.push(Breach { law, case, what, document });
}

/// Judges, and takes a panic for the breach of a law.
fn seen(seed: u64, events: &[RunEvent]) -> Result<(), Broken> {
    match catch_unwind(AssertUnwindSafe(|| judge(seed, events))) {
        Ok(judged) => judged,
        Err(panic) => {
            let words = panic.downcast_ref::<String>().cloned();
            let words = words.or(panic.downcast_ref::<&str>().map(|words| (*words).to_owned()));
            Err(("total", words.unwrap_or_default()))
        }
    }
}

/// Leaves out events for as long as the law stays broken: many at once first, then fewer.
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
