//! A request with every setting, in every format.

use super::*;

/// One request per format.
pub(super) const RICH: [(Format, &str); 6] = [
    (Chat, CHAT),
    (Responses, RESPONSES),
    (Anthropic, ANTHROPIC),
    (Gemini, GEMINI),
    (Bedrock, BEDROCK),
    (
        Format::GeminiInteractions,
        r#"{"model":"gemini-3-pro","stream":true,"store":true,"labels":{"team":"a"},"service_tier":"flex",
        "previous_interaction_id":"v1_1","safety_settings":[{"type":"x"}],
        "generation_config":{"temperature":0.3,"top_p":0.9,"seed":7,"max_output_tokens":2000,
            "stop_sequences":["END","."],"thinking_level":"high","thinking_summaries":"auto",
            "tool_choice":{"allowed_tools":{"mode":"any","tools":["f","g"]}},"speech_config":{"voice":"v"}},
        "response_format":{"type":"text","mime_type":"application/json",
            "schema":{"type":"object","properties":{"a":{"type":"string"}}}},
        "tools":[{"type":"function","name":"f","description":"d","parameters":{"type":"object","properties":{"a":{"type":"string"}}}},
            {"type":"function","name":"g"},{"type":"google_search"}]}"#,
    ),
];

const CHAT: &str = r#"{
"model":"gpt-5.1","messages":[{"role":"user","content":"hi"}],"stream":true,
"stream_options":{"include_usage":true},"max_completion_tokens":2000,"temperature":1.5,"top_p":0.9,
"seed":7,"presence_penalty":0.5,"frequency_penalty":0,"n":1,"stop":"END","logprobs":false,
"logit_bias":{"50256":-100},"reasoning_effort":"minimal","verbosity":"low","user":"u\u00e9",
"safety_identifier":"s1","metadata":{"run":"1"},"service_tier":"flex","store":true,
"prompt_cache_key":"k","parallel_tool_calls":false,"x_vendor":[1],
"tool_choice":{"type":"allowed_tools","allowed_tools":{"mode":"auto","tools":[
 {"type":"function","function":{"name":"get"}},{"type":"custom","custom":{"name":"patch"}}]}},
"response_format":{"type":"json_schema","json_schema":{"name":"city","description":"A city",
 "schema":{"type":"object","properties":{"n":{"type":"string"}},"required":["n"],"additionalProperties":false},"strict":true}},
"tools":[
 {"type":"function","function":{"name":"get","description":"Gets \"it\"","strict":true,
  "parameters":{"type":"object","properties":{"k":{"type":"string"}},"required":["k"],"additionalProperties":false}}},
 {"type":"function","function":{"name":"now"}},
 {"type":"custom","custom":{"name":"patch","description":"Patches","format":{"type":"grammar","grammar":{"syntax":"lark","definition":"start: \"a\""}}}}]}"#;

const RESPONSES: &str = r#"{
"model":"gpt-5.1","input":"hi","instructions":"be kind","stream":true,"max_output_tokens":9000,
"temperature":1,"top_p":1.0,"store":false,"include":["reasoning.encrypted_content"],
"previous_response_id":"resp_1","prompt_cache_key":"k","truncation":"auto","user":null,
"reasoning":{"effort":"high","summary":"detailed"},
"text":{"format":{"type":"json_object"},"verbosity":"medium"},"parallel_tool_calls":true,
"tool_choice":{"type":"function","name":"get"},
"tools":[
 {"type":"function","name":"get","description":"Gets","parameters":{"type":"object","properties":{},"additionalProperties":false},"strict":true,"defer_loading":true},
 {"type":"custom","name":"say","description":"Says","format":{"type":"text"}},
 {"type":"web_search","search_context_size":"low"},
 {"type":"mcp","server_label":"deepwiki","server_url":"https://mcp.deepwiki.com/mcp"}]}"#;

const ANTHROPIC: &str = r#"{
"model":"claude-sonnet-4-5","messages":[{"role":"user","content":"hi"}],"system":"be kind",
"max_tokens":20000,"stream":false,"temperature":1,"top_k":40,"stop_sequences":["A","B"],
"metadata":{"user_id":"u1","team":"x"},"service_tier":"auto","container":"c1","betas":["b-2026"],
"thinking":{"type":"enabled","budget_tokens":10000,"display":"summarized"},
"output_config":{"effort":"high","format":{"type":"json_schema","schema":{"type":"object","properties":{"n":{"type":"string"}}}},
 "task_budget":{"type":"tokens","total":64000}},
"context_management":{"edits":[]},"mcp_servers":[{"type":"url","url":"https://a.b","name":"m"}],
"tool_choice":{"type":"auto","disable_parallel_tool_use":true},
"tools":[
 {"name":"get","description":"Gets","input_schema":{"type":"object","properties":{"k":{"type":"string"}}},"strict":true,"input_examples":[{"k":"v"}]},
 {"type":"custom","name":"now","input_schema":{"type":"object"},"cache_control":{"type":"ephemeral","ttl":"1h"}},
 {"type":"web_search_20250305","name":"web_search","max_uses":2},
 {"type":"bash_20250124","name":"bash"}]}"#;

const GEMINI: &str = r#"{
"model":"gemini-3-pro","contents":[{"role":"user","parts":[{"text":"hi"}]}],
"systemInstruction":{"parts":[{"text":"be kind"}]},
"generationConfig":{"maxOutputTokens":500,"temperature":0.2,"topP":0.8,"topK":20,"seed":1,
 "presencePenalty":0.0,"frequencyPenalty":0.3,"candidateCount":2,"stopSequences":["X"],
 "responseMimeType":"application/json","responseSchema":{"type":"OBJECT","properties":{"type":{"type":"STRING","nullable":true}}},
 "thinkingConfig":{"thinkingLevel":"LOW","includeThoughts":true},"responseModalities":["TEXT"],"mediaResolution":"MEDIA_RESOLUTION_LOW"},
"safetySettings":[{"category":"HARM_CATEGORY_HARASSMENT","threshold":"BLOCK_NONE"}],
"cachedContent":"cachedContents/1","labels":{"a":"b"},
"toolConfig":{"functionCallingConfig":{"mode":"ANY","allowedFunctionNames":["get","now"]},"retrievalConfig":{"languageCode":"de"}},
"tools":[{"functionDeclarations":[
 {"name":"get","description":"Gets","parameters":{"type":"OBJECT","properties":{"k":{"type":"STRING"}},"required":["k"]}},
 {"name":"now"},
 {"name":"far","parametersJsonSchema":{"type":"object","properties":{}},"response":{"type":"STRING"}}],"googleSearch":{}},
 {"codeExecution":{}}]}"#;

const BEDROCK: &str = r#"{
"modelId":"anthropic.claude-sonnet-4-6","messages":[{"role":"user","content":[{"text":"hi"}]}],"system":[{"text":"be kind"}],
"inferenceConfig":{"maxTokens":8000,"temperature":1,"topP":0.95,"stopSequences":["S"]},
"toolConfig":{"tools":[
 {"toolSpec":{"name":"get","description":"Gets","inputSchema":{"json":{"type":"object","properties":{"k":{"type":"string"}}}}}},
 {"cachePoint":{"type":"default"}},
 {"systemTool":{"name":"nova_grounding"}}],"toolChoice":{"tool":{"name":"get"}}},
"outputConfig":{"effort":"medium","textFormat":{"type":"json_schema","structure":{"jsonSchema":{"schema":"{\"type\":\"object\"}","name":"o","description":"An answer"}}}},
"additionalModelRequestFields":{"thinking":{"type":"adaptive"},"top_k":5,"anthropic_beta":["x"]},
"guardrailConfig":{"guardrailIdentifier":"g","guardrailVersion":"1"},"requestMetadata":{"a":"b"},
"performanceConfig":{"latency":"standard"},"serviceTier":{"type":"default"}}"#;

#[test]
fn the_same_format_loses_nothing() {
    for (format, source) in RICH {
        assert_eq!(
            converted(source, format, format),
            (without_conversation(source, format), Vec::new())
        );
    }
}

#[test]
fn changing_model_or_stream_changes_nothing_else() {
    for (format, source) in RICH {
        let tape = JsonTape::read(source).expect("JSON");
        let mut settings = read(&tape.root(source).object().expect("an object"), format);
        settings.model = Some("other".into());
        settings.stream = None;
        let mut expected = without_conversation(source, format);
        expected[model_key(format)] = "other".into();
        expected.as_object_mut().expect("an object").remove("stream");
        assert_eq!(written(&settings, Some(format), format), (expected, Vec::new()));
    }
}

#[test]
fn changed_settings_are_encoded_again_with_the_same_meaning() {
    for (format, source) in RICH {
        // In the order of the output.
        let source = without_conversation(source, format).to_string();
        let tape = JsonTape::read(&source).expect("JSON");
        let mut settings = read(&tape.root(&source).object().expect("an object"), format);
        settings.original = None;
        let (body, losses) = written(&settings, Some(format), format);
        assert_eq!(losses, Vec::<String>::new(), "{}", format.name());
        let body = body.to_string();
        let again = JsonTape::read(&body).expect("JSON");
        let again = read(&again.root(&body).object().expect("an object"), format);
        assert_eq!(gist(&again), gist(&settings), "{}", format.name());
    }
}

#[test]
fn the_token_limit_keeps_its_field_name() {
    for key in ["max_tokens", "max_completion_tokens"] {
        let source = format!("{{\"{key}\":5,\"tools\":[{{\"type\":\"web_search\"}}]}}");
        let tape = JsonTape::read(&source).expect("JSON");
        let mut settings = read(&tape.root(&source).object().expect("an object"), Chat);
        settings.tools.clear();
        assert_eq!(written(&settings, Some(Chat), Chat).0, serde_json::json!({ key: 5 }));
    }
}

/// Every request converted to every other format: one field per line, then the losses.
const ELSEWHERE: &str = include_str!("elsewhere.txt");

#[test]
fn unsupported_settings_are_reported_as_losses() {
    let mut found = String::new();
    for (from, source) in RICH {
        for to in Format::ALL.into_iter().filter(|to| *to != from) {
            let (body, losses) = converted(source, from, to);
            let fields = body.as_object().expect("an object").iter();
            let fields = fields.map(|(key, value)| format!("{key} = {value}"));
            let lines: Vec<String> =
                fields.chain(losses.into_iter().map(|loss| format!("- {loss}"))).collect();
            found += &format!("# {} to {}\n{}\n\n", from.name(), to.name(), lines.join("\n"));
        }
    }
    assert!(found == ELSEWHERE, "{found}");
}
