//! Blocks of a reply, and how they are logged.

use std::{borrow::Cow, sync::Arc};

use foxwedge_formats::stream::{ArgumentsTracker, event::BlockStart};
use foxwedge_run::{CallRef, RawJson, TextUpdate};

/// Limits for the bytes of names and ids.
const MAX_NAME_BYTES: usize = 256;
const MAX_ID_BYTES: usize = 1_024;

/// The block that is being received.
#[derive(Debug)]
pub(super) struct RecordedBlock {
    pub(super) number: u32,
    pub(super) kind: RecordedBlockKind,
    pub(super) characters: usize,
    pub(super) bytes: usize,
    /// Whether it contains more than whitespace.
    pub(super) has_text: bool,
    /// The recorded part of the text, and how many of its bytes were sent.
    pub(super) text: String,
    pub(super) sent_bytes: usize,
}

/// The kind of a block.
#[derive(Debug)]
pub(super) enum RecordedBlockKind {
    Text,
    Reasoning,
    Call {
        id: Option<Arc<str>>,
        name: Arc<str>,
        announced: bool,
        /// Whether the arguments are complete yet.
        arguments: ArgumentsTracker,
    },
    /// Redacted content, which is not recorded.
    Redacted,
}

impl RecordedBlock {
    /// Creates an empty block.
    pub(super) fn new(number: u32, kind: RecordedBlockKind) -> RecordedBlock {
        let text = String::new();
        RecordedBlock {
            number,
            kind,
            characters: 0,
            bytes: 0,
            has_text: false,
            text,
            sent_bytes: 0,
        }
    }
}

/// The placeholder for JSON that is not stored.
pub(super) fn omitted_json(bytes: usize) -> RawJson {
    RawJson::from(&serde_json::json!({ "foxwedge": format!("{bytes} bytes left out") }))
}

/// The placeholder for text that is not stored. It must not look like the text.
pub(super) fn omitted_text(characters: usize) -> String {
    format!("[{characters} characters, not recorded]")
}

/// A name for the record: short enough, and always the same for the same text.
pub(super) fn record_name(text: &str) -> Arc<str> {
    clean_name(text).into()
}

/// The same, not shared.
pub(super) fn clean_name(text: &str) -> Cow<'_, str> {
    if text.contains('\0') {
        return truncate(&text.replace('\0', ""), MAX_NAME_BYTES).to_owned().into();
    }
    truncate(text, MAX_NAME_BYTES).into()
}

/// The start of a text, of at most `max` bytes.
pub(super) fn truncate(text: &str, max: usize) -> &str {
    let end = (0..=max.min(text.len())).rev().find(|at| text.is_char_boundary(*at));
    end.and_then(|end| text.get(..end)).unwrap_or_default()
}

/// The kind of a block that starts in a stream.
pub(super) fn kind_of_start(kind: &BlockStart<'_>) -> RecordedBlockKind {
    match kind {
        BlockStart::Text | BlockStart::Refusal => RecordedBlockKind::Text,
        BlockStart::Reasoning => RecordedBlockKind::Reasoning,
        BlockStart::Redacted(_) => RecordedBlockKind::Redacted,
        BlockStart::Call { id, name, .. } => {
            // An id of invalid length is dropped.
            let id = id.as_deref().filter(|id| (1..=MAX_ID_BYTES).contains(&id.len()));
            let (id, name) = (id.map(Arc::from), record_name(name));
            RecordedBlockKind::Call {
                id,
                name,
                announced: false,
                arguments: ArgumentsTracker::default(),
            }
        }
    }
}

/// A reference to a call.
pub(super) fn call_reference(id: &Option<Arc<str>>) -> CallRef {
    CallRef { id: id.clone(), turn: None }
}

/// The message id of a text block.
pub(super) fn message_id(turn: u32, block: u32) -> Option<Arc<str>> {
    Some(format!("m{turn}-{block}").into())
}

/// The part of a text that was not sent yet.
pub(super) fn text_delta(message: Option<Arc<str>>, text: &str, sent_bytes: usize) -> TextUpdate {
    let delta = text.get(sent_bytes..).map(str::to_owned);
    TextUpdate { message, delta, ..TextUpdate::default() }
}

/// Appends how many characters are missing.
pub(super) fn with_omitted_note(mut text: String, characters: usize) -> String {
    let missing = characters.saturating_sub(text.chars().count());
    if missing > 0 {
        text.push_str(&format!(" [{missing} characters left out]"));
    }
    text
}
