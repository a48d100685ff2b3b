//! Requests that are assembled from messages of several formats.

use foxwedge_core::{Format, Profile};
use serde_json::{Value, json};

use super::{super::compose, ConversionOptions, ConvertedRequest};
use crate::model::{
    ContentPart, ModelHistory, ModelMessage, ModelPart, ModelRequest, ModelRole, RequestSettings,
    ToolDeclaration, ToolInput, decode_message,
};

/// Messages, each with its format.
type MixedMessages = Vec<(Format, Value)>;

fn composed(
    messages_of_formats: &MixedMessages,
    to: Format,
    profile: Option<Profile>,
) -> (Value, ConvertedRequest) {
    let texts: Vec<String> =
        messages_of_formats.iter().map(|(_, message)| message.to_string()).collect();
    let kind = ModelPart::new(ContentPart::Text("Be kind.".into()));
    let mut messages = vec![ModelMessage::new(ModelRole::System, vec![kind])];
    for ((format, _), text) in messages_of_formats.iter().zip(&texts) {
        messages.push(decode_message(text, *format).expect("readable"));
    }
    let tool = ToolDeclaration {
        name: "look".into(),
        description: Some("Looks.".into()),
        input: ToolInput::Object(Some(r#"{"type":"object"}"#.into())),
        strict: None,
        cache: None,
        others: Vec::new(),
        raw: None,
    };
    let settings = RequestSettings {
        model: Some("m".into()),
        tools: vec![tool],
        max_tokens: Some("100"),
        stream: Some(true),
        ..RequestSettings::default()
    };
    let request = ModelRequest { settings, history: ModelHistory { messages }, object: true };
    let options = ConversionOptions { profile, ..ConversionOptions::default() };
    let converted = compose(request, to, &options).expect("readable");
    (serde_json::from_str(&converted.body).expect("JSON"), converted)
}

fn chat_turn(id: &str) -> MixedMessages {
    vec![(
        Format::OpenaiChat,
        json!({"role": "assistant", "content": null, "reasoning_content": "I should look.",
            "tool_calls": [{"id": id, "type": "function",
                "function": {"name": "look", "arguments": "{\"n\":1}"}}]}),
    )]
}

fn claude_turn(id: &str) -> MixedMessages {
    vec![(
        Format::Anthropic,
        json!({"role": "assistant", "content": [
            {"type": "thinking", "thinking": "Look closer.", "signature": "c2lnbmVk"},
            {"type": "redacted_thinking", "data": "aGlkZGVu"},
            {"type": "tool_use", "id": id, "name": "look", "input": {"n": 2}}]}),
    )]
}

fn gemini_turn(id: &str) -> MixedMessages {
    vec![(
        Format::Gemini,
        json!({"role": "model", "parts": [{"text": "Hm.", "thought": true},
            {"functionCall": {"id": id, "name": "look", "args": {"n": 3}},
             "thoughtSignature": "Z2VtaW5p"}]}),
    )]
}

fn responses_turn(id: &str) -> MixedMessages {
    let reasoning = json!({"type": "reasoning", "id": "rs_1", "summary": [],
        "encrypted_content": "b3BhcXVl"});
    let call = json!({"type": "function_call", "id": "fc_1", "call_id": id, "name": "look",
        "arguments": "{\"n\":4}", "status": "completed"});
    vec![(Format::OpenaiResponses, reasoning), (Format::OpenaiResponses, call)]
}

/// Four turns of four models, each with results in the Anthropic format, and a last user message.
fn mixed() -> MixedMessages {
    let user_text =
        |text: &str| vec![(Format::Anthropic, json!({"role": "user", "content": text}))];
    let result = |id: &str| {
        let block =
            json!({"type": "tool_result", "tool_use_id": id, "content": format!("saw {id}")});
        vec![(Format::Anthropic, json!({"role": "user", "content": [block]}))]
    };
    [
        user_text("go"),
        chat_turn("call_1"),
        result("call_1"),
        claude_turn("toolu_2"),
        result("toolu_2"),
        gemini_turn("call_3"),
        result("call_3"),
        responses_turn("call_4"),
        result("call_4"),
        user_text("and?"),
    ]
    .concat()
}

#[test]
fn every_format_accepts_a_mixed_history() {
    for to in Format::ALL {
        let (body, converted) = composed(&mixed(), to, None);
        // Gemini requires signatures that no other provider can make, and documents a placeholder
        // for them; Bedrock requires tool results in a separate message, and a text between them
        // and user text.
        let allowed = [(Format::Gemini, 502), (Format::Bedrock, 404), (Format::Bedrock, 310)];
        let expected_edits =
            converted.target_edits.iter().all(|edit| allowed.contains(&(to, edit.code)));
        let codes: Vec<u16> = converted.target_edits.iter().map(|edit| edit.code).collect();
        assert!(converted.remaining.is_empty() && expected_edits, "{to:?} {codes:?} {body}");
        let text = body.to_string();
        for said in ["saw call_1", "saw toolu_2", "saw call_3", "saw call_4", "and?", "Be kind."] {
            assert_eq!(text.matches(said).count(), 1, "{to:?} {said} {text}");
        }
        assert!(text.contains("Looks."), "{to:?} {text}");
        assert!(!text.contains("[foxwedge]"), "{to:?} {text}");
    }
}

#[test]
fn messages_of_the_target_format_stay_unchanged() {
    let messages = mixed();
    let own = |format: Format| {
        let assistants =
            messages.iter().filter(|(from, message)| *from == format && message["role"] != "user");
        assistants.map(|(_, message)| message.clone()).collect::<Vec<_>>()
    };
    for to in [Format::OpenaiChat, Format::OpenaiResponses, Format::Anthropic, Format::Gemini] {
        let (body, _) = composed(&messages, to, None);
        let list = ["messages", "input", "contents"].iter().find_map(|key| body[key].as_array());
        let list = list.expect("a list");
        let own = own(to);
        assert!(!own.is_empty());
        for message in own {
            assert!(list.contains(&message), "{to:?} {message}\n{body}");
        }
    }
}

#[test]
fn reasoning_is_only_sent_to_providers_that_accept_it() {
    let story = mixed();
    let chat = |profile| composed(&story, Format::OpenaiChat, profile).0["messages"].clone();
    let reasoning_of = |messages: &Value| {
        let list = messages.as_array().expect("a list").clone();
        let of = |message: &Value| message["reasoning_content"].as_str().map(str::to_owned);
        list.iter().filter_map(of).collect::<Vec<_>>()
    };
    // DeepSeek requires reasoning with every call, and accepts that of other models.
    let deepseek = reasoning_of(&chat(Some(Profile::Deepseek)));
    assert_eq!(deepseek, ["I should look.", "Look closer.", "Hm.", ""]);
    // Signed reasoning stays with its provider.
    assert_eq!(reasoning_of(&chat(None)), ["I should look.", "Hm."]);
    let (body, done) = composed(&story, Format::OpenaiChat, Some(Profile::Mistral));
    assert_eq!(reasoning_of(&body["messages"]), [""; 0], "{body}");
    assert!(done.losses.iter().any(|loss| loss.note.contains("reasoning in an assistant message")));
}

#[test]
fn an_interrupted_history_is_repaired() {
    let messages = [claude_turn("toolu_2"), chat_turn("call_1")].concat();
    for to in Format::ALL {
        let (body, converted) = composed(&messages, to, None);
        assert_eq!(converted.remaining.len(), 0, "{to:?} {body}");
        assert_eq!(body.to_string().matches("[foxwedge]").count(), 2, "{to:?} {body}");
    }
}

#[test]
fn lone_surrogates_are_found_everywhere() {
    // In a text, in arguments, and in arguments that are truncated after it.
    let texts = [
        r#"{"role":"assistant","content":"half \ud83d"}"#,
        r#"{"role":"assistant","content":"","tool_calls":[{"id":"call_1","type":"function","function":{"name":"look","arguments":"{\"a\":\"\\ud83d\"}"}}]}"#,
        r#"{"role":"assistant","content":"","tool_calls":[{"id":"call_1","type":"function","function":{"name":"look","arguments":"{\"a\":\"\\ud83d\""}}]}"#,
    ];
    for text in texts {
        for to in Format::ALL {
            let messages = vec![decode_message(text, Format::OpenaiChat).expect("readable")];
            let request =
                ModelRequest { history: ModelHistory { messages }, ..ModelRequest::default() };
            let done = compose(request, to, &ConversionOptions::default()).expect("readable");
            assert_eq!(done.remaining.len(), 0, "{to:?} {}", done.body);
            let list = format!("[{text}]");
            let done = crate::convert::request(
                &list,
                Format::OpenaiChat,
                to,
                &ConversionOptions::default(),
            );
            let done = done.expect("readable");
            assert_eq!(done.remaining.len(), 0, "{to:?} {}", done.body);
        }
    }
}
