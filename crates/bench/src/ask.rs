//! What is asked.

use bytes::Bytes;
use serde_json::json;

use crate::history::{Damage, history, tools};

/// Messages of a long conversation.
const MESSAGES: usize = 200;

/// Whose form a request has.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Format {
    /// OpenAI's Chat Completions.
    Chat,
    /// Anthropic's Messages.
    Anthropic,
}

impl Format {
    /// By the path of a request.
    pub fn of(path: &str) -> Format {
        if path.ends_with("/messages") { Format::Anthropic } else { Format::Chat }
    }

    /// The path of a request.
    pub fn path(self) -> &'static str {
        match self {
            Format::Chat => "/v1/chat/completions",
            Format::Anthropic => "/v1/messages",
        }
    }

    /// By its name.
    pub fn parse(name: &str) -> Option<Format> {
        match name {
            "chat" => Some(Format::Chat),
            "anthropic" => Some(Format::Anthropic),
            _ => None,
        }
    }
}

/// A kind of request.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Ask {
    /// A few words.
    Tiny,
    /// A long conversation with calls and answers.
    History,
    /// The same, broken.
    Broken,
    /// A few words, answered by a stream that comes at once.
    Burst,
    /// A few words, answered by a stream that takes its time.
    Paced,
}

impl Ask {
    /// By its name.
    pub fn parse(name: &str) -> Option<Ask> {
        match name {
            "tiny" => Some(Ask::Tiny),
            "history" => Some(Ask::History),
            "broken" => Some(Ask::Broken),
            "burst" => Some(Ask::Burst),
            "paced" => Some(Ask::Paced),
            _ => None,
        }
    }

    /// Whether a stream answers it.
    pub fn streams(self) -> bool {
        match self {
            Ask::Tiny | Ask::History | Ask::Broken => false,
            Ask::Burst | Ask::Paced => true,
        }
    }

    /// The body of the request.
    pub fn body(self, format: Format, model: &str) -> Bytes {
        let words = |text: &str| json!([{"role": "user", "content": text}]);
        let messages = match self {
            Ask::Tiny | Ask::Burst => words("Hello, say hi."),
            // The mock looks for the word.
            Ask::Paced => words("Hello, paced."),
            Ask::History => history(MESSAGES, format, Damage::None),
            Ask::Broken => history(MESSAGES, format, Damage::Broken),
        };
        let mut body = json!({"model": model, "messages": messages});
        if self.streams() {
            body["stream"] = true.into();
        }
        if matches!(self, Ask::History | Ask::Broken) {
            body["tools"] = tools(format);
        }
        match format {
            Format::Chat => {}
            Format::Anthropic => body["max_tokens"] = 1_024.into(),
        }
        body.to_string().into()
    }
}
