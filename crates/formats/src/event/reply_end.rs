//! How a stream writer ends a reply: stop reason, token usage, error.

use foxwedge_core::Format;

use super::loss_notes::LossNotes;
use crate::conversation::{
    LossKind, ProviderError, ProviderErrorKind, StopReason, TokenUsage, provider_errors,
    stop_reasons, token_usage,
};

/// The error for a reply whose bytes ended too early.
pub(crate) fn truncation_error() -> ProviderError<'static> {
    let message = "the stream ended before the response was complete".into();
    ProviderError { kind: ProviderErrorKind::Server, message, code: None }
}

/// The format's stop reason. Notes a loss of meaning.
pub(crate) fn stop_word(
    format: Format,
    stop: &StopReason<'_>,
    notes: &mut LossNotes,
) -> &'static str {
    if let Some(note) = stop_reasons::loss_note(format, stop) {
        notes.add(LossKind::StopReason, &note);
    }
    stop_reasons::stop_word(format, stop)
}

/// Appends the token usage.
pub(crate) fn write_usage(
    format: Format,
    usage: &TokenUsage,
    line: &mut String,
    notes: &mut LossNotes,
) {
    if let Some(figure) = token_usage::unsupported_figure(format, usage) {
        notes.add(LossKind::Usage, &format!("{figure} is not supported in this format"));
    }
    token_usage::write(format, usage, line);
}

/// Appends the body of an error.
pub(crate) fn write_error(
    format: Format,
    error: &ProviderError<'_>,
    line: &mut String,
    notes: &mut LossNotes,
) {
    if let Some(note) = provider_errors::loss_note(format, error) {
        notes.add(LossKind::Unknown, &note);
    }
    provider_errors::write(format, error, line);
}
