//! A conversation independent of any wire format.
//!
//! [`decode()`] reads what was said out of a document, [`encode()`] writes it for any format and
//! lists what that format cannot hold. A part remembers how its own format spelled it, so that the way
//! back into the same format loses nothing, not even fields we do not know.
//!
//! This is a second, fuller reading beside the outline: the outline repairs bytes, this one tells
//! what they say. It judges nothing; whether a history is sound is asked of the outline.

mod words;
mod media;
mod reply;
mod call_ids;
pub(crate) mod stops;
pub(crate) mod usages;
pub(crate) mod failures;
mod settings;
pub(crate) mod requests;
pub(crate) mod decode;
mod pairs;
mod ledger;
pub(crate) mod encode;
pub(crate) mod replies;
mod message;

use std::borrow::Cow;

use foxwedge_core::{Family, Wire};

pub(crate) use call_ids::CallIds;
pub use call_ids::Renamed;
pub use decode::{decode, decode_message, decode_request};
pub use encode::{Loss, Lost, Spot, encode};
pub use media::{Media, MediaKind, Source};
pub use message::{decode_turn, encode_turn};
pub use pairs::{At, Pairs};
pub use replies::{Encoded, Told, decode_reply, encode_reply};
pub use reply::{Failure, Outcome, Reply, Stop, Trouble, Usage};
pub use settings::{Answered, Choice, Request, Setting, Settings, Takes, Thinking, Tool};
pub use words::Words;

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

    /// The fields that stand beside what it says, whatever its format.
    fn all_members(&self) -> &[&'a str] {
        self.envelope.as_ref().map_or(&[], |of| &of.members)
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
    notes: Option<Box<Notes<'a>>>,
}

/// What some formats say beside a part.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Notes<'a> {
    /// The prompt is cached up to here: the mark, as its format spells it.
    pub cache: Option<&'a str>,
    /// The text is a refusal.
    pub refusal: bool,
    /// How closely an image is to be looked at.
    pub detail: Option<Words<'a>>,
    /// The text has a signature.
    pub signed: bool,
    /// Where a text comes from.
    pub citations: Vec<Citation<'a>>,
    /// Names of the fields that we know nothing about.
    pub others: Vec<Cow<'a, str>>,
}

/// Where a text comes from.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Citation<'a> {
    /// The address of the source.
    pub url: Option<Words<'a>>,
    /// The name of the source.
    pub title: Option<Words<'a>>,
    /// What the source says.
    pub quote: Option<Words<'a>>,
    /// The characters of the text that rest on it: the first, and the one behind the last.
    pub span: Option<(u64, u64)>,
}

impl<'a> Part<'a> {
    /// A part that comes from no document.
    pub fn new(bit: Bit<'a>) -> Part<'a> {
        Part { bit, raw: None, notes: None }
    }

    fn read(bit: Bit<'a>, wire: Wire, form: Form, json: &'a str) -> Part<'a> {
        Part { bit, raw: Some(Raw { wire, form, json }), notes: None }
    }

    /// The same part, with notes.
    pub fn with(mut self, notes: Notes<'a>) -> Part<'a> {
        self.notes = (notes != Notes::default()).then(|| Box::new(notes));
        self
    }

    /// What is said beside it.
    pub fn notes(&self) -> Option<&Notes<'a>> {
        self.notes.as_deref()
    }

    fn notes_mut(&mut self) -> &mut Notes<'a> {
        self.notes.get_or_insert_default()
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
    Text(Words<'a>),
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
    pub text: Words<'a>,
    /// What binds it to its maker.
    pub seal: Seal<'a>,
}

impl Reasoning<'_> {
    /// Signed, redacted or encrypted: bound to its maker.
    pub fn is_sealed(&self) -> bool {
        self.seal != Seal::Open
    }
}

/// What binds reasoning to its maker.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub enum Seal<'a> {
    /// Nothing: anybody may have written it.
    #[default]
    Open,
    /// A signature under its text.
    Signed(Words<'a>),
    /// There is nothing to read but this.
    Redacted(Words<'a>),
    /// All of it, encrypted; the text is a summary.
    Encrypted(Words<'a>),
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
    pub arguments: Words<'a>,
    /// Gemini's signature of the reasoning behind the call.
    pub signature: Option<Words<'a>>,
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
    /// Which kind of tool it is of.
    pub family: Family,
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
