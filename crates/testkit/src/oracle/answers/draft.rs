//! A response that is being read.

use serde_json::Value;

use super::{
    CutFrame, OracleReply, OracleStream, ReasoningSeal, ReplyBlock, ReplyCall, ReplyCallInput,
    ReplyStop,
};

/// What has been read of a stream so far.
#[derive(Default)]
pub(super) struct ReplyDraft {
    pub(super) heard: OracleStream,
    pub(super) parts: Vec<DraftBlock>,
}

/// A block, as far as it has been read.
#[derive(Clone, Default)]
pub(super) struct DraftBlock {
    pub(super) kind: DraftBlockKind,
    /// Its text; for a call, the text of its arguments.
    pub(super) text: String,
    pub(super) seal: ReasoningSeal,
    pub(super) id: Option<String>,
    pub(super) name: String,
    pub(super) signature: Option<String>,
    /// Arguments that came with the start of a call. They count if no delta follows.
    pub(super) early: Option<String>,
    /// The stream marks the block as complete.
    pub(super) whole: bool,
    /// The content is complete, but the block is still open.
    pub(super) ending: bool,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(super) enum DraftBlockKind {
    #[default]
    Text,
    Refusal,
    Reasoning,
    Function,
    Custom,
}

impl ReplyDraft {
    /// Records a protocol violation.
    pub(super) fn fault(&mut self, what: impl Into<String>) {
        self.heard.faults.push(what.into());
    }

    /// Records a protocol violation unless `holds`.
    pub(super) fn must(&mut self, holds: bool, what: &str) {
        if !holds {
            self.fault(what);
        }
    }

    /// The data of a frame. No frame may follow an end or an error.
    pub(super) fn open(&mut self, cut: &CutFrame) -> Option<Value> {
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

    pub(super) fn stop(&mut self, stop: ReplyStop) {
        self.must(!self.heard.stopped, "the model stops twice");
        self.heard.stopped = true;
        self.heard.answer.stop = Some(stop);
    }

    pub(super) fn finish(mut self) -> OracleStream {
        self.heard.raw = self.parts.iter().map(|part| part.text.clone()).collect();
        self.heard.done = self.parts.iter().map(|part| part.whole && !part.ending).collect();
        self.heard.whole = self.parts.iter().map(|part| part.whole).collect();
        self.heard.answer.blocks = self.parts.into_iter().map(DraftBlock::block).collect();
        self.heard
    }
}

impl DraftBlock {
    pub(super) fn new(kind: DraftBlockKind) -> DraftBlock {
        DraftBlock { kind, ..DraftBlock::default() }
    }

    pub(super) fn block(self) -> ReplyBlock {
        match self.kind {
            DraftBlockKind::Text => ReplyBlock::Text(self.text),
            DraftBlockKind::Refusal => ReplyBlock::Refusal(self.text),
            DraftBlockKind::Reasoning => ReplyBlock::Reasoning(self.text, self.seal),
            DraftBlockKind::Function | DraftBlockKind::Custom => {
                let input = match self.kind {
                    DraftBlockKind::Custom => ReplyCallInput::Free(self.text),
                    _ => ReplyCallInput::said(&self.text),
                };
                let DraftBlock { id, name, signature, .. } = self;
                ReplyBlock::Call(ReplyCall { id, name, input, signature })
            }
        }
    }
}

/// The blocks of a body, in order.
pub(super) fn answer(
    id: Option<String>,
    model: Option<String>,
    parts: Vec<DraftBlock>,
    stop: Option<ReplyStop>,
    usage: super::ReplyUsage,
) -> OracleReply {
    let blocks = parts.into_iter().map(DraftBlock::block).collect();
    OracleReply { id, model, blocks, stop, usage }
}
