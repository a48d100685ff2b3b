//! What was left out of an answer: every sentence once.

use crate::canon::Lost;
use crate::stream::event::Skipped;

/// What was left out so far.
#[derive(Clone, Debug, Default)]
pub(crate) struct Notes {
    list: Vec<Skipped>,
    /// Others that are not in the list, as it is long enough.
    more: u64,
}

/// How many sentences are kept.
const MOST: usize = 64;

impl Notes {
    /// Something is left out.
    pub(crate) fn add(&mut self, what: Lost, note: &str) {
        if self.list.iter().any(|known| known.what == what && known.note == note) {
            return;
        }
        if self.list.len() < MOST {
            self.list.push(Skipped { what, note: note.to_owned() });
        } else {
            self.more += 1;
        }
    }

    /// The sentences.
    pub(crate) fn list(&self) -> Vec<Skipped> {
        let mut list = self.list.clone();
        if self.more > 0 {
            let note = format!("{} more things are left out", self.more);
            list.push(Skipped { what: Lost::Unknown, note });
        }
        list
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_sentence_stands_there_once_and_there_are_not_too_many() {
        let mut notes = Notes::default();
        for _ in 0..3 {
            notes.add(Lost::Signature, "a");
            notes.add(Lost::Reasoning, "a");
        }
        assert_eq!(notes.list().len(), 2);
        for number in 0..100 {
            notes.add(Lost::Unknown, &number.to_string());
        }
        let list = notes.list();
        assert_eq!(list.len(), MOST + 1);
        assert_eq!(list[MOST].note, "38 more things are left out");
    }
}
