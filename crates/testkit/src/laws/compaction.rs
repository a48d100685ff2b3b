//! The laws of compaction, judged on generated histories.
//!
//! One case is one seed. The seed decides the history, the strategies, the limits and the
//! summarizer. The history may be valid or invalid. The naive oracle compares the compacted history
//! with the original.

mod account;
mod draw;
mod judge;
mod voice;

use foxwedge_core::Profile;

pub use account::account;
pub use draw::{CompactionDraw, document};
pub use judge::{judge, judge_sound};
pub use voice::SummarizerKind;

use super::{LawBreach, LawCase, LawOptions, LawTally, shrink};

/// Runs all cases in sequence.
pub fn campaign(options: &LawOptions) -> LawTally {
    let mut tally = LawTally::default();
    for seed in options.seed..options.seed + options.cases {
        let mut case = LawCase::draw(seed, options);
        // Compaction of session files has its own tests.
        if case.agent.take().is_some() {
            case.profile = Profile::for_format(case.wire);
        }
        run(&case, &mut tally);
    }
    tally
}

/// Runs one case. If it breaks a law, the document is shrunk before it is reported.
pub fn run(case: &LawCase, tally: &mut LawTally) {
    tally.cases += 1;
    let draw = CompactionDraw::new(case.seed);
    let document = document(case);
    if let Err((law, what)) = judge(case, &draw, &document, tally) {
        let again = |document: &str| judge(case, &draw, document, &mut LawTally::default()).err();
        let breaks = |document: &str| again(document).is_some_and(|(other, _)| other == law);
        let document = shrink::smallest(case.wire, document, &breaks);
        let what = again(&document).map_or(what, |(_, what)| what);
        tally.violations.push(LawBreach { law, case: *case, what, document });
    }
}
