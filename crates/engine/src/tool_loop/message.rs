//! One message of a conversation, as it is kept.

use std::sync::Arc;

use foxwedge_core::Format;
use foxwedge_store::{NewRecord, StoredRecord};

/// A message of the conversation: one turn of somebody. In OpenAI's Responses format it may be a list
/// of items.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ConversationMessage {
    /// The record's id.
    pub id: Arc<str>,
    /// The format it is kept in: the one in which it was said.
    pub wire: Format,
    /// The message, JSON.
    pub body: Arc<str>,
    /// The run it comes from.
    pub run: Option<Arc<str>>,
}

/// The kind of records that move the tip back.
pub(super) const REWIND: &str = "rewind";
/// The kind of records at which a conversation begins anew.
pub(super) const BASE: &str = "base";

/// The kind of a record that holds a message.
pub(super) fn record_kind(wire: Format) -> String {
    match wire {
        // What the store writes itself when it closes a run.
        Format::Anthropic => "message".to_owned(),
        wire => format!("message/{}", wire.name()),
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
    /// The message in a record; `None` if it holds none.
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

    /// The record of it, behind another.
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
