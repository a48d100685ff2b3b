//! A conversation independent of any wire format.
//!
//! [`decode()`] reads what was said out of a document, [`encode()`] writes it for any format and
//! lists what that format cannot hold. A part remembers how its own format spelled it, so that the way
//! back into the same format loses nothing, not even fields we do not know.
//!
//! This is a second, fuller reading beside the outline: the outline repairs bytes, this one tells
//! what they say. It judges nothing; whether a history is sound is asked of the outline.

mod view;
mod media;
mod decode;
mod pairs;
mod ledger;
mod encode;

use std::borrow::Cow;

use foxwedge_core::{Family, Wire};

pub use decode::{decode, decode_message};
pub use encode::{Loss, Lost, encode};
pub use media::{Media, MediaKind, Source};
pub use pairs::{At, Pairs};

/// What was said, in order.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct History<'a> {
    /// The messages. One for each message, content or item of the document.
    pub messages: Vec<Said<'a>>,
}

/// Who speaks. Answers stand on the user's side, in every format.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash)]
pub enum Speaker {
    /// Instructions.
    System,
    /// Instructions, under OpenAI's newer name.
    Developer,
    /// The person, and the answers.
    User,
    /// The model.
    Assistant,
}

/// One message.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Said<'a> {
    /// Who speaks.
    pub role: Speaker,
    /// What is said.
    pub parts: Vec<Part<'a>>,
    envelope: Option<Envelope<'a>>,
}

/// The message that a [`Said`] was read from: its format, and the fields that stand beside what it
/// says, as `"key": value`.
#[derive(Clone, PartialEq, Eq, Debug)]
struct Envelope<'a> {
    wire: Wire,
    members: Vec<&'a str>,
}

impl<'a> Said<'a> {
    /// A message that comes from no document.
    pub fn new(role: Speaker, parts: Vec<Part<'a>>) -> Said<'a> {
        Said { role, parts, envelope: None }
    }

    fn read(role: Speaker, parts: Vec<Part<'a>>, wire: Wire, members: Vec<&'a str>) -> Said<'a> {
        Said { role, parts, envelope: Some(Envelope { wire, members }) }
    }

    /// The format whose list of messages it was read from.
    pub fn wire(&self) -> Option<Wire> {
        self.envelope.as_ref().map(|envelope| envelope.wire)
    }

    /// The fields that belong into a message of that format.
    fn members(&self, wire: Wire) -> &[&'a str] {
        self.envelope.as_ref().filter(|of| of.wire == wire).map_or(&[], |of| &of.members)
    }
}

/// One part of a message, and how its format spelled it. Both say the same: whoever changes what a
/// part says makes a new one.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Part<'a> {
    bit: Bit<'a>,
    raw: Option<Raw<'a>>,
}

impl<'a> Part<'a> {
    /// A part that comes from no document.
    pub fn new(bit: Bit<'a>) -> Part<'a> {
        Part { bit, raw: None }
    }

    fn read(bit: Bit<'a>, wire: Wire, form: Form, json: &'a str) -> Part<'a> {
        Part { bit, raw: Some(Raw { wire, form, json }) }
    }

    /// What it says.
    pub fn bit(&self) -> &Bit<'a> {
        &self.bit
    }

    /// What it says, without its spelling.
    pub fn into_bit(self) -> Bit<'a> {
        self.bit
    }

    /// How it was spelled.
    pub fn raw(&self) -> Option<&Raw<'a>> {
        self.raw.as_ref()
    }

    /// How that format spelled it.
    fn spelled(&self, wire: Wire) -> Option<&Raw<'a>> {
        self.raw.as_ref().filter(|raw| raw.wire == wire)
    }
}

impl<'a> From<Bit<'a>> for Part<'a> {
    fn from(bit: Bit<'a>) -> Part<'a> {
        Part::new(bit)
    }
}

/// The JSON a part was read from.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Raw<'a> {
    /// The format.
    pub wire: Wire,
    /// Where such a text stands.
    pub form: Form,
    /// The text, as it stood there.
    pub json: &'a str,
}

/// Where the JSON of a part stands.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Form {
    /// In a list of its message: a block, a part, a call.
    Block,
    /// As a field of its message: `"key": value`.
    Field,
    /// As a message or item of its own.
    Message,
}

/// What a part says.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Bit<'a> {
    /// Text.
    Text(Cow<'a, str>),
    /// An image, a file, a sound.
    Media(Media<'a>),
    /// The model's reasoning.
    Reasoning(Reasoning<'a>),
    /// A call that the client answers.
    Call(Call<'a>),
    /// The client's answer.
    Answer(Answer<'a>),
    /// Anything else.
    Other(Other<'a>),
}

/// The model's reasoning. It goes back to the format it came from, or nowhere.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Reasoning<'a> {
    /// What can be read of it; may be empty.
    pub text: Cow<'a, str>,
    /// Signed, redacted or encrypted: bound to its maker.
    pub sealed: bool,
}

/// A call.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Call<'a> {
    /// Its id, if it has one.
    pub id: Option<Cow<'a, str>>,
    /// The tool's name; empty if the document names none.
    pub name: Cow<'a, str>,
    /// Which kind of tool. Free-text tools are [`Family::Custom`].
    pub family: Family,
    /// The text of a JSON object as a rule; free text for free-text tools. May be cut off or odd,
    /// as the model wrote it.
    pub arguments: Cow<'a, str>,
}

impl Call<'_> {
    /// Whether its arguments are plain text and no JSON.
    pub fn is_free_text(&self) -> bool {
        self.family == Family::Custom
    }
}

/// An answer.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Answer<'a> {
    /// The id of its call, if it names one.
    pub id: Option<Cow<'a, str>>,
    /// The tool's name, if it names one.
    pub name: Option<Cow<'a, str>>,
    /// What it says and shows.
    pub parts: Vec<Part<'a>>,
    /// Marked as a failure.
    pub error: bool,
}

/// Something we do not know.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Other<'a> {
    /// What its format calls it; may be empty.
    pub name: Cow<'a, str>,
    /// The JSON of it.
    pub json: Cow<'a, str>,
}

#[cfg(test)]
mod tests;
