//! The laws of request conversion, judged on generated histories.
//!
//! One case is one seed. The seed decides the history, the settings around it, and the details on
//! its messages. The format of the case is the source format; its profile is the target provider
//! and decides the target format. The naive oracle reads both sides. Every difference must be
//! reported as a loss of the right kind.

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

use super::{LawBreach, LawCase, LawOptions, LawTally, shrink};

/// The target format for a profile.
pub fn target(profile: Profile) -> Format {
    match profile {
        Profile::OpenaiChat | Profile::Mistral | Profile::Deepseek | Profile::Strict => {
            Format::OpenaiChat
        }
        Profile::OpenaiResponses => Format::OpenaiResponses,
        Profile::Anthropic => Format::Anthropic,
        Profile::Gemini => Format::Gemini,
        Profile::Bedrock => Format::Bedrock,
        Profile::GeminiInteractions => Format::GeminiInteractions,
    }
}

/// Runs all cases in sequence.
pub fn campaign(options: &LawOptions) -> LawTally {
    let mut tally = LawTally::default();
    for seed in options.seed..options.seed + options.cases {
        // Session files are not converted. The profile of a case is drawn independently of its
        // format.
        let case = LawCase { agent: None, ..LawCase::draw(seed, options) };
        run(&case, &mut tally);
    }
    tally
}

/// Runs one case. If it breaks a law, the document is shrunk before it is reported.
pub fn run(case: &LawCase, tally: &mut LawTally) {
    tally.cases += 1;
    let document = document(case);
    if let Err((law, what)) = judge(case, &document, tally) {
        let again = |document: &str| judge(case, document, &mut LawTally::default()).err();
        let breaks = |document: &str| again(document).is_some_and(|(other, _)| other == law);
        let document = shrink::smallest(case.wire, document, &breaks);
        let what = again(&document).map_or(what, |(_, what)| what);
        tally.violations.push(LawBreach { law, case: *case, what, document });
    }
}
