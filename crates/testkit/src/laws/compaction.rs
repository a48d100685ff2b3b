//! The laws of compaction, judged on generated histories.
//!
//! One case is one seed: it decides the history, the strategies, the limits, and who summarizes. A
//! history is taken as it comes, sound or not; what the engine makes of it is held against the
//! history by the naive oracle.

mod account;
mod draw;
mod judge;
mod voice;

use foxwedge_core::Profile;

pub use account::account;
pub use draw::{Draw, document};
pub use judge::{judge, judge_sound};
pub use voice::Voice;

use super::{Breach, Case, Options, Tally, shrink};

/// Runs the cases one after another.
pub fn campaign(options: &Options) -> Tally {
    let mut tally = Tally::default();
    for seed in options.seed..options.seed + options.cases {
        let mut case = Case::draw(seed, options);
        // Session files are made shorter elsewhere.
        if case.agent.take().is_some() {
            case.profile = Profile::for_format(case.wire);
        }
        run(&case, &mut tally);
    }
    tally
}

/// Runs one case; a broken law is shrunk before it is reported.
pub fn run(case: &Case, tally: &mut Tally) {
    tally.cases += 1;
    let draw = Draw::new(case.seed);
    let document = document(case);
    if let Err((law, what)) = judge(case, &draw, &document, tally) {
        let again = |document: &str| judge(case, &draw, document, &mut Tally::default()).err();
        let breaks = |document: &str| again(document).is_some_and(|(other, _)| other == law);
        let document = shrink::smallest(case.wire, document, &breaks);
        let what = again(&document).map_or(what, |(_, what)| what);
        tally.violations.push(Breach { law, case: *case, what, document });
    }
}
