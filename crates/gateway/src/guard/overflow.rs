//! Compacts a history that is too long for its model before it is sent. The same history is always
//! compacted in the same way, so that the prefix of the request stays the same.

use foxwedge_core::{
    Format,
    compact::{CompactionPace, HistoryFraction, TokenLimits},
};
use foxwedge_formats::{
    compact::{CompactionSettings, CompactionStage, DigestSummarizer, HistorySummarizer, compact},
    text,
};
use foxwedge_tokens::models;
use foxwedge_upstream::{RepairChange, TokenCounters};

use super::{GuardAction, GuardInput, GuardedRequest, route_check_options};
use crate::config::{GuardMode, ModelRoute, OverflowPolicy};

/// Share of the window that is used: token estimates are a few percent off.
const WINDOW_SHARE: f64 = 0.95;
/// Room for the reply if the request does not limit it.
const DEFAULT_REPLY_TOKENS: u64 = 4_096;
/// Requests of at most this size fit into every window.
const ALWAYS_FITS_BYTES: usize = 2_000;

/// A request that may be too long for its model.
#[derive(Clone, Copy)]
pub(crate) struct ContextBudget<'a> {
    pub(crate) route: &'a ModelRoute,
    /// The format of the request.
    pub(crate) format: Format,
    /// The upstream's name of the model.
    pub(crate) model: &'a str,
    /// How many tokens the reply may have.
    pub(crate) reply: Option<u64>,
}

impl ContextBudget<'_> {
    /// Whether the request may be too long. A token takes at least one byte, so most requests need
    /// no count.
    pub(crate) fn may_overflow(self, body: &[u8]) -> bool {
        // No known model has a smaller window: no need to search the table.
        let tiny = self.route.context_window.is_none() && body.len() < ALWAYS_FITS_BYTES;
        !tiny
            && self.route.guard.mode == GuardMode::Fix
            && self.limits().is_some_and(|limits| body.len() as u64 > limits.max_tokens())
    }

    fn limits(self) -> Option<TokenLimits> {
        let known = models::find_model(self.model);
        let window = self.route.context_window.or(known.map(|model| model.window))?;
        let reply = self.reply.unwrap_or(DEFAULT_REPLY_TOKENS).min(window / 2);
        let limits = TokenLimits::of_window(window, reply, HistoryFraction::new(WINDOW_SHARE)?);
        Some(limits.with_pace(CompactionPace::Incremental))
    }
}

/// A request that certainly exceeds the window that is configured for its route.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct ContextOverflow {
    /// The tokens of the request: a lower bound.
    pub(crate) tokens: u64,
    /// The window in tokens.
    pub(crate) window: u64,
}

/// Whether a request certainly exceeds its window, after every repair and compaction. Only a
/// configured window counts, and only a certain excess: media are left out, and an estimate without
/// the model's vocabulary counts half.
pub(crate) fn find_overflow(
    body: &[u8],
    budget: ContextBudget<'_>,
    counters: &TokenCounters,
) -> Option<ContextOverflow> {
    let window = budget.route.context_window?;
    match budget.route.guard.mode {
        GuardMode::Fix | GuardMode::Strict => {}
        GuardMode::Off | GuardMode::Observe => return None,
    }
    // A token takes at least one byte.
    if body.len() as u64 <= window {
        return None;
    }
    let source = text(body).ok()?;
    let reading =
        foxwedge_formats::read(source, budget.format, foxwedge_formats::OutlineOptions::default())
            .ok()?;
    let draft = &reading.draft;
    let weights = counters.with_counter(budget.model, |counter| {
        foxwedge_formats::compact::weigh(draft, reading.frame, counter)
    });
    let parts: usize = draft.messages.iter().map(|message| draft.parts_of(message).len()).sum();
    let media: u64 = (0..parts).map(|part| weights.of_media(part)).sum();
    let tokens = weights.total().saturating_sub(media);
    is_overflow(tokens, weights.exact, window).then_some(ContextOverflow { tokens, window })
}

/// The overhead of messages is an estimate, so even an exact count gets a margin.
fn is_overflow(tokens: u64, exact: bool, window: u64) -> bool {
    match exact {
        true => tokens > window.saturating_add(window / 20),
        false => tokens / 2 > window,
    }
}

/// Makes a request fit into the window of its model, without a call to a model.
pub(super) fn compact_if_needed(
    guarded: &mut GuardedRequest,
    input: GuardInput<'_>,
    counters: &TokenCounters,
) {
    let budget = ContextBudget {
        route: input.route,
        format: input.to,
        model: input.model,
        reply: input.reading.envelope.max_output,
    };
    match input.route.guard.overflow {
        OverflowPolicy::Compact if budget.may_overflow(&guarded.body) => {
            compact_request(
                guarded,
                budget,
                counters,
                &[CompactionStage::Elide, CompactionStage::Budget],
                &mut DigestSummarizer,
            );
        }
        OverflowPolicy::Compact | OverflowPolicy::Summarize | OverflowPolicy::Pass => {}
    }
}

/// Compacts a request. One that still does not fit is sent as it is: the provider then returns its
/// own error.
pub(crate) fn compact_request(
    guarded: &mut GuardedRequest,
    budget: ContextBudget<'_>,
    counters: &TokenCounters,
    stages: &[CompactionStage],
    summarizer: &mut dyn HistorySummarizer,
) {
    let (Some(limits), Ok(source)) = (budget.limits(), text(&guarded.body)) else { return };
    let check_options = route_check_options(budget.route, budget.format, budget.model);
    let mut settings = CompactionSettings::new(check_options, limits);
    settings.stages = stages.to_vec();
    let compacted = counters.with_counter(budget.model, |counter| {
        compact(source, budget.format, &settings, counter, summarizer)
    });
    let Ok(compacted) = compacted else { return };
    if !compacted.is_changed() {
        return;
    }
    let (before, after) = (compacted.account.before, compacted.account.after);
    let body = compacted.text.into_owned();
    guarded.changes.push(RepairChange {
        code: 0,
        strategy: "compact",
        message: 0,
        calls: Vec::new(),
        note: format!(
            "compacted {} messages with {} tokens to {} with {}, to fit the context window",
            before.messages, before.tokens, after.messages, after.tokens
        ),
    });
    guarded.compacted = Some((before.tokens, after.tokens));
    guarded.action = GuardAction::Fixed;
    guarded.body = body.into();
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_certain_overflow_is_reported() {
        let table = [
            (1_000, true, 1_000, false),
            (1_050, true, 1_000, false),
            (1_051, true, 1_000, true),
            (1_999, false, 1_000, false),
            (2_001, false, 1_000, false),
            (2_002, false, 1_000, true),
            (u64::MAX, true, u64::MAX, false),
            (u64::MAX, false, u64::MAX / 2 + 1, false),
            (1, true, 0, true),
        ];
        for (tokens, exact, window, expected) in table {
            assert_eq!(is_overflow(tokens, exact, window), expected, "{tokens} {exact} {window}");
        }
    }
}
