//! Owned copies of events, which outlive the bytes they were read from.

use crate::{
    conversation::{JsonText, ProviderError, ProviderErrorCode, StopReason, TextCitation},
    event::{BlockDelta, BlockStart},
};

/// A borrowed view of a text.
pub(crate) fn borrowed_text<'w>(text: &'w JsonText<'_>) -> JsonText<'w> {
    JsonText::from(&**text)
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

pub(crate) fn owned_delta(delta: &BlockDelta<'_>) -> BlockDelta<'static> {
    match delta {
        BlockDelta::Text(text) => BlockDelta::Text(text.to_static()),
        BlockDelta::Signature(text) => BlockDelta::Signature(text.to_static()),
        BlockDelta::Encrypted(text) => BlockDelta::Encrypted(text.to_static()),
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
        StopReason::Other(reason) => StopReason::Other(reason.to_static()),
    }
}

pub(crate) fn owned_error(error: &ProviderError<'_>) -> ProviderError<'static> {
    ProviderError {
        kind: error.kind,
        message: error.message.to_static(),
        code: error.code.as_ref().map(ProviderErrorCode::to_static),
    }
}
