//! Several turns in every format: replies go back to the model, and strict validation accepts them.

use foxwedge_core::{Format, Profile};
use foxwedge_upstream::model::{
    ChatModel as _, ModelEndpoint, ReplyDelta, ReplyStopReason, ReplyToolCall, ValidRequest,
};

use crate::conversation::{
    Conversation, ReceivedReply, assert_agrees, message_content, read_reply,
};

/// The built-in model with the rules of every provider that it knows.
fn models() -> Vec<ModelEndpoint> {
    vec![
        ModelEndpoint::scripted("scripted"),
        ModelEndpoint::scripted("scripted-deepseek"),
        ModelEndpoint::scripted("scripted-mistral"),
        ModelEndpoint::scripted_in(Format::OpenaiResponses, "scripted"),
        ModelEndpoint::scripted_in(Format::Anthropic, "scripted"),
        ModelEndpoint::scripted_in(Format::Anthropic, "claude-opus-4-6"),
        ModelEndpoint::scripted_in(Format::Gemini, "scripted"),
        ModelEndpoint::scripted_in(Format::Gemini, "gemini-3-pro"),
        ModelEndpoint::scripted_in(Format::GeminiInteractions, "scripted"),
    ]
}

#[tokio::test]
async fn conversations_with_calls_and_reasoning_continue_in_every_format() {
    for model in models() {
        let about = model.about().clone();
        let label = format!("{:?} {}", about.wire, about.name);
        let mut conversation = Conversation::new(model);
        for round in 1..=3 {
            conversation.add_prompt(&format!(
                "think call look with {{\"n\":{round}}} and call peek with {{\"n\":7}}"
            ));
            let reply = conversation.turn().await;
            assert_eq!(reply.error, None, "{label}: {}", conversation.compose_request().body);
            assert!(!reply.is_repaired(), "{label}: the history was refused");
            assert_eq!(reply.stop(), Some(ReplyStopReason::Done), "{label}");
            assert!(!reply.reasoning().is_empty(), "{label}");
            let calls = reply.calls();
            let expected = [("look", round), ("peek", 7)];
            let found: Vec<_> = calls.iter().map(|call| (&*call.name, number(call))).collect();
            assert_eq!(found, expected, "{label}");
            assert!(calls[0].id != calls[1].id && calls.iter().all(|call| !call.id.is_empty()));
            // The message holds what the deltas held.
            let message = reply.message.clone().expect("a message");
            let (text, written) = message_content(&message, about.wire);
            assert_eq!(text, reply.text(), "{label}");
            let expected: Vec<String> = calls
                .iter()
                .map(|call| format!("{} {} {}", call.id, call.name, call.arguments))
                .collect();
            assert_eq!(written, expected, "{label}");
            conversation.add_results(&calls);
            let reply = conversation.turn().await;
            assert_eq!(reply.error, None, "{label}: {}", conversation.compose_request().body);
            assert!(!reply.is_repaired() && reply.text().contains("look of"), "{label}");
            let usage = reply.deltas.iter().any(|delta| matches!(delta, ReplyDelta::Usage(_)));
            assert!(usage || about.wire == Format::OpenaiChat, "{label}");
        }
        // None of its own messages had to be repaired.
        conversation.add_prompt("bye");
        let compose_request = conversation.compose_request();
        let codes: Vec<u16> = compose_request.target_edits.iter().map(|edit| edit.code).collect();
        assert_eq!(codes, [0; 0], "{label}: {}", compose_request.body);
        let marker = match (about.wire, about.profile) {
            (_, Profile::Mistral) => None,
            (Format::OpenaiChat, _) => Some("\"reasoning_content\":\""),
            (Format::OpenaiResponses, _) => Some("\"encrypted_content\":\""),
            (Format::Anthropic, _) => Some("\"signature\":\""),
            (Format::Gemini, _) => Some("\"thoughtSignature\":\""),
            (Format::GeminiInteractions, _) => Some("\"signature\":\""),
            (Format::Bedrock, _) => None,
        };
        if let Some(marker) = marker {
            assert!(
                compose_request.body.matches(marker).count() >= 3,
                "{label}: {}",
                compose_request.body
            );
        }
    }
}

/// The argument `n` of a call.
fn number(call: &ReplyToolCall) -> u64 {
    let arguments: serde_json::Value = serde_json::from_str(&call.arguments).expect("JSON");
    arguments["n"].as_u64().expect("a number")
}

#[tokio::test]
async fn one_conversation_can_use_every_model() {
    let mut conversation = Conversation::new(ModelEndpoint::scripted("scripted"));
    for model in models().into_iter().chain(models()) {
        conversation.model = model;
        conversation.add_prompt("think call look with {\"n\":1}");
        let reply = conversation.turn().await;
        assert_eq!(
            reply.error,
            None,
            "{:?} {}",
            conversation.model.about(),
            conversation.compose_request().body
        );
        conversation.add_results(&reply.calls());
        let reply = conversation.turn().await;
        assert_eq!(
            reply.error,
            None,
            "{:?} {}",
            conversation.model.about(),
            conversation.compose_request().body
        );
        assert!(!reply.is_repaired());
        assert!(reply.text().contains("look of"), "{:?}", reply);
    }
}

#[tokio::test]
async fn a_partial_message_holds_exactly_the_deltas_that_were_read() {
    for model in models() {
        let wire = model.about().wire;
        let mut conversation = Conversation::new(model);
        conversation.add_prompt("think call look with {\"n\":1} and call peek with {\"n\":2}");
        let mut requests = vec![conversation.valid_request()];
        if wire != Format::Gemini {
            // The whole reply is read before its first delta is returned.
            let body = conversation.compose_request().body.replacen('{', "{\"stream\":false,", 1);
            requests.extend(ValidRequest::validate(
                body.into(),
                wire,
                &conversation.model.check_options(),
            ));
        }
        for request in requests {
            let all = read_reply(&mut *conversation.model.send(request.clone())).await.deltas;
            for taken in 0..all.len() {
                let mut stream = conversation.model.send(request.clone());
                let mut reply = ReceivedReply::default();
                for delta in &all[..taken] {
                    assert_eq!(stream.next_delta().await, Ok(Some(delta.clone())), "{wire:?}");
                    reply.deltas.push(delta.clone());
                }
                assert_agrees(&reply, stream.take_message().as_deref(), wire);
            }
        }
    }
}

#[tokio::test]
async fn a_reply_at_the_token_limit_stops_with_length() {
    for wire in [Format::OpenaiChat, Format::OpenaiResponses, Format::Anthropic, Format::Gemini] {
        let mut conversation = Conversation::new(ModelEndpoint::scripted_in(wire, "scripted"));
        conversation.add_prompt(&"long ".repeat(60));
        let body = conversation.compose_request().body.replace("4000", "16");
        let valid_request =
            ValidRequest::validate(body.into(), wire, &conversation.model.check_options());
        let reply = read_reply(&mut *conversation.model.send(valid_request.expect("valid"))).await;
        assert_eq!(
            (reply.error.clone(), reply.stop()),
            (None, Some(ReplyStopReason::Length)),
            "{wire:?}"
        );
        assert!(!reply.text().is_empty());
    }
}

#[test]
fn profile_and_window_follow_from_name_and_host() {
    let openai =
        |url: &str, model: &str| ModelEndpoint::openai(url, None, model).expect("an endpoint");
    let table = [
        (openai("https://api.openai.com/v1", "gpt-4o"), Profile::OpenaiChat, true),
        (openai("https://api.deepseek.com", "any"), Profile::Deepseek, false),
        (openai("http://127.0.0.1:9/v1", "DeepSeek-R1"), Profile::Deepseek, true),
        (openai("https://api.mistral.ai/v1", "codestral"), Profile::Mistral, true),
        (ModelEndpoint::scripted("scripted?cut=3"), Profile::OpenaiChat, false),
        (ModelEndpoint::scripted_in(Format::Gemini, "scripted-mistral"), Profile::Gemini, false),
    ];
    for (endpoint, profile, window) in table {
        let about = endpoint.about();
        assert_eq!(about.profile, profile, "{about:?}");
        if window {
            assert!(about.window.is_some(), "{about:?}");
        }
    }
    assert_eq!(ModelEndpoint::scripted("x").with_window(9).about().window, Some(9));
    let responses = openai("https://api.openai.com/v1", "gpt-5").with_wire(Format::OpenaiResponses);
    assert_eq!(responses.expect("supported").about().profile, Profile::OpenaiResponses);
    assert!(ModelEndpoint::scripted("x").with_wire(Format::Gemini).is_err());
}
