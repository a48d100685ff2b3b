//! Requests that are put together by hand, from messages of several formats.

use foxwedge_core::{Format, Profile};
use serde_json::{Value, json};

use super::{super::compose, ConversionOptions, ConvertedRequest};
use crate::model::{
    ContentPart, ModelHistory, ModelMessage, ModelPart, ModelRequest, ModelRole, RequestSettings,
    ToolDeclaration, ToolInput, decode_message,
};

/// Messages in the formats they were said in.
type Story = Vec<(Format, Value)>;

fn composed(story: &Story, to: Format, profile: Option<Profile>) -> (Value, ConvertedRequest) {
    let texts: Vec<String> = story.iter().map(|(_, message)| message.to_string()).collect();
    let kind = ModelPart::new(ContentPart::Text("Be kind.".into()));
    let mut messages = vec![ModelMessage::new(ModelRole::System, vec![kind])];
    for ((wire, _), text) in story.iter().zip(&texts) {
        messages.push(decode_message(text, *wire).expect("readable"));
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
    let done = compose(request, to, &options).expect("readable");
    (serde_json::from_str(&done.body).expect("JSON"), done)
}

fn chat_turn(id: &str) -> Story {
    vec![(
        Format::OpenaiChat,
        json!({"role": "assistant", "content": null, "reasoning_content": "I should look.",
            "tool_calls": [{"id": id, "type": "function",
                "function": {"name": "look", "arguments": "{\"n\":1}"}}]}),
    )]
}

fn claude_turn(id: &str) -> Story {
    vec![(
        Format::Anthropic,
        json!({"role": "assistant", "content": [
            {"type": "thinking", "thinking": "Look closer.", "signature": "c2lnbmVk"},
            {"type": "redacted_thinking", "data": "aGlkZGVu"},
            {"type": "tool_use", "id": id, "name": "look", "input": {"n": 2}}]}),
    )]
}

fn gemini_turn(id: &str) -> Story {
    vec![(
        Format::Gemini,
        json!({"role": "model", "parts": [{"text": "Hm.", "thought": true},
            {"functionCall": {"id": id, "name": "look", "args": {"n": 3}},
             "thoughtSignature": "Z2VtaW5p"}]}),
    )]
}

fn responses_turn(id: &str) -> Story {
    let reasoning = json!({"type": "reasoning", "id": "rs_1", "summary": [],
        "encrypted_content": "b3BhcXVl"});
    let call = json!({"type": "function_call", "id": "fc_1", "call_id": id, "name": "look",
        "arguments": "{\"n\":4}", "status": "completed"});
    vec![(Format::OpenaiResponses, reasoning), (Format::OpenaiResponses, call)]
}

/// Four turns of four models, each answered in the Anthropic format, and a last question.
fn mixed() -> Story {
    let ask = |text: &str| vec![(Format::Anthropic, json!({"role": "user", "content": text}))];
    let answer = |id: &str| {
        let block =
            json!({"type": "tool_result", "tool_use_id": id, "content": format!("saw {id}")});
        vec![(Format::Anthropic, json!({"role": "user", "content": [block]}))]
    };
    [
        ask("go"),
        chat_turn("call_1"),
        answer("call_1"),
        claude_turn("toolu_2"),
        answer("toolu_2"),
        gemini_turn("call_3"),
        answer("call_3"),
        responses_turn("call_4"),
        answer("call_4"),
        ask("and?"),
    ]
    .concat()
}

#[test]
fn every_format_takes_a_mixed_history() {
    for to in Format::ALL {
        let (body, done) = composed(&mixed(), to, None);
        // Gemini wants signatures that nobody else can give, and says itself what stands for them;
        // Bedrock wants answers in a message of their own, and a word between them and a question.
        let allowed = [(Format::Gemini, 502), (Format::Bedrock, 404), (Format::Bedrock, 310)];
        let mended = done.target_edits.iter().all(|edit| allowed.contains(&(to, edit.code)));
        let codes: Vec<u16> = done.target_edits.iter().map(|edit| edit.code).collect();
        assert!(done.remaining.is_empty() && mended, "{to:?} {codes:?} {body}");
        let text = body.to_string();
        for said in ["saw call_1", "saw toolu_2", "saw call_3", "saw call_4", "and?", "Be kind."] {
            assert_eq!(text.matches(said).count(), 1, "{to:?} {said} {text}");
        }
        assert!(text.contains("Looks."), "{to:?} {text}");
        assert!(!text.contains("[foxwedge]"), "{to:?} {text}");
    }
}

#[test]
fn a_format_gets_back_its_own_messages_as_they_were() {
    let story = mixed();
    let own = |wire: Format| {
        let assistants =
            story.iter().filter(|(from, message)| *from == wire && message["role"] != "user");
        assistants.map(|(_, message)| message.clone()).collect::<Vec<_>>()
    };
    for to in [Format::OpenaiChat, Format::OpenaiResponses, Format::Anthropic, Format::Gemini] {
        let (body, _) = composed(&story, to, None);
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
fn reasoning_goes_to_those_who_want_it_and_not_to_those_who_refuse_it() {
    let story = mixed();
    let chat = |profile| composed(&story, Format::OpenaiChat, profile).0["messages"].clone();
    let thoughts = |messages: &Value| {
        let list = messages.as_array().expect("a list").clone();
        let of = |message: &Value| message["reasoning_content"].as_str().map(str::to_owned);
        list.iter().filter_map(of).collect::<Vec<_>>()
    };
    // DeepSeek wants one with every call, and may read what others thought.
    let deepseek = thoughts(&chat(Some(Profile::Deepseek)));
    assert_eq!(deepseek, ["I should look.", "Look closer.", "Hm.", ""]);
    // What is signed stays with its maker.
    assert_eq!(thoughts(&chat(None)), ["I should look.", "Hm."]);
    let (body, done) = composed(&story, Format::OpenaiChat, Some(Profile::Mistral));
    assert_eq!(thoughts(&body["messages"]), [""; 0], "{body}");
    assert!(done.losses.iter().any(|loss| loss.note.contains("beside a message")));
}

#[test]
fn a_history_that_broke_off_is_mended() {
    let story = [claude_turn("toolu_2"), chat_turn("call_1")].concat();
    for to in Format::ALL {
        let (body, done) = composed(&story, to, None);
        assert_eq!(done.remaining.len(), 0, "{to:?} {body}");
        assert_eq!(body.to_string().matches("[foxwedge]").count(), 2, "{to:?} {body}");
    }
}

#[test]
fn half_characters_are_found_wherever_they_stand() {
    // In a text, in arguments, and in arguments that are cut off behind one.
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
