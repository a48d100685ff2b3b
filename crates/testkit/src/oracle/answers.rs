//! A second, naive reader and writer of provider responses, as bodies and as streams.
//!
//! It judges the conversion of responses, so it shares no code with it. Everything goes through
//! plain JSON values, a stream is read from its beginning every time, and speed does not matter.
//! Writers draw how a stream is split and which variations its server has; readers accept any input
//! and record every protocol violation.

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
mod interactions;
mod failures;
mod held;
#[cfg(test)]
mod tests;

use std::fmt::Write as _;

use foxwedge_core::Format;
use serde_json::{Value, json};

use crate::random::Random;
pub use failures::{failure, failure_body, read_failure};
pub use frames::{CutFrame, cut, message};
pub use held::{ExpectedReply, ReplyForm, expected, legal_id, normal};
pub use pen::{GeneratedFrame, GeneratedFrameKind, bytes};
pub(crate) use stops::shades;

/// A response, independent of any format.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct OracleReply {
    /// The provider's id of the response.
    pub id: Option<String>,
    /// The model that produced it.
    pub model: Option<String>,
    /// The parts, in order.
    pub blocks: Vec<ReplyBlock>,
    /// Stop reason.
    pub stop: Option<ReplyStop>,
    /// Token counts.
    pub usage: ReplyUsage,
}

/// A part of a response.
#[derive(Clone, PartialEq, Debug)]
pub enum ReplyBlock {
    /// Text.
    Text(String),
    /// A refusal.
    Refusal(String),
    /// Reasoning: its readable text, and its seal.
    Reasoning(String, ReasoningSeal),
    /// A tool call.
    Call(ReplyCall),
}

/// What binds reasoning to its provider.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub enum ReasoningSeal {
    /// Nothing.
    #[default]
    Open,
    /// A signature.
    Signed(String),
    /// Redacted data without readable text.
    Redacted(String),
    /// The encrypted reasoning.
    Encrypted(String),
}

/// A tool call.
#[derive(Clone, PartialEq, Debug)]
pub struct ReplyCall {
    /// Id of the call.
    pub id: Option<String>,
    /// Name of the tool.
    pub name: String,
    /// Input of the tool.
    pub input: ReplyCallInput,
    /// Gemini's signature of the reasoning before it.
    pub signature: Option<String>,
}

/// Input of a tool call.
#[derive(Clone, PartialEq, Debug)]
pub enum ReplyCallInput {
    /// A JSON object.
    Json(Value),
    /// Free text.
    Free(String),
    /// Text that should be a JSON object and is not.
    Broken(String),
}

/// Stop reason.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum ReplyStop {
    /// The response is complete.
    End,
    /// The model waits for the results of its calls.
    Calls,
    /// The token limit was reached.
    Length,
    /// The context is full.
    ContextFull,
    /// A stop sequence was found, with its text if the format has it.
    Sequence(Option<String>),
    /// The model refused, or its output was filtered.
    Refusal,
    /// The model pauses; the client sends the turn again.
    Pause,
    /// A malformed tool call.
    Malformed,
    /// Any other reason, as written in its format.
    Other(String),
}

/// Token counts. Zero means unknown.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct ReplyUsage {
    /// All input tokens.
    pub input: u64,
    /// All output tokens.
    pub output: u64,
    /// Input tokens that were read from a cache.
    pub cached: u64,
    /// Input tokens that were written to a cache.
    pub stored: u64,
    /// Output tokens of reasoning.
    pub reasoning: u64,
}

/// What has been read of a stream so far.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct OracleStream {
    /// The response so far.
    pub answer: OracleReply,
    /// For each block, whether the stream marks it as complete.
    pub whole: Vec<bool>,
    /// For each block, whether nothing more can follow for it.
    pub done: Vec<bool>,
    /// The raw texts of the blocks; for a call, its arguments.
    pub raw: Vec<String>,
    /// Whether the stream has a stop reason.
    pub stopped: bool,
    /// Whether the stream is marked as ended.
    pub ended: bool,
    /// The error message that the stream ends with.
    pub error: Option<String>,
    /// Number of events of unknown types.
    pub unknown: usize,
    /// Protocol violations.
    pub faults: Vec<String>,
}

/// The violation of reasoning that continues after its signature.
pub const SIGNED: &str = "something follows a signature";

/// Prefix of the violation of token counts that do not add up.
pub const SUM: &str = "the sum is wrong";

/// Writes a response as a body.
pub fn body(format: Format, answer: &OracleReply) -> Value {
    match format {
        Format::OpenaiChat => chat::body(answer),
        Format::OpenaiResponses => responses::body(answer),
        Format::Anthropic => anthropic::body(answer),
        Format::Gemini => gemini::body(answer),
        Format::Bedrock => bedrock::body(answer),
        Format::GeminiInteractions => interactions::body(answer),
    }
}

/// Reads a body, or describes what is wrong with it.
pub fn read_body(format: Format, body: &Value) -> Result<OracleReply, String> {
    match format {
        Format::OpenaiChat => chat::read(body),
        Format::OpenaiResponses => responses::read(body),
        Format::Anthropic => anthropic::read(body),
        Format::Gemini => gemini::read(body),
        Format::Bedrock => bedrock::read(body),
        Format::GeminiInteractions => interactions::read(body),
    }
}

/// Writes a response as a stream, split at random and with the variations of some server.
pub fn stream(random: &mut Random, format: Format, answer: &OracleReply) -> Vec<GeneratedFrame> {
    match format {
        Format::OpenaiChat => chat::stream(random, answer),
        Format::OpenaiResponses => responses::stream(random, answer),
        Format::Anthropic => anthropic::stream(random, answer),
        Format::Gemini => gemini::stream(random, answer),
        Format::Bedrock => bedrock::stream(random, answer),
        Format::GeminiInteractions => interactions::stream(random, answer),
    }
}

/// Reads a stream, or the beginning of one.
pub fn hear(format: Format, bytes: &[u8]) -> OracleStream {
    let frames = cut(format, bytes);
    match format {
        Format::OpenaiChat => chat::hear(&frames),
        Format::OpenaiResponses => responses::hear(&frames),
        Format::Anthropic => anthropic::hear(&frames),
        Format::Gemini => gemini::hear(&frames),
        Format::Bedrock => bedrock::hear(&frames),
        Format::GeminiInteractions => interactions::hear(&frames),
    }
}

impl OracleReply {
    /// All tool calls.
    pub fn calls(&self) -> impl Iterator<Item = &ReplyCall> {
        self.blocks.iter().filter_map(|block| match block {
            ReplyBlock::Call(call) => Some(call),
            ReplyBlock::Text(_) | ReplyBlock::Refusal(_) | ReplyBlock::Reasoning(..) => None,
        })
    }

    /// All text, concatenated.
    pub fn text(&self) -> String {
        let texts = self.blocks.iter().map(|block| match block {
            ReplyBlock::Text(text) | ReplyBlock::Refusal(text) => text.as_str(),
            ReplyBlock::Reasoning(..) | ReplyBlock::Call(_) => "",
        });
        texts.collect()
    }

    /// All readable reasoning without white space, because formats split it differently.
    pub fn thoughts(&self) -> String {
        let mut thoughts = String::new();
        for block in &self.blocks {
            if let ReplyBlock::Reasoning(text, _) = block {
                let _ = write!(thoughts, "{}", text.split_whitespace().collect::<String>());
            }
        }
        thoughts
    }
}

impl ReplyCallInput {
    /// Parses text that should be a JSON object. Empty text is the empty object.
    pub fn said(text: &str) -> ReplyCallInput {
        if text.trim().is_empty() {
            return ReplyCallInput::Json(json!({}));
        }
        match serde_json::from_str(text) {
            Ok(value @ Value::Object(_)) => ReplyCallInput::Json(value),
            _ => ReplyCallInput::Broken(text.to_owned()),
        }
    }

    /// The input as text.
    pub fn text(&self) -> String {
        match self {
            ReplyCallInput::Json(value) => value.to_string(),
            ReplyCallInput::Free(text) | ReplyCallInput::Broken(text) => text.clone(),
        }
    }

    /// The input as an object, for formats that accept only objects.
    pub fn object(&self) -> Value {
        match self {
            ReplyCallInput::Json(value) => value.clone(),
            ReplyCallInput::Free(text) | ReplyCallInput::Broken(text) => json!({ "input": text }),
        }
    }
}
