//! Parts of a reply, and how they are spelled in a log.

use std::sync::Arc;

use foxwedge_dialect::stream::event::Opened;
use foxwedge_run::{CallRef, Json, Text};

/// Bytes of names that are kept, and the most of an id.
const NAME: usize = 256;
const ID: usize = 1_024;

/// What is being said.
#[derive(Debug)]
pub(super) struct Block {
    pub(super) number: u32,
    pub(super) kind: Kind,
    pub(super) characters: usize,
    pub(super) bytes: usize,
    /// Whether there is more than space.
    pub(super) speaks: bool,
    /// As far as it is kept, and how much of that was told.
    pub(super) text: String,
    pub(super) told: usize,
}

/// What a part is.
#[derive(Debug)]
pub(super) enum Kind {
    Text,
    Thought,
    Call {
        id: Option<Arc<str>>,
        name: Arc<str>,
        announced: bool,
    },
    /// Nothing that anybody reads.
    Sealed,
}

impl Block {
    /// A part that begins.
    pub(super) fn new(number: u32, kind: Kind) -> Block {
        let text = String::new();
        Block { number, kind, characters: 0, bytes: 0, speaks: false, text, told: 0 }
    }
}

/// What stands for something that is not kept.
pub(super) fn left_out(bytes: usize) -> Json {
    Json::from(&serde_json::json!({ "foxwedge": format!("{bytes} bytes left out") }))
}

/// What stands for a text that is not kept. It must not be taken for the text.
pub(super) fn not_kept(characters: usize) -> String {
    format!("[{characters} characters, not kept]")
}

/// A name as it is kept: short enough, and the same every time.
pub(super) fn name(text: &str) -> Arc<str> {
    if text.contains('\0') {
        return cut(&text.replace('\0', ""), NAME).into();
    }
    cut(text, NAME).into()
}

/// The beginning of a text, of so many bytes at most.
pub(super) fn cut(text: &str, most: usize) -> &str {
    let end = (0..=most.min(text.len())).rev().find(|at| text.is_char_boundary(*at));
    end.and_then(|end| text.get(..end)).unwrap_or_default()
}

/// What begins in a stream.
pub(super) fn opened(kind: &Opened<'_>) -> Kind {
    match kind {
        Opened::Text | Opened::Refusal => Kind::Text,
        Opened::Reasoning => Kind::Thought,
        Opened::Redacted(_) => Kind::Sealed,
        Opened::Call { id, name, .. } => called(id.as_deref(), name),
    }
}

/// A call that begins.
pub(super) fn called(id: Option<&str>, called: &str) -> Kind {
    // One that nobody could have meant is none.
    let id = id.filter(|id| (1..=ID).contains(&id.len())).map(Arc::from);
    Kind::Call { id, name: name(called), announced: false }
}

/// Which call.
pub(super) fn reference(id: &Option<Arc<str>>) -> CallRef {
    CallRef { id: id.clone(), turn: None }
}

/// The name of a text.
pub(super) fn message(turn: u32, block: u32) -> Option<Arc<str>> {
    Some(format!("m{turn}-{block}").into())
}

/// The rest of a text that was told in part.
pub(super) fn piece(message: Option<Arc<str>>, text: &str, told: usize) -> Text {
    let delta = text.get(told..).map(str::to_owned);
    Text { message, delta, ..Text::default() }
}

/// A text, and how much of it is missing.
pub(super) fn with_rest(mut text: String, characters: usize) -> String {
    let missing = characters.saturating_sub(text.chars().count());
    if missing > 0 {
        text.push_str(&format!(" [{missing} characters left out]"));
    }
    text
}
