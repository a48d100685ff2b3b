//! Puts an answer that came in pieces together: what it would be in one.

use std::borrow::Cow;

use foxwedge_core::Wire;

use super::{
    event::{Event, Opened, Piece, Sink, Skipped},
    order::{owned_citation, owned_failure, owned_opened, owned_stop},
    write::Notes,
};
use crate::{
    canon::{
        Bit, Call, Citation, Failure, Lost, Notes as Beside, Part, Reasoning, Reply, Seal, Words,
    },
    json::unescape,
};

/// An answer that came in pieces.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Collection {
    /// What was said, as far as it came. If it broke off, it has no stop, and a call that was still
    /// open is left out.
    pub reply: Reply<'static>,
    /// How it ended.
    pub ending: Ending,
    /// What was left out.
    pub skipped: Vec<Skipped>,
    /// More was said than may be kept: parts of the reply are missing.
    pub truncated: bool,
}

/// How an answer ended.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Ending {
    /// The provider said that this is all.
    Whole,
    /// The provider failed.
    Failed(Failure<'static>),
    /// The bytes ended before the answer did.
    Cut,
}

/// Takes the events of one answer, in order.
pub(crate) struct Collected {
    reply: Reply<'static>,
    open: Option<Block>,
    ending: Option<Ending>,
    notes: Notes,
    /// How many bytes may still be kept.
    room: usize,
    truncated: bool,
}

/// The block that is open.
struct Block {
    kind: Opened<'static>,
    /// Its text in its JSON spelling: characters that came in two halves are one here.
    text: String,
    seal: Seal<'static>,
    citations: Vec<Citation<'static>>,
}

impl Collected {
    /// For an answer in that format.
    pub(crate) fn new(wire: Option<Wire>) -> Collected {
        Collected::within(wire, usize::MAX)
    }

    /// The same, for an answer of which so many bytes may be kept.
    pub(crate) fn within(wire: Option<Wire>, room: usize) -> Collected {
        let reply = Reply { wire, ..Reply::default() };
        let notes = Notes::default();
        Collected { reply, open: None, ending: None, notes, room, truncated: false }
    }

    /// The parts that are whole.
    pub(crate) fn parts(&self) -> &[Part<'static>] {
        &self.reply.parts
    }

    pub(crate) fn done(mut self) -> Collection {
        if let Some(block) = self.open.take() {
            match block.kind {
                Opened::Call { .. } => {
                    self.notes.add(Lost::Arguments, "a call that was cut off is left out");
                }
                Opened::Text | Opened::Refusal | Opened::Reasoning | Opened::Redacted(_) => {
                    self.reply.parts.push(part(block));
                }
            }
        }
        let ending = self.ending.unwrap_or(Ending::Cut);
        if ending != Ending::Whole {
            self.reply.stop = None;
        }
        let truncated = self.truncated;
        Collection { reply: self.reply, ending, skipped: self.notes.list(), truncated }
    }

    /// Makes room for more. Once there was none, nothing more is kept: a call that lost a part of
    /// its arguments is no call.
    fn take_room(&mut self, bytes: usize) -> bool {
        match self.room.checked_sub(bytes) {
            Some(left) if !self.truncated => self.room = left,
            _ => {
                self.truncated = true;
                let words = |block: &Block| !matches!(block.kind, Opened::Call { .. });
                self.reply.parts.extend(self.open.take().filter(words).map(part));
            }
        }
        !self.truncated
    }

    fn open(&mut self, kind: &Opened<'_>) {
        let words = match kind {
            Opened::Text | Opened::Refusal | Opened::Reasoning => 0,
            Opened::Redacted(data) => data.len(),
            Opened::Call { id, name, family: _, signature } => {
                name.len() + [id, signature].into_iter().flatten().map(|it| it.len()).sum::<usize>()
            }
        };
        if self.take_room(size_of::<Part<'_>>() + words) {
            let (kind, text, citations) = (owned_opened(kind), String::new(), Vec::new());
            self.open = Some(Block { kind, text, seal: Seal::Open, citations });
        }
    }

    fn more(&mut self, piece: &Piece<'_>) {
        let Some(block) = &mut self.open else { return };
        match piece {
            Piece::Text(words) => {
                let before = block.text.len();
                words.write_inside(&mut block.text);
                let bytes = block.text.len() - before;
                if self.room < bytes {
                    block.text.truncate(before);
                }
                self.take_room(bytes);
            }
            Piece::Signature(words) | Piece::Encrypted(words) => {
                let words = words.to_static();
                let bytes = words.len();
                block.seal = match piece {
                    Piece::Encrypted(_) => Seal::Encrypted(words),
                    _ => Seal::Signed(words),
                };
                self.take_room(bytes);
            }
            Piece::Citation(citation) => {
                let Citation { url, title, quote, span: _ } = citation;
                let words = [url, title, quote].into_iter().flatten();
                let bytes = size_of::<Citation<'_>>() + words.map(|it| it.len()).sum::<usize>();
                block.citations.push(owned_citation(citation));
                self.take_room(bytes);
            }
        }
    }
}

impl Sink for Collected {
    fn event(&mut self, event: Event<'_>) {
        let known = |words: Option<Words<'_>>| words.as_ref().map(Words::to_static);
        match event {
            Event::Start(head) => {
                self.reply.id = known(head.id);
                self.reply.model = known(head.model);
                self.reply.created = head.created;
            }
            Event::Open { kind, .. } => self.open(&kind),
            Event::More { piece, .. } => self.more(&piece),
            Event::Close { .. } => self.reply.parts.extend(self.open.take().map(part)),
            Event::Usage(usage) => self.reply.usage = usage,
            Event::Stop(stop) => self.reply.stop = Some(owned_stop(&stop)),
            Event::End => self.ending = Some(Ending::Whole),
            Event::Failed(failure) => self.ending = Some(Ending::Failed(owned_failure(&failure))),
            Event::Cut => self.ending = Some(Ending::Cut),
        }
    }

    fn skip(&mut self, note: Skipped) {
        self.notes.add(note.what, &note.note);
    }
}

fn part(block: Block) -> Part<'static> {
    let Block { kind, text, seal, citations } = block;
    let text = Words::from(unescape(&text));
    let refusal = kind == Opened::Refusal;
    match kind {
        Opened::Text | Opened::Refusal => {
            Part::new(Bit::Text(text)).with(Beside { refusal, citations, ..Beside::default() })
        }
        Opened::Reasoning => Part::new(Bit::Reasoning(Reasoning { text, seal })),
        Opened::Redacted(data) => {
            let (text, seal) = (Words::default(), Seal::Redacted(data));
            Part::new(Bit::Reasoning(Reasoning { text, seal }))
        }
        Opened::Call { id, name, family, signature } => Part::new(Bit::Call(Call {
            id: id.map(|id| Cow::Owned(id.into_owned())),
            name: Cow::Owned(name.into_owned()),
            family,
            arguments: text,
            signature,
        })),
    }
}
