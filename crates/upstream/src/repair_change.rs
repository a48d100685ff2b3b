//! The changes of a repair, as they are reported: codes and sentences, no content.

use foxwedge_core::{Edit, EditLog};

use crate::CountedList;

/// One change of a repair.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct RepairChange {
    /// The rule that required it.
    pub code: u16,
    /// The name of the repair strategy.
    pub strategy: &'static str,
    /// The index of the message in the request.
    pub message: usize,
    /// The ids of the calls.
    pub calls: Vec<String>,
    /// One sentence. It names calls and tools, and contains no content of the conversation.
    pub note: String,
}

impl RepairChange {
    /// The change that an edit describes.
    pub fn from_edit(edit: Edit) -> RepairChange {
        RepairChange {
            code: edit.code,
            strategy: edit.strategy.name(),
            message: edit.message,
            calls: edit.ids,
            note: edit.note,
        }
    }
}

/// The changes of a repair.
pub fn changes_of(edits: EditLog) -> CountedList<RepairChange> {
    CountedList::of(edits.len(), edits.into_iter().map(RepairChange::from_edit))
}
