//! A reply as it is read: in pieces for whoever listens, and as a message for the next request. Both
//! always say the same: of what was read and not yet told nothing is in the message.
//!
//! A call is told when it is whole. One whose arguments the limit of tokens cut off counts as whole
//! if the provider closed it, and all of them do: it is told with its arguments as they are, so that
//! the model can be told what became of it. One that a broken connection cut off is never told.

use std::{
    borrow::Cow,
    collections::{HashSet, VecDeque},
};

use foxwedge_core::{IdRule, Wire, fresh_id};
use foxwedge_dialect::{
    canon::{
        self, Bit, Call, Failure, Outcome, Part, Reasoning, Reply, Seal, Stop, decode_reply,
        encode_turn,
    },
    stream::{
        Ending, Limits, StreamError, Watcher,
        event::{Event, Opened, Piece as Said},
    },
    text,
};
use foxwedge_run::Usage;

use super::{Called, Piece, StopKind};

/// A reply that is read.
pub(super) struct Reading {
    wire: Wire,
    source: Source,
    /// Read, and not yet told.
    waiting: VecDeque<Piece>,
    ids: Ids,
    /// Calls that were told or wait, out of the parts so far.
    parts: usize,
    usage: canon::Usage,
    open: Open,
    /// How many bytes may still come.
    room: usize,
    /// The provider said that this is all.
    over: bool,
    /// Something was said.
    spoken: bool,
}

enum Source {
    /// It comes in pieces.
    Stream(Box<Watcher>),
    /// Everything that came.
    Whole(Vec<Part<'static>>),
}

/// What the block is that is open.
#[derive(Clone, Copy)]
enum Open {
    Text,
    Thought,
    Call,
    Quiet,
}

/// How a reply ended.
pub(super) enum Ended {
    /// Well.
    Whole,
    /// The provider failed.
    Failed(Failure<'static>),
    /// It broke off.
    Cut,
    /// It cannot be read on.
    Unreadable(StreamError),
    /// More was said than is kept.
    TooMuch,
}

/// What happens in a stream, before a call is looked up.
enum Heard {
    Piece(Piece),
    Call,
}

impl Reading {
    /// Of a reply in that format. The seed tells calls apart that have no ids of their own.
    pub(super) fn new(wire: Wire, rule: IdRule, limits: Limits, seed: String) -> Reading {
        Reading {
            wire,
            source: Source::Stream(Box::new(Watcher::new(wire, limits))),
            waiting: VecDeque::new(),
            ids: Ids { wire, rule, seed, given: Vec::new(), used: HashSet::new() },
            parts: 0,
            usage: canon::Usage::default(),
            open: Open::Quiet,
            room: limits.held,
            over: false,
            spoken: false,
        }
    }

    /// The next piece that was read.
    pub(super) fn next(&mut self) -> Option<Piece> {
        self.waiting.pop_front()
    }

    /// Whether the provider said that this is all.
    pub(super) fn is_over(&self) -> bool {
        self.over
    }

    /// Whether anything was said.
    pub(super) fn has_spoken(&self) -> bool {
        self.spoken
    }

    /// Whether it cannot be read on.
    pub(super) fn is_stuck(&self) -> bool {
        match &self.source {
            Source::Stream(watcher) => self.room == 0 || watcher.trouble().is_some(),
            Source::Whole(_) => true,
        }
    }

    /// More of a stream.
    pub(super) fn push(&mut self, bytes: &[u8]) {
        let Source::Stream(watcher) = &mut self.source else { return };
        self.room = self.room.saturating_sub(bytes.len());
        let mut heard = Vec::new();
        let (open, usage, over) = (&mut self.open, &mut self.usage, &mut self.over);
        watcher.push(bytes, &mut |event| hear(event, open, usage, over, &mut heard));
        let fresh = watcher.said().get(self.parts..).unwrap_or_default();
        let (fresh, count) = (calls(fresh), watcher.said().len());
        self.parts = count;
        self.take(heard, fresh);
    }

    /// A stream has ended: what is left of it, and how.
    pub(super) fn finish(&mut self) -> Ended {
        let watcher = match std::mem::replace(&mut self.source, Source::Whole(Vec::new())) {
            Source::Stream(watcher) => watcher,
            whole @ Source::Whole(_) => {
                self.source = whole;
                return Ended::Whole;
            }
        };
        let mut heard = Vec::new();
        let (open, usage, over) = (&mut self.open, &mut self.usage, &mut self.over);
        let watched = watcher.finish(&mut |event| hear(event, open, usage, over, &mut heard));
        let collection = watched.collection;
        let parts = collection.reply.parts;
        let fresh = calls(parts.get(self.parts..).unwrap_or_default());
        self.source = Source::Whole(parts);
        self.take(heard, fresh);
        match (watched.trouble, collection.ending) {
            (Some(trouble), _) => Ended::Unreadable(trouble),
            (None, Ending::Failed(failure)) => Ended::Failed(failure),
            (None, Ending::Cut | Ending::Whole) if collection.truncated => Ended::TooMuch,
            (None, Ending::Cut) if self.room == 0 => Ended::TooMuch,
            (None, Ending::Cut) => Ended::Cut,
            (None, Ending::Whole) => Ended::Whole,
        }
    }

    /// A reply that came in one piece, whatever was asked for. `None` if it is none.
    pub(super) fn whole(&mut self, body: &[u8]) -> Option<Ended> {
        let source = text(body).ok()?;
        let reply = match decode_reply(source, self.wire) {
            Ok(told) => match told.outcome {
                Outcome::Reply(reply) => reply,
                Outcome::Failure(failure) => return Some(Ended::Failed(owned(&failure))),
            },
            // Some say that it is no stream, and stream.
            Err(_) if is_stream(source) => {
                self.push(body);
                return Some(self.finish());
            }
            Err(_) => return None,
        };
        let parts: Vec<Part<'static>> = reply.parts.iter().filter_map(kept).collect();
        let mut heard: Vec<Heard> = parts.iter().filter_map(told).collect();
        heard.extend(figures(&mut self.usage, reply.usage));
        if let Some(stop) = &reply.stop {
            heard.push(Heard::Piece(Piece::Stop(stopped(stop))));
        }
        let fresh = calls(&parts);
        self.source = Source::Whole(parts);
        self.take(heard, fresh);
        Some(Ended::Whole)
    }

    /// What was told so far, as a message of the model.
    pub(super) fn message(&mut self) -> Option<String> {
        // What was read to the end of a line that never came counts as not told.
        self.finish();
        let Source::Whole(parts) = &mut self.source else { return None };
        let mut parts = std::mem::take(parts);
        self.waiting.iter().rev().for_each(|piece| unsay(&mut parts, piece));
        let mut ids = self.ids.given.iter();
        for part in &mut parts {
            let Bit::Call(call) = part.bit() else { continue };
            let id = ids.next().map(|id| Cow::Owned(id.clone()));
            *part = Part::new(Bit::Call(Call { id, ..call.clone() }));
        }
        encode_turn(&Reply { parts, ..Reply::default() }, self.wire)
    }

    fn take(&mut self, heard: Vec<Heard>, calls: Vec<Called>) {
        let mut calls = calls.into_iter();
        for heard in heard {
            let piece = match heard {
                Heard::Piece(piece) => piece,
                // One that could not be kept is not told.
                Heard::Call => match calls.next() {
                    Some(call) => Piece::Call(Called { id: self.ids.next(&call.id), ..call }),
                    None => continue,
                },
            };
            self.spoken |= matches!(piece, Piece::Text(_) | Piece::Thought(_) | Piece::Call(_));
            self.waiting.push_back(piece);
        }
    }
}

/// What an event tells.
fn hear(
    event: &Event<'_>,
    open: &mut Open,
    usage: &mut canon::Usage,
    over: &mut bool,
    heard: &mut Vec<Heard>,
) {
    match event {
        Event::Open { kind, .. } => {
            *open = match kind {
                Opened::Text | Opened::Refusal => Open::Text,
                Opened::Reasoning => Open::Thought,
                Opened::Call { .. } => Open::Call,
                Opened::Redacted(_) => Open::Quiet,
            }
        }
        Event::More { piece: Said::Text(words), .. } if !words.is_empty() => match open {
            Open::Text => heard.push(Heard::Piece(Piece::Text(words.to_string()))),
            Open::Thought => heard.push(Heard::Piece(Piece::Thought(words.to_string()))),
            Open::Call | Open::Quiet => {}
        },
        Event::Close { .. } => {
            if let Open::Call = std::mem::replace(open, Open::Quiet) {
                heard.push(Heard::Call);
            }
        }
        Event::Usage(newer) => heard.extend(figures(usage, *newer)),
        Event::Stop(stop) => heard.push(Heard::Piece(Piece::Stop(stopped(stop)))),
        Event::End => *over = true,
        Event::Start(_) | Event::More { .. } | Event::Failed(_) | Event::Cut => {}
    }
}

/// Figures, if they are new.
fn figures(known: &mut canon::Usage, newer: canon::Usage) -> Option<Heard> {
    let before = *known;
    known.update(newer);
    (*known != before).then(|| {
        let figure = |figure: Option<u64>| figure.unwrap_or(0);
        Heard::Piece(Piece::Usage(Usage {
            input: figure(known.input),
            output: figure(known.output),
            cached: figure(known.cached),
            reasoning: figure(known.reasoning),
        }))
    })
}

fn stopped(stop: &Stop<'_>) -> StopKind {
    match stop {
        Stop::Length | Stop::ContextFull => StopKind::Length,
        Stop::Refusal => StopKind::Refused,
        Stop::Pause => StopKind::Pause,
        Stop::End | Stop::Calls | Stop::Sequence(_) | Stop::Malformed | Stop::Other(_) => {
            StopKind::Done
        }
    }
}

/// The calls among parts, with the ids that they came with.
fn calls(parts: &[Part<'_>]) -> Vec<Called> {
    let calls = parts.iter().filter_map(|part| match part.bit() {
        Bit::Call(call) => Some(Called {
            id: call.id.as_deref().unwrap_or_default().to_owned(),
            name: call.name.to_string(),
            arguments: match call.arguments.trim().is_empty() && !call.is_free_text() {
                true => "{}".to_owned(),
                false => call.arguments.to_string(),
            },
        }),
        _ => None,
    });
    calls.collect()
}

/// A part of a reply in one piece, as it would have come in pieces.
fn kept(part: &Part<'_>) -> Option<Part<'static>> {
    Some(Part::new(match part.bit() {
        Bit::Text(text) => Bit::Text(text.to_static()),
        Bit::Reasoning(Reasoning { text, seal }) => Bit::Reasoning(Reasoning {
            text: text.to_static(),
            seal: match seal {
                Seal::Open => Seal::Open,
                Seal::Signed(words) => Seal::Signed(words.to_static()),
                Seal::Redacted(words) => Seal::Redacted(words.to_static()),
                Seal::Encrypted(words) => Seal::Encrypted(words.to_static()),
            },
        }),
        Bit::Call(call) => Bit::Call(Call {
            id: call.id.as_deref().map(|id| Cow::Owned(id.to_owned())),
            name: Cow::Owned(call.name.to_string()),
            family: call.family,
            arguments: call.arguments.to_static(),
            signature: call.signature.as_ref().map(canon::Words::to_static),
        }),
        Bit::Media(_) | Bit::Answer(_) | Bit::Other(_) => return None,
    }))
}

fn told(part: &Part<'_>) -> Option<Heard> {
    let said = |text: &str| (!text.is_empty()).then(|| text.to_owned());
    match part.bit() {
        Bit::Text(text) => said(text).map(Piece::Text).map(Heard::Piece),
        Bit::Reasoning(thought) => said(&thought.text).map(Piece::Thought).map(Heard::Piece),
        Bit::Call(_) => Some(Heard::Call),
        Bit::Media(_) | Bit::Answer(_) | Bit::Other(_) => None,
    }
}

/// Takes a piece that nobody has heard out of the end of what was said.
fn unsay(parts: &mut Vec<Part<'static>>, piece: &Piece) {
    let last = |wanted: fn(&Bit<'_>) -> bool| parts.iter().rposition(|part| wanted(part.bit()));
    let (at, words) = match piece {
        Piece::Call(_) => (last(|bit| matches!(bit, Bit::Call(_))), ""),
        Piece::Text(words) => (last(|bit| matches!(bit, Bit::Text(_))), &**words),
        Piece::Thought(words) => (last(|bit| matches!(bit, Bit::Reasoning(_))), &**words),
        Piece::Usage(_) | Piece::Stop(_) | Piece::Waiting { .. } | Piece::Mended(_) => return,
    };
    let Some(at) = at else { return };
    let left = parts.get(at).and_then(|part| match part.bit() {
        Bit::Text(text) => {
            let text = text.strip_suffix(words).filter(|text| !text.is_empty())?;
            Some(Bit::Text(text.to_owned().into()))
        }
        // What is not all there is not what was signed.
        Bit::Reasoning(thought) => {
            let text = thought.text.strip_suffix(words).filter(|text| !text.is_empty())?;
            Some(Bit::Reasoning(Reasoning { text: text.to_owned().into(), seal: Seal::Open }))
        }
        Bit::Call(_) | Bit::Media(_) | Bit::Answer(_) | Bit::Other(_) => None,
    });
    parts.truncate(at);
    parts.extend(left.map(Part::new));
}

/// The ids of the calls of one reply.
struct Ids {
    wire: Wire,
    rule: IdRule,
    seed: String,
    /// In the order of the calls.
    given: Vec<String>,
    used: HashSet<String>,
}

impl Ids {
    /// The id of the next call: its own, or a computed one if it has none or another call has it.
    fn next(&mut self, own: &str) -> String {
        let index = self.given.len();
        let mut id = own.trim().to_owned();
        let mut salt = 0_u32;
        while id.is_empty() || self.used.contains(&id) {
            let seed = format!("{salt} {index} {} {own}", self.seed);
            id = fresh_id(self.wire, self.rule, &seed);
            salt += 1;
        }
        self.used.insert(id.clone());
        self.given.push(id.clone());
        id
    }
}

/// Whether a text looks like events.
fn is_stream(source: &str) -> bool {
    let source = source.trim_start();
    ["data:", "event:", "id:", "retry:", ":"].iter().any(|start| source.starts_with(start))
}

fn owned(failure: &Failure<'_>) -> Failure<'static> {
    Failure {
        kind: failure.kind,
        message: failure.message.to_static(),
        code: failure.code.as_ref().map(canon::Words::to_static),
    }
}
