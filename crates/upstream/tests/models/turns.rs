//! Turn after turn, in every format: what a model said goes back to it, and a strict judge takes it.

use foxwedge_core::{Format, Profile};
use foxwedge_upstream::model::{
    ChatModel as _, ModelEndpoint, ReplyDelta, ReplyStopReason, ReplyToolCall, ValidRequest,
};

use crate::stand::{Heard, Talk, assert_agrees, hear, said};

/// The built-in model as everybody whose rules it knows.
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
    ]
}

#[tokio::test]
async fn a_conversation_with_calls_and_thoughts_goes_on_in_every_format() {
    for model in models() {
        let about = model.about().clone();
        let told = format!("{:?} {}", about.wire, about.name);
        let mut talk = Talk::with(model);
        for round in 1..=3 {
            talk.user(&format!(
                "think call look with {{\"n\":{round}}} and call peek with {{\"n\":7}}"
            ));
            let heard = talk.turn().await;
            assert_eq!(heard.error, None, "{told}: {}", talk.composed().body);
            assert!(!heard.is_mended(), "{told}: the judge refused it");
            assert_eq!(heard.stop(), Some(ReplyStopReason::Done), "{told}");
            assert!(!heard.thought().is_empty(), "{told}");
            let calls = heard.calls();
            let expected = [("look", round), ("peek", 7)];
            let found: Vec<_> = calls.iter().map(|call| (&*call.name, number(call))).collect();
            assert_eq!(found, expected, "{told}");
            assert!(calls[0].id != calls[1].id && calls.iter().all(|call| !call.id.is_empty()));
            // The message says what the pieces say.
            let message = heard.message.clone().expect("a message");
            let (text, written) = said(&message, about.wire);
            assert_eq!(text, heard.text(), "{told}");
            let expected: Vec<String> = calls
                .iter()
                .map(|call| format!("{} {} {}", call.id, call.name, call.arguments))
                .collect();
            assert_eq!(written, expected, "{told}");
            talk.answer(&calls);
            let heard = talk.turn().await;
            assert_eq!(heard.error, None, "{told}: {}", talk.composed().body);
            assert!(!heard.is_mended() && heard.text().contains("look of"), "{told}");
            let usage = heard.pieces.iter().any(|piece| matches!(piece, ReplyDelta::Usage(_)));
            assert!(usage || about.wire == Format::OpenaiChat, "{told}");
        }
        // Nothing of its own had to be repaired on the way back.
        talk.user("bye");
        let composed = talk.composed();
        let codes: Vec<u16> = composed.target_edits.iter().map(|edit| edit.code).collect();
        assert_eq!(codes, [0; 0], "{told}: {}", composed.body);
        let kept = match (about.wire, about.profile) {
            (_, Profile::Mistral) => None,
            (Format::OpenaiChat, _) => Some("\"reasoning_content\":\""),
            (Format::OpenaiResponses, _) => Some("\"encrypted_content\":\""),
            (Format::Anthropic, _) => Some("\"signature\":\""),
            (Format::Gemini, _) => Some("\"thoughtSignature\":\""),
            (Format::Bedrock, _) => None,
        };
        if let Some(kept) = kept {
            assert!(composed.body.matches(kept).count() >= 3, "{told}: {}", composed.body);
        }
    }
}

/// The number that a call takes.
fn number(call: &ReplyToolCall) -> u64 {
    let arguments: serde_json::Value = serde_json::from_str(&call.arguments).expect("JSON");
    arguments["n"].as_u64().expect("a number")
}

#[tokio::test]
async fn one_conversation_may_go_through_every_model() {
    let mut talk = Talk::with(ModelEndpoint::scripted("scripted"));
    for model in models().into_iter().chain(models()) {
        talk.model = model;
        talk.user("think call look with {\"n\":1}");
        let heard = talk.turn().await;
        assert_eq!(heard.error, None, "{:?} {}", talk.model.about(), talk.composed().body);
        talk.answer(&heard.calls());
        let heard = talk.turn().await;
        assert_eq!(heard.error, None, "{:?} {}", talk.model.about(), talk.composed().body);
        assert!(!heard.is_mended());
        assert!(heard.text().contains("look of"), "{:?}", heard);
    }
}

#[tokio::test]
async fn whoever_stops_listening_has_what_was_told_and_no_more() {
    for model in models() {
        let wire = model.about().wire;
        let mut talk = Talk::with(model);
        talk.user("think call look with {\"n\":1} and call peek with {\"n\":2}");
        let mut requests = vec![talk.sealed()];
        if wire != Format::Gemini {
            // Everything is read before the first piece is told.
            let body = talk.composed().body.replacen('{', "{\"stream\":false,", 1);
            requests.extend(ValidRequest::validate(body.into(), wire, &talk.model.check_options()));
        }
        for request in requests {
            let all = hear(&mut *talk.model.send(request.clone())).await.pieces;
            for taken in 0..all.len() {
                let mut speech = talk.model.send(request.clone());
                let mut heard = Heard::default();
                for piece in &all[..taken] {
                    assert_eq!(speech.next_delta().await, Ok(Some(piece.clone())), "{wire:?}");
                    heard.pieces.push(piece.clone());
                }
                assert_agrees(&heard, speech.take_message().as_deref(), wire);
            }
        }
    }
}

#[tokio::test]
async fn a_reply_that_may_not_be_longer_says_so() {
    for wire in [Format::OpenaiChat, Format::OpenaiResponses, Format::Anthropic, Format::Gemini] {
        let mut talk = Talk::with(ModelEndpoint::scripted_in(wire, "scripted"));
        talk.user(&"long ".repeat(60));
        let body = talk.composed().body.replace("4000", "16");
        let sealed = ValidRequest::validate(body.into(), wire, &talk.model.check_options());
        let heard = hear(&mut *talk.model.send(sealed.expect("sound"))).await;
        assert_eq!(
            (heard.error.clone(), heard.stop()),
            (None, Some(ReplyStopReason::Length)),
            "{wire:?}"
        );
        assert!(!heard.text().is_empty());
    }
}

#[test]
fn a_name_or_a_host_brings_its_rules_and_its_window() {
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
    assert_eq!(responses.expect("spoken").about().profile, Profile::OpenaiResponses);
    assert!(ModelEndpoint::scripted("x").with_wire(Format::Gemini).is_err());
}
