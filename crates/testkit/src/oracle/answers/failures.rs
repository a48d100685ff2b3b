//! What providers say instead of an answer, or in the middle of one.

use foxwedge_core::Wire;
use serde_json::{Value, json};

/// A failure in the middle of a stream.
pub fn failure(wire: Wire, words: &str) -> (Option<&'static str>, Value) {
    match wire {
        Wire::OpenaiChat => {
            let error = json!({"message": words, "type": "server_error", "code": null});
            (None, json!({"error": error}))
        }
        Wire::OpenaiResponses => (
            Some("error"),
            json!({"type": "error", "code": "server_error", "message": words, "param": null, "sequence_number": 99}),
        ),
        Wire::Anthropic => (
            Some("error"),
            json!({"type": "error", "error": {"type": "overloaded_error", "message": words}}),
        ),
        Wire::Gemini => {
            (None, json!({"error": {"code": 503, "message": words, "status": "UNAVAILABLE"}}))
        }
        Wire::Bedrock => (Some("modelStreamErrorException"), json!({"message": words})),
    }
}

/// The body of a response that is a failure.
pub fn failure_body(wire: Wire, words: &str) -> Value {
    match wire {
        Wire::OpenaiChat | Wire::OpenaiResponses => json!({"error": {
            "message": words, "type": "server_error", "param": null, "code": "server_error",
        }}),
        Wire::Anthropic => json!({
            "type": "error", "error": {"type": "overloaded_error", "message": words},
            "request_id": "req_1",
        }),
        Wire::Gemini => json!({"error": {"code": 503, "message": words, "status": "UNAVAILABLE"}}),
        Wire::Bedrock => json!({"message": words, "__type": "ServiceUnavailableException"}),
    }
}

/// What a body says that is a failure, or what is wrong with it.
pub fn read_failure(wire: Wire, body: &Value) -> Result<String, String> {
    let error = if wire == Wire::Bedrock { body } else { &body["error"] };
    let sound = match wire {
        Wire::OpenaiChat | Wire::OpenaiResponses => {
            error["type"].is_string() && error.get("code").is_some() && error.get("param").is_some()
        }
        Wire::Anthropic => body["type"] == "error" && error["type"].is_string(),
        Wire::Gemini => error["code"].is_u64() && error["status"].is_string(),
        Wire::Bedrock => error["__type"].is_string(),
    };
    match error["message"].as_str() {
        Some(words) if sound => Ok(words.to_owned()),
        _ => Err(format!("not a failure: {body}")),
    }
}
