//! The behaviours that compaction owes to the seeds, named after the behaviour.

use foxwedge_core::{
    Format, Policy, Profile,
    compact::{HistoryCut, HistoryFraction},
};
use foxwedge_formats::compact::{CompactError, CompactionStage, SummaryRequest, compact};
use foxwedge_testkit::{ByteTokenCounter, body, inventory, long, lost};
use serde_json::{Value, json};

use super::{half, kept, left, plan, shorter, tokens, within};
use crate::support::{asked, bold, fixed, ids, judged, list, mended, shape, value};

#[test]
fn b1_1_no_cut_falls_into_a_unit_whatever_lies_between_call_and_result() {
    let shapes = [
        "u a u a[x y z] r[x y z] u a u a u",
        "u a u a\"both\"[x y] r[x] r[y] a u a u",
        "u a[x] r[x] a[y] r[y] a[z] r[z] u a u",
        "u a u a a[x] r[x] u a u a",
        "u a[x y] r[y x] u a[x] r[x] u",
    ];
    for wire in Format::ALL {
        for shape in shapes {
            let document = body(wire.name(), shape);
            for percent in (0..=100).step_by(5) {
                let fraction = HistoryFraction::new(f64::from(percent) / 100.0).expect("a share");
                let settings = plan(
                    bold(Profile::for_format(wire)),
                    &[CompactionStage::Window(fraction)],
                    None,
                );
                let text = shorter(wire, &document, &settings).expect("a cut needs no budget");
                let (calls, answers) = ids(&list(&value(&text)));
                let sorted = |mut ids: Vec<String>| {
                    ids.sort();
                    ids
                };
                assert_eq!(sorted(calls), sorted(answers), "{shape} at {percent} %\n{text}");
            }
        }
    }
}

#[test]
fn b1_2_the_first_message_stays_and_an_even_share_goes_as_it_always_did() {
    // Without calls every edge is legal: floor((n - 1) × share), rounded down to an even number.
    let table = [
        ("u a u a u a u a", 0.5, vec![0, 3, 4, 5, 6, 7]),
        ("u a u a u a u a u", 0.5, vec![0, 5, 6, 7, 8]),
        ("u a u a u a", 0.9, vec![0, 5]),
        ("u a u a u", 0.4, vec![0, 1, 2, 3, 4]),
        ("u a u a u", 0.5, vec![0, 3, 4]),
        ("u a u a u", 0.0, vec![0, 1, 2, 3, 4]),
        ("u", 1.0, vec![0]),
    ];
    for (shape, share, expected) in table {
        let document = body("openai-chat", shape);
        let fraction = HistoryFraction::new(share).expect("a share");
        let settings = plan(bold(Profile::OpenaiChat), &[CompactionStage::Window(fraction)], None);
        let compacted = left(Format::OpenaiChat, &document, &settings).expect("no budget");
        assert_eq!(kept(&compacted), expected, "{shape} at {share}");
        let account = &compacted.account;
        let count = list(&value(&document)).len();
        assert_eq!((account.before.messages, account.after.messages), (count, expected.len()));
        assert_eq!(
            account.before.tokens,
            tokens(Format::OpenaiChat, Profile::OpenaiChat, &document)
        );
        let after = tokens(Format::OpenaiChat, Profile::OpenaiChat, &compacted.text);
        assert_eq!(account.after.tokens, after);
        let given_up: usize = account.removed_ranges().iter().map(ExactSizeIterator::len).sum();
        assert_eq!(given_up, count - expected.len());
    }
}

#[test]
fn b1_3_a_cut_moves_to_the_nearest_edge_and_over_budget_something_always_goes() {
    // Asked for is message 3 or 5; the turn reaches from 2 to 6.
    let document = body("openai-chat", "u a a[x y z] r[x y z] u a u");
    let cut = |share: f64| {
        let fraction = HistoryFraction::new(share).expect("a share");
        let settings = plan(bold(Profile::OpenaiChat), &[CompactionStage::Window(fraction)], None);
        let compacted = left(Format::OpenaiChat, &document, &settings).expect("no budget");
        (compacted.account.stages[0].cut, kept(&compacted))
    };
    // `a a[..]` is one turn: messages 1 to 5.
    assert_eq!(cut(0.3), (Some(HistoryCut { requested: 3, actual: 6 }), vec![0, 6, 7, 8]));
    assert_eq!(cut(0.6), (Some(HistoryCut { requested: 5, actual: 6 }), vec![0, 6, 7, 8]));
    for wire in Format::ALL {
        for shape in ["u a[x] r[x] u", "u a[x y] r[x y] a u", "u a u", "u a[x] r[x]"] {
            let document = body(wire.name(), shape);
            let profile = Profile::for_format(wire);
            let all = tokens(wire, profile, &document);
            let fraction = HistoryFraction::new(0.01).expect("a share");
            let result = shorter(
                wire,
                &document,
                &within(profile, CompactionStage::Window(fraction), all - 1),
            );
            match result {
                Ok(text) => assert!(tokens(wire, profile, &text) < all, "{shape}\n{text}"),
                Err(CompactError::CannotShrink(short)) => {
                    assert!(short.total_needed >= all, "{short:?}")
                }
                Err(other) => panic!("{shape}: {other}"),
            }
        }
    }
}

#[test]
fn b1_6_open_calls_are_answered_and_calls_told_in_words_before_anybody_summarizes() {
    struct Listener(Option<(String, String)>);
    impl foxwedge_formats::compact::HistorySummarizer for Listener {
        fn name(&self) -> &str {
            "a listener"
        }
        fn summarize(&mut self, request: &SummaryRequest<'_>) -> Result<String, String> {
            self.0 = Some((request.prompt(), request.text()));
            Ok("They looked at two things.".to_owned())
        }
    }
    for wire in Format::ALL {
        // The second call was never answered.
        let document = body(wire.name(), "u a[x y] r[x] u a u a u");
        let mut settings = within(Profile::for_format(wire), CompactionStage::Summarize, 1_000);
        settings.limits = None;
        settings.recent = Some(0);
        let mut listener = Listener(None);
        let result = compact(&document, wire, &settings, &mut ByteTokenCounter, &mut listener);
        let text = result.expect("a summary came back").text;
        let (prompt, told) = listener.0.expect("somebody was asked");
        assert!(told.contains("result of x"), "{told}");
        assert!(told.contains("Interrupted"), "the open call has its answer: {told}");
        assert_eq!(told.matches("Call: look").count(), 2, "{told}");
        assert_eq!(told.matches("Answer").count(), 2, "{told}");
        // As one user message the request is sound everywhere.
        let request = match wire {
            Format::Gemini => json!([{"role": "user", "parts": [{"text": prompt}]}]),
            Format::Bedrock => json!([{"role": "user", "content": [{"text": prompt}]}]),
            Format::GeminiInteractions => {
                json!([{"type": "user_input", "content": [{"type": "text", "text": prompt}]}])
            }
            _ => json!([{"role": "user", "content": prompt}]),
        };
        assert_eq!(judged(wire, &bold(Profile::Strict), &request.to_string()), []);
        let (calls, answers) = ids(&list(&value(&text)));
        assert_eq!((calls, answers), (vec![], vec![]), "{text}");
        assert!(text.contains("They looked at two things."), "{text}");
    }
}

#[test]
fn b1_7_results_for_calls_that_were_condensed_away_become_user_text() {
    for wire in Format::ALL {
        let profile = Profile::for_format(wire);
        let document = body(wire.name(), "u a[x] r[x] a u a u a u");
        let mut settings = plan(bold(profile), &[CompactionStage::Summarize], None);
        settings.recent = Some(0);
        let text = shorter(wire, &document, &settings).expect("it can be condensed");
        assert_eq!(ids(&list(&value(&text))).0, Vec::<String>::new(), "{text}");
        // The tool was slow; its answer comes now.
        let mut late = list(&value(&text));
        late.extend(list(&value(&body(wire.name(), "a u r[x]"))).into_iter().skip(2));
        let late = Value::Array(late).to_string();
        let mended = mended(wire, &bold(profile), &late);
        assert_eq!(ids(&mended.list()), (vec![], vec![]), "{}", mended.text);
        assert!(mended.text.contains("result of x #3"), "it is lost: {}", mended.text);
        // And in the middle of the next compaction.
        let again = shorter(wire, &late, &half(profile)).expect("no budget");
        assert!(again.contains("result of x #3"), "it is lost: {again}");
    }
}

#[test]
fn b1_16_scenario_3_the_cut_moves_from_3_to_2_and_messages_2_to_5_are_kept() {
    for (wire, shape) in [
        (Format::OpenaiChat, "s u a[x] r[x] u a"),
        (Format::OpenaiResponses, "s u a[x] r[x] u a"),
        (Format::Anthropic, "u u a[x] r[x] u a"),
    ] {
        let document = body(wire.name(), shape);
        let compacted = left(wire, &document, &half(Profile::for_format(wire))).expect("no budget");
        assert_eq!(compacted.account.stages[0].cut, Some(HistoryCut { requested: 3, actual: 2 }));
        assert_eq!(kept(&compacted), [0, 2, 3, 4, 5], "{}", compacted.text);
        assert!(compacted.messages.iter().all(|line| line.unchanged), "{:?}", compacted.messages);
        assert_eq!(compacted.account.removed_ranges(), vec![1..2; 1]);
        shorter(wire, &document, &half(Profile::for_format(wire))).expect("no budget");
    }
}

#[test]
fn b1_17_a_compaction_that_fails_leaves_the_history_as_it_was() {
    for wire in Format::ALL {
        let document = long(wire.name(), 30, 4).to_string();
        let copy = document.clone();
        for stage in super::every() {
            let result = left(wire, &document, &within(Profile::Strict, stage, 10));
            assert!(matches!(result, Err(CompactError::CannotShrink(_))), "{result:?}");
        }
        assert_eq!(document, copy);
        // And one that succeeds is a document of its own, whole.
        let fits = tokens(wire, Profile::Strict, &document) / 2;
        let result = left(wire, &document, &within(Profile::Strict, CompactionStage::Budget, fits));
        let text = result.expect("it fits").text.into_owned();
        assert!(serde_json::from_str::<Value>(&text).is_ok());
        assert_eq!(document, copy);
    }
}

#[test]
fn b4_13_no_split_parts_a_unit_and_overflow_is_told_before_any_request() {
    for wire in Format::ALL {
        let document = long(wire.name(), 26, 6).to_string();
        let all = tokens(wire, Profile::Strict, &document);
        let stages = [CompactionStage::Elide, CompactionStage::Budget];
        for tenth in [0, 1, 3, 6, 9] {
            let limits = foxwedge_core::compact::TokenLimits::exactly(all * tenth / 10);
            let settings = plan(bold(Profile::Strict), &stages, Some(limits));
            match shorter(wire, &document, &settings) {
                Ok(_) => assert!(tenth > 0),
                Err(error) => {
                    let told = error.to_string();
                    let budget = format!("the budget is {}", limits.max_tokens());
                    assert!(told.contains(&budget) && told.contains("message"), "{told}");
                }
            }
        }
    }
}

#[test]
fn a_running_call_stays_open_and_a_dead_one_is_answered() {
    for wire in Format::ALL {
        let document = body(wire.name(), "u a u a u a[x]");
        let pending = Policy {
            tail: foxwedge_core::TailPolicy::Pending,
            allow_unsafe: true,
            ..Policy::default()
        };
        let profile = Profile::for_format(wire);
        for (policy, end) in
            [(pending, "a[x]"), (Policy { allow_unsafe: true, ..Policy::default() }, "r[x~]")]
        {
            let fraction = HistoryFraction::new(1.0).expect("a share");
            let settings = plan(asked(profile, policy), &[CompactionStage::Window(fraction)], None);
            let text = shorter(wire, &document, &settings).expect("no budget");
            assert!(shape(&list(&value(&text))).ends_with(end), "{text}");
        }
    }
}

#[test]
fn every_text_of_what_is_kept_is_there_and_repairing_again_changes_nothing() {
    for wire in Format::ALL {
        let document = body(wire.name(), "u a[x] r[x] a u a[y] r[y] a u a u");
        let profile = Profile::for_format(wire);
        let settings = half(profile);
        let compacted = left(wire, &document, &settings).expect("no budget");
        let old = list(&value(&document));
        let stayed: Vec<Value> = kept(&compacted).into_iter().map(|at| old[at].clone()).collect();
        let wanted = inventory(wire.name(), &Value::Array(stayed));
        assert_eq!(lost(wire.name(), &wanted, &value(&compacted.text)), Vec::<String>::new());
        let again = fixed(wire, &bold(profile), &compacted.text);
        assert_eq!(again.text, compacted.text);
    }
}
