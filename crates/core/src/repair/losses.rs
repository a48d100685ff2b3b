//! What a repair takes from a history, and what it writes into it, counted.

use std::collections::HashSet;

use super::{PartSource, Repair, RepairedMessage};
use crate::draft::{Draft, MessageFlags, PartKind, TextShape};

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
        let origin =
            |slot: &RepairedMessage<'_>| draft.messages.get(slot.origin?).map(|it| it.span.start);
        let origins: HashSet<u32> = self.messages.iter().filter_map(origin).collect();
        for slot in self.messages.iter() {
            if !slot.touched || !slot.parts_loaded {
                if let Some(message) = slot.origin.and_then(|at| whole.get_mut(at)) {
                    *message = true;
                }
                continue;
            }
            for piece in &slot.parts {
                match (&piece.source, &piece.part.kind) {
                    (PartSource::Input, _) => {
                        kept.insert((piece.part.span.start, piece.part.span.end));
                    }
                    (PartSource::Text(_), PartKind::Answer(_)) => losses.placeholders_written += 1,
                    (PartSource::Quote(_), _) => losses.results_quoted += 1,
                    (PartSource::Text(_) | PartSource::Media(_), _) => {}
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
            let held = message.flags.has(MessageFlags::UNKNOWN_BODY) && message.range().is_empty();
            let dropped = held && !whole && !origins.contains(&message.span.start);
            losses.other_parts_removed += usize::from(dropped);
        }
        losses.tool_results_removed =
            losses.tool_results_removed.saturating_sub(losses.results_quoted);
        losses.add(&self.later_losses);
        losses
    }
}

impl RepairLosses {
    fn count(&mut self, kind: &PartKind<'_>) {
        match kind {
            PartKind::Reasoning(_) => self.thinking_blocks_removed += 1,
            PartKind::Text(TextShape::Full | TextShape::Trailing) => self.texts_removed += 1,
            PartKind::Text(
                TextShape::Empty | TextShape::Blank | TextShape::Signature | TextShape::Missing,
            ) => {}
            PartKind::Call(_) => self.tool_calls_removed += 1,
            PartKind::Answer(_) => self.tool_results_removed += 1,
            PartKind::Media
            | PartKind::ServerCall(_)
            | PartKind::ServerAnswer(_)
            | PartKind::Other => {
                self.other_parts_removed += 1;
            }
        }
    }
}
