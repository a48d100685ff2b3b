//! One message of a conversation, as it is kept.

use std::sync::Arc;

use foxwedge_core::Wire;
use foxwedge_store::{NewRecord, Record};

/// A message of the conversation: one turn of somebody. In OpenAI's Responses format it may be a list
/// of items.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Entry {
    /// The record's id.
    pub id: Arc<str>,
    /// The format it is kept in: the one in which it was said.
    pub wire: Wire,
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
pub(super) fn kind(wire: Wire) -> String {
    match wire {
        // What the store writes itself when it closes a run.
        Wire::Anthropic => "message".to_owned(),
        wire => format!("message/{}", wire.name()),
    }
}

/// The format of a record that holds a message.
pub(super) fn wire(kind: &str) -> Option<Wire> {
    match kind.strip_prefix("message")? {
        "" => Some(Wire::Anthropic),
        rest => Wire::parse(rest.strip_prefix('/')?),
    }
}

impl Entry {
    /// The message in a record; `None` if it holds none.
    pub(super) fn of(record: &Record) -> Option<Entry> {
        let NewRecord { id, run, kind, body, .. } = &record.record;
        let run = run.as_deref().map(Arc::from);
        Some(Entry { id: id.as_str().into(), wire: wire(kind)?, body: body.as_str().into(), run })
    }

    /// The record of it, behind another.
    pub(super) fn record(&self, parent: Option<&str>) -> NewRecord {
        NewRecord {
            id: self.id.to_string(),
            parent: parent.map(str::to_owned),
            run: self.run.as_deref().map(str::to_owned),
            kind: kind(self.wire),
            body: self.body.to_string(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_kind_names_its_format() {
        for format in [Wire::Anthropic, Wire::OpenaiChat, Wire::OpenaiResponses, Wire::Gemini] {
            assert_eq!(wire(&kind(format)), Some(format));
        }
        for other in ["base", "rewind", "tip", "message/", "message/none", "messages"] {
            assert_eq!(wire(other), None, "{other}");
        }
    }
}
