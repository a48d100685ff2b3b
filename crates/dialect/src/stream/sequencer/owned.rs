//! What happens, kept longer than the bytes it was read from.

use crate::model::{JsonText, ProviderError, StopReason, TextCitation};
use crate::stream::event::{BlockDelta, BlockStart};

/// A text, lent by somebody who keeps it.
pub(crate) fn borrowed_text<'w>(words: &'w JsonText<'_>) -> JsonText<'w> {
    JsonText::from(&**words)
}

pub(crate) fn owned_start(kind: &BlockStart<'_>) -> BlockStart<'static> {
    match kind {
        BlockStart::Text => BlockStart::Text,
        BlockStart::Refusal => BlockStart::Refusal,
        BlockStart::Reasoning => BlockStart::Reasoning,
        BlockStart::Redacted(data) => BlockStart::Redacted(data.to_static()),
        BlockStart::Call { id, name, family, signature } => BlockStart::Call {
            id: id.as_ref().map(JsonText::to_static),
            name: name.to_static(),
            family: *family,
            signature: signature.as_ref().map(JsonText::to_static),
        },
    }
}

pub(super) fn owned_delta(piece: &BlockDelta<'_>) -> BlockDelta<'static> {
    match piece {
        BlockDelta::Text(words) => BlockDelta::Text(words.to_static()),
        BlockDelta::Signature(words) => BlockDelta::Signature(words.to_static()),
        BlockDelta::Encrypted(words) => BlockDelta::Encrypted(words.to_static()),
        BlockDelta::Citation(citation) => BlockDelta::Citation(owned_citation(citation)),
    }
}

pub(crate) fn owned_citation(citation: &TextCitation<'_>) -> TextCitation<'static> {
    TextCitation {
        url: citation.url.as_ref().map(JsonText::to_static),
        title: citation.title.as_ref().map(JsonText::to_static),
        quote: citation.quote.as_ref().map(JsonText::to_static),
        span: citation.span,
    }
}

pub(crate) fn owned_stop(stop: &StopReason<'_>) -> StopReason<'static> {
    match stop {
        StopReason::End => StopReason::End,
        StopReason::ToolCalls => StopReason::ToolCalls,
        StopReason::Length => StopReason::Length,
        StopReason::ContextFull => StopReason::ContextFull,
        StopReason::Sequence(text) => StopReason::Sequence(text.as_ref().map(JsonText::to_static)),
        StopReason::Refusal => StopReason::Refusal,
        StopReason::Pause => StopReason::Pause,
        StopReason::MalformedCall => StopReason::MalformedCall,
        StopReason::Other(word) => StopReason::Other(word.to_static()),
    }
}

pub(crate) fn owned_error(failure: &ProviderError<'_>) -> ProviderError<'static> {
    ProviderError {
        kind: failure.kind,
        message: failure.message.to_static(),
        code: failure.code.as_ref().map(JsonText::to_static),
    }
}
