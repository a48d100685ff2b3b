//! The laws of conversion of requests, judged on generated histories.
//!
//! One case is one seed: it decides the history, what stands around it, and what hangs on it. The
//! format of the case is the one a request comes from; the profile is that of whoever gets it, and names the
//! format it goes to. The naive oracle reads both sides; what differs has to be told, in the right words.

mod draw;
mod garnish;
mod settings;
mod excuses;
mod judge;
mod faithful;
mod tokens;

use foxwedge_core::{Format, Profile};

pub use draw::{document, options};
pub use judge::judge;

use super::{Breach, Case, Options, Tally, shrink};

/// The format that is written for a profile.
pub fn target(profile: Profile) -> Format {
    match profile {
        Profile::OpenaiChat | Profile::Mistral | Profile::Deepseek | Profile::Strict => {
            Format::OpenaiChat
        }
        Profile::OpenaiResponses => Format::OpenaiResponses,
        Profile::Anthropic => Format::Anthropic,
        Profile::Gemini => Format::Gemini,
        Profile::Bedrock => Format::Bedrock,
    }
}

/// Runs the cases one after another.
pub fn campaign(options: &Options) -> Tally {
    let mut tally = Tally::default();
    for seed in options.seed..options.seed + options.cases {
        // Session files are not converted; the profile of a case is drawn beside its format.
        let case = Case { agent: None, ..Case::draw(seed, options) };
        run(&case, &mut tally);
    }
    tally
}

/// Runs one case; a broken law is shrunk before it is reported.
pub fn run(case: &Case, tally: &mut Tally) {
    tally.cases += 1;
    let document = document(case);
    if let Err((law, what)) = judge(case, &document, tally) {
        let again = |document: &str| judge(case, document, &mut Tally::default()).err();
        let breaks = |document: &str| again(document).is_some_and(|(other, _)| other == law);
        let document = shrink::smallest(case.wire, document, &breaks);
        let what = again(&document).map_or(what, |(_, what)| what);
        tally.violations.push(Breach { law, case: *case, what, document });
    }
}
