//! The body of a chat completion, built from the input of a user interface.

use bytes::Bytes;
use serde_json::{Map, Value, json};

use crate::{ApiError, error};

/// Fields that the gateway sets itself.
const OWN_FIELDS: [&str; 4] = ["messages", "stream", "stream_options", "n"];

/// The fields of a chat completion.
#[derive(Default)]
pub(super) struct ChatBody(Map<String, Value>);

impl ChatBody {
    /// Takes the fields that a client added for the model, such as `model` and `temperature`.
    pub(super) fn with_fields(fields: Map<String, Value>) -> ChatBody {
        let is_open = |name: &String| !OWN_FIELDS.contains(&name.as_str());
        ChatBody(fields.into_iter().filter(|(name, _)| is_open(name)).collect())
    }

    /// Sets the model.
    pub(super) fn set_model(&mut self, model: &str) {
        self.0.insert("model".to_owned(), model.into());
    }

    /// Sets the messages.
    pub(super) fn set_messages(&mut self, messages: Vec<Value>) {
        self.0.insert("messages".to_owned(), messages.into());
    }

    /// Sets the tools, unless there are none.
    pub(super) fn set_tools(&mut self, tools: Vec<Value>) {
        if !tools.is_empty() {
            self.0.insert("tools".to_owned(), tools.into());
        }
    }

    /// The body of a streamed request.
    pub(super) fn finish(mut self) -> Result<Bytes, ApiError> {
        if !self.0.get("model").is_some_and(Value::is_string) {
            return Err(error::bad_request(
                "no model: add `?model=NAME` to the URL, or the field `model` to the request",
            ));
        }
        self.0.insert("stream".to_owned(), true.into());
        self.0.insert("stream_options".to_owned(), json!({ "include_usage": true }));
        Ok(Value::Object(self.0).to_string().into())
    }
}
