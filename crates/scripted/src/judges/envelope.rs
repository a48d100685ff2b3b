//! The bodies of error responses.

use serde_json::{Value, json};

use super::{JudgeObjection, ScriptedProvider};
use crate::stable_hasher::StableHasher;

/// The body of a refusal.
pub(super) fn write(
    provider: ScriptedProvider,
    objection: &JudgeObjection,
    request: &[u8],
) -> String {
    let message = &objection.message;
    let kind = objection.kind.unwrap_or("invalid_request_error");
    let body = match provider {
        ScriptedProvider::OpenaiChat | ScriptedProvider::OpenaiResponses => json!({"error": {
            "message": message, "type": kind, "param": objection.param, "code": objection.code
        }}),
        ScriptedProvider::Deepseek => json!({"error": {
            "message": message, "type": kind, "param": null, "code": "invalid_request_error"
        }}),
        ScriptedProvider::Anthropic => {
            let mut error = json!({"type": kind, "message": message});
            if let (Some(code), Some(error)) = (objection.code, error.as_object_mut()) {
                error.insert("details".to_owned(), json!({"error_code": code}));
            }
            let id = StableHasher::new("refusal").with_field(request).letters(24);
            json!({"type": "error", "error": error, "request_id": format!("req_{id}")})
        }
        ScriptedProvider::Gemini | ScriptedProvider::GeminiInteractions => {
            let status = objection.kind.unwrap_or("INVALID_ARGUMENT");
            json!({"error": {"code": objection.status, "message": message, "status": status}})
        }
        ScriptedProvider::Mistral if objection.status == 422 => {
            let place = objection.param.as_deref().unwrap_or("body");
            let place: Vec<Value> = place
                .split('.')
                .map(|step| step.parse::<u64>().map_or_else(|_| json!(step), |index| json!(index)))
                .collect();
            let kind = objection.kind.unwrap_or("value_error");
            let detail = json!([{"type": kind, "loc": place, "msg": message}]);
            json!({
                "object": "error", "message": {"detail": detail},
                "type": "invalid_request_error", "param": null, "code": null
            })
        }
        ScriptedProvider::Mistral => json!({
            "object": "error", "message": message, "type": kind, "param": null,
            "code": objection.code
        }),
    };
    body.to_string()
}

/// The body of an error that is unrelated to the request.
pub(crate) fn fault(provider: ScriptedProvider, status: u16) -> String {
    let message = words(provider, status);
    let objection = JudgeObjection { status, message, param: None, code: None, kind: None };
    let objection = match provider {
        ScriptedProvider::Anthropic => objection.kind(match status {
            401 => "authentication_error",
            402 => "billing_error",
            403 => "permission_error",
            404 => "not_found_error",
            413 => "request_too_large",
            429 => "rate_limit_error",
            504 => "timeout_error",
            529 => "overloaded_error",
            400..500 => "invalid_request_error",
            _ => "api_error",
        }),
        ScriptedProvider::Gemini | ScriptedProvider::GeminiInteractions => {
            objection.kind(match status {
                401 => "UNAUTHENTICATED",
                403 => "PERMISSION_DENIED",
                404 => "NOT_FOUND",
                429 => "RESOURCE_EXHAUSTED",
                503 | 529 => "UNAVAILABLE",
                504 => "DEADLINE_EXCEEDED",
                400..500 => "INVALID_ARGUMENT",
                _ => "INTERNAL",
            })
        }
        ScriptedProvider::OpenaiChat
        | ScriptedProvider::OpenaiResponses
        | ScriptedProvider::Mistral
        | ScriptedProvider::Deepseek => match status {
            401 => objection.code("invalid_api_key"),
            404 => objection.code("model_not_found"),
            429 => objection.kind("requests").code("rate_limit_exceeded"),
            400..500 => objection,
            _ => objection.kind("server_error"),
        },
    };
    write(provider, &objection, &status.to_be_bytes())
}

fn words(provider: ScriptedProvider, status: u16) -> String {
    match (provider, status) {
        (ScriptedProvider::Anthropic, 401) => "invalid x-api-key",
        (ScriptedProvider::Anthropic, 404) => "model: scripted",
        (ScriptedProvider::Anthropic, 413) => "Request exceeds the maximum size",
        (ScriptedProvider::Anthropic, 429) => {
            "This request would exceed your account's rate limit. Please try again later."
        }
        (ScriptedProvider::Anthropic, 529) => "Overloaded",
        (ScriptedProvider::Anthropic, 500..) => "Internal server error",
        (ScriptedProvider::Gemini | ScriptedProvider::GeminiInteractions, 401 | 403) => {
            "API key not valid. Please pass a valid API key."
        }
        (ScriptedProvider::Gemini | ScriptedProvider::GeminiInteractions, 429) => {
            "You exceeded your current quota, please check your plan and billing details."
        }
        (ScriptedProvider::Gemini | ScriptedProvider::GeminiInteractions, 503 | 529) => {
            "The model is overloaded. Please try again later."
        }
        (ScriptedProvider::Gemini | ScriptedProvider::GeminiInteractions, 500..) => {
            "An internal error has occurred."
        }
        (_, 401) => "Incorrect API key provided: scripted.",
        (_, 403) => "You are not allowed to use this model.",
        (_, 404) => "The model `scripted` does not exist or you do not have access to it.",
        (_, 413) => "Request body is too large.",
        (_, 429) => "Rate limit reached for scripted. Please try again later.",
        (_, 503 | 529) => "The engine is currently overloaded, please try again later",
        (_, 500..) => "The server had an error while processing your request. Sorry about that!",
        (_, _) => "The request was rejected on demand.",
    }
    .to_owned()
}
