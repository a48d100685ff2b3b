//! The setup of an agent: its tools and instructions.

use std::slice;

use foxwedge_core::Format;
use serde_json::{Value, json};
use xxhash_rust::xxh3::xxh3_128;

/// A digest of the tools and instructions. Cache marks do not change it.
pub(super) fn setup_digest(source: &str, format: Format) -> u128 {
    let Ok(mut body) = serde_json::from_str::<Value>(source) else { return 0 };
    let list = match format {
        Format::OpenaiResponses | Format::GeminiInteractions => body["input"].take(),
        Format::OpenaiChat | Format::Anthropic | Format::Gemini | Format::Bedrock => {
            body["messages"].take()
        }
    };
    let is_instruction =
        |message: &&Value| matches!(message["role"].as_str(), Some("system" | "developer"));
    let instructions: Vec<Value> = list
        .as_array()
        .map_or(&[][..], Vec::as_slice)
        .iter()
        .filter(is_instruction)
        .map(|message| message["content"].clone())
        .collect();
    let mut setup = json!([
        body["tools"],
        body["functions"],
        body["system"],
        body["instructions"],
        body["system_instruction"],
        instructions
    ]);
    remove_cache_marks(slice::from_mut(&mut setup));
    xxh3_128(setup.to_string().as_bytes())
}

/// Removes cache marks: clients move them with every request.
fn remove_cache_marks(values: &mut [Value]) {
    for value in values {
        match value {
            Value::Array(values) => remove_cache_marks(values),
            Value::Object(map) => {
                map.remove("cache_control");
                map.values_mut().for_each(|value| remove_cache_marks(slice::from_mut(value)));
            }
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_setup_is_tools_and_instructions_and_nothing_else() {
        let chat = |text: &str| setup_digest(text, Format::OpenaiChat);
        let one = r#"{"tools":[{"a":1}],"messages":[{"role":"system","content":"s"}]}"#;
        let more = r#"{"messages":[{"content":"s","role":"system"},{"role":"user","content":"u"}],"tools":[{"a":1}],"temperature":1}"#;
        assert_eq!(chat(one), chat(more));
        assert_ne!(chat(one), chat(&one.replace("\"a\":1", "\"a\":2")));
        assert_ne!(chat(one), chat(&one.replace("\"s\"", "\"t\"")));
        let anthropic = |text: &str| setup_digest(text, Format::Anthropic);
        let one = r#"{"system":[{"type":"text","text":"s"}],"tools":[{"name":"t"}]}"#;
        let marked = one.replace("\"s\"", "\"s\",\"cache_control\":{\"type\":\"ephemeral\"}");
        assert_eq!(anthropic(one), anthropic(&marked));
        assert_eq!(setup_digest("[", Format::Anthropic), 0);
    }
}
