//! The list of models.

use foxwedge_core::Format;
use serde_json::{Value, json};

/// The listed models. Every other name works as well; in the Chat format the name decides whose
/// rules apply.
pub const MODELS: [&str; 3] = ["scripted", "scripted-mistral", "scripted-deepseek"];

/// The body of the list of models.
pub fn models(format: Format) -> String {
    let list: Vec<Value> = MODELS.iter().map(|name| model(format, name)).collect();
    match format {
        Format::OpenaiChat | Format::OpenaiResponses | Format::Bedrock => {
            json!({"object": "list", "data": list})
        }
        Format::Anthropic => json!({
            "data": list, "has_more": false, "first_id": MODELS.first(), "last_id": MODELS.last()
        }),
        Format::Gemini | Format::GeminiInteractions => json!({"models": list}),
    }
    .to_string()
}

fn model(format: Format, name: &str) -> Value {
    match format {
        Format::OpenaiChat | Format::OpenaiResponses | Format::Bedrock => {
            json!({"id": name, "object": "model", "created": 1_763_164_800, "owned_by": "foxwedge"})
        }
        Format::Anthropic => json!({
            "type": "model", "id": name, "display_name": name, "created_at": "2025-11-15T00:00:00Z"
        }),
        Format::Gemini | Format::GeminiInteractions => json!({
            "name": format!("models/{name}"), "displayName": name,
            "inputTokenLimit": 200_000, "outputTokenLimit": 8192,
            "supportedGenerationMethods": ["generateContent", "countTokens"]
        }),
    }
}
