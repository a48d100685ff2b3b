//! The laws of conversion, from every format to every profile, under every policy.

use foxwedge_core::{
    Format, OrphanPolicy, PlaceholderLanguage, Policy, Profile, TailPolicy, UnansweredPolicy,
};
use foxwedge_testkit::laws::{LawCase, LawTally, conversion::run};

use crate::support::assert_lawful;

/// Cases for each format and profile.
const CASES: u64 = 40;

fn hold(wire: Format) {
    let mut tally = LawTally::default();
    for (index, profile) in Profile::ALL.into_iter().enumerate() {
        for number in 0..CASES {
            let unanswered = match number % 8 {
                6 => UnansweredPolicy::DropTurn,
                7 => UnansweredPolicy::DropCall,
                _ => UnansweredPolicy::Answer,
            };
            let policy = Policy {
                unanswered,
                orphans: if number % 5 == 4 { OrphanPolicy::Drop } else { OrphanPolicy::Quote },
                tail: if number % 7 == 6 { TailPolicy::Pending } else { TailPolicy::Dead },
                allow_unsafe: true,
                language: if number % 9 == 8 {
                    PlaceholderLanguage::Chinese
                } else {
                    PlaceholderLanguage::English
                },
            };
            let seed = 1 + number + 1_000_000 * index as u64;
            run(&LawCase { seed, agent: None, wire, profile, policy, size: 12 }, &mut tally);
        }
    }
    assert_lawful(&tally);
    assert!(tally.sound > 150, "too few sound documents: {}", tally.sound);
    assert!(tally.findings.len() > 15, "too few rules were met: {:?}", tally.findings);
    assert!(tally.repairs.len() > 7, "too few kinds of losses were met: {:?}", tally.repairs);
}

#[test]
fn the_laws_of_conversion_hold_from_openai_chat() {
    hold(Format::OpenaiChat);
}

#[test]
fn the_laws_of_conversion_hold_from_openai_responses() {
    hold(Format::OpenaiResponses);
}

#[test]
fn the_laws_of_conversion_hold_from_anthropic() {
    hold(Format::Anthropic);
}

#[test]
fn the_laws_of_conversion_hold_from_gemini() {
    hold(Format::Gemini);
}

#[test]
fn the_laws_of_conversion_hold_from_bedrock() {
    hold(Format::Bedrock);
}

#[test]
fn the_laws_of_conversion_hold_from_gemini_interactions() {
    hold(Format::GeminiInteractions);
}
