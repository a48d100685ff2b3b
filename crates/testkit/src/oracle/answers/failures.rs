//! Provider errors, instead of a response or in the middle of one.

use foxwedge_core::Format;
use serde_json::{Value, json};

/// An error in the middle of a stream.
pub fn failure(format: Format, message: &str) -> (Option<&'static str>, Value) {
    match format {
        Format::OpenaiChat => {
            let error = json!({"message": message, "type": "server_error", "code": null});
            (None, json!({"error": error}))
        }
        Format::OpenaiResponses => (
            Some("error"),
            json!({"type": "error", "code": "server_error", "message": message, "param": null, "sequence_number": 99}),
        ),
        Format::Anthropic => (
            Some("error"),
            json!({"type": "error", "error": {"type": "overloaded_error", "message": message}}),
        ),
        Format::Gemini => {
            (None, json!({"error": {"code": 503, "message": message, "status": "UNAVAILABLE"}}))
        }
        Format::GeminiInteractions => (
            Some("error"),
            json!({"event_type": "error", "error": {"code": "unavailable", "message": message}}),
        ),
        Format::Bedrock => (Some("modelStreamErrorException"), json!({"message": message})),
    }
}

/// The body of an error response.
pub fn failure_body(format: Format, message: &str) -> Value {
    match format {
        Format::OpenaiChat | Format::OpenaiResponses => json!({"error": {
            "message": message, "type": "server_error", "param": null, "code": "server_error",
        }}),
        Format::Anthropic => json!({
            "type": "error", "error": {"type": "overloaded_error", "message": message},
            "request_id": "req_1",
        }),
        Format::Gemini | Format::GeminiInteractions => {
            json!({"error": {"code": 503, "message": message, "status": "UNAVAILABLE"}})
        }
        Format::Bedrock => json!({"message": message, "__type": "ServiceUnavailableException"}),
    }
}

/// The message of an error body, or what is wrong with it.
pub fn read_failure(format: Format, body: &Value) -> Result<String, String> {
    let error = if format == Format::Bedrock { body } else { &body["error"] };
    let sound = match format {
        Format::OpenaiChat | Format::OpenaiResponses => {
            error["type"].is_string() && error.get("code").is_some() && error.get("param").is_some()
        }
        Format::Anthropic => body["type"] == "error" && error["type"].is_string(),
        Format::Gemini | Format::GeminiInteractions => {
            error["code"].is_u64() && error["status"].is_string()
        }
        Format::Bedrock => error["__type"].is_string(),
    };
    match error["message"].as_str() {
        Some(message) if sound => Ok(message.to_owned()),
        _ => Err(format!("not a failure: {body}")),
    }
}
