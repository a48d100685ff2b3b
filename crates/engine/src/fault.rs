//! What goes wrong on our side, in the form in which the client expects its provider's errors.

use bytes::Bytes;
use foxwedge_core::Wire;
use http::StatusCode;
use serde_json::{Map, Value, json};

/// A request that gets an error instead of a reply.
#[derive(Clone, Debug)]
pub struct Fault {
    /// What kind of trouble.
    pub kind: Kind,
    /// The status, if it is another than that of its kind.
    pub status: Option<StatusCode>,
    /// In words, without content.
    pub message: String,
    /// In a word: stable, for programs.
    pub code: &'static str,
    /// The place in the request, such as `messages[3]`.
    pub place: Option<String>,
    /// More, for programs: fields of the error object.
    pub details: Map<String, Value>,
    /// When to come back, in seconds.
    pub retry_after: Option<u64>,
    /// It was tried as often as it is good for: the client need not do so.
    pub tried_enough: bool,
}

/// What kind of trouble.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Kind {
    /// The request is wrong.
    Request,
    /// No or a wrong token.
    Credentials,
    /// Not allowed.
    Permission,
    /// No such thing.
    NotFound,
    /// Not in this way.
    Method,
    /// The client took too long.
    Slow,
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
    Timeout,
}

impl Kind {
    /// Its status.
    pub fn status(self) -> StatusCode {
        match self {
            Kind::Request => StatusCode::BAD_REQUEST,
            Kind::Credentials => StatusCode::UNAUTHORIZED,
            Kind::Permission => StatusCode::FORBIDDEN,
            Kind::NotFound => StatusCode::NOT_FOUND,
            Kind::Method => StatusCode::METHOD_NOT_ALLOWED,
            Kind::Slow => StatusCode::REQUEST_TIMEOUT,
            Kind::Conflict => StatusCode::CONFLICT,
            Kind::TooLarge => StatusCode::PAYLOAD_TOO_LARGE,
            Kind::Unsupported => StatusCode::UNSUPPORTED_MEDIA_TYPE,
            Kind::RateLimit => StatusCode::TOO_MANY_REQUESTS,
            Kind::Server => StatusCode::INTERNAL_SERVER_ERROR,
            Kind::Upstream => StatusCode::BAD_GATEWAY,
            Kind::Unavailable => StatusCode::SERVICE_UNAVAILABLE,
            Kind::Timeout => StatusCode::GATEWAY_TIMEOUT,
        }
    }

    /// OpenAI's name for it.
    fn openai(self) -> &'static str {
        match self {
            Kind::Credentials => "authentication_error",
            Kind::Permission => "permission_error",
            Kind::RateLimit => "rate_limit_exceeded",
            Kind::Server | Kind::Upstream | Kind::Unavailable | Kind::Timeout => "server_error",
            Kind::Request
            | Kind::NotFound
            | Kind::Method
            | Kind::Slow
            | Kind::Conflict
            | Kind::TooLarge
            | Kind::Unsupported => "invalid_request_error",
        }
    }

    /// Anthropic's name for it.
    fn anthropic(self) -> &'static str {
        match self {
            Kind::Credentials => "authentication_error",
            Kind::Permission => "permission_error",
            Kind::NotFound => "not_found_error",
            Kind::TooLarge => "request_too_large",
            Kind::RateLimit => "rate_limit_error",
            Kind::Timeout => "timeout_error",
            Kind::Unavailable => "overloaded_error",
            Kind::Server | Kind::Upstream => "api_error",
            Kind::Request | Kind::Method | Kind::Slow | Kind::Conflict | Kind::Unsupported => {
                "invalid_request_error"
            }
        }
    }
}

impl Fault {
    /// A fault, in a word and in words.
    pub fn new(kind: Kind, code: &'static str, message: impl Into<String>) -> Fault {
        let (place, details) = (None, Map::new());
        Fault {
            kind,
            status: None,
            message: message.into(),
            code,
            place,
            details,
            retry_after: None,
            tried_enough: false,
        }
    }

    /// The status of its reply.
    pub fn status(&self) -> StatusCode {
        self.status.unwrap_or(self.kind.status())
    }

    /// At a place of the request.
    #[must_use]
    pub fn at(mut self, place: impl Into<String>) -> Fault {
        self.place = Some(place.into());
        self
    }

    /// With a field more.
    #[must_use]
    pub fn with(mut self, name: &str, value: Value) -> Fault {
        self.details.insert(name.to_owned(), value);
        self
    }

    /// The body, in the form of a provider.
    pub fn body(&self, wire: Wire, request: &str) -> Bytes {
        let body = match wire {
            Wire::OpenaiChat | Wire::OpenaiResponses => {
                let mut error = Map::new();
                error.insert("message".to_owned(), json!(self.message));
                error.insert("type".to_owned(), json!(self.kind.openai()));
                error.insert("param".to_owned(), json!(self.place));
                error.insert("code".to_owned(), json!(self.code));
                error.extend(self.details.clone());
                json!({ "error": error })
            }
            Wire::Anthropic | Wire::Bedrock | Wire::Gemini => {
                let mut error = Map::new();
                error.insert("type".to_owned(), json!(self.kind.anthropic()));
                error.insert("message".to_owned(), json!(self.message));
                let mut details = self.details.clone();
                details.entry("code").or_insert_with(|| json!(self.code));
                if let Some(place) = &self.place {
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
        let fault = Fault::new(Kind::TooLarge, "too_many_messages", "more than 3 messages")
            .at("messages[3]")
            .with("limit", json!(3));
        assert_eq!(
            fault.body(Wire::OpenaiChat, "r1"),
            r#"{"error":{"code":"too_many_messages","limit":3,"message":"more than 3 messages","param":"messages[3]","type":"invalid_request_error"}}"#
        );
        assert_eq!(
            fault.body(Wire::Anthropic, "r1"),
            r#"{"error":{"details":{"code":"too_many_messages","limit":3,"place":"messages[3]"},"message":"more than 3 messages","type":"request_too_large"},"request_id":"r1","type":"error"}"#
        );
    }
}
