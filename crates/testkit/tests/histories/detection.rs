//! Which format a document is in, and how sure that is.

use foxwedge_core::Format;
use foxwedge_formats::{DetectionConfidence, ForeignList, detect, foreign_list};
use foxwedge_testkit::{body, messages};
use serde_json::{Value, json};

use DetectionConfidence::{Certain, Guess, Likely};

fn found(document: &str) -> Option<(Format, DetectionConfidence)> {
    detect(document).map(|found| (found.wire, found.confidence))
}

fn key(wire: Format) -> &'static str {
    match wire {
        Format::OpenaiResponses | Format::GeminiInteractions => "input",
        Format::Gemini => "contents",
        Format::OpenaiChat | Format::Anthropic | Format::Bedrock => "messages",
    }
}

#[test]
fn calls_and_answers_give_every_format_away() {
    for wire in Format::ALL {
        for shape in ["u a[x]", "u r[x]", "u a u a\"t\"[x y] r[x y] a u", "a[x] r[x]"] {
            let text = body(wire.name(), shape);
            assert_eq!(found(&text), Some((wire, Certain)), "{text}");
            let request = json!({key(wire): messages(wire.name(), shape), "stream": true});
            assert_eq!(found(&request.to_string()), Some((wire, Certain)), "{request}");
            let alone = json!({key(wire): messages(wire.name(), shape)});
            assert_eq!(found(&alone.to_string()), Some((wire, Certain)), "{alone}");
        }
    }
}

#[test]
fn a_result_of_interactions_without_a_type_is_no_item_of_responses() {
    let call = r#"{"type":"function_call","id":"a","name":"f","arguments":{}}"#;
    let result = r#"{"call_id":"a","name":"f","result":"ok"}"#;
    let text = format!(r#"[{call},{result},{{"type":"model_output","content":[]}}]"#);
    assert_eq!(found(&text), Some((Format::GeminiInteractions, Certain)), "{text}");
    let text = format!("[{call},{result}]");
    assert_eq!(found(&text), Some((Format::GeminiInteractions, Likely)), "{text}");
}

#[test]
fn the_output_of_a_program_alone_is_an_item_of_responses() {
    let output = r#"{"type":"program_output","call_id":"p","result":"ok","status":"completed"}"#;
    let message = r#"{"role":"user","content":"q"}"#;
    for list in [format!("[{message},{output}]"), format!("[{output},{message}]")] {
        assert_eq!(found(&list).map(|it| it.0), Some(Format::OpenaiResponses), "{list}");
        let request = format!(r#"{{"model":"gpt-6","input":{list}}}"#);
        assert_eq!(found(&request).map(|it| it.0), Some(Format::OpenaiResponses), "{request}");
    }
}

#[test]
fn a_foreign_field_in_a_message_with_a_role_counts_for_less_than_a_call() {
    let table = [
        (Format::Anthropic, r#"{"role":"user","type":"code_execution_result","content":[]}"#),
        (Format::Anthropic, r#"{"role":"function","content":[]}"#),
        (Format::OpenaiChat, r#"{"role":"user","call_id":"x"}"#),
    ];
    for (wire, message) in table {
        let mut list = messages(wire.name(), "a[x] r[x]");
        let foreign: Value = serde_json::from_str(message).expect("JSON");
        list.insert(0, foreign);
        let list = Value::Array(list);
        assert_eq!(found(&list.to_string()), Some((wire, Certain)), "{list}");
    }
}

#[test]
fn a_call_deep_in_a_history_is_found() {
    for wire in Format::ALL {
        let shape = format!("{} a[x] r[x]", "u a ".repeat(40));
        assert_eq!(found(&body(wire.name(), &shape)), Some((wire, Certain)), "{}", wire.name());
    }
}

#[test]
fn text_only_lists_are_a_guess_unless_their_form_is_telling() {
    let table = [
        (r#"[{"role":"user","content":"Hi."}]"#, Format::OpenaiChat, Guess),
        (
            r#"[{"role":"user","content":"Hi."},{"role":"assistant","content":"Hello."}]"#,
            Format::OpenaiChat,
            Guess,
        ),
        (r#"{"messages":[{"role":"user","content":"Hi."}]}"#, Format::OpenaiChat, Guess),
        (r#"{"messages":[]}"#, Format::OpenaiChat, Guess),
        (
            r#"[{"role":"user","content":[{"type":"text","text":"Hi."}]}]"#,
            Format::OpenaiChat,
            Guess,
        ),
        (r#"[{"role":"user","content":[{"text":"Hi."}]}]"#, Format::Bedrock, Likely),
        (r#"[{"role":"user","parts":[{"text":"Hi."}]}]"#, Format::Gemini, Certain),
        (r#"[{"parts":[{"text":"Hi."}]}]"#, Format::Gemini, Certain),
        (r#"[{"type":"message","role":"user","content":"Hi."}]"#, Format::OpenaiResponses, Likely),
        (
            r#"[{"role":"user","content":[{"type":"input_text","text":"Hi."}]}]"#,
            Format::OpenaiResponses,
            Certain,
        ),
        (
            r#"[{"role":"developer","content":"Be brief."},{"role":"user","content":"Hi."}]"#,
            Format::OpenaiChat,
            Likely,
        ),
        (
            r#"[{"role":"user","content":[{"type":"text","text":"Hi.","cache_control":{"type":"ephemeral"}}]}]"#,
            Format::Anthropic,
            Likely,
        ),
    ];
    for (document, wire, confidence) in table {
        assert_eq!(found(document), Some((wire, confidence)), "{document}");
    }
}

#[test]
fn requests_without_tools_are_known_by_their_other_fields() {
    let chat = json!([{"role": "user", "content": "Hi."}]);
    let table = [
        (
            json!({"model": "gpt-4o", "messages": chat, "max_completion_tokens": 5}),
            Format::OpenaiChat,
            Likely,
        ),
        (json!({"model": "gpt-4o", "messages": chat}), Format::OpenaiChat, Guess),
        (
            json!({"model": "claude-sonnet-4-5", "max_tokens": 5, "messages": chat}),
            Format::Anthropic,
            Likely,
        ),
        (
            json!({"model": "m", "max_tokens": 5, "system": "Be brief.", "messages": chat}),
            Format::Anthropic,
            Likely,
        ),
        (
            json!({"anthropic_version": "bedrock-2023-05-31", "max_tokens": 5, "messages": chat}),
            Format::Anthropic,
            Certain,
        ),
        (
            json!({"modelId": "amazon.nova-pro-v1:0", "messages": [{"role": "user", "content": [{"text": "Hi."}]}]}),
            Format::Bedrock,
            Certain,
        ),
        (
            json!({"messages": [{"role": "user", "content": [{"text": "Hi."}]}], "inferenceConfig": {}}),
            Format::Bedrock,
            Certain,
        ),
        (json!({"contents": [{"parts": [{"text": "Hi."}]}]}), Format::Gemini, Certain),
        // Embedding requests look the same.
        (json!({"model": "gpt-5.1", "input": "Hi."}), Format::OpenaiResponses, Guess),
        (json!({"model": "gpt-5.1", "input": []}), Format::OpenaiResponses, Likely),
    ];
    for (document, wire, confidence) in table {
        assert_eq!(found(&document.to_string()), Some((wire, confidence)), "{document}");
    }
}

#[test]
fn a_leading_system_message_outweighs_cache_marks_and_a_claude_model_of_a_router() {
    let text = json!([{"type": "text", "text": "Hi.", "cache_control": {"type": "ephemeral"}}]);
    let list =
        |first: &str| json!([{"role": first, "content": text}, {"role": "user", "content": text}]);
    for model in ["anthropic/claude-sonnet-4-5", "qwen3-max"] {
        let request = json!({"model": model, "messages": list("system")});
        assert_eq!(found(&request.to_string()), Some((Format::OpenaiChat, Guess)), "{request}");
        let request = json!({"model": model, "messages": list("user")});
        assert_eq!(found(&request.to_string()), Some((Format::Anthropic, Likely)), "{request}");
    }
    // A block that only Anthropic has still decides.
    let mut list = messages("anthropic", "u a[x] r[x]");
    list.insert(0, json!({"role": "system", "content": "Be brief."}));
    let list = Value::Array(list);
    assert_eq!(found(&list.to_string()), Some((Format::Anthropic, Certain)), "{list}");
}

#[test]
fn thinking_in_parts_is_that_of_mistral() {
    let thinking = [
        r#""type":"thinking","thinking":[{"type":"text","text":"hm"}]"#,
        r#""thinking":[{"type":"text","text":"hm"}],"type":"thinking""#,
    ];
    for thinking in thinking {
        let list = format!(r#"[{{"role":"assistant","content":[{{{thinking}}}]}}]"#);
        assert_eq!(found(&list), Some((Format::OpenaiChat, Certain)), "{list}");
    }
}

#[test]
fn the_order_of_keys_does_not_matter() {
    let tail = r#""messages":[{"role":"user","content":"Hi."}]"#;
    let table = [
        (r#""model":"claude-opus-4-6""#, Format::Anthropic),
        (r#""modelId":"m""#, Format::Bedrock),
        (r#""response_format":{}"#, Format::OpenaiChat),
        (r#""anthropic_beta":[]"#, Format::Anthropic),
    ];
    for (field, wire) in table {
        let (before, after) = (format!("{{{field},{tail}}}"), format!("{{{tail},{field}}}"));
        assert_eq!(found(&before), found(&after), "{field}");
        assert_eq!(found(&before).map(|(wire, _)| wire), Some(wire), "{field}");
    }
}

#[test]
fn a_field_of_another_format_before_the_list_does_not_decide() {
    let pairs = [
        (r#""toolConfig":{}"#, r#""contents":[]"#, Format::Gemini),
        (r#""previous_response_id":"r""#, r#""messages":[{"role":"user"}]"#, Format::OpenaiChat),
        (r#""system":"s""#, r#""messages":[{"content":[{"text":"t"}]}]"#, Format::Bedrock),
    ];
    for (field, list, wire) in pairs {
        for document in [format!("{{{field},{list}}}"), format!("{{{list},{field}}}")] {
            assert_eq!(found(&document).map(|(wire, _)| wire), Some(wire), "{document}");
        }
    }
}

#[test]
fn reasoning_alone_gives_a_format_away() {
    let table = [
        (
            json!([{"role": "assistant", "content": "", "reasoning_content": "hm"}]),
            Format::OpenaiChat,
        ),
        (
            json!([{"role": "assistant", "content": [{"type": "thinking", "thinking": "hm", "signature": "c"}]}]),
            Format::Anthropic,
        ),
        (
            json!([{"role": "assistant", "content": [{"reasoningContent": {"reasoningText": {"text": "hm"}}}]}]),
            Format::Bedrock,
        ),
    ];
    for (document, wire) in table {
        assert_eq!(found(&document.to_string()), Some((wire, Certain)), "{document}");
    }
    let item = json!([{"type": "reasoning", "id": "rs_1", "summary": []}]).to_string();
    assert_eq!(found(&item), Some((Format::OpenaiResponses, Likely)));
}

#[test]
fn what_is_no_conversation_is_no_format() {
    let garbage = [
        "",
        " ",
        "\n",
        "null",
        "true",
        "42",
        "\"messages\"",
        "{}",
        "[1,2,3]",
        "[\"u\"]",
        "[[{\"role\":\"user\"}]]",
        "[null]",
        "{\"name\":\"package\",\"version\":\"1.0.0\"}",
        "[{\"id\":1,\"name\":\"Ada\"}]",
        "hello",
        "{",
        "[",
        "<html>",
        "\u{feff}",
        "{\"messages\":\"hi\"}",
        "\0\0\0",
    ];
    for document in garbage {
        assert_eq!(found(document), None, "{document:?}");
    }
}

#[test]
fn a_familiar_key_around_something_else_is_no_format() {
    let others = [
        r#"{"input":42,"output":"dist"}"#,
        r#"{"input":{"file":"src/main.js"}}"#,
        r#"{"contents":"table of"}"#,
        r#"{"contents":{"chapter":1}}"#,
    ];
    for document in others {
        assert_eq!(found(document), None, "{document}");
    }
}

#[test]
fn a_torn_document_is_known_by_its_beginning() {
    for wire in Format::ALL {
        let text = body(wire.name(), "u a[x] r[x] a u");
        let torn = &text[..text.len() - 20];
        assert_eq!(found(torn), Some((wire, Certain)), "{torn}");
    }
}

#[test]
fn every_detection_says_why() {
    for wire in Format::ALL {
        let value: Value = json!(messages(wire.name(), "u a[x] r[x]"));
        let detection = detect(&value.to_string()).expect("a conversation");
        assert!(!detection.reason.is_empty());
        assert_eq!(detection.confidence.name(), "certain");
    }
}

#[test]
fn what_stands_around_the_list_outweighs_the_name_of_the_model() {
    let table = [
        (
            r#"{"toolConfig":{"functionCallingConfig":{"mode":"AUTO"}},"contents":[{"role":"user","parts":[{"text":"u"}]}]}"#,
            Format::Gemini,
        ),
        (
            r#"{"toolConfig":{"tools":[]},"messages":[{"role":"user","content":[{"text":"u"}]}]}"#,
            Format::Bedrock,
        ),
        (
            r#"{"system":[{"text":"s"}],"messages":[{"role":"user","content":[{"text":"u"}]}]}"#,
            Format::Bedrock,
        ),
        (
            r#"{"system":[{"type":"text","text":"s"}],"messages":[{"role":"user","content":"u"}]}"#,
            Format::Anthropic,
        ),
        (
            r#"{"model":"claude-x","max_completion_tokens":9,"messages":[{"role":"user","content":"u"}]}"#,
            Format::OpenaiChat,
        ),
        (
            r#"{"model":"claude-x","messages":[{"role":"user","content":"u"}],"tools":[{"type":"function","function":{"name":"a"}}]}"#,
            Format::OpenaiChat,
        ),
        (
            r#"{"model":"claude-x","max_tokens":9,"messages":[{"role":"user","content":"u"}],"tools":[{"name":"a","input_schema":{}}]}"#,
            Format::Anthropic,
        ),
        (r#"{"model":"claude-x","messages":[{"role":"user","content":"u"}]}"#, Format::Anthropic),
    ];
    for (document, wire) in table {
        assert_eq!(found(document).map(|found| found.0), Some(wire), "{document}");
    }
}

#[test]
fn turns_with_the_role_model_are_interactions_only_as_input() {
    let turns = r#"[{"role":"user","content":"q"},{"role":"model","content":"a"}]"#;
    let of = |document: String| found(&document).map(|found| found.0);
    let input = format!(r#"{{"model":"gemini-3-flash","input":{turns}}}"#);
    assert_eq!(of(input), Some(Format::GeminiInteractions));
    let messages = format!(r#"{{"model":"gemini-3-flash","messages":{turns}}}"#);
    assert_eq!(of(messages), Some(Format::OpenaiChat));
}

#[test]
fn a_list_of_which_no_message_is_known_has_no_format() {
    use ForeignList::{LangChain, OpenTelemetry, Other, PydanticAi};
    let call = json!({"name": "rm", "args": {"p": "a.txt"}, "id": "c1", "type": "tool_call"});
    let langchain = json!([
        {"type": "human", "content": "Delete a.txt"},
        {"type": "ai", "content": "I will delete it.", "tool_calls": [call]},
        {"type": "tool", "content": "deleted", "tool_call_id": "c1"},
        {"type": "ai", "content": [{"type": "tool_use", "id": "c2", "name": "rm", "input": {}}]},
    ]);
    let table = [
        (json!({"messages": langchain}), LangChain),
        (json!({"messages": langchain, "model": "gpt-5", "tools": []}), LangChain),
        (langchain, LangChain),
        (
            json!([{"type": "human", "data": {"content": "q"}}, {"type": "ai", "data": {}}]),
            LangChain,
        ),
        (
            json!([{"lc": 1, "type": "constructor", "id": [], "kwargs": {"content": "q"}}]),
            LangChain,
        ),
        (
            json!([{"kind": "request", "parts": [{"part_kind": "user-prompt", "content": "q"}]}]),
            PydanticAi,
        ),
        (
            json!([
                {"role": "user", "parts": [{"type": "text", "content": "q"}]},
                {"role": "assistant", "parts": [{"type": "tool_call", "id": "c1", "name": "f"}]},
            ]),
            OpenTelemetry,
        ),
        (json!([{"role": "assistant", "parts": [{"type": "hologram"}]}]), Other),
        (json!([{"type": "hologram"}, {"type": "system", "subtype": "init"}]), Other),
    ];
    for (document, expected) in table {
        let document = document.to_string();
        assert_eq!(found(&document), None, "{document}");
        assert_eq!(foreign_list(&document), Some(expected), "{document}");
        assert_eq!(foxwedge_sessions::detect_message_list(&document), None, "{document}");
    }
}

#[test]
fn a_list_of_which_one_message_is_known_keeps_its_format() {
    let table = [
        (
            json!([{"type": "human", "content": "q"}, {"role": "user", "content": "q"}]),
            Format::OpenaiResponses,
        ),
        (
            json!([{"type": "hologram"}, {"type": "reasoning", "summary": []}]),
            Format::OpenaiResponses,
        ),
        (json!({"input": [{"type": "hologram"}]}), Format::OpenaiResponses),
        (json!([{"role": "user", "parts": [{"type": "hologram"}, {"text": "q"}]}]), Format::Gemini),
        (json!([{"role": "model", "parts": [{"type": "hologram"}]}]), Format::Gemini),
        (json!([{"role": "user", "parts": []}]), Format::Gemini),
        (json!({"messages": [{"content": "q"}]}), Format::OpenaiChat),
    ];
    for (document, wire) in table {
        let document = document.to_string();
        assert_eq!(found(&document).map(|found| found.0), Some(wire), "{document}");
        assert_eq!(foreign_list(&document), None, "{document}");
    }
}
