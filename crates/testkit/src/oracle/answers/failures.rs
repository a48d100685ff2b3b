//! What providers say instead of an answer, or in the middle of one.

use foxwedge_core::Format;
use serde_json::{Value, json};

/// A failure in the middle of a stream.
pub fn failure(wire: Format, words: &str) -> (Option<&'static str>, Value) {
    match wire {
        Format::OpenaiChat => {
            let error = json!({"message": words, "type": "server_error", "code": null});
            (None, json!({"error": error}))
        }
        Format::OpenaiResponses => (
            Some("error"),
            json!({"type": "error", "code": "server_error", "message": words, "param": null, "sequence_number": 99}),
        ),
        Format::Anthropic => (
            Some("error"),
            json!({"type": "error", "error": {"type": "overloaded_error", "message": words}}),
        ),
        Format::Gemini => {
            (None, json!({"error": {"code": 503, "message": words, "status": "UNAVAILABLE"}}))
        }
        Format::Bedrock => (Some("modelStreamErrorException"), json!({"message": words})),
    }
}

/// The body of a response that is a failure.
pub fn failure_body(wire: Format, words: &str) -> Value {
    match wire {
        Format::OpenaiChat | Format::OpenaiResponses => json!({"error": {
            "message": words, "type": "server_error", "param": null, "code": "server_error",
        }}),
        Format::Anthropic => json!({
            "type": "error", "error": {"type": "overloaded_error", "message": words},
            "request_id": "req_1",
        }),
        Format::Gemini => {
            json!({"error": {"code": 503, "message": words, "status": "UNAVAILABLE"}})
        }
        Format::Bedrock => json!({"message": words, "__type": "ServiceUnavailableException"}),
    }
}

/// What a body says that is a failure, or what is wrong with it.
pub fn read_failure(wire: Format, body: &Value) -> Result<String, String> {
    let error = if wire == Format::Bedrock { body } else { &body["error"] };
    let sound = match wire {
        Format::OpenaiChat | Format::OpenaiResponses => {
            error["type"].is_string() && error.get("code").is_some() && error.get("param").is_some()
        }
        Format::Anthropic => body["type"] == "error" && error["type"].is_string(),
        Format::Gemini => error["code"].is_u64() && error["status"].is_string(),
        Format::Bedrock => error["__type"].is_string(),
    };
    match error["message"].as_str() {
        Some(words) if sound => Ok(words.to_owned()),
        _ => Err(format!("not a failure: {body}")),
    }
}
