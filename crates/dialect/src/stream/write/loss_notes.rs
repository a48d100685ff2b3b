//! What was left out of an answer: every sentence once.

use crate::model::LossKind;
use crate::stream::event::StreamLoss;

/// What was left out so far.
#[derive(Clone, Debug, Default)]
pub(crate) struct LossNotes {
    list: Vec<StreamLoss>,
    /// Others that are not in the list, as it is long enough.
    more: u64,
}

/// How many sentences are kept.
const MAX_NOTES: usize = 64;

impl LossNotes {
    /// Something is left out.
    pub(crate) fn add(&mut self, what: LossKind, note: &str) {
        if self.list.iter().any(|known| known.kind == what && known.note == note) {
            return;
        }
        if self.list.len() < MAX_NOTES {
            self.list.push(StreamLoss { kind: what, note: note.to_owned() });
        } else {
            self.more += 1;
        }
    }

    /// The sentences.
    pub(crate) fn list(&self) -> Vec<StreamLoss> {
        let mut list = self.list.clone();
        if self.more > 0 {
            let note = format!("{} more things are left out", self.more);
            list.push(StreamLoss { kind: LossKind::Unknown, note });
        }
        list
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_sentence_stands_there_once_and_there_are_not_too_many() {
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
        assert_eq!(list[MAX_NOTES].note, "38 more things are left out");
    }
}
