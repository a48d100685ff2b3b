//! A second, naive reading and writing of what providers answer, whole and in pieces.
//!
//! It judges the conversion of answers, so it shares nothing with it: everything goes through plain
//! JSON values, a stream is read from its beginning every time, and nobody cares how long that
//! takes. Writers draw how a stream is cut and which habits its server has; readers take what is
//! there, and write down every breach of the format's protocol.

mod frames;
mod pen;
mod draft;
mod fields;
mod stops;
mod chat;
mod responses;
mod anthropic;
mod gemini;
mod bedrock;
mod failures;
mod held;
#[cfg(test)]
mod tests;

use std::fmt::Write as _;

use foxwedge_core::Format;
use serde_json::{Value, json};

use crate::random::Random;
pub use failures::{failure, failure_body, read_failure};
pub use frames::{Cut, cut, message};
pub use held::{Expected, Form, expected, legal_id, normal};
pub use pen::{Frame, Sort, bytes};
pub(crate) use stops::shades;

/// What a provider answers, in the terms of no format.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Answer {
    /// The provider's name for it.
    pub id: Option<String>,
    /// The model that spoke.
    pub model: Option<String>,
    /// What it says.
    pub blocks: Vec<Block>,
    /// Why it stopped.
    pub stop: Option<Stop>,
    /// What it cost.
    pub usage: Usage,
}

/// A part of an answer.
#[derive(Clone, PartialEq, Debug)]
pub enum Block {
    /// Text.
    Text(String),
    /// A refusal.
    Refusal(String),
    /// Reasoning: what can be read of it, and what binds it.
    Reasoning(String, Seal),
    /// A call.
    Call(Call),
}

/// What binds reasoning to its maker.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub enum Seal {
    /// Nothing.
    #[default]
    Open,
    /// A signature.
    Signed(String),
    /// There is nothing to read but this.
    Redacted(String),
    /// The whole of it, encrypted.
    Encrypted(String),
}

/// A call.
#[derive(Clone, PartialEq, Debug)]
pub struct Call {
    /// Its id.
    pub id: Option<String>,
    /// The tool.
    pub name: String,
    /// What it is called with.
    pub input: Input,
    /// Gemini's signature of the reasoning behind it.
    pub signature: Option<String>,
}

/// What a tool is called with.
#[derive(Clone, PartialEq, Debug)]
pub enum Input {
    /// A JSON object.
    Json(Value),
    /// Free text.
    Free(String),
    /// What should be a JSON object and is none.
    Broken(String),
}

/// Why a model stopped.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Stop {
    /// It is done.
    End,
    /// It waits for answers to its calls.
    Calls,
    /// It may not say more.
    Length,
    /// The context is full.
    ContextFull,
    /// It came upon a text; which one, where the format says so.
    Sequence(Option<String>),
    /// It refused, or was filtered.
    Refusal,
    /// It wants to be asked again.
    Pause,
    /// It tried to call a tool and failed.
    Malformed,
    /// Anything else, in the words of its format.
    Other(String),
}

/// What an answer cost. Zero is what nobody counted.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Usage {
    /// All that was read.
    pub input: u64,
    /// All that was written.
    pub output: u64,
    /// What of the input came from a cache.
    pub cached: u64,
    /// What of the input went into a cache.
    pub stored: u64,
    /// What of the output is reasoning.
    pub reasoning: u64,
}

/// What was read of a stream, as far as it goes.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Heard {
    /// What it says.
    pub answer: Answer,
    /// Which of the blocks the stream says to be whole.
    pub whole: Vec<bool>,
    /// Which of them nothing more is said about.
    pub done: Vec<bool>,
    /// The texts of the blocks as they came: of a call its arguments.
    pub raw: Vec<String>,
    /// The stream says why the model stopped.
    pub stopped: bool,
    /// The stream says that this is all.
    pub ended: bool,
    /// The message of the failure that the stream ends with.
    pub error: Option<String>,
    /// Events of kinds that the format does not have.
    pub unknown: usize,
    /// What the format's protocol forbids.
    pub faults: Vec<String>,
}

/// A fault: reasoning goes on behind its signature.
pub const SIGNED: &str = "something follows a signature";

/// A fault: figures that do not add up begin with this.
pub const SUM: &str = "the sum is wrong";

/// The body of a response.
pub fn body(wire: Format, answer: &Answer) -> Value {
    match wire {
        Format::OpenaiChat => chat::body(answer),
        Format::OpenaiResponses => responses::body(answer),
        Format::Anthropic => anthropic::body(answer),
        Format::Gemini => gemini::body(answer),
        Format::Bedrock => bedrock::body(answer),
    }
}

/// Reads the body of a response, or says what is wrong with it.
pub fn read_body(wire: Format, body: &Value) -> Result<Answer, String> {
    match wire {
        Format::OpenaiChat => chat::read(body),
        Format::OpenaiResponses => responses::read(body),
        Format::Anthropic => anthropic::read(body),
        Format::Gemini => gemini::read(body),
        Format::Bedrock => bedrock::read(body),
    }
}

/// The stream that says the same, cut into pieces at random and with the habits of some server.
pub fn stream(random: &mut Random, wire: Format, answer: &Answer) -> Vec<Frame> {
    match wire {
        Format::OpenaiChat => chat::stream(random, answer),
        Format::OpenaiResponses => responses::stream(random, answer),
        Format::Anthropic => anthropic::stream(random, answer),
        Format::Gemini => gemini::stream(random, answer),
        Format::Bedrock => bedrock::stream(random, answer),
    }
}

/// Reads a stream, or the beginning of one.
pub fn hear(wire: Format, bytes: &[u8]) -> Heard {
    let frames = cut(wire, bytes);
    match wire {
        Format::OpenaiChat => chat::hear(&frames),
        Format::OpenaiResponses => responses::hear(&frames),
        Format::Anthropic => anthropic::hear(&frames),
        Format::Gemini => gemini::hear(&frames),
        Format::Bedrock => bedrock::hear(&frames),
    }
}

impl Answer {
    /// Its calls.
    pub fn calls(&self) -> impl Iterator<Item = &Call> {
        self.blocks.iter().filter_map(|block| match block {
            Block::Call(call) => Some(call),
            Block::Text(_) | Block::Refusal(_) | Block::Reasoning(..) => None,
        })
    }

    /// All of its text, one after the other.
    pub fn text(&self) -> String {
        let texts = self.blocks.iter().map(|block| match block {
            Block::Text(text) | Block::Refusal(text) => text.as_str(),
            Block::Reasoning(..) | Block::Call(_) => "",
        });
        texts.collect()
    }

    /// All of its reasoning that can be read, without white space: formats break it differently.
    pub fn thoughts(&self) -> String {
        let mut thoughts = String::new();
        for block in &self.blocks {
            if let Block::Reasoning(text, _) = block {
                let _ = write!(thoughts, "{}", text.split_whitespace().collect::<String>());
            }
        }
        thoughts
    }
}

impl Input {
    /// What a text says that should be a JSON object. Nothing at all is the empty one.
    pub fn said(text: &str) -> Input {
        if text.trim().is_empty() {
            return Input::Json(json!({}));
        }
        match serde_json::from_str(text) {
            Ok(value @ Value::Object(_)) => Input::Json(value),
            _ => Input::Broken(text.to_owned()),
        }
    }

    /// The text of it.
    pub fn text(&self) -> String {
        match self {
            Input::Json(value) => value.to_string(),
            Input::Free(text) | Input::Broken(text) => text.clone(),
        }
    }

    /// The object of it, for formats that take nothing else.
    pub fn object(&self) -> Value {
        match self {
            Input::Json(value) => value.clone(),
            Input::Free(text) | Input::Broken(text) => json!({ "input": text }),
        }
    }
}
