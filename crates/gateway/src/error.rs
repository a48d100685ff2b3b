//! The errors of the server: one place decides status and body. An [`ApiError`] holds what is
//! wrong; the client receives it in the error format of its provider API.

use crate::{AllowedMethods, ApiError, ApiErrorKind, GatewayEndpoint};
use foxwedge_core::Format;
use http::{HeaderMap, HeaderValue, StatusCode, header};

use crate::response_body::{HttpReply, JSON, ResponseBody};

/// The content encodings of request bodies that are supported.
pub(crate) const BODY_ENCODINGS: &str = "gzip, deflate, zstd";

/// Encodes an error in the format that the client expects.
pub(crate) fn reply(error: &ApiError, format: Format, id: &str) -> HttpReply {
    let mut reply = ResponseBody::reply(error.status(), JSON, error.body(format, id));
    let headers = reply.headers_mut();
    if let Some(seconds) = error.retry_after {
        headers.insert(header::RETRY_AFTER, seconds.into());
    }
    if let Some(methods) = error.allowed_methods {
        headers.insert(header::ALLOW, HeaderValue::from_static(methods.names()));
    }
    // The rest of an unreadable body must not be parsed as the next request.
    if error.status() == StatusCode::NOT_IMPLEMENTED {
        headers.insert(header::CONNECTION, HeaderValue::from_static("close"));
    }
    match error.kind {
        ApiErrorKind::Credentials => {
            headers.insert(header::WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
        }
        // RFC 7694: the header tells an encoding that is not supported from a media type that is not.
        ApiErrorKind::Unsupported
            if error.location.as_deref() == Some(header::CONTENT_ENCODING.as_str()) =>
        {
            let encodings = HeaderValue::from_static(BODY_ENCODINGS);
            headers.insert(header::ACCEPT_ENCODING, encodings);
        }
        ApiErrorKind::InvalidRequest
        | ApiErrorKind::Permission
        | ApiErrorKind::NotFound
        | ApiErrorKind::MethodNotAllowed
        | ApiErrorKind::RequestTimeout
        | ApiErrorKind::Conflict
        | ApiErrorKind::TooLarge
        | ApiErrorKind::Unsupported
        | ApiErrorKind::RateLimit
        | ApiErrorKind::Server
        | ApiErrorKind::Upstream
        | ApiErrorKind::Unavailable
        | ApiErrorKind::UpstreamTimeout => {}
    }
    reply
}

/// The format in which clients of this path expect errors.
pub(crate) fn error_format(path: &str, headers: &HeaderMap) -> Format {
    if path.starts_with("/v1/messages") {
        Format::Anthropic
    } else if path.starts_with("/v1/responses") {
        Format::OpenaiResponses
    } else if path.starts_with("/v1beta/interactions") {
        Format::GeminiInteractions
    } else if path.starts_with("/v1beta/models") || GatewayEndpoint::with_model(path).is_some() {
        Format::Gemini
    } else if path == "/v1/chat/completions" {
        Format::OpenaiChat
    } else {
        client_format(path, headers)
    }
}

/// The format of a client where the path does not tell: models and files exist in several APIs.
pub(crate) fn client_format(path: &str, headers: &HeaderMap) -> Format {
    let has = |name| headers.contains_key(name);
    if has("anthropic-version") {
        Format::Anthropic
    } else if has("x-goog-api-client")
        || has("x-goog-api-key")
        || path.starts_with("/v1beta/")
        || path.starts_with("/upload/")
    {
        Format::Gemini
    } else {
        Format::OpenaiChat
    }
}

pub(crate) fn bad_host() -> ApiError {
    ApiError::new(
        ApiErrorKind::Permission,
        "host_not_allowed",
        "this host name is not allowed; add it to `access.hosts` to allow it",
    )
}

pub(crate) fn bad_origin() -> ApiError {
    ApiError::new(
        ApiErrorKind::Permission,
        "origin_not_allowed",
        "this origin is not allowed; add it to `access.origins` to allow it",
    )
}

pub(crate) fn bad_token() -> ApiError {
    ApiError::new(
        ApiErrorKind::Credentials,
        "invalid_api_key",
        "missing or invalid token: use `Authorization: Bearer`, `x-api-key`, `x-goog-api-key` or \
         `x-foxwedge-token`",
    )
}

pub(crate) fn upstream_header(header: &str) -> ApiError {
    ApiError::new(
        ApiErrorKind::InvalidRequest,
        "upstream_not_yours",
        format!("the header `{header}` is not allowed: upstreams are chosen by the configuration"),
    )
}

pub(crate) fn bad_request(message: &'static str) -> ApiError {
    ApiError::new(ApiErrorKind::InvalidRequest, "bad_request", message)
}

/// The error for a query parameter or a header; `problem` continues a sentence that its name starts.
pub(crate) fn bad_parameter(name: &str, problem: &str) -> ApiError {
    bad_input(format!("`{name}` {problem}")).at(name)
}

/// The error for a body that is not what an endpoint takes.
pub(crate) fn bad_input(message: String) -> ApiError {
    ApiError::new(ApiErrorKind::InvalidRequest, "bad_request", message)
}

pub(crate) fn too_large(limit: usize) -> ApiError {
    ApiError::new(
        ApiErrorKind::TooLarge,
        "body_too_large",
        format!("the body is larger than {limit} bytes"),
    )
}

pub(crate) fn unsupported(message: &'static str) -> ApiError {
    ApiError::new(ApiErrorKind::Unsupported, "unsupported_body", message)
}

pub(crate) fn transfer_encoding() -> ApiError {
    let message = "unsupported transfer encoding: only `chunked` is supported";
    let mut error =
        ApiError::new(ApiErrorKind::Unsupported, "unsupported_transfer_encoding", message);
    error.status = Some(StatusCode::NOT_IMPLEMENTED);
    error
}

pub(crate) fn body_too_slow() -> ApiError {
    ApiError::new(
        ApiErrorKind::RequestTimeout,
        "body_too_slow",
        "timed out while reading the request body",
    )
}

pub(crate) fn broken_body() -> ApiError {
    bad_request("the request body is incomplete")
}

pub(crate) fn not_found() -> ApiError {
    ApiError::new(
        ApiErrorKind::NotFound,
        "not_found",
        "no such path; base URLs of OpenAI clients end with `/v1`, those of Anthropic clients do not",
    )
}

/// The error for a path of a model with a method that is neither served nor forwarded.
pub(crate) fn unknown_model_method() -> ApiError {
    ApiError::new(
        ApiErrorKind::NotFound,
        "not_found",
        "no such path: in `/v1beta/models/{model}:{method}`, the method is one of \
         generateContent, streamGenerateContent, countTokens, embedContent, batchEmbedContents, \
         predict, predictLongRunning",
    )
}

pub(crate) fn method_not_allowed(allowed: AllowedMethods) -> ApiError {
    let message = format!("method not allowed: use {}", allowed.names());
    ApiError {
        allowed_methods: Some(allowed),
        ..ApiError::new(ApiErrorKind::MethodNotAllowed, "method_not_allowed", message)
    }
}

/// Clients that try a WebSocket first take this status as a sign to send a request at once.
pub(crate) fn websocket_unsupported() -> ApiError {
    let message = "WebSocket connections are not supported: send a POST request";
    ApiError {
        status: Some(StatusCode::UPGRADE_REQUIRED),
        ..ApiError::new(ApiErrorKind::MethodNotAllowed, "websocket_unsupported", message)
    }
}

pub(crate) fn model_not_found() -> ApiError {
    ApiError::new(
        ApiErrorKind::NotFound,
        "model_not_found",
        "no provider is configured for this model",
    )
}

pub(crate) fn too_many_requests() -> ApiError {
    let mut error = ApiError::new(
        ApiErrorKind::RateLimit,
        "too_many_requests",
        "this token has reached its limit of concurrent requests",
    );
    error.retry_after = Some(1);
    error
}

pub(crate) fn internal_error() -> ApiError {
    ApiError::new(ApiErrorKind::Server, "internal_error", "internal error")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_path_decides_the_error_format() {
        let anthropic = HeaderMap::from_iter([(
            http::HeaderName::from_static("anthropic-version"),
            HeaderValue::from_static("2023-06-01"),
        )]);
        let none = HeaderMap::new();
        for (path, headers, expected) in [
            ("/v1/messages", &none, Format::Anthropic),
            ("/v1/messages/count_tokens", &none, Format::Anthropic),
            ("/v1/responses", &none, Format::OpenaiResponses),
            ("/v1beta/interactions", &none, Format::GeminiInteractions),
            ("/v1/chat/completions", &anthropic, Format::OpenaiChat),
            ("/v1/models", &anthropic, Format::Anthropic),
            ("/v1/models", &none, Format::OpenaiChat),
            ("/nowhere", &none, Format::OpenaiChat),
        ] {
            assert_eq!(error_format(path, headers), expected, "{path}");
        }
        let reply = reply(&too_many_requests(), Format::Anthropic, "r1");
        assert_eq!(reply.status(), 429);
        assert_eq!(reply.headers()[header::RETRY_AFTER], "1");
    }
}
