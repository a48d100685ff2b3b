//! Spells what happens for one format.
//!
//! A writer takes events in the order that [`Order`] promises and adds bytes. Text goes over in its
//! JSON spelling, piece by piece; a writer keeps nothing that grows with the answer unless its format
//! says the same thing twice. An answer that breaks off ends with what the format has for failures
//! and never with what it has for ends: a block that was open stays open.
//!
//! [`Order`]: super::order::Order

mod notes;
mod pen;
mod chat;
mod responses;
mod anthropic;
mod gemini;
mod bedrock;

use foxwedge_core::Wire;

use super::event::Event;
use crate::canon::{Failure, Lost, Stop, Trouble, Usage, failures, stops, usages};

pub(crate) use notes::Notes;

/// What a writer has to know beforehand.
#[derive(Clone, Debug)]
pub(crate) struct Brief {
    /// The format that the answer comes from, where anybody knows.
    pub(crate) from: Option<Wire>,
    /// Tells answers without ids apart.
    pub(crate) seed: String,
    /// Chat: the figures are told in a chunk of their own.
    pub(crate) usage: bool,
}

/// Writes one answer.
pub(crate) enum Writer {
    Chat(chat::Chat),
    Responses(responses::Responses),
    Anthropic(anthropic::Anthropic),
    Gemini(gemini::Gemini),
    Bedrock(bedrock::Bedrock),
}

impl Writer {
    pub(crate) fn new(to: Wire, brief: Brief) -> Writer {
        match to {
            Wire::OpenaiChat => Writer::Chat(chat::Chat::new(brief)),
            Wire::OpenaiResponses => Writer::Responses(responses::Responses::new(brief)),
            Wire::Anthropic => Writer::Anthropic(anthropic::Anthropic::new(brief)),
            Wire::Gemini => Writer::Gemini(gemini::Gemini::new(brief)),
            Wire::Bedrock => Writer::Bedrock(bedrock::Bedrock::new(brief)),
        }
    }

    /// Writes what happens, and notes what cannot be written.
    pub(crate) fn event(&mut self, event: &Event<'_>, out: &mut Vec<u8>, notes: &mut Notes) {
        match self {
            Writer::Chat(writer) => writer.event(event, out, notes),
            Writer::Responses(writer) => writer.event(event, out, notes),
            Writer::Anthropic(writer) => writer.event(event, out, notes),
            Writer::Gemini(writer) => writer.event(event, out, notes),
            Writer::Bedrock(writer) => writer.event(event, out, notes),
        }
    }

    /// All that one frame said was written: nothing waits for more of it.
    pub(crate) fn settle(&mut self, out: &mut Vec<u8>) {
        if let Writer::Anthropic(writer) = self {
            writer.settle(out);
        }
    }

    /// How many bytes of the answer it keeps.
    pub(crate) fn held(&self) -> usize {
        match self {
            Writer::Responses(writer) => writer.held(),
            Writer::Gemini(writer) => writer.held(),
            Writer::Chat(_) | Writer::Anthropic(_) | Writer::Bedrock(_) => 0,
        }
    }

    /// What it keeps in all, in bytes.
    #[cfg(test)]
    pub(super) fn kept(&self) -> usize {
        match self {
            Writer::Chat(writer) => writer.kept(),
            Writer::Anthropic(writer) => writer.kept(),
            Writer::Bedrock(writer) => writer.kept(),
            Writer::Responses(_) | Writer::Gemini(_) => self.held(),
        }
    }
}

/// What is said of an answer whose bytes ended before it did.
fn cut() -> Failure<'static> {
    let message = "the stream ended before the answer did".into();
    Failure { kind: Trouble::Server, message, code: None }
}

/// The format's word for why the model stopped.
fn stopped(wire: Wire, stop: &Stop<'_>, notes: &mut Notes) -> &'static str {
    let word = stops::spelled(wire, stop);
    if stops::loses(wire, stop) {
        let note = match stop {
            // Told beside the word.
            Stop::Sequence(_) if wire == Wire::Bedrock => return word,
            Stop::Sequence(Some(text)) => {
                format!("the text that stopped the model, `{text}`, has no place in this format")
            }
            Stop::Other(reason) => {
                format!("the model stopped for `{reason}`, which is told as `{word}`")
            }
            _ => format!("why the model stopped is told as `{word}`"),
        };
        notes.add(Lost::StopReason, &note);
    }
    word
}

/// Adds the format's figures.
fn figures(wire: Wire, usage: &Usage, line: &mut String, notes: &mut Notes) {
    if let Some(figure) = usages::unsaid(wire, usage) {
        notes.add(Lost::Usage, &format!("{figure} has no figure in this format"));
    }
    usages::write(wire, usage, line);
}

/// Adds the format's body of a failure.
fn failure(wire: Wire, failure: &Failure<'_>, line: &mut String, notes: &mut Notes) {
    let code = failure.code.as_deref().filter(|_| failures::loses(wire, failure));
    if let Some(code) = code {
        let name = failures::spelled(wire, failure);
        let note = format!("the failure `{code}` is called `{name}` in this format");
        notes.add(Lost::Unknown, &note);
    }
    failures::write(wire, failure, line);
}

/// Sentences about what several formats cannot hold.
const UNREADABLE: &str = "redacted reasoning has no place in this format";
const UNSIGNED: &str = "the signature of reasoning means nothing to another maker";
const ENCRYPTED: &str = "encrypted reasoning has no place in this format";
const UNSIGNED_CALL: &str = "the signature of a call means nothing in this format";
const UNMARKED: &str = "that a text is a refusal cannot be said in this format";
const NAMELESS: &str = "a source without an address has no place in this format";
const UNQUOTED: &str = "what a source says has no place in this format";
const UNPLACED: &str = "which characters rest on a source cannot be said in this format";

#[cfg(test)]
mod tests;
