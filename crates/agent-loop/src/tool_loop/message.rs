//! One message of a conversation, as it is stored.

use std::sync::Arc;

use foxwedge_core::Format;
use foxwedge_store::{NewRecord, StoredRecord};

/// A message of the conversation. In OpenAI's Responses format it may be a list of items.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ConversationMessage {
    /// The record's id.
    pub id: Arc<str>,
    /// The format of `body`: the one in which the message arrived.
    pub wire: Format,
    /// The message as JSON.
    pub body: Arc<str>,
    /// The run that produced it.
    pub run: Option<Arc<str>>,
}

/// Kind of a record that moves the tip back.
pub(super) const REWIND: &str = "rewind";
/// Kind of a record that starts a rewritten conversation.
pub(super) const BASE: &str = "base";

/// The kind of a record that holds a message.
pub(super) fn record_kind(format: Format) -> String {
    match format {
        // The store uses this kind when it closes a run.
        Format::Anthropic => "message".to_owned(),
        format => format!("message/{}", format.name()),
    }
}

/// The format of a record that holds a message.
pub(super) fn record_wire(kind: &str) -> Option<Format> {
    match kind.strip_prefix("message")? {
        "" => Some(Format::Anthropic),
        rest => Format::parse(rest.strip_prefix('/')?),
    }
}

impl ConversationMessage {
    /// The message in a record; `None` if the record has another kind.
    pub(super) fn from_record(record: &StoredRecord) -> Option<ConversationMessage> {
        let NewRecord { id, run, kind, body, .. } = &record.record;
        let run = run.as_deref().map(Arc::from);
        Some(ConversationMessage {
            id: id.as_str().into(),
            wire: record_wire(kind)?,
            body: body.as_str().into(),
            run,
        })
    }

    /// The record of the message, with its parent.
    pub(super) fn to_record(&self, parent: Option<&str>) -> NewRecord {
        NewRecord {
            id: self.id.to_string(),
            parent: parent.map(str::to_owned),
            run: self.run.as_deref().map(str::to_owned),
            kind: record_kind(self.wire),
            body: self.body.to_string(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_kind_names_its_format() {
        for format in
            [Format::Anthropic, Format::OpenaiChat, Format::OpenaiResponses, Format::Gemini]
        {
            assert_eq!(record_wire(&record_kind(format)), Some(format));
        }
        for other in ["base", "rewind", "tip", "message/", "message/none", "messages"] {
            assert_eq!(record_wire(other), None, "{other}");
        }
    }
}
