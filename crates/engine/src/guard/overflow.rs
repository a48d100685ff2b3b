//! A history that is too long for its model is made shorter before it is sent, the same way each
//! time it comes, so that the beginning of what is sent stays the same.

use std::{
    collections::HashMap,
    sync::{Mutex, PoisonError},
};

use foxwedge_core::{
    Wire,
    compact::{Fraction, Limits, Pace},
};
use foxwedge_dialect::{
    compact::{Digest, Settings, Stage, Summarizer, compact},
    text,
};
use foxwedge_tokens::{Remembering, Tokenizer, models};

use super::{Action, Change, Guarded, Judging, question};
use crate::config::{Mode, Overflow, Route};

/// Estimates are a few percent off.
const SHARE: f64 = 0.95;
/// Room for a reply of which nobody said how long it may be.
const REPLY: u64 = 4_096;
/// Requests of so many bytes fit into every window.
const TINY: usize = 2_000;
/// Texts that a model's counter remembers.
const REMEMBERED: usize = 20_000;
/// Models with a counter of their own at a time.
const MODELS: usize = 32;

/// The counters of models, which remember what they have counted.
#[derive(Default)]
pub(crate) struct Scales(Mutex<HashMap<String, Remembering<Tokenizer>>>);

impl Scales {
    /// The counter of a model, out of the box while it is used.
    fn take(&self, model: &str) -> Remembering<Tokenizer> {
        let mut scales = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        scales
            .remove(model)
            .unwrap_or_else(|| Remembering::new(Tokenizer::for_model(Some(model)), REMEMBERED))
    }

    fn put_back(&self, model: &str, counter: Remembering<Tokenizer>) {
        let mut scales = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if scales.len() < MODELS {
            scales.insert(model.to_owned(), counter);
        }
    }

    /// Lends the counter of a model.
    pub(crate) fn with<T>(
        &self,
        model: &str,
        work: impl FnOnce(&mut Remembering<Tokenizer>) -> T,
    ) -> T {
        let mut counter = self.take(model);
        let done = work(&mut counter);
        self.put_back(model, counter);
        done
    }

    /// How many tokens a request takes.
    pub(crate) fn weigh(&self, source: &str, wire: Wire, model: &str) -> Option<u64> {
        let reading =
            foxwedge_dialect::read(source, wire, foxwedge_dialect::Want::default()).ok()?;
        Some(self.with(model, |counter| {
            foxwedge_dialect::compact::weigh(&reading.draft, reading.frame, counter).total()
        }))
    }
}

/// A request that may be too long.
#[derive(Clone, Copy)]
pub(crate) struct Room<'a> {
    pub(crate) route: &'a Route,
    /// The format of the request.
    pub(crate) wire: Wire,
    /// The upstream's name of the model.
    pub(crate) model: &'a str,
    /// How many tokens the reply may have.
    pub(crate) reply: Option<u64>,
}

impl Room<'_> {
    /// Whether the request is too long for certain or perhaps; a token takes a byte or more, so
    /// most requests are not looked at.
    pub(crate) fn is_doubtful(self, body: &[u8]) -> bool {
        // No model that we know has so small a window: the table need not be searched.
        let tiny = self.route.window.is_none() && body.len() < TINY;
        !tiny
            && self.route.guard.mode == Mode::Fix
            && self.limits().is_some_and(|limits| body.len() as u64 > limits.most())
    }

    fn limits(self) -> Option<Limits> {
        let known = models::find(self.model);
        let window = self.route.window.or(known.map(|model| model.window))?;
        let reply = self.reply.unwrap_or(REPLY).min(window / 2);
        let limits = Limits::of_window(window, reply, Fraction::new(SHARE)?);
        Some(limits.at(Pace::Steady))
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
pub(crate) fn overflow(body: &[u8], room: Room<'_>, scales: &Scales) -> Option<ContextOverflow> {
    let window = room.route.window?;
    match room.route.guard.mode {
        Mode::Fix | Mode::Strict => {}
        Mode::Off | Mode::Observe => return None,
    }
    // A token takes a byte or more.
    if body.len() as u64 <= window {
        return None;
    }
    let source = text(body).ok()?;
    let reading =
        foxwedge_dialect::read(source, room.wire, foxwedge_dialect::Want::default()).ok()?;
    let draft = &reading.draft;
    let weights = scales.with(room.model, |counter| {
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
pub(super) fn fit(guarded: &mut Guarded, judging: Judging<'_>, scales: &Scales) {
    let room = Room {
        route: judging.route,
        wire: judging.to,
        model: judging.model,
        reply: judging.reading.envelope.max_output,
    };
    match judging.route.guard.overflow {
        Overflow::Compact if room.is_doubtful(&guarded.body) => {
            shorten(guarded, room, scales, &[Stage::Elide, Stage::Budget], &mut Digest);
        }
        Overflow::Compact | Overflow::Summarize | Overflow::Pass => {}
    }
}

/// Makes a request shorter. What cannot become short enough goes as it is: the provider says so in its
/// own words.
pub(crate) fn shorten(
    guarded: &mut Guarded,
    room: Room<'_>,
    scales: &Scales,
    stages: &[Stage],
    summarizer: &mut dyn Summarizer,
) {
    let (Some(limits), Ok(source)) = (room.limits(), text(&guarded.body)) else { return };
    let mut settings = Settings::new(question(room.route, room.wire), limits);
    settings.stages = stages.to_vec();
    let compacted = scales
        .with(room.model, |counter| compact(source, room.wire, &settings, counter, summarizer));
    let Ok(compacted) = compacted else { return };
    if !compacted.is_changed() {
        return;
    }
    let (before, after) = (compacted.account.before, compacted.account.after);
    let body = compacted.text.into_owned();
    guarded.changes.push(Change {
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
    guarded.action = Action::Fixed;
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
