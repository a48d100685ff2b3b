//! A stored history in which compactions hide messages. They never remove any: a rewind, or undoing
//! a compaction, makes its hidden messages visible again.

/// A stored history. `M` is the caller's message type.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct CompactionArchive<M> {
    entries: Vec<ArchiveEntry<M>>,
}

/// One entry of a stored history.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ArchiveEntry<M> {
    /// The message; `None` for a marker that only records that messages were hidden.
    pub message: Option<M>,
    /// The compaction that hid it. It has an effect only while that compaction has an entry.
    pub hidden_by: Option<u64>,
    /// The compaction that wrote it.
    pub written_by: Option<ArchivedCompaction>,
}

/// A compaction of a stored history.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ArchivedCompaction {
    /// Identifies it for undoing.
    pub id: u64,
    /// How many messages of the conversation itself existed when it was made.
    pub own_messages: usize,
}

/// One entry of the result of a compaction.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum CompactedEntry<M> {
    /// The visible message of this index stays unchanged.
    Kept(usize),
    /// A new message: a summary, or a replacement with shrunk answers.
    New(M),
}

impl<M> Default for CompactionArchive<M> {
    fn default() -> CompactionArchive<M> {
        CompactionArchive { entries: Vec::new() }
    }
}

impl<M> CompactionArchive<M> {
    /// The entries, hidden ones included, in order.
    pub fn entries(&self) -> &[ArchiveEntry<M>] {
        &self.entries
    }

    /// Restores stored entries. Markers of unknown compactions are ignored when reading, not here:
    /// they may be all that is left after a rewind.
    pub fn from_entries(entries: Vec<ArchiveEntry<M>>) -> CompactionArchive<M> {
        CompactionArchive { entries }
    }

    /// Adds a message at the end.
    pub fn push(&mut self, message: M) {
        self.entries.push(ArchiveEntry {
            message: Some(message),
            hidden_by: None,
            written_by: None,
        });
    }

    /// The visible messages with the index of their entry.
    pub fn visible(&self) -> Vec<(usize, &M)> {
        let active = self.compactions();
        let is_visible = |entry: &&ArchiveEntry<M>| {
            entry.hidden_by.is_none_or(|id| active.binary_search(&id).is_err())
        };
        let visible = self.entries.iter().enumerate().filter(|(_, entry)| is_visible(entry));
        visible.filter_map(|(at, entry)| Some((at, entry.message.as_ref()?))).collect()
    }

    /// The active compactions, oldest first.
    pub fn compactions(&self) -> Vec<u64> {
        let compactions = self.entries.iter().filter_map(|entry| entry.written_by);
        let mut ids: Vec<u64> = compactions.map(|compaction| compaction.id).collect();
        ids.sort_unstable();
        ids.dedup();
        ids
    }

    /// Hides the visible messages that a compaction did not keep, and adds the ones it wrote.
    /// Returns the id for undoing it; `None` if it changes nothing. Kept messages stay in their
    /// order, whatever order they are given in.
    pub fn compact(&mut self, outcome: Vec<CompactedEntry<M>>) -> Option<u64> {
        let visible: Vec<usize> = self.visible().into_iter().map(|(at, _)| at).collect();
        let mut hidden: Vec<bool> = vec![false; self.entries.len()];
        for &at in &visible {
            hidden[at] = true;
        }
        // A new message is inserted before the next kept one.
        let mut written: Vec<(usize, M)> = Vec::new();
        let mut pending: Vec<M> = Vec::new();
        let mut new = false;
        for step in outcome {
            match step {
                CompactedEntry::Kept(index) => {
                    let Some(&at) = visible.get(index) else { continue };
                    hidden[at] = false;
                    written.extend(pending.drain(..).map(|message| (at, message)));
                }
                CompactedEntry::New(message) => {
                    pending.push(message);
                    new = true;
                }
            }
        }
        if !new && !hidden.contains(&true) {
            return None;
        }
        let id = self.compactions().last().map_or(1, |last| last.saturating_add(1));
        let first = hidden.iter().position(|&hidden| hidden);
        let end = self.entries.len();
        written.extend(pending.drain(..).map(|message| (end, message)));
        written.sort_by_key(|(at, _)| *at);
        let mut written = written.into_iter().peekable();
        let old = std::mem::take(&mut self.entries);
        let written_by = Some(ArchivedCompaction {
            id,
            own_messages: old.iter().filter(|entry| entry.is_own()).count(),
        });
        let new_entry = |message: Option<M>| ArchiveEntry { message, hidden_by: None, written_by };
        for (at, mut entry) in old.into_iter().enumerate() {
            while let Some((_, message)) = written.next_if(|(position, _)| *position <= at) {
                self.entries.push(new_entry(Some(message)));
            }
            if hidden[at] {
                entry.hidden_by = Some(id);
            }
            self.entries.push(entry);
            if !new && first == Some(at) {
                self.entries.push(new_entry(None));
            }
        }
        self.entries.extend(written.map(|(_, message)| new_entry(Some(message))));
        Some(id)
    }

    /// Undoes a compaction: removes what it wrote, shows what it hid. Later messages stay. Returns
    /// whether there was such a compaction.
    pub fn undo_compaction(&mut self, id: u64) -> bool {
        let before = self.entries.len();
        self.entries.retain(|entry| entry.written_by.is_none_or(|compaction| compaction.id != id));
        for entry in self.entries.iter_mut().filter(|entry| entry.hidden_by == Some(id)) {
            entry.hidden_by = None;
        }
        self.entries.len() < before
    }

    /// Goes back to the time when the conversation had `own` messages: removes later ones and
    /// undoes later compactions.
    pub fn rewind(&mut self, own: usize) {
        let later = self.entries.iter().filter_map(|entry| entry.written_by);
        let later: Vec<u64> = later
            .filter(|compaction| compaction.own_messages > own)
            .map(|compaction| compaction.id)
            .collect();
        for id in later {
            self.undo_compaction(id);
        }
        let mut remaining = own;
        self.entries.retain(|entry| {
            let keep = !entry.is_own() || remaining > 0;
            remaining = remaining.saturating_sub(usize::from(entry.is_own()));
            keep
        });
    }
}

impl<M> ArchiveEntry<M> {
    /// Whether it is a message of the conversation itself, not of a compaction.
    fn is_own(&self) -> bool {
        self.written_by.is_none() && self.message.is_some()
    }
}

#[cfg(test)]
mod tests {
    use super::{CompactedEntry::*, *};

    fn shown(archive: &CompactionArchive<&str>) -> String {
        archive.visible().into_iter().map(|(_, message)| *message).collect::<Vec<_>>().join(" ")
    }

    fn stored(text: &str) -> CompactionArchive<&str> {
        let mut archive = CompactionArchive::default();
        text.split(' ').for_each(|word| archive.push(word));
        archive
    }

    #[test]
    fn undoing_a_compaction_shows_its_hidden_messages() {
        let mut archive = stored("a b c d");
        let first = archive.compact(vec![Kept(0), New("bc"), Kept(3)]).expect("hides");
        assert_eq!(shown(&archive), "a bc d");
        archive.push("e");
        assert_eq!(shown(&archive), "a bc d e");
        assert!(archive.undo_compaction(first));
        assert_eq!(shown(&archive), "a b c d e");
        assert!(!archive.undo_compaction(first), "only once");
    }

    #[test]
    fn two_compactions_never_hide_a_message_twice() {
        let mut archive = stored("a b c d e");
        let first = archive.compact(vec![Kept(0), Kept(3), Kept(4)]).expect("hides");
        let hidden = |archive: &CompactionArchive<&str>, id| {
            archive.entries().iter().filter(|entry| entry.hidden_by == Some(id)).count()
        };
        assert_eq!((shown(&archive).as_str(), hidden(&archive, first)), ("a d e", 2));
        let second = archive.compact(vec![Kept(0), Kept(2)]).expect("hides");
        assert_eq!(shown(&archive), "a e");
        assert_eq!((hidden(&archive, first), hidden(&archive, second)), (2, 1));
        archive.undo_compaction(first);
        assert_eq!(shown(&archive), "a b c e", "what the second hid stays hidden");
        archive.undo_compaction(second);
        assert_eq!(shown(&archive), "a b c d e");
    }

    #[test]
    fn a_summary_of_a_summary_hides_it_and_brings_it_back() {
        let mut archive = stored("a b c");
        archive.compact(vec![New("ab"), Kept(2)]);
        archive.push("d");
        let second = archive.compact(vec![New("abc"), Kept(2)]).expect("hides");
        assert_eq!(shown(&archive), "abc d");
        archive.undo_compaction(second);
        assert_eq!(shown(&archive), "ab c d");
    }

    #[test]
    fn rewinding_takes_back_what_was_done_later() {
        let mut archive = stored("a b c d");
        archive.compact(vec![New("abc"), Kept(3)]);
        archive.push("e");
        archive.push("f");
        archive.rewind(5);
        assert_eq!(shown(&archive), "abc d e", "made earlier, so it stays");
        archive.rewind(3);
        assert_eq!(shown(&archive), "a b c");
        assert!(archive.compactions().is_empty());
    }

    #[test]
    fn markers_of_unknown_compactions_are_ignored() {
        let hidden = ArchiveEntry { message: Some("a"), hidden_by: Some(7), written_by: None };
        let archive = CompactionArchive::from_entries(vec![hidden]);
        assert_eq!(shown(&archive), "a");
    }

    #[test]
    fn a_compaction_that_keeps_everything_changes_nothing() {
        let mut archive = stored("a b");
        assert_eq!(archive.compact(vec![Kept(0), Kept(1)]), None);
        assert_eq!(archive, stored("a b"));
    }
}
