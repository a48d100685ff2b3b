//! Conversations found again: however a history is spelled and in whichever format, its values are
//! the same.

use foxwedge_core::{Format, Policy};
use foxwedge_formats::{
    OutlineOptions,
    convert::{ConversionOptions, request},
    model::LossKind,
    read,
};
use foxwedge_testkit::{Random, sound_history, spelled};

const SCOPE: u128 = 1;
const CLIENTS: [Format; 3] = [Format::OpenaiChat, Format::OpenaiResponses, Format::Anthropic];

/// The values after each message.
fn values(document: &str, wire: Format) -> Vec<u128> {
    read(document, wire, OutlineOptions::default()).expect("a history").message_digests(SCOPE)
}

#[test]
fn another_spelling_has_the_same_values() {
    for wire in CLIENTS {
        for seed in 0..200 {
            let mut random = Random::new(seed);
            let history = sound_history(&mut random, wire.name(), 14);
            let expected = values(&history.to_string(), wire);
            for _ in 0..3 {
                let other = spelled(&mut random, &history);
                assert_eq!(values(&other, wire), expected, "{wire:?} {seed}\n{history}\n{other}");
            }
        }
    }
}

#[test]
fn another_format_comes_to_the_same_value() {
    let mut compared = 0;
    for from in CLIENTS {
        for to in CLIENTS {
            for seed in 0..150 {
                let document = sound_history(&mut Random::new(seed), from.name(), 14).to_string();
                let options = ConversionOptions {
                    policy: Policy { allow_unsafe: true, ..Policy::default() },
                    ..ConversionOptions::default()
                };
                let converted = request(&document, from, to, &options).expect("a history");
                // What counts for nothing may be lost.
                let counts = |what: LossKind| {
                    !matches!(
                        what,
                        LossKind::Reasoning
                            | LossKind::Signature
                            | LossKind::CacheMark
                            | LossKind::ErrorMark
                            | LossKind::Instructions
                            | LossKind::Order
                            | LossKind::Setting
                    )
                };
                // What built-in tools answer is told as text elsewhere.
                let built_in = [
                    "tool_search_output",
                    "computer_call_output",
                    "shell_call_output",
                    "apply_patch_call_output",
                ];
                let told = built_in.iter().any(|kind| document.contains(kind));
                let changed = told
                    || converted.losses.iter().any(|loss| counts(loss.kind))
                    || !converted.renamed.is_empty()
                    || !converted.renamed_tools.is_empty()
                    || !converted.source_edits.is_empty()
                    || !converted.target_edits.is_empty();
                if changed {
                    continue;
                }
                compared += 1;
                let (before, behind) = (values(&document, from), values(&converted.body, to));
                let last = |values: Vec<u128>| values.last().copied().unwrap_or(SCOPE);
                assert_eq!(
                    last(behind),
                    last(before),
                    "{from:?} {to:?} {seed}\n{document}\n{}",
                    converted.body
                );
            }
        }
    }
    assert!(compared > 300, "{compared}");
}
