//! An alias: the upstream knows the model under another name.

use bytes::Bytes;
use foxwedge_core::Format;
use foxwedge_dialect::{read_envelope, text};

use super::{GuardInput, GuardedRequest};

/// Puts the upstream's name of the model into a request that stays in its format.
pub(super) fn rename_model(guarded: &mut GuardedRequest, judging: GuardInput<'_>) {
    let asked = judging.reading.draft.body.model.as_deref();
    if asked == Some(judging.model) || judging.route.rename.is_none() {
        return;
    }
    if let Some(body) = replace_model(&guarded.body, judging.to, judging.model) {
        guarded.body = body;
    }
}

fn replace_model(body: &Bytes, wire: Format, model: &str) -> Option<Bytes> {
    let source = text(body).ok()?;
    let span = read_envelope(source, wire).ok()?.model?;
    let (head, tail) = (source.get(..span.start as usize)?, source.get(span.end as usize..)?);
    let name = serde_json::to_string(model).ok()?;
    Some([head, &name, tail].concat().into())
}
