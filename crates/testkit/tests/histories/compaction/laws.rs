//! The laws of compaction, for every format, every profile and every strategy.

use foxwedge_core::{
    Format, OrphanPolicy, PlaceholderLanguage, Policy, Profile, TailPolicy, UnansweredPolicy,
};
use foxwedge_testkit::laws::{LawCase, LawTally, compaction::run};

use crate::support::assert_lawful;

/// Cases for each format and profile.
const CASES: u64 = 24;

fn hold(wire: Format) {
    let mut tally = LawTally::default();
    for (index, profile) in Profile::ALL.into_iter().enumerate() {
        for number in 0..CASES {
            let unanswered = match number % 6 {
                4 => UnansweredPolicy::DropTurn,
                5 => UnansweredPolicy::DropCall,
                _ => UnansweredPolicy::Answer,
            };
            let policy = Policy {
                unanswered,
                orphans: if number % 4 == 3 { OrphanPolicy::Drop } else { OrphanPolicy::Quote },
                tail: if number % 3 == 2 { TailPolicy::Pending } else { TailPolicy::Dead },
                allow_unsafe: true,
                language: if number % 9 == 8 {
                    PlaceholderLanguage::Chinese
                } else {
                    PlaceholderLanguage::English
                },
            };
            let seed = 1 + number + 1_000_000 * index as u64;
            run(&LawCase { seed, agent: None, wire, profile, policy, size: 14 }, &mut tally);
        }
    }
    assert_lawful(&tally);
    for seen in ["shorter", "as it was", "cannot shrink", "summary refused", "no summary"] {
        assert!(tally.repairs.contains_key(seen), "no result was `{seen}`: {:?}", tally.repairs);
    }
    assert!(tally.repairs["shorter"] > 40, "{:?}", tally.repairs);
}

#[test]
fn the_laws_of_compaction_hold_for_openai_chat() {
    hold(Format::OpenaiChat);
}

#[test]
fn the_laws_of_compaction_hold_for_openai_responses() {
    hold(Format::OpenaiResponses);
}

#[test]
fn the_laws_of_compaction_hold_for_anthropic() {
    hold(Format::Anthropic);
}

#[test]
fn the_laws_of_compaction_hold_for_gemini() {
    hold(Format::Gemini);
}

#[test]
fn the_laws_of_compaction_hold_for_bedrock() {
    hold(Format::Bedrock);
}

#[test]
fn the_laws_of_compaction_hold_for_gemini_interactions() {
    hold(Format::GeminiInteractions);
}
