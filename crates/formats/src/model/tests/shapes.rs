//! The layout of each format, and how odd input is decoded.

use super::*;

const HI: &str = r#"{"role":"user","content":"hi"}"#;

fn converted(text: &str, from: Format, to: Format) -> String {
    encode(&decode(text, from).expect("readable"), to).0
}

#[test]
fn every_format_gets_its_own_layout() {
    let text = r#"[{"role":"user","content":"hi"},
        {"role":"assistant","content":[{"type":"text","text":"go"},
          {"type":"tool_use","id":"a","name":"f","input":{"x": [1, "é"]}}]},
        {"role":"user","content":[
          {"type":"tool_result","tool_use_id":"a","is_error":true,"content":[{"type":"text","text":"no"},
            {"type":"image","source":{"type":"base64","media_type":"image/png","data":"aGk="}}]},
          {"type":"text","text":"so?"}]}]"#;
    let table = [
        (
            Format::OpenaiChat,
            r#"[{"role":"user","content":"hi"},{"role":"assistant","content":"go","tool_calls":[{"id":"a","type":"function","function":{"name":"f","arguments":"{\"x\":[1,\"é\"]}"}}]},{"role":"tool","tool_call_id":"a","content":[{"type":"text","text":"no"},{"type":"text","text":"(the media follows behind the answers)"}]},{"role":"user","content":[{"type":"text","text":"[foxwedge] Media from the answer to tool call a:"},{"type":"image_url","image_url":{"url":"data:image/png;base64,aGk="}}]},{"role":"user","content":"so?"}]"#,
        ),
        (
            Format::OpenaiResponses,
            r#"[{"type":"message","role":"user","content":[{"type":"input_text","text":"hi"}]},{"type":"message","role":"assistant","content":"go"},{"type":"function_call","call_id":"a","name":"f","arguments":"{\"x\":[1,\"é\"]}"},{"type":"function_call_output","call_id":"a","output":[{"type":"input_text","text":"no"},{"type":"input_image","image_url":"data:image/png;base64,aGk="}]},{"type":"message","role":"user","content":[{"type":"input_text","text":"so?"}]}]"#,
        ),
        (
            Format::Gemini,
            r#"[{"role":"user","parts":[{"text":"hi"}]},{"role":"model","parts":[{"text":"go"},{"functionCall":{"id":"a","name":"f","args":{"x":[1,"é"]}}}]},{"role":"user","parts":[{"functionResponse":{"id":"a","name":"f","response":{"error":"no\n(the media follows behind the answers)"}}},{"text":"[foxwedge] Media from the answer to tool call a:"},{"inlineData":{"mimeType":"image/png","data":"aGk="}},{"text":"so?"}]}]"#,
        ),
        (
            Format::Bedrock,
            r#"[{"role":"user","content":[{"text":"hi"}]},{"role":"assistant","content":[{"text":"go"},{"toolUse":{"toolUseId":"a","name":"f","input":{"x":[1,"é"]}}}]},{"role":"user","content":[{"toolResult":{"toolUseId":"a","content":[{"text":"no"},{"image":{"format":"png","source":{"bytes":"aGk="}}}],"status":"error"}},{"text":"so?"}]}]"#,
        ),
    ];
    for (to, expected) in table {
        assert_eq!(converted(text, Format::Anthropic, to), expected, "{}", to.name());
    }
}

#[test]
fn generated_ids_are_stable_and_unique() {
    let text = r#"[{"parts":[{"text":"hi"}]},
        {"role":"model","parts":[{"functionCall":{"name":"f"}},{"functionCall":{"id":"call_1","name":"g"}}]},
        {"parts":[{"functionResponse":{"name":"f","response":{"output":"x"}}},
          {"functionResponse":{"name":"g","id":"call_1","response":{"output":"y"}}}]}]"#;
    let out = converted(text, Format::Gemini, Format::OpenaiChat);
    let expected = r#"[{"role":"user","content":"hi"},{"role":"assistant","content":"","tool_calls":[{"id":"call_2","type":"function","function":{"name":"f","arguments":"{}"}},{"id":"call_1","type":"function","function":{"name":"g","arguments":"{}"}}]},{"role":"tool","tool_call_id":"call_2","content":"x"},{"role":"tool","tool_call_id":"call_1","content":"y"}]"#;
    assert_eq!(out, expected);
}

#[test]
fn separate_instructions_come_first() {
    let table = [
        (Format::Anthropic, format!(r#"{{"system":"kind","messages":[{HI}]}}"#)),
        (Format::Anthropic, format!(r#"{{"messages":[{HI}],"system":[{{"type":"text","text":"kind"}}]}}"#)),
        (Format::OpenaiResponses, r#"{"instructions":"kind","input":"hi"}"#.to_owned()),
        (
            Format::Gemini,
            r#"{"systemInstruction":{"parts":[{"text":"kind"}]},"contents":[{"parts":[{"text":"hi"}]}]}"#
                .to_owned(),
        ),
        (
            Format::Bedrock,
            r#"{"system":[{"text":"kind"},{"cachePoint":{"type":"default"}}],"messages":[{"role":"user","content":[{"text":"hi"}]}]}"#
                .to_owned(),
        ),
        (Format::OpenaiChat, format!(r#"{{"messages":[{{"role":"system","content":"kind"}},{HI}]}}"#)),
    ];
    let expected = r#"[{"role":"system","content":"kind"},{"role":"user","content":"hi"}]"#;
    for (format, text) in table {
        let history = without_origins(&decode(&text, format).expect("readable"));
        assert_eq!(encode(&history, Format::OpenaiChat).0, expected, "{}", format.name());
    }
}

#[test]
fn text_is_borrowed_unless_it_has_escapes() {
    let text = r#"[{"role":"user","content":"plain"},{"role":"user","content":"a\nb"}]"#;
    let history = decode(text, Format::OpenaiChat).expect("readable");
    let borrowed = |message: &ModelMessage<'_>| match message.parts[0].content() {
        ContentPart::Text(text) => text.is_unescaped(),
        _ => false,
    };
    assert_eq!(history.messages.iter().map(borrowed).collect::<Vec<_>>(), [true, false]);
}

#[test]
fn what_cannot_be_read_is_an_error_with_its_place() {
    let table = [
        ("", "unexpected end of text, expected a value"),
        ("[1]", "messages[0]: a message is not an object"),
        ("[{},]", "messages[1]: unexpected `]`, expected a value"),
        ("{}", "the document has no `messages`"),
    ];
    for (text, expected) in table {
        let error = decode(text, Format::Anthropic).expect_err(text);
        assert_eq!(error.to_string(), expected, "{text}");
    }
    assert!(decode_message("[]", Format::Gemini).is_err());
    assert!(decode_message("{} x", Format::Gemini).is_err());
    assert_eq!(
        decode_message(HI, Format::OpenaiChat).map(|message| message.role),
        Ok(ModelRole::User)
    );
}

#[test]
fn a_response_with_stored_input_needs_no_list() {
    let table = [
        (r#"{"prompt":{"id":"pmpt_1"}}"#, true),
        (r#"{"model":"m","conversation":"conv_1"}"#, true),
        (r#"{"conversation":{"id":"conv_1"}}"#, true),
        (r#"{"previous_response_id":"resp_1","stream":true}"#, true),
        (r#"{"model":"m"}"#, false),
        (r#"{"prompt":null,"conversation":null,"previous_response_id":null}"#, false),
        (r#"{"previous_response_id":""}"#, false),
    ];
    for (text, is_read) in table {
        let history = decode(text, Format::OpenaiResponses);
        assert_eq!(history.map(|it| it.messages.len()).ok(), is_read.then_some(0), "{text}");
        assert!(decode(text, Format::OpenaiChat).is_err(), "{text}");
        if is_read {
            let reading = crate::read(text, Format::OpenaiResponses, Default::default());
            let reading = reading.expect("a request");
            let options = CheckOptions::for_profile(Profile::for_format(Format::OpenaiResponses));
            assert_eq!(reading.fix(&options).0.to_string(), text);
        }
    }
}

/// Variants of a document: each value in turn is replaced by values of other types.
fn spoiled(text: &str) -> Vec<String> {
    fn walk(value: &Value, path: &mut Vec<String>, paths: &mut Vec<String>) {
        paths.push(path.concat());
        let mut go = |key: String, inner: &Value| {
            path.push(format!("/{key}"));
            walk(inner, path, paths);
            path.pop();
        };
        match value {
            Value::Object(map) => map.iter().for_each(|(key, inner)| go(key.clone(), inner)),
            Value::Array(list) => {
                list.iter().enumerate().for_each(|(at, inner)| go(at.to_string(), inner));
            }
            _ => {}
        }
    }
    let document: Value = serde_json::from_str(text).expect("JSON");
    let mut paths = Vec::new();
    walk(&document, &mut Vec::new(), &mut paths);
    let mut out = Vec::new();
    for path in paths {
        for other in ["null", "7", "[]", "{}"] {
            let mut spoiled = document.clone();
            if let Some(place) = spoiled.pointer_mut(&path) {
                *place = serde_json::from_str(other).expect("JSON");
            }
            out.push(spoiled.to_string());
        }
    }
    out
}

#[test]
fn any_readable_document_can_be_encoded() {
    for (name, format, text) in STORIES {
        for spoiled in spoiled(text) {
            let readable =
                read(&spoiled, format, outline_options(Profile::for_format(format))).is_ok();
            let history = decode(&spoiled, format);
            assert_eq!(history.is_ok(), readable, "{name}: {spoiled}");
            let Ok(history) = history else { continue };
            for to in Format::ALL {
                for history in [&history, &without_origins(&history)] {
                    let (out, _) = encode(history, to);
                    assert!(decode(&out, to).is_ok(), "{name} in {}: {spoiled}\n{out}", to.name());
                }
            }
        }
    }
}

#[test]
fn deeply_nested_arguments_are_encoded() {
    let deep = format!("{}1{}", "[".repeat(505), "]".repeat(505));
    let text = format!(
        r#"[{HI},{{"role":"assistant","tool_calls":[{{"id":"a","type":"function","function":{{"name":"f","arguments":"{{\"x\":{deep}}}"}}}}]}},{{"role":"tool","tool_call_id":"a","content":"ok"}}]"#
    );
    for to in Format::ALL {
        let out = converted(&text, Format::OpenaiChat, to);
        assert_eq!(violated_rules(&out, to), Vec::<&str>::new(), "{}", to.name());
    }
}

#[test]
fn the_lifetime_of_a_cache_mark_is_kept() {
    let anthropic = r#"[{"role":"user","content":[{"type":"text","text":"go","cache_control":{"type":"ephemeral","ttl":"1h"}}]},{"role":"assistant","content":[{"type":"tool_use","id":"c1","name":"f","input":{},"cache_control":{"type":"ephemeral"}}]},{"role":"user","content":[{"type":"tool_result","tool_use_id":"c1","content":"ok","cache_control":{"type":"ephemeral","ttl":"5m"}}]}]"#;
    let history = decode(anthropic, Format::Anthropic).expect("readable");
    let (bedrock, losses) = encode(&history, Format::Bedrock);
    assert!(losses.is_empty(), "{losses:?}");
    for mark in [
        r#"{"cachePoint":{"type":"default","ttl":"1h"}}"#,
        r#"{"cachePoint":{"type":"default"}}"#,
        r#"{"cachePoint":{"type":"default","ttl":"5m"}}"#,
    ] {
        assert!(bedrock.contains(mark), "{mark}: {bedrock}");
    }
    let back = decode(&bedrock, Format::Bedrock).expect("readable");
    assert_eq!(encode(&back, Format::Anthropic).0, anthropic);
}
