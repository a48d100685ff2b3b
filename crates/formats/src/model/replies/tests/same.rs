//! A body survives a round trip through its own format.

use super::{samples::rich, *};

#[test]
fn a_body_round_trips_unchanged() {
    for wire in WIRES {
        let (decoded, encoded) = (decoded(rich(wire), wire), converted(rich(wire), wire, wire));
        assert_eq!(json(&encoded.body), json(rich(wire)), "{}", encoded.body);
        assert_eq!((decoded.losses, encoded.losses), (vec![], vec![]), "{wire:?}");
        assert_eq!(encoded.renamed, [], "{wire:?}");
    }
}

#[test]
fn format_specific_blocks_round_trip() {
    let table = [
        (
            Format::Anthropic,
            r#"{"id":"m","type":"message","role":"assistant","model":"c","content":[
                {"type":"server_tool_use","id":"srvtoolu_1","name":"web_search","input":{"query":"x"}},
                {"type":"web_search_tool_result","tool_use_id":"srvtoolu_1","content":[]},
                {"type":"text","text":"","citations":null},
                {"type":"text","text":"Done.","citations":[{"type":"char_location","cited_text":"a","document_index":0,"document_title":null,"start_char_index":0,"end_char_index":1}]}],
              "stop_reason":"pause_turn","stop_sequence":null,"usage":{"input_tokens":1,"output_tokens":2}}"#,
        ),
        (
            Format::Anthropic,
            r#"{"id":"m","type":"message","role":"assistant","model":"c","content":[],
              "stop_reason":"stop_sequence","stop_sequence":"END\n","usage":{"input_tokens":1,"output_tokens":2}}"#,
        ),
        (
            Format::Gemini,
            r#"{"candidates":[{"content":{"parts":[
                {"executableCode":{"language":"PYTHON","code":"1+1"}},
                {"codeExecutionResult":{"outcome":"OUTCOME_OK","output":"2"}},
                {"inlineData":{"mimeType":"image/png","data":"aGk="}},
                {"text":"","thoughtSignature":"Cg=="}],"role":"model"},"finishReason":"RECITATION","index":0}],
              "usageMetadata":{"promptTokenCount":3,"totalTokenCount":3},"modelVersion":"g","responseId":"r"}"#,
        ),
        (
            Format::Bedrock,
            r#"{"output":{"message":{"role":"assistant","content":[
                {"toolUse":{"toolUseId":"s1","name":"nova_grounding","input":{},"type":"server_tool_use"}},
                {"image":{"format":"png","source":{"bytes":"aGk="}}}]}},
              "stopReason":"guardrail_intervened","usage":{"inputTokens":1,"outputTokens":2,"totalTokens":3},"metrics":{"latencyMs":0}}"#,
        ),
        (
            Format::Bedrock,
            r#"{"output":{"message":{"role":"assistant","content":[]}},"stopReason":"stop_sequence",
              "usage":{"inputTokens":1,"outputTokens":2,"totalTokens":3},"metrics":{"latencyMs":0},
              "additionalModelResponseFields":{"stop_sequence":"END"}}"#,
        ),
        (
            Format::OpenaiResponses,
            r#"{"id":"resp_1","object":"response","created_at":7,"status":"incomplete","error":null,
              "incomplete_details":{"reason":"max_output_tokens"},"instructions":null,"metadata":{},"model":"m",
              "output":[{"type":"web_search_call","id":"ws_1","status":"completed","action":{"type":"search","query":"x"}},
                {"type":"function_call","id":"fc_1","call_id":"call_1","name":"f","arguments":"{}","namespace":"n"},
                {"type":"local_shell_call","id":"lsh_1","call_id":"call_2","status":"completed","action":{"type":"exec","command":["ls"],"env":{}}}],
              "parallel_tool_calls":true,"temperature":null,"tool_choice":"auto","tools":[],"top_p":null,"usage":null}"#,
        ),
        (
            Format::OpenaiChat,
            r#"{"id":"c","object":"chat.completion","created":7,"model":"m","choices":[{"index":0,"message":
              {"role":"assistant","content":null,"refusal":"No.","reasoning":"Hm."},"logprobs":null,"finish_reason":"stop"}]}"#,
        ),
        (
            Format::OpenaiChat,
            r#"{"id":"c","object":"chat.completion","created":7,"model":"m","choices":[{"index":0,"message":
              {"role":"assistant","content":null,"refusal":null,"tool_calls":[{"id":"x","type":"function","function":{"name":"f","arguments":"{\"a\":"},
              "extra_content":{"google":{"thought_signature":"Cg=="}}}]},"logprobs":null,"finish_reason":"length"}]}"#,
        ),
        (
            Format::OpenaiChat,
            r#"{"id":"c","object":"chat.completion","created":7,"model":"m","choices":[{"index":0,"message":
              {"role":"assistant","content":"","refusal":null},"logprobs":null,"finish_reason":"content_filter"}]}"#,
        ),
    ];
    for (format, body) in table {
        let (decoded, encoded) = (decoded(body, format), converted(body, format, format));
        assert_eq!(json(&encoded.body), json(body), "{}", encoded.body);
        assert_eq!((decoded.losses, encoded.losses), (vec![], vec![]), "{body}");
    }
}

/// What a round trip does not keep: provider metadata, and alternative encodings of the same
/// content.
#[test]
fn alternative_encodings_are_normalized() {
    let table = [
        (
            Format::OpenaiChat,
            r#"{"id":"c","object":"chat.completion","created":7,"model":"m","service_tier":"default","system_fingerprint":"fp",
              "choices":[{"index":0,"message":{"role":"assistant","content":[{"type":"text","text":"a"},{"type":"text","text":"b"}],
              "reasoning":"r","reasoning_content":"r","function_call":{"name":"f","arguments":""}},"finish_reason":"function_call"}]}"#,
            r#"{"id":"c","object":"chat.completion","created":7,"model":"m","choices":[{"index":0,"message":
              {"role":"assistant","content":"ab","refusal":null,"reasoning_content":"r",
              "tool_calls":[{"id":"ID","type":"function","function":{"name":"f","arguments":"{}"}}]},"logprobs":null,"finish_reason":"tool_calls"}]}"#,
        ),
        (
            Format::Anthropic,
            r#"{"content":"Hello","stop_reason":"end_turn","usage":{"input_tokens":1,"output_tokens":2,"service_tier":"standard"}}"#,
            r#"{"id":"msg_ID","type":"message","role":"assistant","model":"unknown","content":[{"type":"text","text":"Hello"}],
              "stop_reason":"end_turn","stop_sequence":null,"usage":{"input_tokens":1,"output_tokens":2}}"#,
        ),
        (
            Format::OpenaiResponses,
            r#"{"id":"r","created_at":7.5,"status":"completed","output":[
              {"type":"message","role":"assistant","content":"a"},{"role":"assistant","content":[{"type":"output_text","text":"b"}]}]}"#,
            r#"{"id":"r","object":"response","created_at":7,"status":"completed","error":null,"incomplete_details":null,
              "instructions":null,"metadata":{},"model":"unknown","output":[{"type":"message","id":"msg_ID","status":"completed","role":"assistant",
              "content":[{"type":"output_text","text":"a","annotations":[],"logprobs":[]},{"type":"output_text","text":"b"}]}],
              "parallel_tool_calls":true,"temperature":null,"tool_choice":"auto","tools":[],"top_p":null,"usage":null}"#,
        ),
        (
            Format::Gemini,
            r#"{"promptFeedback":{"blockReason":"SAFETY","safetyRatings":[]},"modelVersion":"g","responseId":"r"}"#,
            r#"{"candidates":[{"content":{"parts":[],"role":"model"},"finishReason":"SAFETY","index":0}],"modelVersion":"g","responseId":"r"}"#,
        ),
        (
            Format::Gemini,
            r#"{"candidates":[{"finishReason":"MAX_TOKENS","safetyRatings":[{"category":"x"}]}]}"#,
            r#"{"candidates":[{"content":{"parts":[],"role":"model"},"finishReason":"MAX_TOKENS","index":0}]}"#,
        ),
        (
            Format::Bedrock,
            r#"{"output":{"message":{"role":"assistant","content":[{"text":"a"}]}},"stopReason":"end_turn",
              "usage":{"inputTokens":1,"outputTokens":2,"totalTokens":3},"metrics":{"latencyMs":312},"performanceConfig":{"latency":"standard"}}"#,
            r#"{"output":{"message":{"role":"assistant","content":[{"text":"a"}]}},"stopReason":"end_turn",
              "usage":{"inputTokens":1,"outputTokens":2,"totalTokens":3},"metrics":{"latencyMs":0}}"#,
        ),
    ];
    for (format, body, expected) in table {
        let encoded = converted(body, format, format);
        assert_eq!(without_ids(json(&encoded.body)), json(expected), "{}", encoded.body);
        assert_eq!(decoded(body, format).losses, [], "{body}");
        // The second round trip changes nothing.
        let again = converted(&encoded.body, format, format);
        assert_eq!(json(&again.body), json(&encoded.body));
    }
}

/// Shortens ids that were derived from the seed to their prefix.
fn without_ids(value: Json) -> Json {
    match value {
        Json::Object(fields) => {
            let field = |(key, value): (String, Json)| {
                let short = match (key.as_str(), value.as_str()) {
                    ("id" | "responseId", Some(id)) if id.len() >= 22 => {
                        let prefix = id.split_inclusive('_').next().filter(|part| *part != id);
                        Json::from(format!("{}ID", prefix.filter(|p| *p != "call_").unwrap_or("")))
                    }
                    _ => without_ids(value),
                };
                (key, short)
            };
            fields.into_iter().map(field).collect()
        }
        Json::Array(list) => list.into_iter().map(without_ids).collect(),
        value => value,
    }
}
