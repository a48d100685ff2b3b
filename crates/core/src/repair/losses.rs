//! What a repair takes from a history, and what it writes into it, counted.

use std::collections::HashSet;

use super::{Repair, Slot, Source};
use crate::draft::{Draft, Kind, Marks, Text};

/// What a repair takes from a history, and what it writes into it.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct RepairLosses {
    /// Blocks of reasoning that are not there any more.
    pub thinking_blocks_removed: usize,
    /// Texts that said something and are not there any more.
    pub texts_removed: usize,
    /// Tool calls that are not there any more.
    pub tool_calls_removed: usize,
    /// Tool results that are not there any more, not even as text.
    pub tool_results_removed: usize,
    /// Images, files and blocks of unknown kind that are not there any more.
    pub other_parts_removed: usize,
    /// Tool results that became text, because their calls are gone.
    pub results_quoted: usize,
    /// Tool results that were written because there was none.
    pub placeholders_written: usize,
}

impl RepairLosses {
    /// The counts with their names, in the order in which they are told.
    pub fn counts(&self) -> [(&'static str, usize); 7] {
        [
            ("thinking_blocks_removed", self.thinking_blocks_removed),
            ("texts_removed", self.texts_removed),
            ("tool_calls_removed", self.tool_calls_removed),
            ("tool_results_removed", self.tool_results_removed),
            ("other_parts_removed", self.other_parts_removed),
            ("results_quoted", self.results_quoted),
            ("placeholders_written", self.placeholders_written),
        ]
    }

    /// Adds what another repair took and wrote.
    pub fn add(&mut self, other: &RepairLosses) {
        self.thinking_blocks_removed += other.thinking_blocks_removed;
        self.texts_removed += other.texts_removed;
        self.tool_calls_removed += other.tool_calls_removed;
        self.tool_results_removed += other.tool_results_removed;
        self.other_parts_removed += other.other_parts_removed;
        self.results_quoted += other.results_quoted;
        self.placeholders_written += other.placeholders_written;
    }
}

impl Repair<'_> {
    /// What the repair of that draft costs.
    pub fn losses(&self, draft: &Draft<'_>) -> RepairLosses {
        let mut losses = RepairLosses::default();
        if self.is_untouched() {
            return losses;
        }
        let mut whole = vec![false; draft.messages.len()];
        let mut kept = HashSet::new();
        let origin = |slot: &Slot<'_>| draft.messages.get(slot.origin?).map(|it| it.span.start);
        let origins: HashSet<u32> = self.slots.iter().filter_map(origin).collect();
        for slot in self.slots.iter() {
            if !slot.touched || !slot.opened {
                if let Some(message) = slot.origin.and_then(|at| whole.get_mut(at)) {
                    *message = true;
                }
                continue;
            }
            for piece in &slot.pieces {
                match (&piece.source, &piece.part.kind) {
                    (Source::Kept, _) => {
                        kept.insert((piece.part.span.start, piece.part.span.end));
                    }
                    (Source::Words(_), Kind::Answer(_)) => losses.placeholders_written += 1,
                    (Source::Quote(_), _) => losses.results_quoted += 1,
                    (Source::Words(_) | Source::Media(_), _) => {}
                }
            }
        }
        for (message, whole) in draft.messages.iter().zip(whole) {
            let gone = draft
                .parts_of(message)
                .iter()
                .filter(|part| !whole && !kept.contains(&(part.span.start, part.span.end)));
            gone.for_each(|part| losses.count(&part.kind));
            // What stood in fields that we do not know is gone with its message.
            let held = message.marks.has(Marks::UNKNOWN_BODY) && message.range().is_empty();
            let dropped = held && !whole && !origins.contains(&message.span.start);
            losses.other_parts_removed += usize::from(dropped);
        }
        losses.tool_results_removed =
            losses.tool_results_removed.saturating_sub(losses.results_quoted);
        losses.add(&self.later);
        losses
    }
}

impl RepairLosses {
    fn count(&mut self, kind: &Kind<'_>) {
        match kind {
            Kind::Reasoning(_) => self.thinking_blocks_removed += 1,
            Kind::Text(Text::Full | Text::Trailing) => self.texts_removed += 1,
            Kind::Text(Text::Empty | Text::Blank | Text::Signature | Text::Missing) => {}
            Kind::Call(_) => self.tool_calls_removed += 1,
            Kind::Answer(_) => self.tool_results_removed += 1,
            Kind::Media | Kind::ServerCall(_) | Kind::ServerAnswer(_) | Kind::Other => {
                self.other_parts_removed += 1;
            }
        }
    }
}
