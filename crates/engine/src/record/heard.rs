//! What a reply says, as events of a run. What was said is left out unless it is to be kept: then
//! only how much it was is told, once for each text, and the words stay in memory for a while.

use std::{sync::Arc, time::Duration};

use foxwedge_dialect::{
    canon::{self, Bit, Trouble},
    stream::event::{Event, Opened, Piece},
};
use foxwedge_run::{Body, Call, Json, Status, Text, Turn};
use tokio::time::Instant;

use super::{
    block::{
        Block, Kind, called, cut, left_out, message, not_kept, opened, piece, reference, with_rest,
    },
    now,
    queue::{self, Ending, Told},
    words::{WordPlace, WordRoom},
};
use crate::config::Content;

/// Pieces of a text are told together, for so long or up to so many bytes.
const PAUSE: Duration = Duration::from_millis(250);
const PIECE: usize = 4 << 10;

/// So much waits before it is handed on.
const WAITING: usize = 32 << 10;

/// Bytes of texts and arguments that are kept of one reply.
const KEPT: usize = 1 << 20;

/// A reply, as it is heard.
#[derive(Debug)]
pub(super) struct Heard {
    content: Content,
    turn: u32,
    began: bool,
    block: Option<Block>,
    /// Not handed on yet, and about how many bytes that is.
    told: Vec<Told>,
    bytes: usize,
    /// When something was handed on last.
    handed: Option<Instant>,
    /// How much more is kept.
    room: usize,
    /// Where room for words that are not stored comes from, and how much there may be.
    words: Option<WordRoom>,
    more_room: usize,
    /// Words that are not stored.
    aside: Vec<(WordPlace, String)>,
    /// Calls that have an id; and whether there were any at all.
    calls: Vec<Arc<str>>,
    called: bool,
    /// The last text, if it is kept.
    text: Option<String>,
    usage: canon::Usage,
    refused: bool,
    trouble: Option<Trouble>,
}

/// All that is left to say at the end of a reply.
#[derive(Debug)]
pub(super) struct Said {
    pub(super) told: Vec<Told>,
    pub(super) calls: Vec<Arc<str>>,
    pub(super) usage: canon::Usage,
    pub(super) text: Option<String>,
}

impl Heard {
    pub(super) fn new(content: Content, words: Option<WordRoom>, turn: u32) -> Heard {
        let (room, more_room) = match content {
            Content::Kept => (KEPT, 0),
            Content::Left => (0, KEPT),
        };
        Heard {
            content,
            turn,
            began: false,
            block: None,
            told: Vec::new(),
            bytes: 0,
            handed: None,
            room,
            words,
            more_room,
            aside: Vec::new(),
            calls: Vec::new(),
            called: false,
            text: None,
            usage: canon::Usage::default(),
            refused: false,
            trouble: None,
        }
    }

    /// Something happens in a reply that comes in pieces.
    pub(super) fn see(&mut self, event: &Event<'_>) {
        match event {
            Event::Start(_) => self.begin(),
            Event::Open { block, kind } => self.open(*block, opened(kind)),
            Event::More { piece: Piece::Text(words), .. } => self.more(words),
            Event::More { piece: Piece::Signature(_) | Piece::Encrypted(_), .. }
            | Event::More { piece: Piece::Citation(_), .. } => {}
            Event::Close { .. } => self.close_block(),
            Event::Usage(usage) => self.usage.update(*usage),
            Event::Stop(stop) => self.stop(stop),
            Event::End => self.close_block(),
            Event::Failed(failure) => self.trouble = Some(failure.kind),
            Event::Cut => {}
        }
        if let Event::Open { kind: Opened::Refusal, .. } = event {
            self.refused = true;
        }
    }

    /// A reply that came whole.
    pub(super) fn whole(&mut self, reply: &canon::Reply<'_>) {
        self.begin();
        for (place, part) in reply.parts.iter().enumerate() {
            let number = u32::try_from(place).unwrap_or(u32::MAX);
            match part.bit() {
                Bit::Text(words) => {
                    self.refused |= part.notes().is_some_and(|notes| notes.refusal);
                    self.open(number, Kind::Text);
                    self.more(words);
                }
                Bit::Reasoning(reasoning) => {
                    self.open(number, Kind::Thought);
                    self.more(&reasoning.text);
                }
                Bit::Call(call) => {
                    self.open(number, called(call.id.as_deref(), &call.name));
                    self.more(&call.arguments);
                }
                Bit::Media(_) | Bit::Answer(_) | Bit::Other(_) => {}
            }
            self.close_block();
        }
        self.usage.update(reply.usage);
        if let Some(stop) = &reply.stop {
            self.stop(stop);
        }
    }

    /// Cards to be told beside the reply.
    pub(super) fn cards(&mut self, cards: Vec<Body>) {
        cards.into_iter().for_each(|card| self.tell(card));
    }

    /// What is to be handed on by now, if anything.
    pub(super) fn due(&mut self, now: Instant) -> Option<Vec<Told>> {
        let handed = *self.handed.get_or_insert(now);
        let late = now.duration_since(handed) >= PAUSE;
        let much = self.bytes >= WAITING || self.untold() >= PIECE;
        if !late && !much {
            return None;
        }
        self.announce();
        if self.told.is_empty() {
            return None;
        }
        self.handed = Some(now);
        self.bytes = 0;
        Some(std::mem::take(&mut self.told))
    }

    /// How a reply that is whole ends its request.
    pub(super) fn ending(&self) -> Ending {
        let calls =
            self.called || matches!(&self.block, Some(Block { kind: Kind::Call { .. }, .. }));
        match (self.refused, calls) {
            (true, _) => Ending::Refused,
            (false, true) => Ending::Waits,
            (false, false) => Ending::Replied,
        }
    }

    /// The trouble that the provider told of, in a word.
    pub(super) fn trouble(&self) -> &'static str {
        match self.trouble {
            None => "upstream_failed",
            Some(Trouble::Request) => "upstream_request",
            Some(Trouble::Credentials) => "upstream_credentials",
            Some(Trouble::Permission) => "upstream_permission",
            Some(Trouble::NotFound) => "upstream_not_found",
            Some(Trouble::TooLarge) => "upstream_too_large",
            Some(Trouble::RateLimit) => "upstream_rate_limit",
            Some(Trouble::Overloaded) => "upstream_overloaded",
            Some(Trouble::Timeout) => "upstream_timeout",
            Some(Trouble::Server) => "upstream_server",
        }
    }

    /// The reply is over, one way or another.
    pub(super) fn finish(&mut self, ending: &Ending) -> Said {
        match ending {
            Ending::Replied | Ending::Waits | Ending::Refused => self.close_block(),
            // What was cut off in the middle is told as far as it came.
            Ending::Failed(_) | Ending::Stopped => match &self.block {
                Some(Block { kind: Kind::Call { .. }, .. }) => self.announce(),
                Some(Block { kind: Kind::Text | Kind::Thought | Kind::Sealed, .. }) | None => {
                    self.close_block();
                }
            },
        }
        Said {
            told: std::mem::take(&mut self.told),
            calls: std::mem::take(&mut self.calls),
            usage: self.usage,
            text: self.text.take(),
        }
    }

    /// Begins before anything was said: something else may happen first.
    pub(super) fn early(&mut self) -> Vec<Told> {
        self.begin();
        self.bytes = 0;
        std::mem::take(&mut self.told)
    }

    fn begin(&mut self) {
        if !self.began {
            self.began = true;
            self.tell(Body::Turn(Turn { turn: Some(self.turn), message: None }));
        }
    }

    fn open(&mut self, number: u32, kind: Kind) {
        self.begin();
        self.close_block();
        self.block = Some(Block::new(number, kind));
    }

    fn more(&mut self, words: &str) {
        let Some(block) = &mut self.block else { return };
        block.bytes += words.len();
        block.characters += words.chars().count();
        block.speaks = block.speaks || !words.trim_start().is_empty();
        if words.len() > self.room
            && words.len() <= self.more_room
            && let Some(more) = self.words.as_mut().and_then(|room| room.take(words.len()))
        {
            self.room += more;
            self.more_room = self.more_room.saturating_sub(more);
        }
        let kept = cut(words, self.room);
        // Once something is left out, so is everything behind it.
        let whole = kept.len() == words.len();
        self.room = if whole { self.room - kept.len() } else { 0 };
        if !whole {
            self.more_room = 0;
        }
        block.text.push_str(kept);
    }

    /// Words that are not stored, since the last look.
    pub(super) fn aside(&mut self) -> Vec<(WordPlace, String)> {
        std::mem::take(&mut self.aside)
    }

    fn stop(&mut self, stop: &canon::Stop<'_>) {
        match stop {
            canon::Stop::Refusal => self.refused = true,
            canon::Stop::End
            | canon::Stop::Calls
            | canon::Stop::Length
            | canon::Stop::ContextFull
            | canon::Stop::Sequence(_)
            | canon::Stop::Pause
            | canon::Stop::Malformed
            | canon::Stop::Other(_) => {}
        }
    }

    /// How much of a text that is kept was not told yet.
    fn untold(&self) -> usize {
        if self.content == Content::Left {
            return 0;
        }
        self.block.as_ref().map_or(0, |block| block.text.len() - block.told)
    }

    /// Tells what is known of a block that goes on.
    fn announce(&mut self) {
        let Some(block) = &mut self.block else { return };
        let message = message(self.turn, block.number);
        let body = match &mut block.kind {
            Kind::Call { announced: true, .. } | Kind::Sealed => return,
            Kind::Call { id, name, announced } => {
                *announced = true;
                Body::Call(Call {
                    call: reference(id),
                    name: Some(name.clone()),
                    ..Call::default()
                })
            }
            Kind::Text | Kind::Thought if self.content == Content::Left => return,
            Kind::Text | Kind::Thought if block.text.len() == block.told => return,
            Kind::Text => Body::Text(piece(message, &block.text, block.told)),
            Kind::Thought => Body::Thought(piece(message, &block.text, block.told)),
        };
        block.told = block.text.len();
        self.tell(body);
    }

    fn close_block(&mut self) {
        let Some(block) = self.block.take() else { return };
        let Block { number, kind, characters, bytes, speaks, text, told } = block;
        let is_text = matches!(kind, Kind::Text);
        match kind {
            Kind::Sealed => {}
            Kind::Text | Kind::Thought => {
                if !speaks {
                    return;
                }
                let message = message(self.turn, number);
                let text = match self.content {
                    Content::Left => {
                        if let Some(message) = message.clone().filter(|_| !text.is_empty()) {
                            let words = with_rest(text, characters);
                            self.aside.push((WordPlace::Text(message), words));
                        }
                        not_kept(characters)
                    }
                    Content::Kept => with_rest(text, characters),
                };
                // What was told in pieces is not told again.
                let said = match told {
                    0 => Text { message, full: Some(text.clone()), ..Text::default() },
                    told => piece(message, &text, told),
                };
                if is_text {
                    self.text = Some(text);
                    self.tell(Body::Text(said));
                } else {
                    self.tell(Body::Thought(said));
                }
            }
            Kind::Call { id, name, .. } => {
                let input = match self.content {
                    Content::Left => {
                        let whole = id.clone().filter(|_| text.len() == bytes);
                        self.aside.extend(whole.map(|id| (WordPlace::Input(id), text)));
                        left_out(bytes)
                    }
                    Content::Kept if text.len() < bytes => left_out(bytes),
                    Content::Kept => Json::parse(&text).unwrap_or_else(|| Json::string(&text)),
                };
                // The client has it, and may be at work on it.
                self.tell(Body::Call(Call {
                    call: reference(&id),
                    name: Some(name),
                    input: Some(input),
                    status: Some(Status::Running),
                    ..Call::default()
                }));
                self.called = true;
                self.calls.extend(id);
            }
        }
    }

    fn tell(&mut self, body: Body) {
        self.bytes += queue::body(&body);
        self.told.push(Told { at: now(), body });
    }
}
