//! How a conversation begins: what tells it from others that a client sends under the same name.

use foxwedge_formats::{OutlinedDocument, digest::ConversationDigest};
use serde_json::value::RawValue;
use xxhash_rust::xxh3::Xxh3;

/// The instructions that stand beside the messages, under the names of all formats.
#[derive(serde::Deserialize)]
struct SeparateInstructions<'a> {
    #[serde(borrow)]
    system: Option<&'a RawValue>,
    #[serde(borrow)]
    instructions: Option<&'a RawValue>,
    #[serde(borrow, alias = "systemInstruction")]
    system_instruction: Option<&'a RawValue>,
}

/// The digest after the first message. Instructions have none, since agents change them within a
/// conversation. But a request without tools for a title may repeat the message of the user with
/// other instructions, so there they count.
pub(super) fn opening_digest(
    reading: &OutlinedDocument<'_>,
    chain: &[u128],
    scope: u128,
) -> Option<u128> {
    let empty = ConversationDigest::new(scope).value();
    let first = chain.iter().copied().find(|value| *value != empty)?;
    match reading.draft.body.tools {
        true => Some(first),
        false => Some(first ^ instructions_digest(reading)),
    }
}

/// The digest of the instructions; 0 if there are none.
fn instructions_digest(reading: &OutlinedDocument<'_>) -> u128 {
    let source = reading.draft.source;
    let messages = reading.draft.messages.iter().filter(|message| message.role.is_system());
    let separate = serde_json::from_str::<SeparateInstructions<'_>>(source).ok();
    let separate =
        separate.map_or([None; 3], |it| [it.system, it.instructions, it.system_instruction]);
    let texts = messages
        .map(|message| message.span.of(source))
        .chain(separate.into_iter().flatten().map(RawValue::get));
    let mut digest = Xxh3::new();
    let mut is_empty = true;
    for text in texts {
        is_empty = false;
        digest.update(&(text.len() as u64).to_le_bytes());
        digest.update(text.as_bytes());
    }
    if is_empty { 0 } else { digest.digest128() }
}
