//! A history that is too long for its model is made shorter before it is sent, the same way each
//! time it comes, so that the beginning of what is sent stays the same.

use std::{
    collections::HashMap,
    sync::{Mutex, PoisonError},
};

use foxwedge_core::{
    Format,
    compact::{CompactionPace, HistoryFraction, TokenLimits},
};
use foxwedge_dialect::{
    compact::{CompactionSettings, CompactionStage, DigestSummarizer, HistorySummarizer, compact},
    text,
};
use foxwedge_tokens::{CachedCounter, ModelTokenizer, models};

use super::{GuardAction, GuardInput, GuardedRequest, RepairChange, route_check_options};
use crate::config::{GuardMode, ModelRoute, OverflowPolicy};

/// Estimates are a few percent off.
const WINDOW_SHARE: f64 = 0.95;
/// Room for a reply of which nobody said how long it may be.
const DEFAULT_REPLY_TOKENS: u64 = 4_096;
/// Requests of so many bytes fit into every window.
const ALWAYS_FITS_BYTES: usize = 2_000;
/// Texts that a model's counter remembers.
const REMEMBERED_TEXTS: usize = 20_000;
/// Models with a counter of their own at a time.
const MAX_COUNTERS: usize = 32;

/// The counters of models, which remember what they have counted.
#[derive(Default)]
pub(crate) struct TokenCounters(Mutex<HashMap<String, CachedCounter<ModelTokenizer>>>);

impl TokenCounters {
    /// The counter of a model, out of the box while it is used.
    fn take_counter(&self, model: &str) -> CachedCounter<ModelTokenizer> {
        let mut scales = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        scales.remove(model).unwrap_or_else(|| {
            CachedCounter::new(ModelTokenizer::for_model(Some(model)), REMEMBERED_TEXTS)
        })
    }

    fn return_counter(&self, model: &str, counter: CachedCounter<ModelTokenizer>) {
        let mut scales = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if scales.len() < MAX_COUNTERS {
            scales.insert(model.to_owned(), counter);
        }
    }

    /// Lends the counter of a model.
    pub(crate) fn with_counter<T>(
        &self,
        model: &str,
        work: impl FnOnce(&mut CachedCounter<ModelTokenizer>) -> T,
    ) -> T {
        let mut counter = self.take_counter(model);
        let done = work(&mut counter);
        self.return_counter(model, counter);
        done
    }

    /// How many tokens a request takes.
    pub(crate) fn count_tokens(&self, source: &str, wire: Format, model: &str) -> Option<u64> {
        let reading =
            foxwedge_dialect::read(source, wire, foxwedge_dialect::OutlineOptions::default())
                .ok()?;
        Some(self.with_counter(model, |counter| {
            foxwedge_dialect::compact::weigh(&reading.draft, reading.frame, counter).total()
        }))
    }
}

/// A request that may be too long.
#[derive(Clone, Copy)]
pub(crate) struct ContextBudget<'a> {
    pub(crate) route: &'a ModelRoute,
    /// The format of the request.
    pub(crate) wire: Format,
    /// The upstream's name of the model.
    pub(crate) model: &'a str,
    /// How many tokens the reply may have.
    pub(crate) reply: Option<u64>,
}

impl ContextBudget<'_> {
    /// Whether the request is too long for certain or perhaps; a token takes a byte or more, so
    /// most requests are not looked at.
    pub(crate) fn may_overflow(self, body: &[u8]) -> bool {
        // No model that we know has so small a window: the table need not be searched.
        let tiny = self.route.window.is_none() && body.len() < ALWAYS_FITS_BYTES;
        !tiny
            && self.route.guard.mode == GuardMode::Fix
            && self.limits().is_some_and(|limits| body.len() as u64 > limits.max_tokens())
    }

    fn limits(self) -> Option<TokenLimits> {
        let known = models::find_model(self.model);
        let window = self.route.window.or(known.map(|model| model.window))?;
        let reply = self.reply.unwrap_or(DEFAULT_REPLY_TOKENS).min(window / 2);
        let limits = TokenLimits::of_window(window, reply, HistoryFraction::new(WINDOW_SHARE)?);
        Some(limits.with_pace(CompactionPace::Incremental))
    }
}

/// A request that surely has no room in the window that is set for its route.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct ContextOverflow {
    /// What it takes, as far as that is known.
    pub(crate) tokens: u64,
    /// What there is.
    pub(crate) window: u64,
}

/// Whether a request surely has no room, after everything that could be done about it. Only a window
/// that was set counts, and only what is sure: media are left out, and who has no vocabulary of the
/// model counts half.
pub(crate) fn find_overflow(
    body: &[u8],
    room: ContextBudget<'_>,
    scales: &TokenCounters,
) -> Option<ContextOverflow> {
    let window = room.route.window?;
    match room.route.guard.mode {
        GuardMode::Fix | GuardMode::Strict => {}
        GuardMode::Off | GuardMode::Observe => return None,
    }
    // A token takes a byte or more.
    if body.len() as u64 <= window {
        return None;
    }
    let source = text(body).ok()?;
    let reading =
        foxwedge_dialect::read(source, room.wire, foxwedge_dialect::OutlineOptions::default())
            .ok()?;
    let draft = &reading.draft;
    let weights = scales.with_counter(room.model, |counter| {
        foxwedge_dialect::compact::weigh(draft, reading.frame, counter)
    });
    let parts: usize = draft.messages.iter().map(|message| draft.parts_of(message).len()).sum();
    let media: u64 = (0..parts).map(|part| weights.of_media(part)).sum();
    let tokens = weights.total().saturating_sub(media);
    is_overflow(tokens, weights.exact, window).then_some(ContextOverflow { tokens, window })
}

/// Frames of messages are counted by rule of thumb, so also an exact count has a margin.
fn is_overflow(tokens: u64, exact: bool, window: u64) -> bool {
    match exact {
        true => tokens > window.saturating_add(window / 20),
        false => tokens / 2 > window,
    }
}

/// Makes a request fit into the window of its model without asking anybody.
pub(super) fn compact_if_needed(
    guarded: &mut GuardedRequest,
    judging: GuardInput<'_>,
    scales: &TokenCounters,
) {
    let room = ContextBudget {
        route: judging.route,
        wire: judging.to,
        model: judging.model,
        reply: judging.reading.envelope.max_output,
    };
    match judging.route.guard.overflow {
        OverflowPolicy::Compact if room.may_overflow(&guarded.body) => {
            compact_request(
                guarded,
                room,
                scales,
                &[CompactionStage::Elide, CompactionStage::Budget],
                &mut DigestSummarizer,
            );
        }
        OverflowPolicy::Compact | OverflowPolicy::Summarize | OverflowPolicy::Pass => {}
    }
}

/// Makes a request shorter. What cannot become short enough goes as it is: the provider says so in its
/// own words.
pub(crate) fn compact_request(
    guarded: &mut GuardedRequest,
    room: ContextBudget<'_>,
    scales: &TokenCounters,
    stages: &[CompactionStage],
    summarizer: &mut dyn HistorySummarizer,
) {
    let (Some(limits), Ok(source)) = (room.limits(), text(&guarded.body)) else { return };
    let mut settings = CompactionSettings::new(route_check_options(room.route, room.wire), limits);
    settings.stages = stages.to_vec();
    let compacted = scales.with_counter(room.model, |counter| {
        compact(source, room.wire, &settings, counter, summarizer)
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
            "{} messages of {} tokens became {} of {}: the model's window has no room for more",
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
    fn only_what_is_surely_too_long_is_said_to_be() {
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
