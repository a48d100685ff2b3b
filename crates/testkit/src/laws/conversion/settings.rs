//! Settings around a history. Each has a value that occurs nowhere else.

use foxwedge_core::Format;
use serde_json::{Value, json};

use crate::Random;

/// Adds about a third of the settings of a format to a request.
pub(super) fn put(random: &mut Random, format: Format, document: &mut Value) {
    let Some(body) = document.as_object_mut() else { return };
    for (key, value) in known(format) {
        if random.chance(35) && !body.contains_key(key) {
            body.insert(key.to_owned(), value);
        }
    }
    if format == Format::Gemini
        && random.chance(30)
        && let Some(tools) = body.get_mut("tools")
    {
        join_tools(tools);
    }
}

/// Google accepts one object in place of the list of tools.
fn join_tools(tools: &mut Value) {
    let Some(list) = tools.as_array_mut() else { return };
    let fields = list.iter_mut().filter_map(Value::as_object_mut).flat_map(std::mem::take);
    *tools = Value::Object(fields.collect());
}

fn known(format: Format) -> Vec<(&'static str, Value)> {
    let schema =
        json!({"type": "object", "properties": {"path": {"type": "string"}}, "required": ["path"]});
    match format {
        Format::OpenaiChat => vec![
            ("temperature", json!(0.3719)),
            ("top_p", json!(0.8231)),
            ("max_completion_tokens", json!(43211)),
            ("seed", json!(90217)),
            ("presence_penalty", json!(0.6113)),
            ("stop", json!(["kept-setting-stop"])),
            ("user", json!("kept-setting-user")),
            ("tool_choice", json!("required")),
            ("parallel_tool_calls", json!(false)),
            (
                "response_format",
                json!({"type": "json_schema", "json_schema": {
                    "name": "shape", "schema": {"type": "object", "title": "kept-setting-shape"}
                }}),
            ),
            ("x_setting", json!("kept-setting-unknown")),
        ],
        Format::OpenaiResponses => vec![
            ("temperature", json!(0.3719)),
            ("top_p", json!(0.8231)),
            ("max_output_tokens", json!(43211)),
            (
                "tools",
                json!([
                    {"type": "function", "name": "read_file", "description": "kept-tool-one", "parameters": schema, "strict": false},
                    {"type": "web_search", "user_location": {"type": "approximate", "city": "kept-tool-two"}},
                ]),
            ),
            ("tool_choice", json!({"type": "function", "name": "read_file"})),
            ("reasoning", json!({"effort": "high", "summary": "auto"})),
            (
                "text",
                json!({"format": {"type": "json_schema", "name": "shape",
                "schema": {"type": "object", "title": "kept-setting-shape"}}}),
            ),
            ("prompt_cache_key", json!("kept-setting-unknown")),
        ],
        Format::Anthropic => vec![
            ("temperature", json!(0.3719)),
            ("top_p", json!(0.8231)),
            ("top_k", json!(4117)),
            ("stop_sequences", json!(["kept-setting-stop"])),
            ("metadata", json!({"user_id": "kept-setting-user"})),
            (
                "tools",
                json!([
                    {"name": "read_file", "description": "kept-tool-one", "input_schema": schema},
                    {"type": "web_search_20250305", "name": "web_search", "allowed_domains": ["kept-tool-two"]},
                ]),
            ),
            ("tool_choice", json!({"type": "any"})),
            ("container", json!("kept-setting-unknown")),
        ],
        Format::Gemini => vec![
            (
                "generationConfig",
                json!({
                    "temperature": 0.3719, "topP": 0.8231, "topK": 4117, "maxOutputTokens": 43211,
                    "seed": 90217, "presencePenalty": 0.6113, "stopSequences": ["kept-setting-stop"],
                    "responseMimeType": "application/json",
                    "responseSchema": {"type": "OBJECT", "title": "kept-setting-shape"}
                }),
            ),
            (
                "tools",
                json!([
                    {"functionDeclarations": [{"name": "read_file", "description": "kept-tool-one", "parameters": schema},
                    {"name": "mcp.server:read", "description": "kept-tool-three"}]},
                    {"googleSearch": {"excludeDomains": ["kept-tool-two"]}},
                ]),
            ),
            (
                "safetySettings",
                json!([{"category": "kept-setting-unknown", "threshold": "BLOCK_NONE"}]),
            ),
        ],
        Format::GeminiInteractions => vec![
            (
                "generation_config",
                json!({
                    "temperature": 0.3719, "top_p": 0.8231, "max_output_tokens": 43211,
                    "seed": 90217, "stop_sequences": ["kept-setting-stop"], "tool_choice": "any"
                }),
            ),
            (
                "tools",
                json!([
                    {"type": "function", "name": "read_file", "description": "kept-tool-one", "parameters": schema},
                    {"type": "mcp_server", "name": "kept-tool-two", "url": "https://a.example"}
                ]),
            ),
            (
                "response_format",
                json!({"type": "text", "mime_type": "application/json",
                "schema": {"type": "object", "title": "kept-setting-shape"}}),
            ),
            ("labels", json!({"team": "kept-setting-unknown"})),
        ],
        Format::Bedrock => vec![
            (
                "inferenceConfig",
                json!({
                    "temperature": 0.3719, "topP": 0.8231, "maxTokens": 43211, "stopSequences": ["kept-setting-stop"]
                }),
            ),
            (
                "toolConfig",
                json!({"tools": [{"toolSpec": {
                "name": "read_file", "description": "kept-tool-one", "inputSchema": {"json": schema}
            }}], "toolChoice": {"any": {}}}),
            ),
            ("requestMetadata", json!({"kept": "kept-setting-unknown"})),
        ],
    }
}
