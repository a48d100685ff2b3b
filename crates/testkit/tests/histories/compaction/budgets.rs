//! A long history of tools is brought under its budget by every strategy alone, in every format,
//! and whoever took it before takes it afterwards.

use foxwedge_core::{
    Format, Profile,
    compact::{AnswerTreatment, TokenLimits},
};
use foxwedge_formats::compact::{CompactError, CompactionStage};
use foxwedge_testkit::{laws::compaction::SummarizerKind, long};
use serde_json::Value;

use super::{every, left, plan, shorter, tokens, within};
use crate::support::{bold, list, report, value};

const MOST: u64 = 32_000;

#[test]
fn two_hundred_messages_of_tools_fit_after_each_strategy_and_every_provider_takes_them() {
    for wire in Format::ALL {
        let document = long(wire.name(), 200, 1).to_string();
        let before = tokens(wire, Profile::Strict, &document);
        assert!(before > MOST, "{}: {before}", wire.name());
        let takes = |profile: &Profile, text: &str| report(wire, &bold(*profile), text).is_clean();
        let took: Vec<Profile> =
            Profile::ALL.into_iter().filter(|profile| takes(profile, &document)).collect();
        assert_eq!(took, Profile::ALL, "{}", wire.name());
        for stage in every() {
            let settings = within(Profile::Strict, stage, MOST);
            let what = format!("{} by {}", wire.name(), stage.name());
            let text = shorter(wire, &document, &settings);
            let text = text.unwrap_or_else(|error| panic!("{what}: {error}"));
            assert!(tokens(wire, Profile::Strict, &text) <= MOST, "{what}");
            for profile in &took {
                let found = report(wire, &bold(*profile), &text);
                assert!(found.is_clean(), "{what} under {}: {:?}", profile.name(), found.findings);
            }
        }
    }
}

#[test]
fn a_lower_goal_is_reached_and_a_higher_one_is_the_limit() {
    for wire in Format::ALL {
        let document = long(wire.name(), 30, 2).to_string();
        let all = tokens(wire, Profile::Strict, &document);
        for stage in every() {
            let ask = |most, goal| {
                plan(bold(Profile::Strict), &[stage], Some(TokenLimits::new(most, goal)))
            };
            let text = shorter(wire, &document, &ask(all - 1, all / 2)).expect("it fits");
            // What a strategy leaves is counted in whole units, notes and summaries: about the goal.
            let left = tokens(wire, Profile::Strict, &text);
            assert!(left <= all * 6 / 10, "{} {}: {left} of {all}", wire.name(), stage.name());
            let text = shorter(wire, &document, &ask(all - 1, u64::MAX)).expect("it fits");
            assert!(tokens(wire, Profile::Strict, &text) < all);
        }
    }
}

#[test]
fn eliding_keeps_every_message_every_pair_and_what_a_rule_protects() {
    for wire in Format::ALL {
        let document = long(wire.name(), 40, 5).to_string();
        let all = tokens(wire, Profile::Strict, &document);
        let mut settings = within(Profile::Strict, CompactionStage::Elide, all * 7 / 10);
        let rule = |tool: &str, treatment| foxwedge_core::compact::ToolElisionRule {
            tool: tool.to_owned(),
            treatment,
        };
        settings.elision.tools = vec![
            rule("read_*", AnswerTreatment::Keep),
            rule("run_tests", AnswerTreatment::Clear),
            rule("grep", AnswerTreatment::Shrink),
        ];
        let text = shorter(wire, &document, &settings).expect("it fits");
        let (old, new) = (list(&value(&document)), list(&value(&text)));
        assert_eq!(old.len(), new.len());
        let compacted = left(wire, &document, &settings).expect("it fits");
        let shrunk = &compacted.account.stages[0].shortened;
        let tool =
            |name: &'static str| shrunk.iter().filter(move |it| it.tool.as_deref() == Some(name));
        assert_eq!(tool("read_file").count(), 0);
        assert!(tool("run_tests").count() > 0, "{shrunk:?}");
        assert!(
            tool("run_tests").all(|it| it.keep == foxwedge_core::compact::AnswerRemainder::Note)
        );
        assert!(tool("grep").all(|it| it.keep != foxwedge_core::compact::AnswerRemainder::Note));
    }
}

#[test]
fn strategies_build_on_each_other_and_stop_when_it_fits() {
    for wire in Format::ALL {
        let document = long(wire.name(), 40, 7).to_string();
        let all = tokens(wire, Profile::Strict, &document);
        let stages = [CompactionStage::Elide, CompactionStage::Budget, CompactionStage::Summarize];
        // So much is left when every answer has shrunk.
        let least =
            match shorter(wire, &document, &within(Profile::Strict, CompactionStage::Elide, 1)) {
                Err(CompactError::CannotShrink(short)) => short.total_needed,
                other => panic!("one token is not enough: {other:?}"),
            };
        for (most, ran) in [(all * 8 / 10, 1), (least, 1), (least - 1, 2), (all, 0)] {
            let settings = plan(bold(Profile::Strict), &stages, Some(TokenLimits::exactly(most)));
            shorter(wire, &document, &settings).expect("it fits");
            let compacted = left(wire, &document, &settings).expect("it fits");
            let account = &compacted.account;
            assert_eq!(account.stages.len(), ran, "{} {most} of {all}", wire.name());
            assert_eq!(account.before.tokens, all);
            let mut last = all;
            for stage in &account.stages {
                assert_eq!(stage.before, last);
                assert!(stage.after <= stage.before);
                last = stage.after;
            }
            assert_eq!(account.after.tokens, last);
        }
    }
}

#[test]
fn importance_keeps_what_the_user_insists_on_and_drops_what_was_read_again() {
    let wire = Format::Anthropic;
    let call = |id: &str, name: &str, path: &str| {
        serde_json::json!({"role": "assistant", "content": [
            {"type": "tool_use", "id": id, "name": name, "input": {"file_path": path}}
        ]})
    };
    let answer = |id: &str, text: &str| {
        serde_json::json!({"role": "user", "content": [
            {"type": "tool_result", "tool_use_id": id, "content": text.repeat(60)}
        ]})
    };
    let say = |role: &str, text: &str| serde_json::json!({"role": role, "content": text});
    let document = Value::Array(vec![
        say("user", "Start."),
        call("a", "read_file", "old.rs"),
        answer("a", "first look at the file "),
        say("assistant", "I see."),
        say("user", "You must never touch the tests."),
        call("b", "edit_file", "new.rs"),
        answer("b", "changed a line in there "),
        say("assistant", "Next."),
        say("user", "Go on."),
        call("c", "read_file", "old.rs"),
        answer("c", "second look at the file "),
        say("assistant", "Done."),
        say("user", "And now?"),
    ])
    .to_string();
    let all = tokens(wire, Profile::Anthropic, &document);
    let settings = within(Profile::Anthropic, CompactionStage::Importance, all - 100);
    let text = shorter(wire, &document, &settings).expect("it fits");
    assert!(!text.contains("first look"), "{text}");
    for kept in ["never touch", "changed a line", "second look", "And now?", "Start."] {
        assert!(text.contains(kept), "{kept} is gone: {text}");
    }
}

#[test]
fn useless_summaries_are_refused_and_nothing_comes_out() {
    for wire in Format::ALL {
        let document = long(wire.name(), 40, 9).to_string();
        let all = tokens(wire, Profile::Strict, &document);
        let settings = within(Profile::Strict, CompactionStage::Summarize, all / 2);
        for voice in [
            SummarizerKind::Empty,
            SummarizerKind::Longer(4 * all as usize + 64),
            SummarizerKind::Fails,
        ] {
            let mut asked = voice.listening();
            let result = foxwedge_formats::compact::compact(
                &document,
                wire,
                &settings,
                &mut foxwedge_testkit::ByteTokenCounter,
                &mut asked,
            );
            let error = result.expect_err("nobody can use that").to_string();
            assert_eq!(asked.times, 1, "{voice:?}");
            assert!(error.contains("summar"), "{voice:?}: {error}");
        }
    }
}
