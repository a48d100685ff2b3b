//! Errors of the gateway, in the format that the client expects from its provider.

use bytes::Bytes;
use foxwedge_core::Format;
use http::StatusCode;
use serde_json::{Map, Value, json};

use crate::FindingTally;

/// An error that is returned instead of a reply.
#[derive(Clone, Debug)]
pub struct ApiError {
    /// The kind of error.
    pub kind: ApiErrorKind,
    /// The HTTP status, if it differs from that of the kind.
    pub status: Option<StatusCode>,
    /// A message for people, without content of the conversation.
    pub message: String,
    /// A stable code for programs.
    pub code: &'static str,
    /// The location in the request, such as `messages[3]`.
    pub location: Option<Box<str>>,
    /// Further fields of the error object, for programs.
    pub details: Map<String, Value>,
    /// The findings for which a strict route refuses the request.
    pub findings: Box<[FindingTally]>,
    /// When the client should retry, in seconds.
    pub retry_after: Option<u64>,
    /// The client should not retry: the gateway has retried as often as is useful, or the run was
    /// stopped on purpose.
    pub retries_exhausted: bool,
    /// The methods of the path, if that of the request is not one of them.
    pub allowed_methods: Option<AllowedMethods>,
}

/// The methods that a path takes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum AllowedMethods {
    /// GET and HEAD.
    Get,
    /// POST.
    Post,
    /// GET, HEAD and POST.
    GetPost,
    /// GET, POST and DELETE.
    GetPostDelete,
}

impl AllowedMethods {
    /// Their names, separated by commas.
    pub(crate) fn names(self) -> &'static str {
        match self {
            AllowedMethods::Get => "GET, HEAD",
            AllowedMethods::Post => "POST",
            AllowedMethods::GetPost => "GET, HEAD, POST",
            AllowedMethods::GetPostDelete => "GET, POST, DELETE",
        }
    }
}

/// The kind of an error.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ApiErrorKind {
    /// The request is invalid.
    InvalidRequest,
    /// The token is missing or wrong.
    Credentials,
    /// The caller lacks permission.
    Permission,
    /// Not found.
    NotFound,
    /// The HTTP method is not supported.
    MethodNotAllowed,
    /// The client took too long to send its request.
    RequestTimeout,
    /// A conflict with another operation on the same session or run.
    Conflict,
    /// The request is too large.
    TooLarge,
    /// The media type or encoding is not supported.
    Unsupported,
    /// Too many requests.
    RateLimit,
    /// An internal error.
    Server,
    /// The upstream cannot be reached, or its reply cannot be read.
    Upstream,
    /// The gateway is shutting down or overloaded.
    Unavailable,
    /// The upstream took too long.
    UpstreamTimeout,
}

impl ApiErrorKind {
    /// The HTTP status.
    pub fn status(self) -> StatusCode {
        match self {
            ApiErrorKind::InvalidRequest => StatusCode::BAD_REQUEST,
            ApiErrorKind::Credentials => StatusCode::UNAUTHORIZED,
            ApiErrorKind::Permission => StatusCode::FORBIDDEN,
            ApiErrorKind::NotFound => StatusCode::NOT_FOUND,
            ApiErrorKind::MethodNotAllowed => StatusCode::METHOD_NOT_ALLOWED,
            ApiErrorKind::RequestTimeout => StatusCode::REQUEST_TIMEOUT,
            ApiErrorKind::Conflict => StatusCode::CONFLICT,
            ApiErrorKind::TooLarge => StatusCode::PAYLOAD_TOO_LARGE,
            ApiErrorKind::Unsupported => StatusCode::UNSUPPORTED_MEDIA_TYPE,
            ApiErrorKind::RateLimit => StatusCode::TOO_MANY_REQUESTS,
            ApiErrorKind::Server => StatusCode::INTERNAL_SERVER_ERROR,
            ApiErrorKind::Upstream => StatusCode::BAD_GATEWAY,
            ApiErrorKind::Unavailable => StatusCode::SERVICE_UNAVAILABLE,
            ApiErrorKind::UpstreamTimeout => StatusCode::GATEWAY_TIMEOUT,
        }
    }

    /// The `type` in OpenAI's format.
    pub(crate) fn openai_type(self) -> &'static str {
        match self {
            ApiErrorKind::Credentials => "authentication_error",
            ApiErrorKind::Permission => "permission_error",
            ApiErrorKind::RateLimit => "rate_limit_exceeded",
            ApiErrorKind::Server
            | ApiErrorKind::Upstream
            | ApiErrorKind::Unavailable
            | ApiErrorKind::UpstreamTimeout => "server_error",
            ApiErrorKind::InvalidRequest
            | ApiErrorKind::NotFound
            | ApiErrorKind::MethodNotAllowed
            | ApiErrorKind::RequestTimeout
            | ApiErrorKind::Conflict
            | ApiErrorKind::TooLarge
            | ApiErrorKind::Unsupported => "invalid_request_error",
        }
    }

    /// The `type` in Anthropic's format.
    pub(crate) fn anthropic_type(self) -> &'static str {
        match self {
            ApiErrorKind::Credentials => "authentication_error",
            ApiErrorKind::Permission => "permission_error",
            ApiErrorKind::NotFound => "not_found_error",
            ApiErrorKind::TooLarge => "request_too_large",
            ApiErrorKind::RateLimit => "rate_limit_error",
            ApiErrorKind::UpstreamTimeout => "timeout_error",
            ApiErrorKind::Unavailable => "overloaded_error",
            ApiErrorKind::Server | ApiErrorKind::Upstream => "api_error",
            ApiErrorKind::InvalidRequest
            | ApiErrorKind::MethodNotAllowed
            | ApiErrorKind::RequestTimeout
            | ApiErrorKind::Conflict
            | ApiErrorKind::Unsupported => "invalid_request_error",
        }
    }
}

impl ApiError {
    /// Creates an error with a stable code and a message.
    pub fn new(kind: ApiErrorKind, code: &'static str, message: impl Into<String>) -> ApiError {
        let (location, details) = (None, Map::new());
        ApiError {
            kind,
            status: None,
            message: message.into(),
            code,
            location,
            details,
            findings: Box::default(),
            retry_after: None,
            retries_exhausted: false,
            allowed_methods: None,
        }
    }

    /// The HTTP status of the response.
    pub fn status(&self) -> StatusCode {
        self.status.unwrap_or(self.kind.status())
    }

    /// Why an upstream could not be reached, if that is the error.
    pub(crate) fn network_cause(&self) -> Option<&str> {
        matches!(self.code, "upstream_unreachable" | "upstream_timeout" | "upstream_redirect")
            .then_some(&*self.message)
    }

    /// Adds the location in the request.
    #[must_use]
    pub fn at(mut self, location: impl Into<Box<str>>) -> ApiError {
        self.location = Some(location.into());
        self
    }

    /// Adds a field to the details.
    #[must_use]
    pub fn with(mut self, name: &str, value: Value) -> ApiError {
        self.details.insert(name.to_owned(), value);
        self
    }

    /// The response body, in the format of a provider.
    pub fn body(&self, format: Format, request: &str) -> Bytes {
        let body = match format {
            Format::OpenaiChat | Format::OpenaiResponses => {
                let mut error = Map::new();
                error.insert("message".to_owned(), json!(self.message));
                error.insert("type".to_owned(), json!(self.kind.openai_type()));
                error.insert("param".to_owned(), json!(self.location));
                error.insert("code".to_owned(), json!(self.code));
                error.extend(self.details.clone());
                json!({ "error": error })
            }
            Format::GeminiInteractions => {
                let mut error = Map::new();
                error.insert("message".to_owned(), json!(self.message));
                error.insert("code".to_owned(), json!(self.code));
                error.extend(self.details.clone());
                json!({ "error": error })
            }
            Format::Gemini => {
                let mut info = Map::new();
                info.insert("@type".to_owned(), json!("type.googleapis.com/google.rpc.ErrorInfo"));
                info.insert("reason".to_owned(), json!(self.code));
                info.insert("domain".to_owned(), json!("foxwedge"));
                info.insert("metadata".to_owned(), Value::Object(self.details.clone()));
                json!({ "error": {
                    "code": self.status().as_u16(),
                    "message": self.message,
                    "status": google_status(self.status()),
                    "details": [info],
                } })
            }
            Format::Anthropic | Format::Bedrock => {
                let mut error = Map::new();
                error.insert("type".to_owned(), json!(self.kind.anthropic_type()));
                error.insert("message".to_owned(), json!(self.message));
                let mut details = self.details.clone();
                details.entry("code").or_insert_with(|| json!(self.code));
                if let Some(location) = &self.location {
                    details.insert("place".to_owned(), json!(location));
                }
                error.insert("details".to_owned(), Value::Object(details));
                json!({ "type": "error", "error": error, "request_id": request })
            }
        };
        body.to_string().into()
    }
}

/// Google's name for the status of an error.
pub(crate) fn google_status(status: StatusCode) -> &'static str {
    match status.as_u16() {
        401 => "UNAUTHENTICATED",
        402 | 403 => "PERMISSION_DENIED",
        404 | 405 => "NOT_FOUND",
        408 | 504 => "DEADLINE_EXCEEDED",
        409 => "ABORTED",
        429 => "RESOURCE_EXHAUSTED",
        499 => "CANCELLED",
        501 => "UNIMPLEMENTED",
        // From 520 on, a proxy did not reach the provider.
        502 | 503 | 520..=530 => "UNAVAILABLE",
        400..=499 => "INVALID_ARGUMENT",
        _ => "INTERNAL",
    }
}

/// A name for an error message: short and printable.
pub(crate) fn shorten_name(name: &str) -> String {
    name.chars().filter(|c| !c.is_control()).take(100).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_in_googles_format_has_the_status_of_the_response() {
        for (status, name) in [
            (400, "INVALID_ARGUMENT"),
            (401, "UNAUTHENTICATED"),
            (403, "PERMISSION_DENIED"),
            (404, "NOT_FOUND"),
            (408, "DEADLINE_EXCEEDED"),
            (409, "ABORTED"),
            (413, "INVALID_ARGUMENT"),
            (422, "INVALID_ARGUMENT"),
            (429, "RESOURCE_EXHAUSTED"),
            (499, "CANCELLED"),
            (500, "INTERNAL"),
            (501, "UNIMPLEMENTED"),
            (502, "UNAVAILABLE"),
            (503, "UNAVAILABLE"),
            (504, "DEADLINE_EXCEEDED"),
            (529, "UNAVAILABLE"),
        ] {
            let status = StatusCode::from_u16(status).expect("a status");
            let error = ApiError::new(ApiErrorKind::Upstream, "upstream_error", "no");
            let error = ApiError { status: Some(status), ..error };
            let body: Value =
                serde_json::from_slice(&error.body(Format::Gemini, "r1")).expect("JSON");
            let found = (&body["error"]["code"], &body["error"]["status"]);
            assert_eq!(found, (&json!(status.as_u16()), &json!(name)));
        }
    }

    #[test]
    fn an_error_has_the_format_of_the_clients_provider() {
        let error =
            ApiError::new(ApiErrorKind::TooLarge, "too_many_messages", "more than 3 messages")
                .at("messages[3]")
                .with("limit", json!(3));
        assert_eq!(
            error.body(Format::OpenaiChat, "r1"),
            r#"{"error":{"code":"too_many_messages","limit":3,"message":"more than 3 messages","param":"messages[3]","type":"invalid_request_error"}}"#
        );
        assert_eq!(
            error.body(Format::Anthropic, "r1"),
            r#"{"error":{"details":{"code":"too_many_messages","limit":3,"place":"messages[3]"},"message":"more than 3 messages","type":"request_too_large"},"request_id":"r1","type":"error"}"#
        );
    }
}
