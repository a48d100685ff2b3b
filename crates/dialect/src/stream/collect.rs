//! Puts an answer that came in pieces together: what it would be in one.

use std::borrow::Cow;

use foxwedge_core::Format;

use super::{
    event::{BlockDelta, BlockStart, EventSink, StreamEvent, StreamLoss},
    sequencer::{owned_citation, owned_error, owned_start, owned_stop},
    write::LossNotes,
};
use crate::{
    json::unescape,
    model::{
        ContentPart, JsonText, LossKind, ModelPart, ModelReply, PartNotes as Beside, ProviderError,
        ReasoningPart, ReasoningSignature, TextCitation, ToolCallPart,
    },
};

/// An answer that came in pieces.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct CollectedReply {
    /// What was said, as far as it came. If it broke off, it has no stop, and a call that was still
    /// open is left out.
    pub reply: ModelReply<'static>,
    /// How it ended.
    pub ending: CollectedEnding,
    /// What was left out.
    pub skipped: Vec<StreamLoss>,
    /// More was said than may be kept: parts of the reply are missing.
    pub truncated: bool,
}

/// How an answer ended.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum CollectedEnding {
    /// The provider said that this is all.
    Complete,
    /// The provider failed.
    Failed(ProviderError<'static>),
    /// The bytes ended before the answer did.
    Truncated,
}

/// Takes the events of one answer, in order.
pub(crate) struct StreamCollector {
    reply: ModelReply<'static>,
    open: Option<CollectedBlock>,
    ending: Option<CollectedEnding>,
    notes: LossNotes,
    /// How many bytes may still be kept.
    remaining_bytes: usize,
    truncated: bool,
}

/// The block that is open.
struct CollectedBlock {
    kind: BlockStart<'static>,
    /// Its text in its JSON spelling: characters that came in two halves are one here.
    text: String,
    seal: ReasoningSignature<'static>,
    citations: Vec<TextCitation<'static>>,
}

impl StreamCollector {
    /// For an answer in that format.
    pub(crate) fn new(wire: Option<Format>) -> StreamCollector {
        StreamCollector::within(wire, usize::MAX)
    }

    /// The same, for an answer of which so many bytes may be kept.
    pub(crate) fn within(wire: Option<Format>, room: usize) -> StreamCollector {
        let reply = ModelReply { wire, ..ModelReply::default() };
        let notes = LossNotes::default();
        StreamCollector {
            reply,
            open: None,
            ending: None,
            notes,
            remaining_bytes: room,
            truncated: false,
        }
    }

    /// The parts that are whole.
    pub(crate) fn parts(&self) -> &[ModelPart<'static>] {
        &self.reply.parts
    }

    pub(crate) fn finish(mut self) -> CollectedReply {
        if let Some(block) = self.open.take() {
            match block.kind {
                BlockStart::Call { .. } => {
                    self.notes.add(LossKind::Arguments, "a call that was cut off is left out");
                }
                BlockStart::Text
                | BlockStart::Refusal
                | BlockStart::Reasoning
                | BlockStart::Redacted(_) => {
                    self.reply.parts.push(build_part(block));
                }
            }
        }
        let ending = self.ending.unwrap_or(CollectedEnding::Truncated);
        if ending != CollectedEnding::Complete {
            self.reply.stop = None;
        }
        let truncated = self.truncated;
        CollectedReply { reply: self.reply, ending, skipped: self.notes.list(), truncated }
    }

    /// Makes room for more. Once there was none, nothing more is kept: a call that lost a part of
    /// its arguments is no call.
    fn reserve(&mut self, bytes: usize) -> bool {
        match self.remaining_bytes.checked_sub(bytes) {
            Some(left) if !self.truncated => self.remaining_bytes = left,
            _ => {
                self.truncated = true;
                let words = |block: &CollectedBlock| !matches!(block.kind, BlockStart::Call { .. });
                self.reply.parts.extend(self.open.take().filter(words).map(build_part));
            }
        }
        !self.truncated
    }

    fn open_block(&mut self, kind: &BlockStart<'_>) {
        let words = match kind {
            BlockStart::Text | BlockStart::Refusal | BlockStart::Reasoning => 0,
            BlockStart::Redacted(data) => data.len(),
            BlockStart::Call { id, name, family: _, signature } => {
                name.len() + [id, signature].into_iter().flatten().map(|it| it.len()).sum::<usize>()
            }
        };
        if self.reserve(size_of::<ModelPart<'_>>() + words) {
            let (kind, text, citations) = (owned_start(kind), String::new(), Vec::new());
            self.open =
                Some(CollectedBlock { kind, text, seal: ReasoningSignature::Unsigned, citations });
        }
    }

    fn add_delta(&mut self, piece: &BlockDelta<'_>) {
        let Some(block) = &mut self.open else { return };
        match piece {
            BlockDelta::Text(words) => {
                let before = block.text.len();
                words.write_unquoted(&mut block.text);
                let bytes = block.text.len() - before;
                if self.remaining_bytes < bytes {
                    block.text.truncate(before);
                }
                self.reserve(bytes);
            }
            BlockDelta::Signature(words) | BlockDelta::Encrypted(words) => {
                let words = words.to_static();
                let bytes = words.len();
                block.seal = match piece {
                    BlockDelta::Encrypted(_) => ReasoningSignature::Encrypted(words),
                    _ => ReasoningSignature::Signed(words),
                };
                self.reserve(bytes);
            }
            BlockDelta::Citation(citation) => {
                let TextCitation { url, title, quote, span: _ } = citation;
                let words = [url, title, quote].into_iter().flatten();
                let bytes = size_of::<TextCitation<'_>>() + words.map(|it| it.len()).sum::<usize>();
                block.citations.push(owned_citation(citation));
                self.reserve(bytes);
            }
        }
    }
}

impl EventSink for StreamCollector {
    fn event(&mut self, event: StreamEvent<'_>) {
        let known = |words: Option<JsonText<'_>>| words.as_ref().map(JsonText::to_static);
        match event {
            StreamEvent::Start(head) => {
                self.reply.id = known(head.id);
                self.reply.model = known(head.model);
                self.reply.created = head.created;
            }
            StreamEvent::Open { kind, .. } => self.open_block(&kind),
            StreamEvent::Delta { delta: piece, .. } => self.add_delta(&piece),
            StreamEvent::Close { .. } => self.reply.parts.extend(self.open.take().map(build_part)),
            StreamEvent::Usage(usage) => self.reply.usage = usage,
            StreamEvent::Stop(stop) => self.reply.stop = Some(owned_stop(&stop)),
            StreamEvent::End => self.ending = Some(CollectedEnding::Complete),
            StreamEvent::Failed(failure) => {
                self.ending = Some(CollectedEnding::Failed(owned_error(&failure)))
            }
            StreamEvent::Truncated => self.ending = Some(CollectedEnding::Truncated),
        }
    }

    fn skip(&mut self, note: StreamLoss) {
        self.notes.add(note.kind, &note.note);
    }
}

fn build_part(block: CollectedBlock) -> ModelPart<'static> {
    let CollectedBlock { kind, text, seal, citations } = block;
    let text = JsonText::from(unescape(&text));
    let refusal = kind == BlockStart::Refusal;
    match kind {
        BlockStart::Text | BlockStart::Refusal => ModelPart::new(ContentPart::Text(text))
            .with_notes(Beside { refusal, citations, ..Beside::default() }),
        BlockStart::Reasoning => {
            ModelPart::new(ContentPart::Reasoning(ReasoningPart { text, signature: seal }))
        }
        BlockStart::Redacted(data) => {
            let (text, seal) = (JsonText::default(), ReasoningSignature::Redacted(data));
            ModelPart::new(ContentPart::Reasoning(ReasoningPart { text, signature: seal }))
        }
        BlockStart::Call { id, name, family, signature } => {
            ModelPart::new(ContentPart::ToolCall(ToolCallPart {
                id: id.map(|id| Cow::Owned(id.into_owned())),
                name: Cow::Owned(name.into_owned()),
                family,
                arguments: text,
                signature,
            }))
        }
    }
}
