//! Tells a whole answer as if it came in pieces, for those who want a stream where there was none.

use super::{
    event::{Event, Head, Opened, Piece, Sink, Skipped},
    order::lent,
};
use crate::canon::{Bit, Lost, Outcome, Part, Reply, Seal, Words};

/// Tells what a provider answered.
pub(crate) fn tell(outcome: &Outcome<'_>, sink: &mut dyn Sink) {
    match outcome {
        Outcome::Reply(reply) => tell_reply(reply, sink),
        Outcome::Failure(failure) => sink.event(Event::Failed(failure.clone())),
    }
}

fn tell_reply(reply: &Reply<'_>, sink: &mut dyn Sink) {
    sink.event(Event::Start(Head {
        id: reply.id.as_ref().map(lent),
        model: reply.model.as_ref().map(lent),
        created: reply.created,
    }));
    if !reply.usage.is_empty() {
        sink.event(Event::Usage(reply.usage));
    }
    for (block, part) in reply.parts.iter().enumerate() {
        tell_part(u32::try_from(block).unwrap_or(u32::MAX), part, sink);
    }
    match &reply.stop {
        Some(stop) => {
            sink.event(Event::Stop(stop.clone()));
            sink.event(Event::End);
        }
        None => sink.event(Event::Cut),
    }
}

fn tell_part(block: u32, part: &Part<'_>, sink: &mut dyn Sink) {
    let refusal = part.notes().is_some_and(|notes| notes.refusal);
    let (kind, text) = match part.bit() {
        Bit::Text(text) if refusal => (Opened::Refusal, text),
        Bit::Text(text) => (Opened::Text, text),
        Bit::Reasoning(reasoning) => match &reasoning.seal {
            Seal::Redacted(data) => (Opened::Redacted(lent(data)), &reasoning.text),
            Seal::Open | Seal::Signed(_) | Seal::Encrypted(_) => {
                (Opened::Reasoning, &reasoning.text)
            }
        },
        Bit::Call(call) => {
            let kind = Opened::Call {
                id: call.id.as_deref().map(Words::from),
                name: Words::from(&*call.name),
                family: call.family,
                signature: call.signature.as_ref().map(lent),
            };
            (kind, &call.arguments)
        }
        Bit::Media(media) => {
            let what = media.kind.name();
            return skip(sink, Lost::Media, format!("the model's own {what} is left out"));
        }
        Bit::Answer(_) => {
            let note = "an answer inside an answer has no place in a stream";
            return skip(sink, Lost::ServerCall, note.to_owned());
        }
        Bit::Other(other) => {
            let note = format!("`{}` has no place in a stream", other.name);
            return skip(sink, Lost::Unknown, note);
        }
    };
    sink.event(Event::Open { block, kind });
    if !text.is_empty() {
        sink.event(Event::More { block, piece: Piece::Text(lent(text)) });
    }
    if let Bit::Reasoning(reasoning) = part.bit() {
        let piece = match &reasoning.seal {
            Seal::Signed(signature) => Some(Piece::Signature(lent(signature))),
            Seal::Encrypted(data) => Some(Piece::Encrypted(lent(data))),
            Seal::Open | Seal::Redacted(_) => None,
        };
        if let Some(piece) = piece {
            sink.event(Event::More { block, piece });
        }
    }
    for citation in part.notes().into_iter().flat_map(|notes| &notes.citations) {
        sink.event(Event::More { block, piece: Piece::Citation(citation.clone()) });
    }
    sink.event(Event::Close { block });
}

fn skip(sink: &mut dyn Sink, what: Lost, note: String) {
    sink.skip(Skipped { what, note });
}
