//! The specification in `suite/SPEC.md` as a program: pairing, validity, repair and cut of abstract
//! histories.
//!
//! Written from the text, small enough to read in one sitting, and without any code of the engine.
//! The specification is `pairing`, `clauses` and `repair`;
//! [`compare()`] writes histories in every format and asks the engine about them.

mod pairing;
mod clauses;
mod repair;
mod draw;
mod wire;
mod compare;

pub use clauses::{ClauseDemand, DEMANDS, broken_clauses};
pub use compare::{ModelBreach, ModelTally, compare};
pub use draw::{HistoryTree, draw_history, draw_tree};
pub use pairing::{HistoryPairing, ModelCall, ModelResult, ModelTurn, ResultFate};
pub use repair::{RepairCost, allowed_cost, moves, required_texts, without_written_texts};

/// A conversation: messages in order.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct AbstractHistory(pub Vec<AbstractMessage>);

/// One message.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct AbstractMessage {
    /// Who sent it. Results are sent by the user's side.
    pub side: SenderSide,
    /// What it holds, in order; never empty.
    pub parts: Vec<AbstractPart>,
}

/// Who sent a message.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum SenderSide {
    /// Instructions.
    System,
    /// The user, and the program that runs tools.
    User,
    /// The model.
    Model,
}

/// A part of a message. Numbers tell texts and results apart; no two parts share one.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum AbstractPart {
    /// A text.
    Text(u32),
    /// A call with its id.
    Call(u8),
    /// A result: the id of its call, and its number.
    Result(u8, u32),
    /// A result that an engine wrote because there was none.
    Placeholder(u8),
    /// A text that repeats the result of that number.
    Quote(u32),
    /// A text that an engine wrote.
    Filler,
}

/// How a format lays out calls and results.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum HistoryLayout {
    /// Each result is a message.
    Chat,
    /// Results are parts of user messages.
    Blocks,
    /// Every part is an item of one list.
    Items,
}

impl AbstractMessage {
    fn new(side: SenderSide, parts: Vec<AbstractPart>) -> AbstractMessage {
        AbstractMessage { side, parts }
    }

    fn has_calls(&self) -> bool {
        self.side == SenderSide::Model
            && self.parts.iter().any(|part| matches!(part, AbstractPart::Call(_)))
    }

    /// Whether it holds results and nothing else.
    fn is_result(&self) -> bool {
        self.parts.iter().all(|part| part.result_id().is_some())
    }
}

impl AbstractPart {
    /// The call that a result names.
    fn result_id(self) -> Option<u8> {
        match self {
            AbstractPart::Result(id, _) | AbstractPart::Placeholder(id) => Some(id),
            _ => None,
        }
    }
}

impl AbstractHistory {
    /// The messages of the history in a layout: results, or all parts, become messages.
    pub fn laid_out(&self, layout: HistoryLayout) -> AbstractHistory {
        let mut messages = Vec::new();
        for message in &self.0 {
            let mut open: Vec<AbstractPart> = Vec::new();
            let mut parts = message.parts.clone();
            if layout == HistoryLayout::Chat {
                // The text of a message stands before its calls.
                parts.sort_by_key(|part| matches!(part, AbstractPart::Call(_)));
            }
            for part in &parts {
                let alone = match layout {
                    HistoryLayout::Blocks => false,
                    HistoryLayout::Chat => part.result_id().is_some(),
                    HistoryLayout::Items => true,
                };
                if alone && !open.is_empty() {
                    let parts = std::mem::take(&mut open);
                    messages.push(AbstractMessage::new(message.side, parts));
                }
                match alone {
                    true => messages.push(AbstractMessage::new(message.side, vec![*part])),
                    false => open.push(*part),
                }
            }
            if !open.is_empty() {
                messages.push(AbstractMessage::new(message.side, open));
            }
        }
        AbstractHistory(messages)
    }

    /// All parts in order, with their sides.
    pub fn parts(&self) -> impl Iterator<Item = (SenderSide, AbstractPart)> {
        self.0.iter().flat_map(|message| message.parts.iter().map(|part| (message.side, *part)))
    }
}
