//! A conversation before it is written in a format.
//!
//! Shapes and generators build it, mutations damage it, `render` writes it. It may be invalid:
//! every field may hold a value that a provider rejects.

use serde_json::Value;

/// The kinds of calls of the Responses format; the other formats have at most the first two.
pub(crate) const FAMILIES: [&str; 7] = [
    "function_call",
    "custom_tool_call",
    "local_shell_call",
    "shell_call",
    "apply_patch_call",
    "computer_call",
    "tool_search_call",
];

/// A whole conversation.
#[derive(Clone, Debug)]
pub(crate) struct GeneratedDraft {
    pub(crate) turns: Vec<GeneratedTurn>,
    /// The content of a Chat assistant message without text; `None` leaves the key out.
    pub(crate) hollow: Option<Value>,
    /// The last number that was used, so that all texts of a document differ.
    pub(crate) counter: usize,
}

/// The role of a turn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum TurnSpeaker {
    User,
    Assistant,
    System,
}

/// One message, or one run of items.
#[derive(Clone, Debug)]
pub(crate) struct GeneratedTurn {
    pub(crate) speaker: TurnSpeaker,
    pub(crate) parts: Vec<GeneratedPart>,
    /// Write a single text as a plain string where the format allows it.
    pub(crate) plain: bool,
}

/// A part of a message.
#[derive(Clone, Debug)]
pub(crate) enum GeneratedPart {
    Text(String),
    Call(GeneratedCall),
    Answer(GeneratedResult),
    Thinking(GeneratedThinking),
    ServerCall(String),
    ServerAnswer(String),
}

/// A tool call. Each field may be invalid.
#[derive(Clone, Debug)]
pub(crate) struct GeneratedCall {
    /// `None` leaves the key out.
    pub(crate) id: Option<Value>,
    pub(crate) name: String,
    pub(crate) arguments: Value,
    pub(crate) family: &'static str,
    /// The id of the item itself (Responses only).
    pub(crate) item: Option<String>,
    /// The thought signature (Gemini only).
    pub(crate) signature: Option<String>,
}

/// A tool result.
#[derive(Clone, Debug)]
pub(crate) struct GeneratedResult {
    /// `None` leaves the key out.
    pub(crate) id: Option<Value>,
    pub(crate) name: String,
    pub(crate) text: String,
    /// Write the text as a list of parts where the format allows it.
    pub(crate) parts: bool,
    pub(crate) family: &'static str,
}

/// A reasoning part.
#[derive(Clone, Debug)]
pub(crate) struct GeneratedThinking {
    pub(crate) text: String,
    /// The signature, or the encrypted content; `None` leaves it out.
    pub(crate) seal: Option<String>,
    /// The id of the item itself (Responses only).
    pub(crate) item: Option<String>,
}

impl GeneratedDraft {
    /// An empty conversation.
    pub(crate) fn new() -> Self {
        Self { turns: Vec::new(), hollow: Some(Value::Null), counter: 0 }
    }

    /// A number that no text of this document has yet.
    pub(crate) fn number(&mut self) -> usize {
        self.counter += 1;
        self.counter
    }

    /// A unique sentence. The final period keeps number 1 from being found in number 12.
    pub(crate) fn sentence(&mut self, what: &str) -> String {
        format!("{what} {}.", self.number())
    }

    /// The positions of the parts that `wanted` accepts, as turn and part.
    pub(crate) fn places(&self, wanted: impl Fn(&GeneratedPart) -> bool) -> Vec<(usize, usize)> {
        let mut places = Vec::new();
        for (turn_at, turn) in self.turns.iter().enumerate() {
            for (part_at, part) in turn.parts.iter().enumerate() {
                if wanted(part) {
                    places.push((turn_at, part_at));
                }
            }
        }
        places
    }

    /// The turns of one speaker.
    pub(crate) fn turns_of(&self, speaker: TurnSpeaker) -> Vec<usize> {
        (0..self.turns.len()).filter(|at| self.turns[*at].speaker == speaker).collect()
    }

    /// Every call, in order.
    pub(crate) fn calls_mut(&mut self) -> impl Iterator<Item = &mut GeneratedCall> {
        self.turns.iter_mut().flat_map(|turn| turn.parts.iter_mut()).filter_map(|part| match part {
            GeneratedPart::Call(call) => Some(call),
            _ => None,
        })
    }

    /// Every tool result, in order.
    pub(crate) fn answers_mut(&mut self) -> impl Iterator<Item = &mut GeneratedResult> {
        self.turns.iter_mut().flat_map(|turn| turn.parts.iter_mut()).filter_map(|part| match part {
            GeneratedPart::Answer(answer) => Some(answer),
            _ => None,
        })
    }

    /// Removes empty turns.
    pub(crate) fn sweep(&mut self) {
        self.turns.retain(|turn| !turn.parts.is_empty());
    }
}

impl GeneratedTurn {
    /// A turn with these parts.
    pub(crate) fn new(speaker: TurnSpeaker, parts: Vec<GeneratedPart>) -> Self {
        Self { speaker, parts, plain: true }
    }

    /// Whether the turn has a call.
    pub(crate) fn calls(&self) -> bool {
        self.parts.iter().any(|part| matches!(part, GeneratedPart::Call(_)))
    }

    /// Whether the turn has a tool result.
    pub(crate) fn answers(&self) -> bool {
        self.parts.iter().any(|part| matches!(part, GeneratedPart::Answer(_)))
    }
}

impl GeneratedPart {
    pub(crate) fn is_call(&self) -> bool {
        matches!(self, Self::Call(_))
    }

    pub(crate) fn is_answer(&self) -> bool {
        matches!(self, Self::Answer(_))
    }
}
