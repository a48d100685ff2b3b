//! Errors of an upstream, as the client gets them: in its format, with the provider's reason.

use bytes::Bytes;
use foxwedge_core::{Format, is_context_overflow};
use foxwedge_formats::model::{
    ModelResponse, ProviderError, ProviderErrorKind, decode_reply, encode_reply,
};
use http::StatusCode;
use serde_json::{Map, Value, json};

use super::{ResponseBuilder, error_reason::error_reason};
use crate::{ApiError, ApiErrorKind, api_error::google_status};

/// The lists that replies have, and errors have not.
const REPLY_LISTS: [&str; 5] = ["choices", "output", "content", "candidates", "steps"];

/// The status and the body of an upstream's error for the client. An error in the client's format
/// passes as it is.
pub(super) fn client_error(
    reply: &ResponseBuilder<'_>,
    status: StatusCode,
    body: &[u8],
) -> (StatusCode, Bytes) {
    let prepared = reply.routed_request;
    let upstream = &prepared.route.upstream;
    let (from, to) = (prepared.format, reply.request.endpoint.format());
    let text = upstream.redact_secrets(String::from_utf8_lossy(body).into_owned());
    if from == to
        && let Some(passed) = passed_error(&text, to, status)
    {
        return (status, passed.into());
    }
    let failure = decode_reply(&text, from).ok().and_then(|decoded| match decoded.outcome {
        ModelResponse::Error(failure) => Some(failure),
        ModelResponse::Reply(_) => None,
    });
    if let Some(mut failure) = failure {
        if failure.message.trim().is_empty() {
            let reason = error_reason(&text, upstream);
            failure.message = unclear_message(status, reason.as_deref()).into();
        }
        let (status, body) = encode_error(failure, from, to, status);
        return (status, upstream.redact_secrets(body).into());
    }
    let reason = error_reason(&text, upstream);
    if let Some(reason) = &reason
        && status != StatusCode::TOO_MANY_REQUESTS
        && is_context_overflow(reason)
    {
        let kind = ProviderErrorKind::ContextOverflow;
        let failure = ProviderError { kind, message: reason.as_str().into(), code: None };
        let (status, body) = encode_error(failure, from, to, status);
        return (status, body.into());
    }
    let error = unclear_error(status, reason.as_deref());
    (status, error.body(to, &reply.request.id))
}

/// An error that is in the client's format already. A reply with an error inside is not.
fn passed_error(text: &str, format: Format, status: StatusCode) -> Option<String> {
    let mut value = serde_json::from_str::<Value>(text).ok()?;
    let is_google = matches!(format, Format::Gemini | Format::GeminiInteractions);
    let fields = match &mut value {
        Value::Object(fields) => fields,
        Value::Array(bodies) if is_google => bodies.first_mut()?.as_object_mut()?,
        Value::Array(_) | Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {
            return None;
        }
    };
    let has_error = fields.get("error").is_some_and(|error| !error.is_null());
    if !has_error && REPLY_LISTS.iter().any(|name| fields.contains_key(*name)) {
        return None;
    }
    match is_google && correct_google_error(fields, status) {
        true => Some(value.to_string()),
        false => Some(text.to_owned()),
    }
}

/// Gives an error the code of the status that the client gets. Returns whether it had another one.
fn correct_google_error(fields: &mut Map<String, Value>, status: StatusCode) -> bool {
    let Some(error) = fields.get_mut("error").and_then(Value::as_object_mut) else { return false };
    let is_wrong = error.get("code").and_then(Value::as_u64) != Some(status.as_u16().into());
    // The Interactions API has names as codes.
    if !is_wrong || error.get("code").is_some_and(Value::is_string) {
        return false;
    }
    error.insert("code".to_owned(), status.as_u16().into());
    error.insert("status".to_owned(), google_status(status).into());
    true
}

/// Writes a provider error in another format. The status determines the kind, since some formats
/// have one name for many kinds.
pub(super) fn encode_error(
    mut failure: ProviderError<'_>,
    from: Format,
    to: Format,
    status: StatusCode,
) -> (StatusCode, String) {
    failure.kind = match status.as_u16() {
        _ if failure.kind == ProviderErrorKind::ContextOverflow => failure.kind,
        401 => ProviderErrorKind::Authentication,
        403 => ProviderErrorKind::Permission,
        404 => ProviderErrorKind::NotFound,
        408 | 504 => ProviderErrorKind::Timeout,
        413 => ProviderErrorKind::TooLarge,
        429 => ProviderErrorKind::RateLimit,
        503 | 529 => ProviderErrorKind::Overloaded,
        // Bedrock names the kind in a header.
        400 | 422 if failure.kind == ProviderErrorKind::Server => ProviderErrorKind::InvalidRequest,
        _ => failure.kind,
    };
    let status = match failure.kind {
        // Google reports an invalid key as an invalid request.
        ProviderErrorKind::Authentication => StatusCode::UNAUTHORIZED,
        ProviderErrorKind::ContextOverflow => StatusCode::BAD_REQUEST,
        _ => status,
    };
    if failure.kind == ProviderErrorKind::Overloaded
        && from == Format::Anthropic
        && matches!(to, Format::OpenaiChat | Format::OpenaiResponses)
    {
        // OpenAI has no name for this kind.
        failure.kind = ProviderErrorKind::Server;
    }
    let body = match to {
        // Its libraries read the status from the body.
        Format::Gemini | Format::GeminiInteractions => {
            let (code, message) = (status.as_u16(), &*failure.message);
            let status = google_status(status);
            json!({ "error": { "code": code, "message": message, "status": status } }).to_string()
        }
        Format::OpenaiChat | Format::OpenaiResponses | Format::Anthropic | Format::Bedrock => {
            encode_reply(&ModelResponse::Error(failure), to, "").body
        }
    };
    (status, body)
}

/// The error for a failure whose body is in no format.
fn unclear_error(status: StatusCode, reason: Option<&str>) -> ApiError {
    let kind = match status.as_u16() {
        401 => ApiErrorKind::Credentials,
        403 => ApiErrorKind::Permission,
        404 => ApiErrorKind::NotFound,
        413 => ApiErrorKind::TooLarge,
        429 => ApiErrorKind::RateLimit,
        400..500 => ApiErrorKind::InvalidRequest,
        503 | 529 => ApiErrorKind::Unavailable,
        504 => ApiErrorKind::UpstreamTimeout,
        _ => ApiErrorKind::Upstream,
    };
    let error = ApiError::new(kind, "upstream_error", unclear_message(status, reason));
    ApiError { status: Some(status), ..error }
}

fn unclear_message(status: StatusCode, reason: Option<&str>) -> String {
    let number = status.as_u16();
    match reason {
        Some(reason) => format!("the upstream returned status {number}: {reason}"),
        None => format!("the upstream returned status {number}"),
    }
}
