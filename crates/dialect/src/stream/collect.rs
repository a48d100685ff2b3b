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
        let reply = Reply { wire, ..Reply::default() };
        Collected { reply, open: None, ending: None, notes: Notes::default() }
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
        Collection { reply: self.reply, ending, skipped: self.notes.list() }
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
            Event::Open { kind, .. } => {
                let kind = owned_opened(&kind);
                let (text, citations) = (String::new(), Vec::new());
                self.open = Some(Block { kind, text, seal: Seal::Open, citations });
            }
            Event::More { piece, .. } => {
                let Some(block) = &mut self.open else { return };
                match piece {
                    Piece::Text(words) => words.write_inside(&mut block.text),
                    Piece::Signature(words) => block.seal = Seal::Signed(words.to_static()),
                    Piece::Encrypted(words) => block.seal = Seal::Encrypted(words.to_static()),
                    Piece::Citation(citation) => block.citations.push(owned_citation(&citation)),
                }
            }
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
