//! What goes wrong on our side, in the form in which the client expects its provider's errors.

use bytes::Bytes;
use foxwedge_core::Format;
use http::StatusCode;
use serde_json::{Map, Value, json};

/// A request that gets an error instead of a reply.
#[derive(Clone, Debug)]
pub struct ApiError {
    /// What kind of trouble.
    pub kind: ApiErrorKind,
    /// The status, if it is another than that of its kind.
    pub status: Option<StatusCode>,
    /// In words, without content.
    pub message: String,
    /// In a word: stable, for programs.
    pub code: &'static str,
    /// The place in the request, such as `messages[3]`.
    pub location: Option<String>,
    /// More, for programs: fields of the error object.
    pub details: Map<String, Value>,
    /// When to come back, in seconds.
    pub retry_after: Option<u64>,
    /// It was tried as often as it is good for: the client need not do so.
    pub retries_exhausted: bool,
}

/// What kind of trouble.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ApiErrorKind {
    /// The request is wrong.
    InvalidRequest,
    /// No or a wrong token.
    Credentials,
    /// Not allowed.
    Permission,
    /// No such thing.
    NotFound,
    /// Not in this way.
    MethodNotAllowed,
    /// The client took too long.
    RequestTimeout,
    /// Something else is at work on the same thing.
    Conflict,
    /// Too large.
    TooLarge,
    /// Not in this form.
    Unsupported,
    /// Too many requests.
    RateLimit,
    /// Something on our side.
    Server,
    /// The upstream cannot be reached, or makes no sense.
    Upstream,
    /// We are about to stop, or have too much to do.
    Unavailable,
    /// The upstream took too long.
    UpstreamTimeout,
}

impl ApiErrorKind {
    /// Its status.
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

    /// OpenAI's name for it.
    fn openai_type(self) -> &'static str {
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

    /// Anthropic's name for it.
    fn anthropic_type(self) -> &'static str {
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
    /// A fault, in a word and in words.
    pub fn new(kind: ApiErrorKind, code: &'static str, message: impl Into<String>) -> ApiError {
        let (place, details) = (None, Map::new());
        ApiError {
            kind,
            status: None,
            message: message.into(),
            code,
            location: place,
            details,
            retry_after: None,
            retries_exhausted: false,
        }
    }

    /// The status of its reply.
    pub fn status(&self) -> StatusCode {
        self.status.unwrap_or(self.kind.status())
    }

    /// At a place of the request.
    #[must_use]
    pub fn at(mut self, place: impl Into<String>) -> ApiError {
        self.location = Some(place.into());
        self
    }

    /// With a field more.
    #[must_use]
    pub fn with(mut self, name: &str, value: Value) -> ApiError {
        self.details.insert(name.to_owned(), value);
        self
    }

    /// The body, in the form of a provider.
    pub fn body(&self, wire: Format, request: &str) -> Bytes {
        let body = match wire {
            Format::OpenaiChat | Format::OpenaiResponses => {
                let mut error = Map::new();
                error.insert("message".to_owned(), json!(self.message));
                error.insert("type".to_owned(), json!(self.kind.openai_type()));
                error.insert("param".to_owned(), json!(self.location));
                error.insert("code".to_owned(), json!(self.code));
                error.extend(self.details.clone());
                json!({ "error": error })
            }
            Format::Anthropic | Format::Bedrock | Format::Gemini => {
                let mut error = Map::new();
                error.insert("type".to_owned(), json!(self.kind.anthropic_type()));
                error.insert("message".to_owned(), json!(self.message));
                let mut details = self.details.clone();
                details.entry("code").or_insert_with(|| json!(self.code));
                if let Some(place) = &self.location {
                    details.insert("place".to_owned(), json!(place));
                }
                error.insert("details".to_owned(), Value::Object(details));
                json!({ "type": "error", "error": error, "request_id": request })
            }
        };
        body.to_string().into()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_fault_looks_like_an_error_of_the_clients_provider() {
        let fault =
            ApiError::new(ApiErrorKind::TooLarge, "too_many_messages", "more than 3 messages")
                .at("messages[3]")
                .with("limit", json!(3));
        assert_eq!(
            fault.body(Format::OpenaiChat, "r1"),
            r#"{"error":{"code":"too_many_messages","limit":3,"message":"more than 3 messages","param":"messages[3]","type":"invalid_request_error"}}"#
        );
        assert_eq!(
            fault.body(Format::Anthropic, "r1"),
            r#"{"error":{"details":{"code":"too_many_messages","limit":3,"place":"messages[3]"},"message":"more than 3 messages","type":"request_too_large"},"request_id":"r1","type":"error"}"#
        );
    }
}
