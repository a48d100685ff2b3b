//! Records that a compaction writes into a file whose records are linked.

use super::mark;
use foxwedge_json::{FieldChange, FieldChanges, quote};

/// The content of a record in the new chain.
pub(super) enum CompactedRecordSource {
    /// A copy of a record, and the index of its message.
    Copy(u32, usize),
    /// A new or changed message.
    Replacement(ReplacementMessage),
}

/// A new or changed message, or a part of one.
pub(super) struct ReplacementMessage {
    pub(super) role: &'static str,
    /// Its content in the agent's format.
    pub(super) content: String,
    /// The record whose fields it copies: the first of the message it was, if it existed.
    pub(super) template: u32,
    /// Whether it is a changed message, not a new one.
    pub(super) existed: bool,
    /// The index of the message among the remaining ones.
    pub(super) position: usize,
}

/// The link fields of a new record.
pub(super) struct RecordLinks<'l> {
    pub(super) id: &'l str,
    pub(super) parent: Option<&'l str>,
    pub(super) time: Option<String>,
    pub(super) mark: String,
    /// The text that the agent shows instead of the record.
    pub(super) marker: Option<&'l str>,
}

impl RecordLinks<'_> {
    /// The fields of a record that change.
    pub(super) fn changes(&self) -> FieldChanges<'static> {
        let parent = self.parent.map_or("null".to_owned(), quote);
        let mut changes: FieldChanges<'static> = vec![
            ("uuid", FieldChange::Text(quote(self.id))),
            ("parentUuid", FieldChange::Text(parent)),
            (mark::MARK, FieldChange::Text(self.mark.clone())),
        ];
        if let Some(time) = &self.time {
            changes.push(("timestamp", FieldChange::Text(quote(time))));
        }
        changes
    }
}
