//! Puts what a reader says into the order that every writer can take.
//!
//! Readers speak as their format does: blocks under any numbers, several open at once, calls that
//! nobody closes. Behind this point an answer begins once, its blocks are numbered from zero and
//! stand one behind the other, and what is over is over. A block that begins while another is open
//! waits until that one is whole; a call is also whole when its arguments are a whole JSON value and
//! another block waits behind it. What is cut off stays open: a call never becomes a whole one by
//! accident.

mod arguments;
mod held;
mod owned;

use std::collections::{HashMap, VecDeque};

use foxwedge_core::{Family, Wire};

use super::event::{Event, Head, Opened, Piece, Sink, Skipped};
use crate::canon::{CallIds, Lost, Renamed, Stop, Usage, Words};
use arguments::Arguments;
use held::{Held, Kept};

pub(super) use owned::{lent, owned_citation, owned_failure, owned_opened, owned_stop};

/// One answer on its way from a reader to a writer.
pub(crate) struct Order {
    /// Gives out ids; without it they stay as they are.
    ids: Option<CallIds>,
    /// What is known about the answer so far.
    head: Head<'static>,
    /// What stands in where the provider says nothing.
    fallback: Head<'static>,
    /// The model that is named in any case.
    named: Option<Words<'static>>,
    /// New names of tools, and the names that the request had.
    names: HashMap<String, String>,
    begun: bool,
    stage: Stage,
    live: Option<Live>,
    held: VecDeque<Held>,
    /// The bytes of everything that waits.
    bytes: usize,
    /// The bytes of the ids that were given out.
    given: usize,
    blocks: u32,
    calls: u32,
    /// Blocks that were closed because their arguments were whole.
    completed: Vec<u32>,
    usage: Usage,
    scratch: String,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Stage {
    Speaking,
    Stopped,
    Over,
}

/// The block that the writer has open.
struct Live {
    /// Its number there.
    block: u32,
    /// The reader's number.
    source: u32,
    /// How far the arguments are, for calls whose arguments are JSON.
    arguments: Option<Arguments>,
}

impl Order {
    /// For a writer of that format.
    pub(crate) fn new(to: Wire, seed: &str, fallback: Head<'static>) -> Order {
        Order { ids: Some(CallIds::new(to, seed)), fallback, ..Order::plain() }
    }

    /// The same, for an answer of a model with that name.
    pub(crate) fn named(mut self, model: String) -> Order {
        self.named = Some(model.into());
        self
    }

    /// The same, with tools called as the request called them.
    pub(crate) fn with_names(mut self, names: Vec<Renamed>) -> Order {
        self.names = names.into_iter().map(|name| (name.new, name.old)).collect();
        self
    }

    /// For nobody in particular: ids stay as they are.
    pub(crate) fn plain() -> Order {
        Order {
            ids: None,
            head: Head::default(),
            fallback: Head::default(),
            named: None,
            names: HashMap::new(),
            begun: false,
            stage: Stage::Speaking,
            live: None,
            held: VecDeque::new(),
            bytes: 0,
            given: 0,
            blocks: 0,
            calls: 0,
            completed: Vec::new(),
            usage: Usage::default(),
            scratch: String::new(),
        }
    }

    /// Takes what a reader says and hands on what is due.
    pub(crate) fn event(&mut self, event: Event<'_>, next: &mut dyn Sink) {
        if self.stage == Stage::Over {
            return;
        }
        match event {
            Event::Start(head) => self.start(&head, next),
            Event::Open { block, kind } => self.open(block, kind, next),
            Event::More { block, piece } => self.more(block, piece, next),
            Event::Close { block } => self.close(block, next),
            Event::Usage(usage) => {
                self.usage.update(usage);
                // Before the beginning the figures wait for it.
                if self.begun {
                    next.event(Event::Usage(self.usage));
                }
            }
            Event::Stop(stop) => self.stop(stop, next),
            Event::End if self.is_torn() => self.event(Event::Cut, next),
            Event::End => {
                let stop = if self.calls + self.held_calls() > 0 { Stop::Calls } else { Stop::End };
                self.stop(stop, next);
                self.stage = Stage::Over;
                next.event(Event::End);
            }
            Event::Failed(_) | Event::Cut => {
                self.begin(next);
                self.drop_held(next);
                self.stage = Stage::Over;
                next.event(event);
            }
        }
    }

    /// Whether an end would come too early: before the model has stopped, inside a call, or before
    /// anything was said.
    pub(crate) fn is_torn(&self) -> bool {
        let open = |arguments: &Option<Arguments>| {
            arguments.is_some_and(|arguments| !arguments.is_complete())
        };
        self.stage == Stage::Speaking
            && (!self.begun
                || self.live.as_ref().is_some_and(|live| open(&live.arguments))
                || self.held.iter().any(|held| !held.whole && open(&held.arguments)))
    }

    /// Whether the end, a failure or a cut was handed on.
    pub(crate) fn is_over(&self) -> bool {
        self.stage == Stage::Over
    }

    /// How many bytes of the answer are kept.
    pub(crate) fn held(&self) -> usize {
        self.bytes + self.given
    }

    /// The ids that the format did not take.
    pub(crate) fn renamed(&self) -> &[Renamed] {
        self.ids.as_ref().map_or(&[], CallIds::renamed)
    }

    fn start(&mut self, head: &Head<'_>, next: &mut dyn Sink) {
        let said = |words: &Option<Words<'_>>| {
            words.as_ref().filter(|words| !words.is_empty()).map(Words::to_static)
        };
        let known = &mut self.head;
        known.id = known.id.take().or_else(|| said(&head.id));
        known.model = known.model.take().or_else(|| said(&head.model));
        known.created = known.created.or(head.created);
        // Some providers open with a chunk that names nothing; the next one does.
        if known.id.is_some() || known.model.is_some() {
            self.begin(next);
        }
    }

    fn begin(&mut self, next: &mut dyn Sink) {
        if std::mem::replace(&mut self.begun, true) {
            return;
        }
        let (head, fallback) = (&self.head, &self.fallback);
        let model = head.model.as_ref().or(fallback.model.as_ref());
        next.event(Event::Start(Head {
            id: head.id.as_ref().or(fallback.id.as_ref()).map(lent),
            model: self.named.as_ref().or(model).map(lent),
            created: head.created.or(fallback.created),
        }));
        if !self.usage.is_empty() {
            next.event(Event::Usage(self.usage));
        }
    }

    fn open(&mut self, source: u32, kind: Opened<'_>, next: &mut dyn Sink) {
        if self.stage == Stage::Stopped {
            return next.skip(Skipped {
                what: Lost::Unknown,
                note: "a block that begins after the model has stopped is left out".to_owned(),
            });
        }
        self.begin(next);
        if self.live.as_ref().is_some_and(Live::is_complete) {
            self.complete(next);
        }
        if self.live.is_none() {
            return self.show(source, &kind, next);
        }
        let held = Held::new(source, owned_opened(&kind), arguments(&kind));
        self.bytes += held.bytes();
        self.held.push_back(held);
    }

    /// Hands a block on as the open one.
    fn show(&mut self, source: u32, kind: &Opened<'_>, next: &mut dyn Sink) {
        let block = self.blocks;
        self.blocks += 1;
        self.live = Some(Live { block, source, arguments: arguments(kind) });
        let Opened::Call { id, name, family, signature } = kind else {
            return next.event(Event::Open { block, kind: kind.clone() });
        };
        self.calls += 1;
        let reply = self.head.id.as_ref().or(self.fallback.id.as_ref());
        let id = match &mut self.ids {
            Some(ids) => {
                // No two calls may have one id, so all of them are remembered.
                self.given += 64 + 2 * id.as_ref().map_or(0, |id| id.len());
                ids.next(reply.map(|id| &**id), id.as_deref()).map(Words::from)
            }
            None => id.as_ref().map(lent),
        };
        let name = match self.names.get(&**name) {
            Some(old) => Words::from(old.as_str()),
            None => name.clone(),
        };
        let family = *family;
        let kind = Opened::Call { id, name, family, signature: signature.clone() };
        next.event(Event::Open { block, kind });
    }

    fn more(&mut self, source: u32, piece: Piece<'_>, next: &mut dyn Sink) {
        // Of blocks under one number the newest is meant.
        if let Some(held) = self.held.iter_mut().rev().find(|held| held.source == source) {
            if !held.whole {
                let before = held.bytes();
                held.take(&piece);
                self.bytes += held.bytes() - before;
                return;
            }
        } else if let Some(live) = self.live.as_mut().filter(|live| live.source == source) {
            if let (Piece::Text(words), Some(arguments)) = (&piece, &mut live.arguments) {
                self.scratch.clear();
                words.write_inside(&mut self.scratch);
                arguments.take(&self.scratch);
            }
            next.event(Event::More { block: live.block, piece });
            if !self.held.is_empty() && self.live.as_ref().is_some_and(Live::is_complete) {
                self.complete(next);
                self.advance(next);
            }
            return;
        }
        self.late(source, &piece, next);
    }

    /// More of a block that is closed already.
    fn late(&self, source: u32, piece: &Piece<'_>, next: &mut dyn Sink) {
        let (what, note) = match piece {
            // Models like to write a line break behind their arguments.
            Piece::Text(words) if words.trim().is_empty() => return,
            Piece::Text(_) if self.completed.contains(&source) => {
                (Lost::Arguments, "what follows whole arguments is left out")
            }
            Piece::Text(_) => (Lost::Unknown, "text for a block that is closed is left out"),
            Piece::Signature(_) | Piece::Encrypted(_) => {
                (Lost::Signature, "a signature for a block that is closed is left out")
            }
            Piece::Citation(_) => {
                (Lost::Citation, "a citation for a block that is closed is left out")
            }
        };
        next.skip(Skipped { what, note: note.to_owned() });
    }

    fn close(&mut self, source: u32, next: &mut dyn Sink) {
        if let Some(held) = self.held.iter_mut().rev().find(|held| held.source == source) {
            held.whole = true;
        } else if self.live.as_ref().is_some_and(|live| live.source == source) {
            self.shut(true, next);
            self.advance(next);
        }
    }

    /// Closes a call because its arguments are whole.
    fn complete(&mut self, next: &mut dyn Sink) {
        self.completed.extend(self.live.as_ref().map(|live| live.source));
        self.shut(true, next);
    }

    /// Closes the open block. A whole call without arguments has none: that is the empty object.
    fn shut(&mut self, whole: bool, next: &mut dyn Sink) {
        let Some(Live { block, arguments, .. }) = self.live.take() else { return };
        match arguments.filter(|_| whole) {
            Some(arguments) if arguments.is_blank() => {
                next.event(Event::More { block, piece: Piece::Text("{}".into()) });
            }
            Some(arguments) if !arguments.is_object() => next.skip(Skipped {
                what: Lost::Arguments,
                note: "the arguments of a call are no JSON object, and are told as they came"
                    .to_owned(),
            }),
            _ => {}
        }
        next.event(Event::Close { block });
    }

    /// Lets those that wait go on, as far as the first one that is not whole.
    fn advance(&mut self, next: &mut dyn Sink) {
        while self.live.is_none() {
            let Some(held) = self.held.pop_front() else { return };
            let (whole, last) = (held.whole, self.held.is_empty());
            self.release(held, next);
            if whole {
                self.shut(true, next);
            } else if !last && self.live.as_ref().is_some_and(Live::is_complete) {
                self.complete(next);
            }
        }
    }

    fn release(&mut self, held: Held, next: &mut dyn Sink) {
        self.bytes -= held.bytes();
        self.show(held.source, &held.kind, next);
        let Some(live) = &mut self.live else { return };
        live.arguments = held.arguments;
        for kept in &held.said {
            let piece = match kept {
                Kept::Text(raw) => Piece::Text(Words::inside((raw, true))),
                Kept::Other(piece) => piece.clone(),
            };
            next.event(Event::More { block: live.block, piece });
        }
    }

    fn stop(&mut self, stop: Stop<'_>, next: &mut dyn Sink) {
        if self.stage == Stage::Stopped {
            return;
        }
        self.begin(next);
        // The last call of an answer that was cut short may have lost its arguments.
        let short =
            matches!(stop, Stop::Length | Stop::ContextFull | Stop::Refusal | Stop::Malformed);
        self.shut(!short || !self.held.is_empty(), next);
        while let Some(held) = self.held.pop_front() {
            let whole = held.whole || !short || !self.held.is_empty();
            self.release(held, next);
            self.shut(whole, next);
        }
        self.stage = Stage::Stopped;
        let stop = if self.calls == 0 && stop == Stop::Calls { Stop::End } else { stop };
        next.event(Event::Stop(stop));
    }

    fn held_calls(&self) -> u32 {
        let calls = self.held.iter().filter(|held| matches!(held.kind, Opened::Call { .. }));
        u32::try_from(calls.count()).unwrap_or(u32::MAX)
    }

    fn drop_held(&mut self, next: &mut dyn Sink) {
        for held in self.held.drain(..) {
            let (what, block) = match held.kind {
                Opened::Text | Opened::Refusal => (Lost::Unknown, "text"),
                Opened::Reasoning | Opened::Redacted(_) => (Lost::Reasoning, "reasoning"),
                Opened::Call { .. } => (Lost::Arguments, "a call"),
            };
            let note = format!("{block} behind the block that was cut off is left out");
            next.skip(Skipped { what, note });
        }
        self.bytes = 0;
    }

    /// What it keeps, in bytes.
    #[cfg(test)]
    pub(super) fn kept(&self) -> usize {
        let held = self.held.capacity() * size_of::<Held>();
        self.bytes + held + self.scratch.capacity() + self.completed.capacity() * 4
    }
}

impl Live {
    fn is_complete(&self) -> bool {
        self.arguments.is_some_and(|arguments| arguments.is_complete())
    }
}

/// Follows the arguments of a call, if they are JSON.
fn arguments(kind: &Opened<'_>) -> Option<Arguments> {
    match kind {
        Opened::Call { family: Family::Custom, .. } => None,
        Opened::Call { .. } => Some(Arguments::default()),
        Opened::Text | Opened::Refusal | Opened::Reasoning | Opened::Redacted(_) => None,
    }
}

#[cfg(test)]
mod tests;
