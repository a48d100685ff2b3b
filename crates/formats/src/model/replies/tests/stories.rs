//! One rich response in every other format.

use super::{
    samples::{ANTHROPIC, BEDROCK, CHAT, GEMINI, RESPONSES},
    *,
};

/// Checks the converted body and its losses.
fn check(body: &str, from: Format, to: Format, expected: &str, losses: &[&str]) {
    let encoded = converted(body, from, to);
    assert_eq!(json(&encoded.body), json(expected), "{from:?} to {to:?}: {}", encoded.body);
    assert_eq!(names(&encoded.losses), losses, "{from:?} to {to:?}: {:?}", encoded.losses);
    assert_eq!(decoded(body, from).losses, []);
}

#[test]
fn an_anthropic_response_becomes_a_chat_completion() {
    let expected = r#"{"id":"msg_9","object":"chat.completion","created":0,"model":"claude-opus-5",
        "choices":[{"index":0,"message":{"role":"assistant","content":"Let me look. Paris it is.Wait.","refusal":null,
            "reasoning_content":"The weather\nis asked for.",
            "annotations":[{"type":"url_citation","url_citation":{"start_index":13,"end_index":25,"title":"Paris","url":"https://a.example/paris"}}],
            "tool_calls":[{"id":"toolu_1","type":"function","function":{"name":"get_weather","arguments":"{\"city\": \"Paris\"}"}}]},
            "logprobs":null,"finish_reason":"tool_calls"}],
        "usage":{"prompt_tokens":100,"completion_tokens":50,"total_tokens":150,"prompt_tokens_details":{"cached_tokens":60,"cache_write_tokens":30}}}"#;
    let losses = ["signature", "reasoning", "citation", "order"];
    check(ANTHROPIC, Format::Anthropic, Format::OpenaiChat, expected, &losses);
}

#[test]
fn an_anthropic_response_becomes_a_responses_body() {
    let ids = [0, 1, 3].map(|index| {
        crate::conversation::response::item_id(["rs", "msg", "", "msg"][index], "msg_9", index)
    });
    let call = crate::conversation::response::item_id("fc", "msg_9", 2);
    let [rs, first, last] = &ids;
    let expected = format!(
        r#"{{"id":"msg_9","object":"response","created_at":0,"status":"completed","error":null,"incomplete_details":null,
        "instructions":null,"metadata":{{}},"model":"claude-opus-5","output":[
            {{"type":"reasoning","id":"{rs}","summary":[{{"type":"summary_text","text":"The weather\nis asked for."}}]}},
            {{"type":"message","id":"{first}","status":"completed","role":"assistant","content":[
                {{"type":"output_text","text":"Let me look. ","annotations":[],"logprobs":[]}},
                {{"type":"output_text","text":"Paris it is.","annotations":[
                    {{"type":"url_citation","start_index":0,"end_index":12,"title":"Paris","url":"https://a.example/paris"}}],"logprobs":[]}}]}},
            {{"type":"function_call","id":"{call}","call_id":"toolu_1","name":"get_weather","arguments":"{{\"city\": \"Paris\"}}","status":"completed"}},
            {{"type":"message","id":"{last}","status":"completed","role":"assistant","content":[
                {{"type":"output_text","text":"Wait.","annotations":[],"logprobs":[]}}]}}],
        "parallel_tool_calls":true,"temperature":null,"tool_choice":"auto","tools":[],"top_p":null,
        "usage":{{"input_tokens":100,"input_tokens_details":{{"cached_tokens":60,"cache_write_tokens":30}},
            "output_tokens":50,"output_tokens_details":{{"reasoning_tokens":0}},"total_tokens":150}}}}"#
    );
    let losses = ["signature", "reasoning", "citation"];
    check(ANTHROPIC, Format::Anthropic, Format::OpenaiResponses, &expected, &losses);
}

#[test]
fn an_anthropic_response_becomes_a_gemini_response() {
    let expected = r#"{"candidates":[{"content":{"parts":[
            {"text":"The weather\nis asked for.","thought":true},
            {"text":"Let me look. "},
            {"text":"Paris it is."},
            {"functionCall":{"id":"toolu_1","name":"get_weather","args":{"city":"Paris"}}},
            {"text":"Wait."}],"role":"model"},"finishReason":"STOP","index":0}],
        "usageMetadata":{"promptTokenCount":100,"cachedContentTokenCount":60,"candidatesTokenCount":50,"totalTokenCount":150},
        "modelVersion":"claude-opus-5","responseId":"msg_9"}"#;
    let losses = ["signature", "reasoning", "citation", "usage"];
    check(ANTHROPIC, Format::Anthropic, Format::Gemini, expected, &losses);
}

#[test]
fn an_anthropic_response_becomes_a_converse_response() {
    let expected = r#"{"output":{"message":{"role":"assistant","content":[
            {"reasoningContent":{"reasoningText":{"text":"The weather\nis asked for.","signature":"EqQB"}}},
            {"reasoningContent":{"redactedContent":"EmwK"}},
            {"text":"Let me look. "},
            {"citationsContent":{"content":[{"text":"Paris it is."}],"citations":[
                {"title":"Paris","sourceContent":[{"text":"Paris is a city."}],"location":{"web":{"url":"https://a.example/paris"}}}]}},
            {"toolUse":{"toolUseId":"toolu_1","name":"get_weather","input":{"city":"Paris"}}},
            {"text":"Wait."}]}},
        "stopReason":"tool_use",
        "usage":{"inputTokens":10,"outputTokens":50,"totalTokens":150,"cacheReadInputTokens":60,"cacheWriteInputTokens":30},
        "metrics":{"latencyMs":0}}"#;
    check(ANTHROPIC, Format::Anthropic, Format::Bedrock, expected, &[]);
}

#[test]
fn a_converse_response_becomes_an_anthropic_response() {
    let encoded = converted(BEDROCK, Format::Bedrock, Format::Anthropic);
    let mut body = json(&encoded.body);
    assert!(body["id"].as_str().is_some_and(|id| id.starts_with("msg_") && id.len() == 26));
    body["id"] = "msg_9".into();
    let expected = r#"{"id":"msg_9","type":"message","role":"assistant","model":"unknown","content":[
            {"type":"thinking","thinking":"The weather is asked for.","signature":"EqQB"},
            {"type":"redacted_thinking","data":"RW13Sw=="},
            {"type":"text","text":"Let me look."},
            {"type":"text","text":"Paris it is.","citations":[
                {"type":"web_search_result_location","url":"https://a.example/paris","title":"Paris","cited_text":"Paris is a city.","encrypted_index":""}]},
            {"type":"tool_use","id":"tooluse_1","name":"get_weather","input":{"city":"Paris"}}],
        "stop_reason":"tool_use","stop_sequence":null,
        "usage":{"input_tokens":10,"cache_creation_input_tokens":30,"cache_read_input_tokens":60,"output_tokens":50}}"#;
    assert_eq!((body, encoded.losses), (json(expected), vec![]));
}

#[test]
fn a_chat_completion_becomes_an_anthropic_response() {
    let expected = r#"{"id":"chatcmpl-9","type":"message","role":"assistant","model":"gpt-5","content":[
            {"type":"thinking","thinking":"The weather\nis asked for.","signature":""},
            {"type":"text","text":"Let me \"look\". Paris it is.","citations":[
                {"type":"web_search_result_location","url":"https://a.example/paris","title":"Paris","cited_text":"","encrypted_index":""}]},
            {"type":"tool_use","id":"call_1","name":"get_weather","input":{"city":"Paris"}},
            {"type":"tool_use","id":"call_2","name":"run","input":{"input":"ls -la"}}],
        "stop_reason":"tool_use","stop_sequence":null,
        "usage":{"input_tokens":40,"cache_read_input_tokens":60,"output_tokens":50,"output_tokens_details":{"thinking_tokens":20}}}"#;
    check(CHAT, Format::OpenaiChat, Format::Anthropic, expected, &["citation"]);
}

#[test]
fn a_responses_body_becomes_a_chat_completion() {
    let expected = r#"{"id":"resp_9","object":"chat.completion","created":1700000000,"model":"gpt-5",
        "choices":[{"index":0,"message":{"role":"assistant","content":"Paris it is.","refusal":"Not that.",
            "reasoning_content":"The weather is asked for.",
            "annotations":[{"type":"url_citation","url_citation":{"start_index":0,"end_index":5,"title":"Paris","url":"https://a.example/paris"}}],
            "tool_calls":[
                {"id":"call_1","type":"function","function":{"name":"get_weather","arguments":"{\"city\":\"Paris\"}"}},
                {"id":"call_2","type":"custom","custom":{"name":"run","input":"ls -la"}}]},
            "logprobs":null,"finish_reason":"tool_calls"}],
        "usage":{"prompt_tokens":100,"completion_tokens":50,"total_tokens":150,
            "prompt_tokens_details":{"cached_tokens":60,"cache_write_tokens":0},"completion_tokens_details":{"reasoning_tokens":20}}}"#;
    check(RESPONSES, Format::OpenaiResponses, Format::OpenaiChat, expected, &["signature"]);
}

#[test]
fn a_responses_body_becomes_a_converse_response() {
    let expected = r#"{"output":{"message":{"role":"assistant","content":[
            {"reasoningContent":{"reasoningText":{"text":"The weather is asked for."}}},
            {"citationsContent":{"content":[{"text":"Paris it is."}],"citations":[
                {"title":"Paris","location":{"web":{"url":"https://a.example/paris"}}}]}},
            {"text":"Not that."},
            {"toolUse":{"toolUseId":"call_1","name":"get_weather","input":{"city":"Paris"}}},
            {"toolUse":{"toolUseId":"call_2","name":"run","input":{"input":"ls -la"}}}]}},
        "stopReason":"tool_use",
        "usage":{"inputTokens":40,"outputTokens":50,"totalTokens":150,"cacheReadInputTokens":60,"cacheWriteInputTokens":0},
        "metrics":{"latencyMs":0}}"#;
    let losses = ["signature", "citation", "refusal", "usage"];
    check(RESPONSES, Format::OpenaiResponses, Format::Bedrock, expected, &losses);
}

#[test]
fn a_gemini_response_becomes_a_chat_completion() {
    let encoded = converted(GEMINI, Format::Gemini, Format::OpenaiChat);
    let [renamed] = &*encoded.renamed else { panic!("{:?}", encoded.renamed) };
    assert_eq!(renamed.old, "");
    let expected = format!(
        r#"{{"id":"r9","object":"chat.completion","created":0,"model":"gemini-3-pro",
        "choices":[{{"index":0,"message":{{"role":"assistant","content":"Paris it is.","refusal":null,
            "reasoning_content":"The weather is asked for.",
            "tool_calls":[
                {{"id":"fc-1","type":"function","function":{{"name":"get_weather","arguments":"{{\"city\": \"Paris\"}}"}},
                    "extra_content":{{"google":{{"thought_signature":"CoMB"}}}}}},
                {{"id":"{}","type":"function","function":{{"name":"get_time","arguments":"{{}}"}}}}]}},
            "logprobs":null,"finish_reason":"tool_calls"}}],
        "usage":{{"prompt_tokens":100,"completion_tokens":50,"total_tokens":150,
            "prompt_tokens_details":{{"cached_tokens":60}},"completion_tokens_details":{{"reasoning_tokens":20}}}}}}"#,
        renamed.new
    );
    check(GEMINI, Format::Gemini, Format::OpenaiChat, &expected, &["signature"]);
}

#[test]
fn texts_and_calls_are_the_same_in_every_format() {
    let text_of = |reply: &ModelReply<'_>| -> String {
        let text = |part: &ModelPart<'_>| match part.content() {
            ContentPart::Text(text) => Some(text.to_string()),
            _ => None,
        };
        reply.parts.iter().filter_map(text).collect()
    };
    let call_names = |reply: &ModelReply<'_>| -> Vec<String> {
        let call = |part: &ModelPart<'_>| match part.content() {
            ContentPart::ToolCall(call) => Some(call.name.to_string()),
            _ => None,
        };
        reply.parts.iter().filter_map(call).collect()
    };
    for from in WIRES {
        let source = reply(samples::rich(from), from);
        for to in WIRES {
            let encoded = encode_reply(&ModelResponse::Reply(source.clone()), to, "seed");
            let back = reply(&encoded.body, to);
            assert_eq!(text_of(&back), text_of(&source), "{from:?} to {to:?}");
            assert_eq!(call_names(&back), call_names(&source), "{from:?} to {to:?}");
            assert_eq!(back.stop, source.stop, "{from:?} to {to:?}");
            assert_eq!(back.usage.input, source.usage.input, "{from:?} to {to:?}");
            assert_eq!(back.usage.output, source.usage.output, "{from:?} to {to:?}");
            assert_eq!(encode_reply(&ModelResponse::Reply(source.clone()), to, "seed"), encoded);
        }
    }
}
