//! Parts of a reply, and how they are spelled in a log.

use std::sync::Arc;

use foxwedge_dialect::stream::event::BlockStart;
use foxwedge_run::{CallRef, RawJson, TextUpdate};

/// Bytes of names that are kept, and the most of an id.
const MAX_NAME_BYTES: usize = 256;
const MAX_ID_BYTES: usize = 1_024;

/// What is being said.
#[derive(Debug)]
pub(super) struct RecordedBlock {
    pub(super) number: u32,
    pub(super) kind: RecordedBlockKind,
    pub(super) characters: usize,
    pub(super) bytes: usize,
    /// Whether there is more than space.
    pub(super) has_text: bool,
    /// As far as it is kept, and how much of that was told.
    pub(super) text: String,
    pub(super) sent_bytes: usize,
}

/// What a part is.
#[derive(Debug)]
pub(super) enum RecordedBlockKind {
    Text,
    Reasoning,
    Call {
        id: Option<Arc<str>>,
        name: Arc<str>,
        announced: bool,
    },
    /// Nothing that anybody reads.
    Redacted,
}

impl RecordedBlock {
    /// A part that begins.
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

/// What stands for something that is not kept.
pub(super) fn omitted_json(bytes: usize) -> RawJson {
    RawJson::from(&serde_json::json!({ "foxwedge": format!("{bytes} bytes left out") }))
}

/// What stands for a text that is not kept. It must not be taken for the text.
pub(super) fn omitted_text(characters: usize) -> String {
    format!("[{characters} characters, not kept]")
}

/// A name as it is kept: short enough, and the same every time.
pub(super) fn record_name(text: &str) -> Arc<str> {
    if text.contains('\0') {
        return truncate(&text.replace('\0', ""), MAX_NAME_BYTES).into();
    }
    truncate(text, MAX_NAME_BYTES).into()
}

/// The beginning of a text, of so many bytes at most.
pub(super) fn truncate(text: &str, most: usize) -> &str {
    let end = (0..=most.min(text.len())).rev().find(|at| text.is_char_boundary(*at));
    end.and_then(|end| text.get(..end)).unwrap_or_default()
}

/// What begins in a stream.
pub(super) fn kind_of_start(kind: &BlockStart<'_>) -> RecordedBlockKind {
    match kind {
        BlockStart::Text | BlockStart::Refusal => RecordedBlockKind::Text,
        BlockStart::Reasoning => RecordedBlockKind::Reasoning,
        BlockStart::Redacted(_) => RecordedBlockKind::Redacted,
        BlockStart::Call { id, name, .. } => call_kind(id.as_deref(), name),
    }
}

/// A call that begins.
pub(super) fn call_kind(id: Option<&str>, called: &str) -> RecordedBlockKind {
    // One that nobody could have meant is none.
    let id = id.filter(|id| (1..=MAX_ID_BYTES).contains(&id.len())).map(Arc::from);
    RecordedBlockKind::Call { id, name: record_name(called), announced: false }
}

/// Which call.
pub(super) fn call_reference(id: &Option<Arc<str>>) -> CallRef {
    CallRef { id: id.clone(), turn: None }
}

/// The name of a text.
pub(super) fn message_id(turn: u32, block: u32) -> Option<Arc<str>> {
    Some(format!("m{turn}-{block}").into())
}

/// The rest of a text that was told in part.
pub(super) fn text_delta(message: Option<Arc<str>>, text: &str, told: usize) -> TextUpdate {
    let delta = text.get(told..).map(str::to_owned);
    TextUpdate { message, delta, ..TextUpdate::default() }
}

/// A text, and how much of it is missing.
pub(super) fn with_omitted_note(mut text: String, characters: usize) -> String {
    let missing = characters.saturating_sub(text.chars().count());
    if missing > 0 {
        text.push_str(&format!(" [{missing} characters left out]"));
    }
    text
}
