//! How a conversation begins: what tells it from others that a client sends under the same name.

use foxwedge_formats::{OutlinedDocument, RequestEnvelope, digest::ConversationDigest};
use xxhash_rust::xxh3::Xxh3;

/// The digest after the first message. Instructions have none, since agents change them within a
/// conversation. But a request without tools for a title may repeat the message of the user with
/// other instructions, so there they count.
pub(super) fn opening_digest(
    reading: &OutlinedDocument<'_>,
    envelope: &RequestEnvelope<'_>,
    chain: &[u128],
    scope: u128,
) -> Option<u128> {
    let empty = ConversationDigest::new(scope).value();
    let first = chain.iter().copied().find(|value| *value != empty)?;
    Some(if envelope.tools { first } else { first ^ instructions_digest(reading, envelope) })
}

/// The digest of the instructions; 0 if there are none.
fn instructions_digest(reading: &OutlinedDocument<'_>, envelope: &RequestEnvelope<'_>) -> u128 {
    let source = reading.draft.source;
    let messages = reading.draft.messages.iter().filter(|message| message.role.is_system());
    let texts = messages.map(|message| message.span).chain(envelope.instructions);
    let mut digest = Xxh3::new();
    let mut is_empty = true;
    for text in texts.map(|span| span.of(source)) {
        is_empty = false;
        digest.update(&(text.len() as u64).to_le_bytes());
        digest.update(text.as_bytes());
    }
    if is_empty { 0 } else { digest.digest128() }
}
