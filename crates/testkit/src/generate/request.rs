//! Puts a message list into a request body, with the usual other keys.

use serde_json::{Map, Value, json};

use super::sound::DraftStyle;
use crate::dialect::TestFormat;
use crate::random::Random;

/// A request around `list`. Keys that would make a valid list of this style invalid are not used.
pub(crate) fn around(random: &mut Random, style: &DraftStyle, list: Vec<Value>) -> Value {
    let mut body = Map::new();
    body.insert(style.format.list_key().to_owned(), Value::Array(list));
    let mut set = |key: &str, value: Value| body.insert(key.to_owned(), value);
    match style.format {
        TestFormat::Chat => {
            let models =
                ["gpt-4o", "gpt-5", "deepseek-chat", "deepseek-reasoner", "mistral-large-latest"];
            set("model", json!(random.pick(&models)));
            set(
                "tools",
                json!([{"type": "function", "function": {"name": "bash", "parameters": {}}}]),
            );
            if random.chance(20) {
                set("thinking", json!({"type": random.pick(&["enabled", "disabled"])}));
            }
            set("stream", json!(random.chance(50)));
        }
        TestFormat::Responses => {
            set("model", json!("gpt-5-codex"));
            set("store", json!(random.chance(40)));
            set("instructions", json!("be brief"));
            if random.chance(10) {
                set("previous_response_id", json!("resp_1"));
            } else if random.chance(20) {
                set("previous_response_id", Value::Null);
            }
            if random.chance(5) {
                set("conversation", json!({"id": "conv_1"}));
            }
        }
        TestFormat::Anthropic => {
            let models = ["claude-3-5-sonnet-20241022", "claude-opus-4-6", "claude-fable-5-1"];
            set("model", json!(random.pick(&models)));
            set("max_tokens", json!(1024));
            set("tools", json!([{"name": "bash", "input_schema": {"type": "object"}}]));
            set("system", json!([{"type": "text", "text": "be brief"}]));
            if style.thinks {
                set("thinking", json!({"type": "enabled", "budget_tokens": 1024}));
            }
            if random.chance(8) {
                set(
                    "thread",
                    json!({"type": random.pick(&["continue", "create"]), "id": "thread_1"}),
                );
            }
        }
        TestFormat::Gemini => {
            let newer = style.signed && random.chance(50);
            set("model", json!(if newer { "gemini-3-pro" } else { "gemini-2.5-flash" }));
            set("generationConfig", json!({"temperature": 0.5, "maxOutputTokens": 100}));
            set("systemInstruction", json!({"parts": [{"text": "be brief"}]}));
            set("toolConfig", json!({"functionCallingConfig": {"mode": "AUTO"}}));
        }
        TestFormat::Interactions => {
            set("model", json!("gemini-3-pro"));
            set("store", json!(random.chance(40)));
            set("system_instruction", json!("be brief"));
            set("generation_config", json!({"thinking_level": "low"}));
            if random.chance(10) {
                set("previous_interaction_id", json!("v1_abc"));
            } else if random.chance(20) {
                set("previous_interaction_id", Value::Null);
            }
        }
        TestFormat::Bedrock => {
            let models = ["anthropic.claude-3-haiku-20240307-v1:0", "amazon.nova-pro-v1:0"];
            set("modelId", json!(random.pick(&models)));
            set("inferenceConfig", json!({"maxTokens": 100}));
            if style.thinks {
                let thinking = json!({"type": "enabled", "budget_tokens": 1024});
                set("additionalModelRequestFields", json!({"thinking": thinking}));
            }
            set(
                "toolConfig",
                json!({"tools": [{"toolSpec": {"name": "bash", "inputSchema": {}}}]}),
            );
        }
    }
    Value::Object(body)
}
