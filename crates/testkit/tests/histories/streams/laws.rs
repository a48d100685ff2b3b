//! The laws of answers, for every ordered pair of formats.

use std::collections::BTreeSet;

use foxwedge_core::Format;
use foxwedge_testkit::laws::{
    LawTally,
    streams::{StreamExchange, TestEffort, run},
};

use crate::support::assert_lawful;

/// Cases for each pair of formats.
const CASES: u64 = 7;

/// Cases that are cut off at every byte.
const CUT_OFF: u64 = 1;

fn hold(from: Format) {
    let mut tally = LawTally::default();
    for (index, to) in Format::ALL.into_iter().enumerate() {
        for number in 0..CASES {
            let exchange = StreamExchange::between(1 + number + 1000 * index as u64, from, to);
            run(&exchange, TestEffort::Some, &mut tally);
        }
        let small = (10_000..).map(|seed| StreamExchange::between(seed, from, to));
        let small = small.filter(|exchange| {
            let length = exchange.bytes().len();
            (600..2500).contains(&length) && exchange.answer.calls().count() > 1
        });
        for exchange in small.take(CUT_OFF as usize) {
            run(&exchange, TestEffort::All, &mut tally);
        }
    }
    assert_lawful(&tally);
    assert!(tally.sound > 10, "too few answers arrive as they were: {}", tally.sound);
    assert!(tally.repairs.len() > 2, "too few kinds of losses: {:?}", tally.repairs);
}

#[test]
fn generated_answers_lose_everything_that_can_be_lost() {
    let mut lost = BTreeSet::new();
    for from in Format::ALL {
        for to in Format::ALL {
            let cases = (0..200).map(|seed| StreamExchange::between(seed, from, to));
            lost.extend(cases.flat_map(|exchange| exchange.expected().lost));
        }
    }
    let all = ["order", "reasoning", "refusal", "signature", "stop-reason", "usage"];
    assert_eq!(lost, BTreeSet::from(all));
}

#[test]
fn the_laws_of_answers_hold_for_openai_chat() {
    hold(Format::OpenaiChat);
}

#[test]
fn the_laws_of_answers_hold_for_openai_responses() {
    hold(Format::OpenaiResponses);
}

#[test]
fn the_laws_of_answers_hold_for_anthropic() {
    hold(Format::Anthropic);
}

#[test]
fn the_laws_of_answers_hold_for_gemini() {
    hold(Format::Gemini);
}

#[test]
fn the_laws_of_answers_hold_for_bedrock() {
    hold(Format::Bedrock);
}

#[test]
fn the_laws_of_answers_hold_for_gemini_interactions() {
    hold(Format::GeminiInteractions);
}
