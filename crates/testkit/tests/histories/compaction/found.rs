//! What the laws found on their way, one test each; the name says what went wrong.

use foxwedge_core::{
    Format, Profile,
    compact::{CompactionPace, HistoryFraction, TokenLimits},
};
use foxwedge_formats::compact::{CompactError, CompactionStage, MessageOutcome};
use foxwedge_testkit::{body, long, messages};
use serde_json::{Value, json};

use super::{left, plan, shorter, tokens, within};
use crate::support::{bold, list, report, value};

#[test]
fn a_message_that_was_joined_with_its_neighbour_was_told_as_gone() {
    let document = body("bedrock", "u a u").replace("assistant text", &"long words ".repeat(40));
    let settings = within(Profile::Bedrock, CompactionStage::Budget, 20);
    let compacted = left(Format::Bedrock, &document, &settings).expect("both wishes fit");
    assert_eq!(list(&value(&compacted.text)).len(), 1, "{}", compacted.text);
    let became: Vec<MessageOutcome> =
        compacted.account.messages.iter().map(|(_, told)| *told).collect();
    assert_eq!(became, [MessageOutcome::Changed, MessageOutcome::Removed, MessageOutcome::Changed]);
    assert_eq!(compacted.account.removed_ranges(), vec![1..2; 1]);
}

#[test]
fn media_from_an_answer_was_taken_for_the_users_last_word() {
    let mut messages = messages("openai-chat", "u a[x] r[x] a[y] r[y]");
    messages[2]["content"] = json!([
        {"type": "text", "text": "here"},
        {"type": "image_url", "image_url": {"url": "data:image/png;base64,AA=="}}
    ]);
    let document = Value::Array(messages).to_string();
    for stage in [CompactionStage::Budget, CompactionStage::Importance, CompactionStage::Summarize]
    {
        let settings = within(Profile::OpenaiChat, stage, 400);
        let Ok(text) = shorter(Format::OpenaiChat, &document, &settings) else { continue };
        assert!(text.contains("\"user text 1\""), "{}: {text}", stage.name());
    }
}

#[test]
fn a_note_of_the_system_lost_the_message_it_stood_behind_and_became_the_users() {
    let document = body("anthropic", "u a u s");
    let fraction = HistoryFraction::new(0.7).expect("a share");
    let settings = plan(bold(Profile::Anthropic), &[CompactionStage::Window(fraction)], None);
    let compacted = left(Format::Anthropic, &document, &settings).expect("no budget");
    let said = value(&compacted.text);
    let roles: Vec<&Value> = said.as_array().into_iter().flatten().map(|m| &m["role"]).collect();
    assert_eq!(roles.last(), Some(&&json!("system")), "{}", compacted.text);
}

#[test]
fn a_reference_went_and_left_an_answer_without_its_call() {
    let document = json!([
        {"type": "item_reference", "id": "msg_9"},
        {"role": "user", "content": "old words ".repeat(80)},
        {"type": "function_call_output", "call_id": "x", "output": "ok"},
        {"role": "assistant", "content": "I see. ".repeat(80)},
        {"role": "user", "content": "go on"}
    ])
    .to_string();
    let (wire, profile) = (Format::OpenaiResponses, Profile::OpenaiResponses);
    let all = tokens(wire, profile, &document);
    for stage in super::every() {
        for tenth in 1..10 {
            let settings = within(profile, stage, all * tenth / 10);
            let Ok(text) = shorter(wire, &document, &settings) else { continue };
            assert!(report(wire, &bold(profile), &text).is_clean(), "{text}");
            assert!(text.contains("msg_9"), "{text}");
        }
    }
}

#[test]
fn an_approval_stayed_without_its_request() {
    let document = json!([
        {"role": "user", "content": "look at the issue"},
        {"type": "mcp_approval_request", "id": "mcpr_1", "name": "ask", "arguments": "{}", "server_label": "s"},
        {"type": "mcp_approval_response", "approval_request_id": "mcpr_1", "approve": true},
        {"role": "assistant", "content": "It is open. ".repeat(60)},
        {"role": "user", "content": "go on"}
    ])
    .to_string();
    let (wire, profile) = (Format::OpenaiResponses, Profile::OpenaiResponses);
    let all = tokens(wire, profile, &document);
    for stage in super::every() {
        for tenth in 1..10 {
            let settings = within(profile, stage, all * tenth / 10);
            let Ok(text) = shorter(wire, &document, &settings) else { continue };
            let both =
                ["mcp_approval_request", "mcp_approval_response"].map(|it| text.contains(it));
            assert_eq!(both[0], both[1], "{}: {text}", stage.name());
        }
    }
}

#[test]
fn a_blank_message_was_taken_for_the_users_last_word() {
    let document = body("openai-chat", "u a u a u").replace("user text 5", "  ");
    for stage in [CompactionStage::Budget, CompactionStage::Importance, CompactionStage::Summarize]
    {
        let settings = within(Profile::OpenaiChat, stage, 34);
        let Ok(text) = shorter(Format::OpenaiChat, &document, &settings) else { continue };
        assert!(text.contains("user text 3"), "{}: {text}", stage.name());
    }
}

#[test]
fn words_of_the_user_behind_a_quoted_answer_were_taken_for_the_tools() {
    let wire = Format::Anthropic;
    let mut messages = messages(wire.name(), "u a u a[x] r[x] a[y] r[y]");
    let orphan = json!({"type": "tool_result", "tool_use_id": "gone", "content": "late"});
    messages[2]["content"] = json!([orphan, {"type": "text", "text": "my question"}]);
    messages[4]["content"][0]["content"] = json!("long answer ".repeat(60));
    let document = Value::Array(messages).to_string();
    let all = tokens(wire, Profile::Anthropic, &document);
    for stage in [CompactionStage::Budget, CompactionStage::Importance, CompactionStage::Summarize]
    {
        for tenth in 1..10 {
            let settings = within(Profile::Anthropic, stage, all * tenth / 10);
            let Ok(text) = shorter(wire, &document, &settings) else { continue };
            assert!(text.contains("my question"), "{}: {text}", stage.name());
        }
    }
}

#[test]
fn short_words_in_front_of_a_quoted_answer_were_taken_for_the_tools() {
    let wire = Format::OpenaiChat;
    let mut messages = messages(wire.name(), "u a u a[x] r[x] a[y] r[y]");
    messages[2]["content"] =
        json!("Why?\n\n[foxwedge] Answer to tool call gone, which is not in this history:\nlate");
    messages[4]["content"] = json!("long answer ".repeat(60));
    let document = Value::Array(messages).to_string();
    let all = tokens(wire, Profile::OpenaiChat, &document);
    for stage in [CompactionStage::Budget, CompactionStage::Importance] {
        for tenth in 1..10 {
            let settings = within(Profile::OpenaiChat, stage, all * tenth / 10);
            let Ok(compacted) = left(wire, &document, &settings) else { continue };
            assert!(compacted.text.contains("Why?"), "{}: {}", stage.name(), compacted.text);
        }
    }
}

#[test]
fn instructions_went_with_the_approval_behind_them() {
    let (wire, profile) = (Format::OpenaiResponses, Profile::OpenaiResponses);
    let document = json!([
        {"role": "system", "content": "never push"},
        {"type": "mcp_approval_response", "approval_request_id": "mcpr_1", "approve": true},
        {"role": "assistant", "content": "It is open. ".repeat(60)},
        {"role": "user", "content": "go on"}
    ])
    .to_string();
    let all = tokens(wire, profile, &document);
    for stage in [CompactionStage::Budget, CompactionStage::Importance, CompactionStage::Summarize]
    {
        for tenth in 1..10 {
            let settings = within(profile, stage, all * tenth / 10);
            let Ok(text) = shorter(wire, &document, &settings) else { continue };
            assert!(text.contains("never push"), "{}: {text}", stage.name());
        }
    }
}

#[test]
fn importance_refused_a_budget_that_it_could_reach() {
    let wire = Format::Anthropic;
    let document = long(wire.name(), 20, 3).to_string();
    let profile = Profile::Strict;
    let mut settings = within(profile, CompactionStage::Importance, 1);
    settings.pins = vec![1, 5];
    let least = match left(wire, &document, &settings) {
        Err(CompactError::CannotShrink(short)) => short.total_needed,
        other => panic!("one token is not enough: {other:?}"),
    };
    for most in (least..least + 600).step_by(7) {
        settings.limits = Some(TokenLimits::exactly(most));
        let result = left(wire, &document, &settings);
        assert!(result.is_ok(), "{least} are enough, {most} are not: {:?}", result.err());
    }
}

#[test]
fn at_a_steady_pace_the_beginning_of_a_growing_history_changes_less_often() {
    let (mut once, mut steady) = (0, 0);
    for wire in Format::ALL {
        let whole = list(&long(wire.name(), 70, 13));
        for stage in [CompactionStage::Budget, CompactionStage::Elide] {
            once += broken_beginnings(wire, &whole, stage, CompactionPace::WholeHistory);
            steady += broken_beginnings(wire, &whole, stage, CompactionPace::Incremental);
        }
    }
    assert!(steady * 4 <= once * 3, "{steady} at a steady pace, {once} else");
}

/// How often a history that grows does not begin as it did before.
fn broken_beginnings(
    wire: Format,
    whole: &[Value],
    stage: CompactionStage,
    pace: CompactionPace,
) -> usize {
    let all = tokens(wire, Profile::Strict, &Value::Array(whole.to_vec()).to_string());
    let limits = TokenLimits::new(all * 4 / 10, all * 2 / 10).with_pace(pace);
    let settings = plan(bold(Profile::OpenaiChat), &[stage], Some(limits));
    let (mut last, mut broken): (Vec<Value>, usize) = (Vec::new(), 0);
    for count in (10..whole.len()).step_by(5) {
        let document = Value::Array(whole[..count].to_vec()).to_string();
        let compacted = left(wire, &document, &settings).expect("it fits");
        let now = list(&value(&compacted.text));
        // The last turn may have been open.
        let closed = last.len().saturating_sub(6);
        broken += usize::from(now.get(..closed) != last.get(..closed));
        last = now;
    }
    broken
}

#[test]
fn a_summary_of_the_providers_own_went() {
    let long = "word ".repeat(400);
    let document = format!(
        r#"[{{"role":"user","content":"go"}},{{"type":"compaction","id":"cmp_1","encrypted_content":"abc"}},{{"role":"user","content":"{long}"}},{{"role":"assistant","content":"done"}},{{"role":"user","content":"on"}}]"#
    );
    for stage in [
        CompactionStage::Budget,
        CompactionStage::Importance,
        CompactionStage::Window(HistoryFraction::HALF),
    ] {
        let settings = within(Profile::OpenaiResponses, stage, 80);
        let made = shorter(Format::OpenaiResponses, &document, &settings).expect("the rest fits");
        assert!(made.contains("cmp_1"), "{}: {made}", stage.name());
        assert!(!made.contains("word word"), "{}: {made}", stage.name());
    }
}

#[test]
fn what_was_carried_out_of_an_answer_stayed_when_its_answer_went() {
    let mut messages = messages("openai-chat", "u a[x] r[x] u");
    let heavy = format!("{{\"path\":\"{}\"}}", "far/away/".repeat(60));
    messages[1]["tool_calls"][0]["function"]["arguments"] = json!(heavy);
    messages[2]["content"] = json!([{"type": "hologram", "x": 1}]);
    let document = Value::Array(messages).to_string();
    // Without the turn itself it would fit.
    let settings = within(Profile::OpenaiChat, CompactionStage::Budget, 100);
    let text = shorter(Format::OpenaiChat, &document, &settings).expect("both wishes fit");
    assert!(!text.contains("hologram") && !text.contains("tool_calls"), "{text}");
}
