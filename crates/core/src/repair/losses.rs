//! Counts what a repair removes from a history and what it adds.

use std::collections::HashSet;

use super::{PartSource, Repair, RepairedMessage};
use crate::draft::{Draft, Message, MessageFlags, MessageLayout, Part, PartKind, TextShape};
use foxwedge_json::field_value;

/// Counts of what a repair removes from a history and what it adds.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct RepairLosses {
    /// Removed blocks of reasoning.
    pub thinking_blocks_removed: usize,
    /// Removed non-empty texts.
    pub texts_removed: usize,
    /// Removed tool calls.
    pub tool_calls_removed: usize,
    /// Removed tool results that are not quoted either.
    pub tool_results_removed: usize,
    /// Removed images, files and blocks of unknown kind.
    pub other_parts_removed: usize,
    /// Tool results that became text, because their calls are missing.
    pub results_quoted: usize,
    /// Placeholder results for calls that had none.
    pub placeholders_written: usize,
}

impl RepairLosses {
    /// The counts with their names, in display order.
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

    /// Adds the counts of another repair.
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
    /// The losses of this repair of `draft`.
    pub fn losses(&self, draft: &Draft<'_>) -> RepairLosses {
        let mut losses = RepairLosses::default();
        if self.is_untouched() {
            return losses;
        }
        let mut unchanged = vec![false; draft.messages.len()];
        let mut kept_spans = HashSet::new();
        let origin = |repaired: &RepairedMessage<'_>| {
            draft.messages.get(repaired.origin()?).map(|it| it.span.start)
        };
        let origins: HashSet<u32> = self.messages.iter().filter_map(origin).collect();
        for repaired in self.messages.iter() {
            if !repaired.is_touched() || !repaired.parts.is_loaded() {
                if let Some(message) = repaired.origin().and_then(|at| unchanged.get_mut(at)) {
                    *message = true;
                }
                continue;
            }
            for part in &repaired.parts {
                match (part.source(), &part.part.kind) {
                    (PartSource::Input, _) => {
                        kept_spans.insert((part.part.span.start, part.part.span.end));
                    }
                    (PartSource::Text(_), PartKind::Answer(_)) => losses.placeholders_written += 1,
                    (PartSource::Quote(_), _) => losses.results_quoted += 1,
                    (PartSource::Text(_) | PartSource::Media(_), _) => {}
                }
            }
        }
        for (message, unchanged) in draft.messages.iter().zip(unchanged) {
            let removed = draft.parts_of(message).iter().filter(|part| {
                !unchanged && !kept_spans.contains(&(part.span.start, part.span.end))
            });
            removed.for_each(|part| losses.count(part));
            // Content in unknown fields is removed with its message.
            let unknown = message.flags.has(MessageFlags::UNKNOWN_BODY);
            let dropped = unknown && !unchanged && !origins.contains(&message.span.start);
            losses.other_parts_removed += usize::from(dropped);
            let is_removed = !unchanged && !origins.contains(&message.span.start);
            losses.thinking_blocks_removed +=
                usize::from(is_removed && has_reasoning_field(draft, message));
        }
        losses.tool_results_removed =
            losses.tool_results_removed.saturating_sub(losses.results_quoted);
        losses.add(&self.later_losses);
        losses
    }
}

/// Whether a chat message has reasoning in a field that only some providers know.
fn has_reasoning_field(draft: &Draft<'_>, message: &Message) -> bool {
    const FIELDS: [&str; 3] = ["reasoning", "reasoning_details", "thinking_blocks"];
    let is_filled = |key: &str| {
        let value = field_value(draft.source, message.span, key);
        value.is_some_and(|value| !matches!(value.of(draft.source), "null" | "\"\"" | "[]" | "{}"))
    };
    let reasons = |part: &Part<'_>| matches!(part.kind, PartKind::Reasoning(_));
    draft.layout() == MessageLayout::Chat
        && !draft.parts_of(message).iter().any(reasons)
        && FIELDS.into_iter().any(is_filled)
}

/// A text block without its text has this many bytes at most, unless it holds something else.
const MAX_BARE_BLOCK: usize = "{ \"type\": \"output_text\" }".len();

impl RepairLosses {
    fn count(&mut self, part: &Part<'_>) {
        match &part.kind {
            PartKind::Text(TextShape::Missing) if part.span.len() > MAX_BARE_BLOCK => {
                self.other_parts_removed += 1;
            }
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
            | PartKind::Fallback
            | PartKind::Other
            | PartKind::Unknown => {
                self.other_parts_removed += 1;
            }
        }
    }
}
