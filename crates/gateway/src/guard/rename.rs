//! Model aliases: the upstream has another name for the model.

use bytes::Bytes;
use foxwedge_core::Format;
use foxwedge_formats::{OutlinedDocument, read_envelope, text};

use super::{GuardInput, GuardedRequest};

/// Writes the upstream's model name into a request that stays in its format.
pub(super) fn rename_model(guarded: &mut GuardedRequest, input: GuardInput<'_>) {
    let OutlinedDocument { draft, envelope, .. } = input.reading;
    let requested = envelope.model_name(draft.source);
    if requested.as_deref() == Some(input.model) || input.route.upstream_model.is_none() {
        return;
    }
    if let Some(body) = replace_model(&guarded.body, input.to, input.model) {
        guarded.body = body;
    }
}

fn replace_model(body: &Bytes, format: Format, model: &str) -> Option<Bytes> {
    let source = text(body).ok()?;
    let span = read_envelope(source, format).ok()?.model?;
    let (head, tail) = (source.get(..span.start as usize)?, source.get(span.end as usize..)?);
    let name = serde_json::to_string(model).ok()?;
    Some([head, &name, tail].concat().into())
}
