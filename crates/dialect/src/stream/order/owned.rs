//! What happens, kept longer than the bytes it was read from.

use crate::canon::{Citation, Failure, Stop, Words};
use crate::stream::event::{Opened, Piece};

/// A text, lent by somebody who keeps it.
pub(crate) fn lent<'w>(words: &'w Words<'_>) -> Words<'w> {
    Words::from(&**words)
}

pub(crate) fn owned_opened(kind: &Opened<'_>) -> Opened<'static> {
    match kind {
        Opened::Text => Opened::Text,
        Opened::Refusal => Opened::Refusal,
        Opened::Reasoning => Opened::Reasoning,
        Opened::Redacted(data) => Opened::Redacted(data.to_static()),
        Opened::Call { id, name, family, signature } => Opened::Call {
            id: id.as_ref().map(Words::to_static),
            name: name.to_static(),
            family: *family,
            signature: signature.as_ref().map(Words::to_static),
        },
    }
}

pub(super) fn owned_piece(piece: &Piece<'_>) -> Piece<'static> {
    match piece {
        Piece::Text(words) => Piece::Text(words.to_static()),
        Piece::Signature(words) => Piece::Signature(words.to_static()),
        Piece::Encrypted(words) => Piece::Encrypted(words.to_static()),
        Piece::Citation(citation) => Piece::Citation(owned_citation(citation)),
    }
}

pub(crate) fn owned_citation(citation: &Citation<'_>) -> Citation<'static> {
    Citation {
        url: citation.url.as_ref().map(Words::to_static),
        title: citation.title.as_ref().map(Words::to_static),
        quote: citation.quote.as_ref().map(Words::to_static),
        span: citation.span,
    }
}

pub(crate) fn owned_stop(stop: &Stop<'_>) -> Stop<'static> {
    match stop {
        Stop::End => Stop::End,
        Stop::Calls => Stop::Calls,
        Stop::Length => Stop::Length,
        Stop::ContextFull => Stop::ContextFull,
        Stop::Sequence(text) => Stop::Sequence(text.as_ref().map(Words::to_static)),
        Stop::Refusal => Stop::Refusal,
        Stop::Pause => Stop::Pause,
        Stop::Malformed => Stop::Malformed,
        Stop::Other(word) => Stop::Other(word.to_static()),
    }
}

pub(crate) fn owned_failure(failure: &Failure<'_>) -> Failure<'static> {
    Failure {
        kind: failure.kind,
        message: failure.message.to_static(),
        code: failure.code.as_ref().map(Words::to_static),
    }
}
