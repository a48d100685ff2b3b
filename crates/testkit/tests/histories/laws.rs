//! The laws of repair, for every format, every profile and every policy.

use foxwedge_core::{
    Format, OrphanPolicy, PlaceholderLanguage, Policy, Profile, TailPolicy, UnansweredPolicy,
};
use foxwedge_testkit::laws::{
    LawCase, LawOptions, LawTally, campaign, conversion, mutations, own_results_campaign, run,
    session,
};

use crate::support::assert_lawful;

/// Cases for each format, profile and policy.
const CASES: u64 = 256;

fn hold(wire: Format) {
    let mut tally = LawTally::default();
    for (index, profile) in Profile::ALL.into_iter().enumerate() {
        for unanswered in
            [UnansweredPolicy::Answer, UnansweredPolicy::DropTurn, UnansweredPolicy::DropCall]
        {
            for number in 0..CASES {
                let seed = 1 + number + 1_000_000 * index as u64;
                let policy = Policy {
                    unanswered,
                    orphans: if number % 4 == 3 { OrphanPolicy::Drop } else { OrphanPolicy::Quote },
                    tail: if number % 5 == 4 { TailPolicy::Pending } else { TailPolicy::Dead },
                    allow_unsafe: true,
                    language: PlaceholderLanguage::English,
                };
                let case = LawCase { seed, agent: None, wire, profile, policy, size: 12 };
                run(&case, &mut tally);
            }
        }
    }
    assert_lawful(&tally);
    assert!(tally.sound > 100, "too few sound histories: {}", tally.sound);
    assert!(tally.findings.len() > 15, "too few rules were met: {:?}", tally.findings);
}

#[test]
fn fix_does_what_check_promises_whatever_was_done_to_a_document() {
    let options = LawOptions { cases: 2_000, size: 6, ..LawOptions::default() };
    let tally = mutations::campaign(&options);
    assert_lawful(&tally);
    // Each document is judged twice.
    let read = 2 * tally.cases - tally.unreadable;
    assert!(read > 500, "hardly anything could be read: {read}");
    assert!(tally.findings.len() > 15, "too few rules were met: {:?}", tally.findings);
}

#[test]
fn the_laws_hold_for_results_in_the_message_of_their_call() {
    for wire in [Format::Anthropic, Format::Gemini, Format::Bedrock] {
        let options =
            LawOptions { cases: 2_000, size: 10, wire: Some(wire), ..LawOptions::default() };
        let tally = own_results_campaign(&options);
        assert_lawful(&tally);
        assert!(tally.findings.contains_key(&304), "{:?}", tally.findings);
    }
}

#[test]
fn the_laws_hold_for_openai_chat() {
    hold(Format::OpenaiChat);
}

#[test]
fn the_laws_hold_for_openai_responses() {
    hold(Format::OpenaiResponses);
}

#[test]
fn the_laws_hold_for_anthropic() {
    hold(Format::Anthropic);
}

#[test]
fn the_laws_hold_for_gemini() {
    hold(Format::Gemini);
}

#[test]
fn the_laws_hold_for_bedrock() {
    hold(Format::Bedrock);
}

#[test]
fn the_laws_hold_for_gemini_interactions() {
    hold(Format::GeminiInteractions);
}

/// Seeds of campaigns that once broke a law.
#[test]
fn the_laws_hold_for_the_seeds_that_broke_one() {
    type Campaign = fn(&LawOptions) -> LawTally;
    let table: [(Campaign, &[u64]); 3] = [
        (
            campaign,
            &[
                6_000_985, 6_002_642, 6_023_576, 21_002_203, 21_019_762, 21_031_907, 21_037_201,
                21_051_820, 284_440, 396_136, 405_440, 476_077, 494_967, 562_782, 849_411, 970_701,
                71_097_430, 71_019_368, 71_212_133, 71_132_394, 71_188_496, 71_244_969, 90_072_333,
                90_085_100, 90_223_092, 91_359_498, 95_082_788, 95_115_991, 95_299_851, 96_094_763,
                96_123_566, 96_321_645, 97_116_119, 97_194_890, 97_351_726, 98_061_215,
            ],
        ),
        (session::mutated::campaign, &[9_473_955, 9_534_495, 9_510_950]),
        (conversion::campaign, &[302_647, 314_822, 90_205_920, 93_001_692, 93_002_545, 93_005_808]),
    ];
    for (campaign, seeds) in table {
        for &seed in seeds {
            let tally = campaign(&LawOptions { cases: 1, seed, ..LawOptions::default() });
            assert!(tally.violations.is_empty(), "seed {seed}: {:#?}", tally.violations);
        }
    }
}
