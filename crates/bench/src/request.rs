//! The requests of the load generator.

use bytes::Bytes;
use serde_json::json;

use crate::history::{HistoryDamage, history, tools};

/// Messages of a long conversation.
const MESSAGES: usize = 200;

/// The format of a request.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum RequestFormat {
    /// OpenAI's Chat Completions.
    Chat,
    /// Anthropic's Messages.
    Anthropic,
}

impl RequestFormat {
    /// By the path of a request.
    pub fn of(path: &str) -> RequestFormat {
        if path.ends_with("/messages") { RequestFormat::Anthropic } else { RequestFormat::Chat }
    }

    /// The path of a request.
    pub fn path(self) -> &'static str {
        match self {
            RequestFormat::Chat => "/v1/chat/completions",
            RequestFormat::Anthropic => "/v1/messages",
        }
    }

    /// By its name.
    pub fn parse(name: &str) -> Option<RequestFormat> {
        match name {
            "chat" => Some(RequestFormat::Chat),
            "anthropic" => Some(RequestFormat::Anthropic),
            _ => None,
        }
    }
}

/// A kind of request.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum RequestKind {
    /// A short text.
    Tiny,
    /// A long conversation with calls and answers.
    History,
    /// The same, broken.
    Broken,
    /// A short text, answered by a stream that comes at once.
    Burst,
    /// A short text, answered by a stream that takes its time.
    Paced,
}

impl RequestKind {
    /// By its name.
    pub fn parse(name: &str) -> Option<RequestKind> {
        match name {
            "tiny" => Some(RequestKind::Tiny),
            "history" => Some(RequestKind::History),
            "broken" => Some(RequestKind::Broken),
            "burst" => Some(RequestKind::Burst),
            "paced" => Some(RequestKind::Paced),
            _ => None,
        }
    }

    /// Whether a stream answers it.
    pub fn streams(self) -> bool {
        match self {
            RequestKind::Tiny | RequestKind::History | RequestKind::Broken => false,
            RequestKind::Burst | RequestKind::Paced => true,
        }
    }

    /// The body of the request.
    pub fn body(self, format: RequestFormat, model: &str) -> Bytes {
        let message = |text: &str| json!([{"role": "user", "content": text}]);
        let messages = match self {
            RequestKind::Tiny | RequestKind::Burst => message("Hello, say hi."),
            // The mock looks for the word.
            RequestKind::Paced => message("Hello, paced."),
            RequestKind::History => history(MESSAGES, format, HistoryDamage::None),
            RequestKind::Broken => history(MESSAGES, format, HistoryDamage::Broken),
        };
        let mut body = json!({"model": model, "messages": messages});
        if self.streams() {
            body["stream"] = true.into();
        }
        if matches!(self, RequestKind::History | RequestKind::Broken) {
            body["tools"] = tools(format);
        }
        match format {
            RequestFormat::Chat => {}
            RequestFormat::Anthropic => body["max_tokens"] = 1_024.into(),
        }
        body.to_string().into()
    }
}
