use std::collections::BTreeMap;

use serde_json::Value;

use super::{accepted_history, history, sound_history, spelled};
use crate::{DIALECTS, PROFILES, Random, inventory, violations};

/// The rules that a document of the format can break under some profile.
pub(crate) fn reachable(format: &str) -> Vec<u16> {
    let mut codes = vec![101, 102, 103, 104, 201, 202, 203, 204, 207, 301, 302, 314, 315, 407];
    let more: &[u16] = match format {
        "openai-chat" => {
            &[106, 108, 303, 304, 307, 308, 309, 311, 316, 401, 402, 403, 404, 406, 502]
        }
        "openai-responses" => &[106, 109, 205, 206, 303, 501, 602, 603, 605],
        "gemini-interactions" => &[106, 107, 303, 501, 601, 602, 603],
        _ => &[105, 106, 108, 304, 305, 306, 308, 310, 401, 402, 403, 404, 406, 501, 603],
    };
    codes.extend(more);
    codes.extend(match format {
        "anthropic" => &[303, 312, 502, 503, 601, 602, 604][..],
        "gemini" => &[107, 502][..],
        "bedrock" => &[303, 405, 502, 601, 602][..],
        _ => &[][..],
    });
    codes.retain(|code| (format, *code) != ("gemini", 204));
    codes.retain(|code| (format, *code) != ("gemini-interactions", 407));
    codes
}

fn every_rule_is_broken_and_nothing_panics(format: &str) {
    let mut random = Random::new(4177);
    let mut tally: BTreeMap<u16, usize> = BTreeMap::new();
    let mut sound = 0;
    for round in 0..20_000 {
        let document = history(&mut random, format, 1 + round % 14);
        inventory(format, &document);
        let own = violations(format, format, round % 2 == 0, &document);
        let other = violations(format, PROFILES[round % PROFILES.len()], false, &document);
        sound += usize::from(own.is_empty());
        for violation in own.iter().chain(&other) {
            *tally.entry(violation.code).or_default() += 1;
        }
    }
    let missing: Vec<u16> =
        reachable(format).into_iter().filter(|code| !tally.contains_key(code)).collect();
    assert!(missing.is_empty(), "{format}: never broken: {missing:?}; tally: {tally:?}");
    let unexpected = tally.keys().any(|code| !reachable(format).contains(code));
    assert!(!unexpected, "{format}: cannot be broken here: {tally:?}");
    assert!((2_000..16_000).contains(&sound), "{format}: {sound} of 20000 are sound");
}

#[test]
fn openai_chat_histories_break_every_rule() {
    every_rule_is_broken_and_nothing_panics("openai-chat");
}

#[test]
fn openai_responses_histories_break_every_rule() {
    every_rule_is_broken_and_nothing_panics("openai-responses");
}

#[test]
fn anthropic_histories_break_every_rule() {
    every_rule_is_broken_and_nothing_panics("anthropic");
}

#[test]
fn gemini_histories_break_every_rule() {
    every_rule_is_broken_and_nothing_panics("gemini");
}

#[test]
fn bedrock_histories_break_every_rule() {
    every_rule_is_broken_and_nothing_panics("bedrock");
}

#[test]
fn gemini_interactions_histories_break_every_rule() {
    every_rule_is_broken_and_nothing_panics("gemini-interactions");
}

#[test]
fn histories_without_accidents_are_sound() {
    for format in DIALECTS {
        let mut random = Random::new(1);
        for round in 0..1_000 {
            let document = sound_history(&mut random, format, 1 + round % 20);
            let found = violations(format, format, false, &document);
            assert!(found.is_empty(), "{format}: {found:?} in {document:#}");
            let document = accepted_history(&mut random, format, 1 + round % 20);
            let found = violations(format, format, false, &document);
            assert!(found.is_empty(), "{format}: {found:?} in {document:#}");
        }
    }
}

#[test]
fn every_notation_parses_to_the_same_value() {
    for format in DIALECTS {
        let mut random = Random::new(2);
        for _ in 0..300 {
            let document = history(&mut random, format, 8);
            let text = spelled(&mut random, &document);
            let parsed: Value = serde_json::from_str(&text).expect("a spelling is JSON");
            assert_eq!(parsed, document, "{text}");
        }
    }
}

#[test]
fn the_same_seed_gives_the_same_bytes() {
    let write = || {
        let mut random = Random::new(3);
        let document = history(&mut random, "anthropic", 10);
        spelled(&mut random, &document)
    };
    assert_eq!(write(), write());
}
