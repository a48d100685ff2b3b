//! Collects a streamed reply into one whole reply.

use std::borrow::Cow;

use foxwedge_core::Format;

use crate::{
    conversation::{
        ContentPart, JsonText, LossKind, ModelPart, ModelReply, PartNotes, ProviderError,
        ReasoningPart, ReasoningSignature, TextCitation, ToolCallPart,
    },
    event::{
        BlockDelta, BlockStart, EventSink, StreamEvent, StreamLoss,
        loss_notes::LossNotes,
        owned::{owned_citation, owned_error, owned_start, owned_stop},
    },
};
use foxwedge_json::unescape;

/// A collected streamed reply.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct CollectedReply {
    /// The reply, as far as it arrived. If it was cut off, it has no stop reason, and a call that
    /// was still open is left out.
    pub reply: ModelReply<'static>,
    /// How it ended.
    pub ending: CollectedEnding,
    /// The losses.
    pub skipped: Vec<StreamLoss>,
    /// The reply exceeds the memory limit: parts of it are missing.
    pub truncated: bool,
}

/// How a reply ended.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum CollectedEnding {
    /// The provider marked the reply as complete.
    Complete,
    /// The provider failed.
    Failed(ProviderError<'static>),
    /// The bytes ended before the reply did.
    Truncated,
}

/// Collects the events of one reply, in order.
pub(crate) struct StreamCollector {
    reply: ModelReply<'static>,
    open: Option<CollectedBlock>,
    ending: Option<CollectedEnding>,
    notes: LossNotes,
    /// Number of bytes that may still be kept.
    remaining_bytes: usize,
    truncated: bool,
}

/// The block that is open.
struct CollectedBlock {
    kind: BlockStart<'static>,
    /// Its text, JSON-escaped: surrogate pairs split over two deltas meet here.
    text: String,
    signature: ReasoningSignature<'static>,
    citations: Vec<TextCitation<'static>>,
}

impl StreamCollector {
    /// A collector for a reply in that format that keeps at most `limit` bytes.
    pub(crate) fn within(format: Option<Format>, limit: usize) -> StreamCollector {
        let reply = ModelReply { wire: format, ..ModelReply::default() };
        let notes = LossNotes::default();
        StreamCollector {
            reply,
            open: None,
            ending: None,
            notes,
            remaining_bytes: limit,
            truncated: false,
        }
    }

    /// The complete parts so far.
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

    /// Reserves bytes. After the first failure it keeps nothing more: a call that lost a part of
    /// its arguments is not a call.
    fn reserve(&mut self, bytes: usize) -> bool {
        match self.remaining_bytes.checked_sub(bytes) {
            Some(left) if !self.truncated => self.remaining_bytes = left,
            _ => {
                self.truncated = true;
                let is_not_call =
                    |block: &CollectedBlock| !matches!(block.kind, BlockStart::Call { .. });
                self.reply.parts.extend(self.open.take().filter(is_not_call).map(build_part));
            }
        }
        !self.truncated
    }

    fn open_block(&mut self, kind: &BlockStart<'_>) {
        let text_bytes = match kind {
            BlockStart::Text | BlockStart::Refusal | BlockStart::Reasoning => 0,
            BlockStart::Redacted(data) => data.len(),
            BlockStart::Call { id, name, family: _, signature } => {
                name.len() + [id, signature].into_iter().flatten().map(|it| it.len()).sum::<usize>()
            }
        };
        if self.reserve(size_of::<ModelPart<'_>>() + text_bytes) {
            let (kind, text, citations) = (owned_start(kind), String::new(), Vec::new());
            self.open = Some(CollectedBlock {
                kind,
                text,
                signature: ReasoningSignature::Unsigned,
                citations,
            });
        }
    }

    fn add_delta(&mut self, delta: &BlockDelta<'_>) {
        let Some(block) = &mut self.open else { return };
        match delta {
            BlockDelta::Text(text) => {
                let before = block.text.len();
                text.write_unquoted(&mut block.text);
                let bytes = block.text.len() - before;
                if self.remaining_bytes < bytes {
                    block.text.truncate(before);
                }
                self.reserve(bytes);
            }
            BlockDelta::Signature(text) | BlockDelta::Encrypted(text) => {
                let text = text.to_static();
                let bytes = text.len();
                block.signature = match delta {
                    BlockDelta::Encrypted(_) => ReasoningSignature::Encrypted(text),
                    _ => ReasoningSignature::Signed(text),
                };
                self.reserve(bytes);
            }
            BlockDelta::Citation(citation) => {
                let TextCitation { url, title, quote, span: _ } = citation;
                let texts = [url, title, quote].into_iter().flatten();
                let bytes = size_of::<TextCitation<'_>>() + texts.map(|it| it.len()).sum::<usize>();
                block.citations.push(owned_citation(citation));
                self.reserve(bytes);
            }
        }
    }
}

impl EventSink for StreamCollector {
    fn event(&mut self, event: StreamEvent<'_>) {
        let owned = |text: Option<JsonText<'_>>| text.as_ref().map(JsonText::to_static);
        match event {
            StreamEvent::Start(head) => {
                self.reply.id = owned(head.id);
                self.reply.model = owned(head.model);
                self.reply.created = head.created;
            }
            StreamEvent::Open { kind, .. } => self.open_block(&kind),
            StreamEvent::Delta { delta, .. } => self.add_delta(&delta),
            StreamEvent::Close { .. } => self.reply.parts.extend(self.open.take().map(build_part)),
            StreamEvent::Usage(usage) => self.reply.usage = usage,
            StreamEvent::Stop(stop) => self.reply.stop = Some(owned_stop(&stop)),
            StreamEvent::End => self.ending = Some(CollectedEnding::Complete),
            StreamEvent::Failed(error) => {
                self.ending = Some(CollectedEnding::Failed(owned_error(&error)))
            }
            StreamEvent::Truncated => self.ending = Some(CollectedEnding::Truncated),
        }
    }

    fn skip(&mut self, note: StreamLoss) {
        self.notes.add(note.kind, &note.note);
    }
}

fn build_part(block: CollectedBlock) -> ModelPart<'static> {
    let CollectedBlock { kind, text, signature, citations } = block;
    let text = JsonText::from(unescape(&text));
    let refusal = kind == BlockStart::Refusal;
    match kind {
        BlockStart::Text | BlockStart::Refusal => ModelPart::new(ContentPart::Text(text))
            .with_notes(PartNotes { refusal, citations, ..PartNotes::default() }),
        BlockStart::Reasoning => {
            ModelPart::new(ContentPart::Reasoning(ReasoningPart { text, signature }))
        }
        BlockStart::Redacted(data) => {
            let (text, signature) = (JsonText::default(), ReasoningSignature::Redacted(data));
            ModelPart::new(ContentPart::Reasoning(ReasoningPart { text, signature }))
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
