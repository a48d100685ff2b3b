//! Budgets and documents that nobody means, and everything that could make a compaction panic.

use foxwedge_core::{
    Format, Profile,
    compact::{HistoryFraction, TokenLimits},
};
use foxwedge_formats::compact::{CompactError, CompactionStage};
use foxwedge_testkit::{body, messages};
use serde_json::{Value, json};

use super::{every, half, kept, left, plan, shorter, tokens, within};
use crate::support::{bold, ids, list, value};

#[test]
fn budgets_that_nobody_can_mean_are_refused_or_do_nothing() {
    for wire in Format::ALL {
        let document = body(wire.name(), "u a[x] r[x] a u a u");
        let profile = Profile::for_format(wire);
        for stage in every() {
            for most in [0, 1] {
                let error = shorter(wire, &document, &within(profile, stage, most));
                assert!(matches!(error, Err(CompactError::CannotShrink(_))), "{error:?}");
            }
            let huge = shorter(wire, &document, &within(profile, stage, u64::MAX));
            assert_eq!(huge.expect("everything fits"), document);
            for (most, goal) in [(u64::MAX, 0), (40, u64::MAX), (40, 0), (0, u64::MAX)] {
                let limits = TokenLimits::new(most, goal);
                assert!(limits.goal() <= limits.max_tokens());
                let _ = shorter(wire, &document, &plan(bold(profile), &[stage], Some(limits)));
            }
        }
    }
}

#[test]
fn without_a_budget_only_a_cut_and_a_summary_know_what_to_do() {
    let document = body("anthropic", "u a u");
    for stage in every() {
        let result =
            left(Format::Anthropic, &document, &plan(bold(Profile::Anthropic), &[stage], None));
        match stage {
            CompactionStage::Window(_) | CompactionStage::Summarize => {
                assert!(!matches!(result, Err(CompactError::NeedsBudget(_))), "{}", stage.name())
            }
            CompactionStage::Budget | CompactionStage::Elide | CompactionStage::Importance => {
                let told = result.expect_err("it needs a budget").to_string();
                assert_eq!(told, format!("the strategy `{}` needs a budget", stage.name()));
            }
        }
    }
}

#[test]
fn shares_outside_of_zero_and_one_are_none() {
    for share in [-0.1, 1.1, f64::NAN, f64::INFINITY, f64::NEG_INFINITY] {
        assert_eq!(HistoryFraction::new(share), None, "{share}");
    }
}

#[test]
fn pins_that_point_to_nothing_are_ignored() {
    for wire in Format::ALL {
        let document = body(wire.name(), "u a u a u a u");
        let mut settings = half(Profile::for_format(wire));
        let without = left(wire, &document, &settings).expect("no budget").text.into_owned();
        settings.pins = vec![7, 999, usize::MAX];
        let with = left(wire, &document, &settings).expect("no budget");
        assert_eq!(with.text, without);
        settings.pins = (0..7).collect();
        let all = left(wire, &document, &settings).expect("no budget");
        assert_eq!(kept(&all), [0, 1, 2, 3, 4, 5, 6]);
    }
}

#[test]
fn there_is_nothing_to_do_with_nothing() {
    for wire in Format::ALL {
        let single = body(wire.name(), "u");
        for document in ["[]", single.as_str()] {
            for stage in every() {
                let limits = Some(TokenLimits::exactly(1_000));
                let settings = plan(bold(Profile::for_format(wire)), &[stage], limits);
                assert_eq!(shorter(wire, document, &settings).expect("it fits"), document);
            }
            assert_eq!(
                shorter(wire, document, &half(Profile::for_format(wire))).expect("no budget"),
                document
            );
        }
    }
    let system = body("openai-chat", "s s s");
    for stage in every() {
        let all = tokens(Format::OpenaiChat, Profile::OpenaiChat, &system);
        let settings = within(Profile::OpenaiChat, stage, all - 1);
        let error = shorter(Format::OpenaiChat, &system, &settings).expect_err("all of it stays");
        assert!(matches!(error, CompactError::CannotShrink(_)), "{error}");
    }
    let wire = Format::OpenaiResponses;
    let text = json!({"model": "gpt-5", "input": "only a question"}).to_string();
    for stage in every() {
        let settings = within(Profile::OpenaiResponses, stage, 100);
        assert_eq!(left(wire, &text, &settings).expect("it fits").text, text);
        let error = left(wire, &text, &within(Profile::OpenaiResponses, stage, 1));
        assert!(matches!(error, Err(CompactError::CannotShrink(_))), "{error:?}");
    }
}

#[test]
fn what_is_no_history_is_an_error() {
    for wire in Format::ALL {
        for document in ["", "{", "7", "null", "{\"messages\": 7, \"input\": 7, \"contents\": 7}"] {
            let result = left(wire, document, &half(Profile::for_format(wire)));
            assert!(matches!(result, Err(CompactError::Unreadable(_))), "{document}: {result:?}");
        }
    }
}

#[test]
fn two_thousand_calls_in_one_turn_stay_together() {
    for wire in Format::ALL {
        let names: Vec<String> = (0..2_000).map(|number| format!("c{number}")).collect();
        let names = names.join(" ");
        let document = body(wire.name(), &format!("u a u a[{names}] r[{names}] u a u a u"));
        // The format's own provider may want rounds of at most 128.
        let mut settings = within(Profile::Anthropic, CompactionStage::Budget, 400);
        if wire != Format::Anthropic {
            settings.question = bold(Profile::Gemini);
        }
        let compacted = left(wire, &document, &settings).expect("the turn can go");
        assert_eq!(ids(&list(&value(&compacted.text))), (vec![], vec![]));
        settings.limits = None;
        settings.stages =
            vec![CompactionStage::Window(HistoryFraction::new(0.01).expect("a share"))];
        let compacted = left(wire, &document, &settings).expect("no budget");
        let (calls, answers) = ids(&list(&value(&compacted.text)));
        assert_eq!(calls.len(), answers.len());
    }
}

#[test]
fn enormous_ids_and_deep_arguments_are_cut_like_all_others() {
    for wire in Format::ALL {
        let id = "f".repeat(1 << 20);
        let document =
            body(wire.name(), "u a[x] r[x] u a u").replace("\"x\"", &format!("\"{id}\""));
        let profile = Profile::for_format(wire);
        for settings in [half(profile), within(profile, CompactionStage::Budget, 60)] {
            let compacted = left(wire, &document, &settings).expect("it can be cut");
            let (calls, answers) = ids(&list(&value(&compacted.text)));
            assert_eq!(calls, answers);
        }
        let mut deep = json!(1);
        for _ in 0..60 {
            deep = json!({ "in": [deep] });
        }
        let mut list = messages(wire.name(), "u a[x] r[x] u a u");
        let text = Value::Array(std::mem::take(&mut list)).to_string();
        let plain = json!({"at": "x"}).to_string();
        let quoted = json!(plain).to_string();
        let text = text.replace(&quoted, &json!(deep.to_string()).to_string());
        let text = text.replace(&plain, &deep.to_string());
        for stage in every() {
            let _ = shorter(wire, &text, &within(profile, stage, 70));
        }
    }
}
