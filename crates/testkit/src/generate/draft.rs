//! A conversation before it is written in a dialect.
//!
//! Shapes and generators build this; mutations bend it; `render` writes it down. Nothing here
//! promises soundness: every field may hold what a provider would refuse.

use serde_json::Value;

/// The kinds of call of the Responses dialect; the other dialects know the first two at most.
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
pub(crate) struct Draft {
    pub(crate) turns: Vec<Turn>,
    /// What a Chat assistant message without text carries as content; `None` leaves the key out.
    pub(crate) hollow: Option<Value>,
    /// Numbers handed out so far, so that no two texts of a document agree.
    pub(crate) counter: usize,
}

/// Who speaks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Speaker {
    User,
    Assistant,
    System,
}

/// One message, or one run of items.
#[derive(Clone, Debug)]
pub(crate) struct Turn {
    pub(crate) speaker: Speaker,
    pub(crate) parts: Vec<Part>,
    /// Write a single text as a plain string where the dialect has that form.
    pub(crate) plain: bool,
}

/// What a message holds.
#[derive(Clone, Debug)]
pub(crate) enum Part {
    Text(String),
    Call(Call),
    Answer(Answer),
    Thinking(Thinking),
    ServerCall(String),
    ServerAnswer(String),
}

/// A call with everything that can go wrong with it.
#[derive(Clone, Debug)]
pub(crate) struct Call {
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

/// An answer.
#[derive(Clone, Debug)]
pub(crate) struct Answer {
    /// `None` leaves the key out.
    pub(crate) id: Option<Value>,
    pub(crate) name: String,
    pub(crate) text: String,
    /// Write the text as a list of parts where the dialect has that form.
    pub(crate) parts: bool,
    pub(crate) family: &'static str,
}

/// A reasoning part.
#[derive(Clone, Debug)]
pub(crate) struct Thinking {
    pub(crate) text: String,
    /// The signature, or the encrypted content; `None` leaves it out.
    pub(crate) seal: Option<String>,
    /// The id of the item itself (Responses only).
    pub(crate) item: Option<String>,
}

impl Draft {
    /// An empty conversation.
    pub(crate) fn new() -> Self {
        Self { turns: Vec::new(), hollow: Some(Value::Null), counter: 0 }
    }

    /// A number that no text of this document carries yet.
    pub(crate) fn number(&mut self) -> usize {
        self.counter += 1;
        self.counter
    }

    /// A sentence of its own: the final point keeps number 1 from being found in number 12.
    pub(crate) fn sentence(&mut self, what: &str) -> String {
        format!("{what} {}.", self.number())
    }

    /// Where the parts stand that `wanted` accepts, as turn and part.
    pub(crate) fn places(&self, wanted: impl Fn(&Part) -> bool) -> Vec<(usize, usize)> {
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
    pub(crate) fn turns_of(&self, speaker: Speaker) -> Vec<usize> {
        (0..self.turns.len()).filter(|at| self.turns[*at].speaker == speaker).collect()
    }

    /// Every call, in order.
    pub(crate) fn calls_mut(&mut self) -> impl Iterator<Item = &mut Call> {
        self.turns.iter_mut().flat_map(|turn| turn.parts.iter_mut()).filter_map(|part| match part {
            Part::Call(call) => Some(call),
            _ => None,
        })
    }

    /// Every answer, in order.
    pub(crate) fn answers_mut(&mut self) -> impl Iterator<Item = &mut Answer> {
        self.turns.iter_mut().flat_map(|turn| turn.parts.iter_mut()).filter_map(|part| match part {
            Part::Answer(answer) => Some(answer),
            _ => None,
        })
    }

    /// Removes turns that have nothing left to say.
    pub(crate) fn sweep(&mut self) {
        self.turns.retain(|turn| !turn.parts.is_empty());
    }
}

impl Turn {
    /// A message of `parts`.
    pub(crate) fn new(speaker: Speaker, parts: Vec<Part>) -> Self {
        Self { speaker, parts, plain: true }
    }

    /// True when the turn holds a call.
    pub(crate) fn calls(&self) -> bool {
        self.parts.iter().any(|part| matches!(part, Part::Call(_)))
    }

    /// True when the turn holds an answer.
    pub(crate) fn answers(&self) -> bool {
        self.parts.iter().any(|part| matches!(part, Part::Answer(_)))
    }
}

impl Part {
    /// True for a call.
    pub(crate) fn is_call(&self) -> bool {
        matches!(self, Self::Call(_))
    }

    /// True for an answer.
    pub(crate) fn is_answer(&self) -> bool {
        matches!(self, Self::Answer(_))
    }
}
