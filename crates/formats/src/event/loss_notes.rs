//! The losses of a reply, without duplicates.

use crate::{conversation::LossKind, event::StreamLoss};

/// Loss notes shared by several formats.
pub(crate) const UNREADABLE: &str = "redacted reasoning is not supported in this format";
pub(crate) const UNSIGNED: &str = "the signature of reasoning is only valid at its own provider";
pub(crate) const ENCRYPTED: &str = "encrypted reasoning is not supported in this format";
pub(crate) const UNSIGNED_CALL: &str = "the signature of a call is not supported in this format";
pub(crate) const UNMARKED: &str = "a refusal becomes plain text";
pub(crate) const NAMELESS: &str = "a citation without a URL is not supported in this format";
pub(crate) const UNQUOTED: &str = "the cited text is not supported in this format";
pub(crate) const UNPLACED: &str = "the text range of a citation is not supported in this format";

/// The losses so far.
#[derive(Clone, Debug, Default)]
pub(crate) struct LossNotes {
    list: Vec<StreamLoss>,
    /// Number of losses beyond the maximum length of the list.
    more: u64,
}

/// Maximum number of losses in the list.
const MAX_NOTES: usize = 64;

impl LossNotes {
    /// Adds a loss.
    pub(crate) fn add(&mut self, kind: LossKind, note: &str) {
        if self.list.iter().any(|known| known.kind == kind && known.note == note) {
            return;
        }
        if self.list.len() < MAX_NOTES {
            self.list.push(StreamLoss { kind, note: note.to_owned() });
        } else {
            self.more += 1;
        }
    }

    /// The losses.
    pub(crate) fn list(&self) -> Vec<StreamLoss> {
        let mut list = self.list.clone();
        if self.more > 0 {
            let note = format!("{} more losses are not listed", self.more);
            list.push(StreamLoss { kind: LossKind::Unknown, note });
        }
        list
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn losses_are_unique_and_limited() {
        let mut notes = LossNotes::default();
        for _ in 0..3 {
            notes.add(LossKind::Signature, "a");
            notes.add(LossKind::Reasoning, "a");
        }
        assert_eq!(notes.list().len(), 2);
        for number in 0..100 {
            notes.add(LossKind::Unknown, &number.to_string());
        }
        let list = notes.list();
        assert_eq!(list.len(), MAX_NOTES + 1);
        assert_eq!(list[MAX_NOTES].note, "38 more losses are not listed");
    }
}
