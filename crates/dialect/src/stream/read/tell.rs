//! What a reader tells, and what it has told before.

use crate::{
    canon::{Citation, Failure, Lost, Stop, Usage, Words},
    json::{Object, Scan},
    stream::event::{Event, Head, Opened, Piece, Sink, Skipped},
};

use super::fields::{count, said};

/// What was told of a stream so far.
#[derive(Debug, Default)]
pub(super) struct Told {
    started: bool,
    id: bool,
    model: bool,
    created: bool,
    /// How many blocks have begun: each gets a number of its own.
    blocks: u32,
    /// The model has stopped.
    pub(super) stopped: bool,
    /// There is nothing more to tell.
    pub(super) over: bool,
    /// Of what kinds something was left out.
    skipped: Vec<String>,
}

/// Tells what happens.
pub(super) struct Tell<'s> {
    pub(super) sink: &'s mut dyn Sink,
    pub(super) told: &'s mut Told,
}

/// Names that are remembered of what was left out.
const NAMES: usize = 64;

impl Tell<'_> {
    /// The answer begins, or more is known about it.
    pub(super) fn start(&mut self, mut head: Head<'_>) {
        head.id = head.id.filter(|id| !self.told.id && !id.is_empty());
        head.model = head.model.filter(|model| !self.told.model && !model.is_empty());
        head.created = head.created.filter(|created| !self.told.created && *created > 0);
        if head == Head::default() && self.told.started {
            return;
        }
        self.told.id |= head.id.is_some();
        self.told.model |= head.model.is_some();
        self.told.created |= head.created.is_some();
        self.told.started = true;
        self.sink.event(Event::Start(head));
    }

    /// The answer begins if this object says anything about it that was not known.
    pub(super) fn head(&mut self, object: &Object<'_, '_>, keys: [&str; 3]) -> Scan<()> {
        if self.told.id && self.told.model && self.told.created {
            return Ok(());
        }
        let [id, model, created] = keys;
        let head = Head {
            id: said(object, id)?,
            model: said(object, model)?,
            created: count(object, created).filter(|created| *created > 0),
        };
        if head != Head::default() {
            self.start(head);
        }
        Ok(())
    }

    /// The answer has begun, whatever is known about it.
    pub(super) fn begin(&mut self) {
        if !self.told.started {
            self.start(Head::default());
        }
    }

    /// A block begins; says its number.
    pub(super) fn open(&mut self, kind: Opened<'_>) -> u32 {
        self.begin();
        let block = self.told.blocks;
        self.told.blocks += 1;
        self.sink.event(Event::Open { block, kind });
        block
    }

    /// A block goes on, if there is any text.
    pub(super) fn text(&mut self, block: u32, text: Words<'_>) {
        if !text.is_empty() {
            self.more(block, Piece::Text(text));
        }
    }

    pub(super) fn citation(&mut self, block: u32, citation: Citation<'_>) {
        self.more(block, Piece::Citation(citation));
    }

    pub(super) fn more(&mut self, block: u32, piece: Piece<'_>) {
        self.sink.event(Event::More { block, piece });
    }

    pub(super) fn close(&mut self, block: u32) {
        self.sink.event(Event::Close { block });
    }

    /// Figures, if there are any.
    pub(super) fn usage(&mut self, usage: Usage) {
        if !usage.is_empty() {
            self.sink.event(Event::Usage(usage));
        }
    }

    /// The model has stopped; the first reason counts.
    pub(super) fn stop(&mut self, stop: Stop<'_>) {
        if !self.told.stopped {
            self.begin();
            self.told.stopped = true;
            self.sink.event(Event::Stop(stop));
        }
    }

    pub(super) fn end(&mut self) {
        self.begin();
        self.told.over = true;
        self.sink.event(Event::End);
    }

    pub(super) fn fail(&mut self, failure: Failure<'_>) {
        self.told.over = true;
        self.sink.event(Event::Failed(failure));
    }

    /// The bytes have ended without a word about it.
    pub(super) fn ended(&mut self) {
        if self.told.stopped {
            self.end();
        } else {
            self.told.over = true;
            self.sink.event(Event::Cut);
        }
    }

    /// Something was left out.
    pub(super) fn skip(&mut self, what: Lost, note: impl Into<String>) {
        self.sink.skip(Skipped { what, note: note.into() });
    }

    /// Something of this name was left out: said the first time only.
    pub(super) fn skip_once(&mut self, what: Lost, name: &str, note: impl FnOnce() -> String) {
        let skipped = &mut self.told.skipped;
        if skipped.len() > NAMES || skipped.iter().any(|known| known == name) {
            return;
        }
        skipped.push(name.to_owned());
        if skipped.len() > NAMES {
            self.skip(Lost::Unknown, "more of other kinds was left out");
        } else {
            self.skip(what, note());
        }
    }

    /// An event of a kind that nobody knows.
    pub(super) fn unknown_event(&mut self, name: &str) {
        self.skip_once(Lost::Unknown, name, || match name {
            "" => "events that say not what they are were left out".to_owned(),
            name => format!("events `{name}` were left out"),
        });
    }
}
