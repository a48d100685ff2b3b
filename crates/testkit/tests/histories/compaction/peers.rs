//! Conformance cases of other systems that concern compaction.

use foxwedge_core::{Format, Policy, Profile, TailPolicy, compact::HistoryFraction};
use foxwedge_formats::compact::{CompactionStage, HistorySummarizer, SummaryRequest, compact};
use foxwedge_testkit::{ByteTokenCounter, body, long, messages};
use serde_json::Value;

use super::{every, half, kept, left, plan, shorter, tokens, within};
use crate::support::{asked, bold, ids, judged, list, shape, value};

#[test]
fn t61_a_cut_between_a_batch_and_its_third_result_moves_to_a_legal_boundary() {
    for wire in [Format::OpenaiChat, Format::OpenaiResponses] {
        // The cut that is asked for lies in front of the third answer.
        let document = body(wire.name(), "u u a[A B C] r[A B C] u a u a u a");
        let count = list(&value(&document)).len();
        for place in 0..count {
            let share = (place as f64 + 0.5) / (count - 1) as f64;
            let fraction = HistoryFraction::new(share.min(1.0)).expect("a share");
            let settings =
                plan(bold(Profile::for_format(wire)), &[CompactionStage::Window(fraction)], None);
            let text = shorter(wire, &document, &settings).expect("no budget");
            let (calls, answers) = ids(&list(&value(&text)));
            assert_eq!(calls, answers, "{text}");
            assert!(calls.is_empty() || calls == ["A", "B", "C"], "{text}");
        }
    }
}

#[test]
fn t62_a_user_message_wedged_into_a_pair_is_no_place_to_cut() {
    // Stateless histories are repaired first: the answer moves home, and the wedge out of the pair.
    for wire in Format::ALL {
        let document = body(wire.name(), "u a u a[x] u r[x] u a u");
        for share in 0..=10 {
            let fraction = HistoryFraction::new(f64::from(share) / 10.0).expect("a share");
            let settings =
                plan(bold(Profile::for_format(wire)), &[CompactionStage::Window(fraction)], None);
            let text = shorter(wire, &document, &settings).expect("no budget");
            let told = shape(&list(&value(&text)));
            assert_eq!(told.contains("a[x]"), told.contains("r[x]"), "{told}");
        }
    }
}

#[test]
fn t63_a_kept_message_with_text_and_an_orphaned_result_keeps_its_text() {
    for wire in [Format::Anthropic, Format::Bedrock, Format::Gemini] {
        let mut list = messages(wire.name(), "u a u a u r[gone]");
        let key = if wire == Format::Gemini { "parts" } else { "content" };
        let words = match wire {
            Format::Anthropic => serde_json::json!({"type": "text", "text": "and my own words"}),
            _ => serde_json::json!({"text": "and my own words"}),
        };
        let last = list.last_mut().and_then(|last| last[key].as_array_mut());
        last.expect("answers are blocks").push(words);
        let document = Value::Array(list).to_string();
        let all = tokens(wire, Profile::for_format(wire), &document);
        for stage in every().into_iter().filter(|stage| *stage != CompactionStage::Elide) {
            let settings = within(Profile::for_format(wire), stage, all * 9 / 10);
            let Ok(text) = shorter(wire, &document, &settings) else { continue };
            assert!(text.contains("and my own words"), "{}: {text}", stage.name());
            assert_eq!(ids(&crate::support::list(&value(&text))), (vec![], vec![]), "{text}");
        }
    }
}

#[test]
fn t64_one_giant_turn_over_budget_shrinks_inside_oldest_first_pairs_intact() {
    for wire in Format::ALL {
        let names: Vec<String> = (0..12).map(|n| format!("call000{n:02}")).collect();
        let names = names.join(" ");
        let mut document = body(wire.name(), &format!("u a[{names}] r[{names}]"));
        for number in 0..12 {
            let short = format!("result of call000{number:02}");
            document = document.replace(&short, &format!("{short} {}", "and on ".repeat(400)));
        }
        let all = tokens(wire, Profile::Strict, &document);
        for stage in [
            CompactionStage::Budget,
            CompactionStage::Elide,
            CompactionStage::Importance,
            CompactionStage::Window(HistoryFraction::HALF),
        ] {
            let settings = within(Profile::Strict, stage, all / 2);
            let text = shorter(wire, &document, &settings).expect("answers can shrink");
            let (calls, answers) = ids(&list(&value(&text)));
            assert_eq!(calls.len(), 12);
            assert_eq!(calls, answers, "{}", stage.name());
            // Every answer that was touched is older than every one that was not.
            let compacted = left(wire, &document, &settings).expect("answers can shrink");
            let shrunk = compacted.account.stages[0].shortened.len();
            assert!(shrunk > 0 && shrunk <= 12, "{shrunk}");
            let whole = |number: usize| {
                text.contains(&format!("result of call000{number:02} {}", "and on ".repeat(400)))
            };
            let first = (0..12).find(|number| whole(*number)).unwrap_or(12);
            assert!((first..12).all(whole), "{} {text}", stage.name());
        }
    }
}

#[test]
fn t65_the_counterpart_of_what_goes_goes_too_by_occurrence() {
    for wire in Format::ALL {
        // One id, used three times.
        let document = body(wire.name(), "u a[x] r[x] u a[x] r[x] u a[x] r[x] a u");
        let profile = Profile::for_format(wire);
        let all = tokens(wire, profile, &document);
        let mut seen = 0;
        for budget in (0..all).step_by(3) {
            let settings = within(profile, CompactionStage::Budget, budget);
            let Ok(text) = shorter(wire, &document, &settings) else { continue };
            let (calls, answers) = ids(&list(&value(&text)));
            assert_eq!(calls.len(), answers.len(), "{text}");
            // The newest occurrence is the last to go, and keeps its own answer.
            assert!(calls.is_empty() || text.contains("result of x #9"), "{text}");
            seen |= 1 << calls.len();
        }
        assert_eq!(seen & 0b11, 0b11, "{}: {seen:b}", wire.name());
    }
}

#[test]
fn t66_calls_in_flight_survive_a_compaction() {
    let pending = Policy { tail: TailPolicy::Pending, allow_unsafe: true, ..Policy::default() };
    for wire in Format::ALL {
        let document = body(wire.name(), "u a u a u a[x y] r[x]");
        let profile = Profile::for_format(wire);
        let all = tokens(wire, profile, &document);
        for stage in every() {
            for tenth in 1..10 {
                let mut settings = within(profile, stage, all * tenth / 10);
                settings.question = asked(profile, pending);
                let Ok(text) = shorter(wire, &document, &settings) else { continue };
                let (calls, answers) = ids(&list(&value(&text)));
                assert_eq!((calls.len(), answers.len()), (2, 1), "{}: {text}", stage.name());
            }
        }
    }
}

#[test]
fn t67_whoever_summarizes_gets_a_request_that_every_provider_takes() {
    struct Asks(Format);
    impl HistorySummarizer for Asks {
        fn name(&self) -> &str {
            "asks"
        }
        fn summarize(&mut self, request: &SummaryRequest<'_>) -> Result<String, String> {
            let prompt = request.prompt();
            let message = match self.0 {
                Format::Gemini => serde_json::json!({"role": "user", "parts": [{"text": prompt}]}),
                Format::Bedrock => {
                    serde_json::json!({"role": "user", "content": [{"text": prompt}]})
                }
                Format::GeminiInteractions => serde_json::json!({
                    "type": "user_input", "content": [{"type": "text", "text": prompt}]
                }),
                _ => serde_json::json!({"role": "user", "content": prompt}),
            };
            let document = Value::Array(vec![message]).to_string();
            match judged(self.0, &bold(Profile::Strict), &document).as_slice() {
                [] => Ok("Some things were done.".to_owned()),
                found => Err(format!("{found:?}")),
            }
        }
    }
    for wire in Format::ALL {
        let dangling = body(wire.name(), "u a[x y] r[y] u a[z] u a u");
        for document in [dangling, long(wire.name(), 30, 8).to_string()] {
            let mut settings =
                plan(bold(Profile::for_format(wire)), &[CompactionStage::Summarize], None);
            settings.recent = Some(8);
            let result =
                compact(&document, wire, &settings, &mut ByteTokenCounter, &mut Asks(wire));
            assert!(result.is_ok(), "{:?}", result.err());
        }
    }
}

#[test]
fn pins_and_instructions_stay_whatever_the_budget_says() {
    for wire in [Format::OpenaiChat, Format::OpenaiResponses] {
        let document = body(wire.name(), "s s u a u a[x] r[x] u a u a u");
        let profile = Profile::for_format(wire);
        let all = tokens(wire, profile, &document);
        for stage in every() {
            for tenth in 1..10 {
                let mut settings = within(profile, stage, all * tenth / 10);
                settings.pins = vec![5];
                let Ok(compacted) = left(wire, &document, &settings) else { continue };
                let kept = kept(&compacted);
                assert!([0, 1, 5, 6].iter().all(|at| kept.contains(at)), "{}", compacted.text);
            }
        }
        let mut settings = half(profile);
        settings.pins = vec![3, 2, 2, 999];
        let compacted = left(wire, &document, &settings).expect("no budget");
        assert_eq!(kept(&compacted)[..4], [0, 1, 2, 3]);
    }
}
