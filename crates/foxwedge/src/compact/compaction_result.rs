//! The result of a compaction as data, the only input of its reports.

use std::ops::Range;

use foxwedge_core::{
    Draft, EditLog, PartKind, Profile,
    compact::{TokenCounter, UnitHold, split_units, unit_at, user_part},
    pair_calls,
};
use foxwedge_formats::{
    OutlinedDocument,
    compact::{CompactedText, MessageOutcome, weigh},
    outline_options, read,
};

use super::compaction_budget::CompactionBudget;
use foxwedge_local::preview;

/// A compaction, applied or only planned.
pub(crate) struct CompactionResult<'t> {
    pub(crate) path: &'t str,
    pub(crate) format: &'static str,
    pub(crate) profile: Profile,
    pub(crate) budget: CompactionBudget,
    /// The input.
    pub(crate) reading: &'t OutlinedDocument<'t>,
    pub(crate) compacted: &'t CompactedText<'t>,
    /// Tokens kept of each message of the input.
    pub(crate) tokens_left: Vec<u64>,
    pub(crate) pins: &'t [usize],
    /// Repairs of the file before the compaction.
    pub(crate) file_repairs: &'t EditLog,
    pub(crate) dry_run: bool,
}

/// A user message that was removed or summarized.
pub(crate) struct LostUserMessage {
    pub(crate) message: usize,
    /// The beginning of its text.
    pub(crate) excerpt: String,
}

impl<'t> CompactionResult<'t> {
    /// The outline of the input.
    pub(crate) fn draft(&self) -> &'t Draft<'t> {
        &self.reading.draft
    }

    /// Whether nothing was changed: the history was small enough, or nothing could be removed.
    pub(crate) fn is_unchanged(&self) -> bool {
        let account = &self.compacted.account;
        let removed_any =
            account.stages.iter().any(|s| !s.removed.is_empty() || !s.shortened.is_empty());
        let fits =
            self.budget.limits.is_none_or(|limits| account.before.tokens <= limits.max_tokens());
        !self.compacted.is_changed() || !removed_any && fits
    }

    /// All repairs before the compaction.
    pub(crate) fn all_repairs(&self) -> EditLog {
        let mut repairs = self.file_repairs.clone();
        repairs.append(self.compacted.account.repaired.clone());
        repairs
    }

    /// Whether something was changed, or would be.
    pub(crate) fn is_changed(&self) -> bool {
        !self.is_unchanged()
    }

    /// User messages with the given outcome.
    pub(crate) fn lost_user_messages(&self, outcome: MessageOutcome) -> Vec<LostUserMessage> {
        let messages = self.compacted.account.messages.iter().enumerate();
        let lost = messages.filter(|(_, (_, actual))| *actual == outcome);
        lost.filter_map(|(at, _)| self.user_message(at)).collect()
    }

    /// The message at an index, if the user wrote it.
    fn user_message(&self, at: usize) -> Option<LostUserMessage> {
        let part = user_part(self.draft(), at)?;
        let excerpt = match part.kind {
            PartKind::Text(_) => preview::text(part.span.of(self.draft().source), 60),
            _ => "(an image or a file)".to_owned(),
        };
        Some(LostUserMessage { message: at, excerpt })
    }

    /// Whether a cut before a message would split a unit.
    pub(crate) fn splits_unit(&self, message: usize) -> bool {
        let units = split_units(self.draft(), &pair_calls(self.draft()));
        unit_at(&units, message).is_some_and(|at| units[at].messages.start != message)
    }

    /// Units that could not be removed, each with the reason.
    pub(crate) fn protected_units(&self) -> Vec<(Range<usize>, UnitHold)> {
        let mut protected = Vec::new();
        for unit in split_units(self.draft(), &pair_calls(self.draft())) {
            let pinned = self.pins.iter().any(|pin| unit.messages.contains(pin));
            let hold = match unit.hold {
                UnitHold::Free if pinned => UnitHold::Pinned,
                hold => hold,
            };
            let is_kept = |at: usize| match self.compacted.account.messages.get(at) {
                Some((_, MessageOutcome::Unchanged | MessageOutcome::Changed)) => true,
                Some((_, MessageOutcome::Removed | MessageOutcome::Summarized)) | None => false,
            };
            if hold != UnitHold::Free && unit.messages.clone().any(is_kept) {
                protected.push((unit.messages, hold));
            }
        }
        protected
    }
}

/// Tokens kept of each message of the input.
pub(crate) fn count_tokens_left(
    compacted: &CompactedText<'_>,
    draft: &Draft<'_>,
    profile: Profile,
    counter: &mut dyn TokenCounter,
) -> Vec<u64> {
    let mut kept = vec![0; draft.messages.len()];
    let Ok(OutlinedDocument { draft: after, frame, .. }) =
        read(&compacted.text, draft.format, outline_options(profile))
    else {
        return kept;
    };
    let weights = weigh(&after, frame, counter);
    for (at, line) in compacted.messages.iter().enumerate() {
        if let Some(tokens) = line.origin.and_then(|origin| kept.get_mut(origin)) {
            *tokens += weights.of_message(at);
        }
    }
    kept
}

/// Joins adjacent and overlapping ranges.
pub(crate) fn join_ranges(ranges: impl Iterator<Item = Range<usize>>) -> Vec<Range<usize>> {
    let mut joined: Vec<Range<usize>> = Vec::new();
    for range in ranges.filter(|range| !range.is_empty()) {
        match joined.last_mut().filter(|last| last.end >= range.start && last.start <= range.start)
        {
            Some(last) => last.end = last.end.max(range.end),
            None => joined.push(range),
        }
    }
    joined
}
