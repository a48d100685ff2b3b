//! Provider errors: each has a code, and the reply before it is kept and valid.

use std::time::Duration;

use foxwedge_core::{Format, Policy, Profile, explain};
use foxwedge_upstream::{
    RefusedRequest,
    model::{ChatModel as _, ModelEndpoint, ReplyDelta, ReplyStopReason},
    repair_for_retry,
};
use tokio::time::timeout;

use crate::conversation::{Conversation, message_content, read_reply};

const FORMATS: [Format; 4] =
    [Format::OpenaiChat, Format::OpenaiResponses, Format::Anthropic, Format::Gemini];

fn conversation(wire: Format, model: &str, prompt: &str) -> Conversation {
    let mut conversation = Conversation::new(ModelEndpoint::scripted_in(wire, model));
    conversation.add_prompt(prompt);
    conversation
}

const CALLS: &str = "think call look with {\"n\":1} and call peek with {\"n\":2}";

#[tokio::test]
async fn a_reply_that_was_cut_off_can_be_sent_back() {
    for wire in FORMATS {
        let mut kept = 0;
        for events in 0..40 {
            let model = format!("scripted?cut={events}");
            let mut conversation = conversation(wire, &model, CALLS);
            let reply = conversation.turn().await;
            if reply.error.is_none() {
                // The cut came after the last event.
                break;
            }
            let error = reply.error.clone().expect("an error");
            assert_eq!((error.code, error.retryable), ("cut", true), "{wire:?} {events} {error}");
            assert!(error.message.contains("broke off"), "{error}");
            // The message holds exactly the calls that were delivered.
            let message = reply.message.as_deref();
            let (_, calls) = message.map(|it| message_content(it, wire)).unwrap_or_default();
            assert_eq!(calls.len(), reply.calls().len(), "{wire:?} {events}");
            kept += calls.len();
            if !reply.calls().is_empty() {
                conversation.add_results(&reply.calls());
            }
            conversation.add_prompt("go on");
            conversation.model = ModelEndpoint::scripted_in(wire, "scripted");
            let reply = conversation.turn().await;
            assert_eq!(
                reply.error,
                None,
                "{wire:?} {events}: {}",
                conversation.compose_request().body
            );
            assert!(
                !reply.is_repaired(),
                "{wire:?} {events}: {}",
                conversation.compose_request().body
            );
        }
        // Streams of Gemini bring all calls with the stop reason.
        let at_end = matches!(wire, Format::OpenaiChat | Format::Gemini);
        assert!(kept > 0 || at_end, "{wire:?}: no call was ever kept");
    }
}

#[tokio::test(start_paused = true)]
async fn next_delta_is_cancel_safe() {
    for wire in FORMATS {
        let conversation = conversation(wire, "scripted?pace=50", CALLS);
        let whole = read_reply(&mut *conversation.send()).await;
        let mut stream = conversation.send();
        let mut deltas = Vec::new();
        let mut dropped = 0;
        loop {
            match timeout(Duration::from_millis(20), stream.next_delta()).await {
                Err(_) => dropped += 1,
                Ok(Ok(Some(delta))) => deltas.push(delta),
                Ok(Ok(None)) => break,
                Ok(Err(error)) => panic!("{wire:?} {error}"),
            }
        }
        assert!(dropped > 5, "{wire:?} {dropped}");
        assert_eq!(deltas, whole.deltas, "{wire:?}");
        assert_eq!(stream.take_message(), whole.message, "{wire:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_hanging_reply_can_be_dropped() {
    for wire in FORMATS {
        let conversation = conversation(wire, "scripted?hang=6", "tell me something nice today");
        let mut stream = conversation.send();
        let mut text_so_far = String::new();
        while let Ok(next) = timeout(Duration::from_secs(5), stream.next_delta()).await {
            if let ReplyDelta::Text(part) = next.expect("a delta").expect("more") {
                text_so_far.push_str(&part);
            }
        }
        let message = stream.take_message();
        let text = message.map(|message| message_content(&message, wire).0).unwrap_or_default();
        assert_eq!(text, text_so_far, "{wire:?}");
        // Waiting longer ends with a timeout.
        let reply = read_reply(&mut *conversation.send()).await;
        assert_eq!(reply.code(), "cut", "{wire:?}");
        assert!(reply.error.expect("an error").message.contains("in time"));
    }
}

#[tokio::test(start_paused = true)]
async fn transient_errors_are_retried_and_reported() {
    for wire in FORMATS {
        let mut once = conversation(wire, "scripted?fail-first=2&retry-after=2", "hello");
        let reply = once.turn().await;
        assert_eq!((reply.retries(), reply.error.clone()), (2, None), "{wire:?}");
        assert!(reply.text().contains("hello"), "{wire:?}");
        for delta in &reply.deltas[..2] {
            let ReplyDelta::Retrying { pause, why } = delta else { panic!("{delta:?}") };
            assert!(*pause >= Duration::from_secs(2) && why.contains("429"), "{pause:?} {why}");
        }
        let reply = conversation(wire, "scripted?status=429&retry-after=1", "hello").turn().await;
        assert_eq!((reply.retries(), reply.code()), (2, "refused"), "{wire:?}");
        let error = reply.error.expect("an error");
        assert!(error.retryable && error.message.contains("429"), "{error}");
        assert_eq!(reply.message, None);
        // A delay of hours is not waited for.
        let reply =
            conversation(wire, "scripted?status=503&retry-after=7200", "hello").turn().await;
        assert_eq!((reply.retries(), reply.code()), (0, "refused"), "{wire:?}");
    }
}

#[tokio::test]
async fn an_invalid_reply_is_an_error_with_its_reason() {
    let table = [
        ("malformed", "cut", ""),
        ("html", "cut", "web page"),
        ("empty", "cut", ""),
        ("long-line=5000000", "cut", "more than"),
        ("status=401", "unauthorized", "401"),
        ("status=403", "unauthorized", "403"),
        ("status=404", "refused", "404"),
        ("status=413", "overflow", "413"),
        ("nonsense=1", "refused", "400"),
    ];
    for wire in FORMATS {
        for (option, code, part) in table {
            let reply =
                conversation(wire, &format!("scripted?{option}"), "hello out there").turn().await;
            assert_eq!(reply.code(), code, "{wire:?} {option}");
            let error = reply.error.expect("an error");
            assert!(error.message.contains(part), "{wire:?} {option}: {error}");
            assert!(error.message.len() < 3_000);
        }
        let reply = conversation(wire, "scripted?refuse", "hello").turn().await;
        let refused = reply.stop() == Some(ReplyStopReason::Refused) || !reply.text().is_empty();
        assert!(reply.error.is_none() && refused, "{wire:?} {reply:?}");
    }
}

#[tokio::test]
async fn a_request_in_another_format_is_not_sent() {
    let conversation = conversation(Format::OpenaiChat, "scripted", "hello");
    let other = ModelEndpoint::scripted_in(Format::Gemini, "scripted");
    let reply = read_reply(&mut *other.send(conversation.valid_request())).await;
    assert_eq!((reply.code(), reply.message.clone()), ("refused", None));
}

#[tokio::test]
async fn a_whole_reply_equals_a_streamed_one() {
    for wire in [Format::OpenaiChat, Format::OpenaiResponses, Format::Anthropic] {
        let conversation = conversation(wire, "scripted", CALLS);
        let deltas = read_reply(&mut *conversation.send()).await;
        let body = conversation.compose_request().body.replacen('{', "{\"stream\":false,", 1);
        let valid_request = foxwedge_upstream::model::ValidRequest::validate(
            body.into(),
            wire,
            &conversation.model.check_options(),
        );
        let whole = read_reply(&mut *conversation.model.send(valid_request.expect("valid"))).await;
        assert_eq!(whole.error, None);
        assert_eq!(
            (whole.text(), whole.reasoning()),
            (deltas.text(), deltas.reasoning()),
            "{wire:?}"
        );
        let shown = |reply: &crate::conversation::ReceivedReply| -> Vec<_> {
            reply.calls().into_iter().map(|call| (call.name, call.arguments)).collect()
        };
        assert_eq!(shown(&whole), shown(&deltas), "{wire:?}");
        let (_, calls) = message_content(&whole.message.expect("a message"), wire);
        assert_eq!(calls.len(), 2, "{wire:?}");
    }
}

#[test]
fn a_repair_after_a_refusal_follows_the_provider_and_the_rules_of_the_error() {
    let long = "call_of_more_than_nine_letters";
    let chat = |id: &str, result: &str| {
        let call = format!(
            r#"{{"id":"{id}","type":"function","function":{{"name":"f","arguments":"{{}}"}}}}"#
        );
        let messages = format!(
            r#"{{"role":"user","content":"x"}},{{"role":"assistant","content":"","tool_calls":[{call}]}}{result}"#
        );
        format!(r#"{{"model":"m","messages":[{messages},{{"role":"user","content":"y"}}]}}"#)
    };
    let result = |id: &str| format!(r#",{{"role":"tool","tool_call_id":"{id}","content":"A"}}"#);
    let repair = |body: String, error: &str| {
        let body = body.into();
        let (format, profile) = (Format::OpenaiChat, Profile::OpenaiChat);
        let refused = RefusedRequest { body: &body, error, format, profile, model: "m" };
        let explanation = explain(error).expect("a known error");
        let repaired = repair_for_retry(refused, Policy::default(), &explanation)?;
        Some(String::from_utf8(repaired.body.to_vec()).expect("text"))
    };
    let unanswered = "An assistant message with 'tool_calls' must be followed by tool messages \
                      responding to each 'tool_call_id'.";
    let repaired = repair(chat(long, ""), unanswered).expect("a repair");
    assert_eq!(repaired.matches(long).count(), 2, "{repaired}");
    // Nothing is unanswered here, so no other rule takes its place.
    assert_eq!(repair(chat(long, &result(long)), unanswered), None);
    let mistral = "Tool call id was call_of_more_than_nine_letters but must be a-z, A-Z, 0-9, \
                   with a length of 9.";
    let repaired = repair(chat(long, &result(long)), mistral).expect("a repair");
    assert!(!repaired.contains(long), "{repaired}");
}

#[test]
fn a_result_for_a_call_on_the_server_is_added_only_to_what_continues_it() {
    let repair = |body: &str, error: &str| {
        let (body, profile) = (body.to_owned().into(), Profile::OpenaiResponses);
        let format = Format::OpenaiResponses;
        let refused = RefusedRequest { body: &body, error, format, profile, model: "m" };
        let explanation = explain(error).expect("a known error");
        let repaired = repair_for_retry(refused, Policy::default(), &explanation)?;
        let body = String::from_utf8(repaired.body.to_vec()).expect("text");
        Some((body, repaired.changes.len()))
    };
    let error = r#"{"error":{"message":"No tool output found for function call call_1."}}"#;
    let result = r#"{"call_id":"call_1","output":"[foxwedge] Interrupted: no answer was recorded. The call may have run; check before repeating it.","type":"function_call_output"}"#;
    // Everything else keeps its bytes.
    for (before, after) in [
        (r#""stop""#, format!(r#"[{result},{{"role":"user","content":"stop"}}]"#)),
        (
            r#"[ {"role":"user","content":1.0} ]"#,
            format!(r#"[{result}, {{"role":"user","content":1.0}} ]"#),
        ),
        ("[ ]", format!("[{result} ]")),
    ] {
        for key in ["previous_response_id", "conversation"] {
            let body =
                |input: &str| format!(r#"{{"z": 1e0, "{key}": "x_1", "input": {input}, "a":[]}}"#);
            assert_eq!(repair(&body(before), error), Some((body(&after), 1)), "{before}");
        }
    }
    for body in [
        r#"{"input":"stop"}"#,
        r#"{"previous_response_id":null,"input":"stop"}"#,
        r#"{"previous_response_id":"resp_1"}"#,
        r#"{"previous_response_id":"resp_1","input":null}"#,
        r#"{"previous_response_id":"resp_1","input":[{"type":"function_call_output","call_id":"call_1","output":"A"}]}"#,
    ] {
        assert_eq!(repair(body, error), None, "{body}");
    }
    let stored = r#"{"previous_response_id":"resp_1","input":"stop"}"#;
    assert_eq!(repair(stored, "No tool output found for computer call call_1."), None);
}
