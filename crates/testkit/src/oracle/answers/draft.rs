//! An answer that is being read.

use serde_json::Value;

use super::{Answer, Block, Call, Cut, Heard, Input, Seal, Stop};

/// What was read of a stream so far.
#[derive(Default)]
pub(super) struct Draft {
    pub(super) heard: Heard,
    pub(super) parts: Vec<Part>,
}

/// A block, as far as it was read.
#[derive(Clone, Default)]
pub(super) struct Part {
    pub(super) kind: Kind,
    /// Its text; the text of a call's arguments.
    pub(super) text: String,
    pub(super) seal: Seal,
    pub(super) id: Option<String>,
    pub(super) name: String,
    pub(super) signature: Option<String>,
    /// Arguments that came with the beginning of a call: they count if nothing follows.
    pub(super) early: Option<String>,
    /// The stream says that nothing more comes.
    pub(super) whole: bool,
    /// So it does, but has not ended the block yet.
    pub(super) ending: bool,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(super) enum Kind {
    #[default]
    Text,
    Refusal,
    Reasoning,
    Function,
    Custom,
}

impl Draft {
    /// Notes a breach of the protocol.
    pub(super) fn fault(&mut self, what: impl Into<String>) {
        self.heard.faults.push(what.into());
    }

    /// Notes a breach unless something holds.
    pub(super) fn must(&mut self, holds: bool, what: &str) {
        if !holds {
            self.fault(what);
        }
    }

    /// The data of a frame. Nothing follows an end or a failure.
    pub(super) fn open(&mut self, cut: &Cut) -> Option<Value> {
        self.heard.faults.extend(cut.fault.clone());
        if cut.data.is_empty() {
            return None;
        }
        if self.heard.ended || self.heard.error.is_some() {
            self.fault(format!("something follows the end: {}", cut.data));
        }
        match serde_json::from_str(&cut.data) {
            Ok(value @ Value::Object(_)) => Some(value),
            _ => {
                self.fault(format!("not an object: {}", cut.data));
                None
            }
        }
    }

    pub(super) fn stop(&mut self, stop: Stop) {
        self.must(!self.heard.stopped, "the model stops twice");
        self.heard.stopped = true;
        self.heard.answer.stop = Some(stop);
    }

    pub(super) fn finish(mut self) -> Heard {
        self.heard.raw = self.parts.iter().map(|part| part.text.clone()).collect();
        self.heard.done = self.parts.iter().map(|part| part.whole && !part.ending).collect();
        self.heard.whole = self.parts.iter().map(|part| part.whole).collect();
        self.heard.answer.blocks = self.parts.into_iter().map(Part::block).collect();
        self.heard
    }
}

impl Part {
    pub(super) fn new(kind: Kind) -> Part {
        Part { kind, ..Part::default() }
    }

    pub(super) fn block(self) -> Block {
        match self.kind {
            Kind::Text => Block::Text(self.text),
            Kind::Refusal => Block::Refusal(self.text),
            Kind::Reasoning => Block::Reasoning(self.text, self.seal),
            Kind::Function | Kind::Custom => {
                let input = match self.kind {
                    Kind::Custom => Input::Free(self.text),
                    _ => Input::said(&self.text),
                };
                let Part { id, name, signature, .. } = self;
                Block::Call(Call { id, name, input, signature })
            }
        }
    }
}

/// Blocks of a body, in the order in which they stand there.
pub(super) fn answer(
    id: Option<String>,
    model: Option<String>,
    parts: Vec<Part>,
    stop: Option<Stop>,
    usage: super::Usage,
) -> Answer {
    let blocks = parts.into_iter().map(Part::block).collect();
    Answer { id, model, blocks, stop, usage }
}
