//! The open items of a reply and their parts.

use super::{
    JsonText,
    calls::{call_shape, read_call, read_input},
    record_skipped_item,
};
use crate::{
    conversation::{LossKind, TextCitation, decode::unknown_fields},
    event::{
        BlockDelta, BlockStart,
        emitter::EventEmitter,
        fields::{non_empty_text, optional_list, optional_text, require_object},
    },
    openai_chat::decode::read_citation,
    openai_responses::response::KNOWN_IN_REPLY,
};
use foxwedge_json::{JsonObject, JsonValue, ScanError, ScanResult};

#[derive(Debug, Default)]
pub(super) struct ResponsesItems {
    open: Vec<ResponsesItem>,
    /// An item has started.
    touched: bool,
    /// A call that the client runs has started.
    called: bool,
}

#[derive(Debug)]
struct ResponsesItem {
    /// Its index in the output.
    index: u64,
    kind: ResponsesItemState,
}

#[derive(Debug)]
enum ResponsesItemState {
    Message(Vec<ResponsesMessagePart>),
    Call {
        block: u32,
        /// Some of its arguments have arrived.
        has_text: bool,
    },
    Reasoning {
        block: u32,
        /// The latest part, and whether any of its text has arrived.
        part: Option<(ReasoningPartIndex, bool)>,
    },
    Skipped,
}

/// A part of reasoning: of its summary or of its content.
type ReasoningPartIndex = (ReasoningSection, u64);

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum ReasoningSection {
    Summary,
    Content,
}

/// A part of a message.
#[derive(Debug)]
struct ResponsesMessagePart {
    index: u64,
    block: u32,
    open: bool,
    has_text: bool,
    cited: bool,
}

impl ResponsesItems {
    /// Whether no item has started.
    pub(super) fn is_untouched(&self) -> bool {
        !self.touched
    }

    /// Whether there is a call that the client runs.
    pub(super) fn has_called(&self) -> bool {
        self.called
    }

    /// Whether the item is a call, the client's or the provider's.
    pub(super) fn is_call(&self, at: Option<u64>) -> bool {
        let item = at.and_then(|at| self.open.iter().find(|item| item.index == at));
        item.is_some_and(|item| {
            matches!(item.kind, ResponsesItemState::Call { .. } | ResponsesItemState::Skipped)
        })
    }

    /// Starts an item.
    pub(super) fn start_item(
        &mut self,
        at: Option<u64>,
        item: &JsonObject<'_, '_>,
        emitter: &mut EventEmitter<'_>,
    ) -> ScanResult<()> {
        let kind = optional_text(item, "type")?.unwrap_or_default();
        skip_item_fields(item, &kind, emitter);
        let kind = match &*kind {
            "message" => ResponsesItemState::Message(Vec::new()),
            "reasoning" => ResponsesItemState::Reasoning {
                block: emitter.open(BlockStart::Reasoning),
                part: None,
            },
            kind => match read_call(item, kind)? {
                Some(call) => {
                    self.called = true;
                    ResponsesItemState::Call { block: emitter.open(call), has_text: false }
                }
                None => {
                    record_skipped_item(kind, emitter);
                    ResponsesItemState::Skipped
                }
            },
        };
        self.insert(at, kind);
        Ok(())
    }

    /// Completes an item. Emits content whose deltas did not arrive.
    pub(super) fn finish_item(
        &mut self,
        at: Option<u64>,
        item: &JsonObject<'_, '_>,
        emitter: &mut EventEmitter<'_>,
    ) -> ScanResult<()> {
        if self.find(at).is_none() {
            self.start_item(at, item, emitter)?;
        } else {
            skip_item_fields(item, &optional_text(item, "type")?.unwrap_or_default(), emitter);
        }
        match self.find(at).map(|open| &mut open.kind) {
            Some(ResponsesItemState::Message(_)) => {
                for (index, part) in (0..).zip(optional_list(item, "content")?) {
                    self.finish_part(at, index, &require_object(part, "content")?, emitter)?;
                }
            }
            Some(ResponsesItemState::Call { block, has_text: false }) => {
                emitter.text(*block, read_input(item)?)
            }
            Some(ResponsesItemState::Reasoning { block, part }) => {
                let block = *block;
                if part.is_none() {
                    self.complete_reasoning(at, item, emitter)?;
                }
                if let Some(encrypted) = non_empty_text(item, "encrypted_content")? {
                    emitter.delta(block, BlockDelta::Encrypted(encrypted));
                }
            }
            Some(ResponsesItemState::Call { has_text: true, .. } | ResponsesItemState::Skipped)
            | None => {}
        }
        if let Some(place) = self.position(at) {
            self.open.remove(place).close(emitter);
        }
        Ok(())
    }

    /// Starts a part of an item.
    pub(super) fn start_part(
        &mut self,
        at: Option<u64>,
        index: u64,
        part: &JsonObject<'_, '_>,
        emitter: &mut EventEmitter<'_>,
    ) -> ScanResult<()> {
        match &*optional_text(part, "type")?.unwrap_or_default() {
            "output_text" | "text" => self.add_text(at, index, false, JsonText::default(), emitter),
            "refusal" => self.add_text(at, index, true, JsonText::default(), emitter),
            "reasoning_text" => self.add_reasoning(
                at,
                (ReasoningSection::Content, index),
                JsonText::default(),
                emitter,
            ),
            kind => {
                emitter.skip_once(LossKind::Unknown, kind, || {
                    format!("parts `{kind}` of a message were left out")
                });
                Ok(())
            }
        }
    }

    /// Completes a part of an item.
    pub(super) fn finish_part(
        &mut self,
        at: Option<u64>,
        index: u64,
        part: &JsonObject<'_, '_>,
        emitter: &mut EventEmitter<'_>,
    ) -> ScanResult<()> {
        let (key, refusal) = match &*optional_text(part, "type")?.unwrap_or_default() {
            "output_text" | "text" => ("text", false),
            "refusal" => ("refusal", true),
            "reasoning_text" => return Ok(()),
            _ => return self.start_part(at, index, part, emitter),
        };
        let text = optional_text(part, key)?.unwrap_or_default();
        self.complete_text(at, index, refusal, text, emitter)?;
        let Some(open) =
            self.find_message_part(at, index, refusal, emitter)?.filter(|part| part.open)
        else {
            return Ok(());
        };
        if !open.cited {
            for annotation in optional_list(part, "annotations")?.filter_map(JsonValue::object) {
                emitter.citation(open.block, read_citation(&annotation));
            }
        }
        open.close(emitter);
        Ok(())
    }

    /// Adds text to a message part. Starts the part if needed.
    pub(super) fn add_text(
        &mut self,
        at: Option<u64>,
        index: u64,
        refusal: bool,
        text: JsonText<'_>,
        emitter: &mut EventEmitter<'_>,
    ) -> ScanResult<()> {
        if let Some(part) =
            self.find_message_part(at, index, refusal, emitter)?.filter(|part| part.open)
        {
            part.has_text |= !text.is_empty();
            emitter.text(part.block, text);
        }
        Ok(())
    }

    /// The whole text of a part. Emitted if no delta of it arrived.
    pub(super) fn complete_text(
        &mut self,
        at: Option<u64>,
        index: u64,
        refusal: bool,
        text: JsonText<'_>,
        emitter: &mut EventEmitter<'_>,
    ) -> ScanResult<()> {
        match self.find_message_part(at, index, refusal, emitter)? {
            Some(part) if !part.has_text => self.add_text(at, index, refusal, text, emitter),
            Some(_) | None => Ok(()),
        }
    }

    /// Adds a source to a message part.
    pub(super) fn add_citation(
        &mut self,
        at: Option<u64>,
        index: u64,
        citation: TextCitation<'_>,
        emitter: &mut EventEmitter<'_>,
    ) -> ScanResult<()> {
        if let Some(part) =
            self.find_message_part(at, index, false, emitter)?.filter(|part| part.open)
        {
            part.cited = true;
            emitter.citation(part.block, citation);
        }
        Ok(())
    }

    /// Adds arguments to a call.
    pub(super) fn add_arguments(
        &mut self,
        at: Option<u64>,
        text: JsonText<'_>,
        emitter: &mut EventEmitter<'_>,
    ) -> ScanResult<()> {
        match self.find(at).map(|item| &mut item.kind) {
            Some(ResponsesItemState::Call { block, has_text }) => {
                *has_text |= !text.is_empty();
                emitter.text(*block, text);
                Ok(())
            }
            Some(ResponsesItemState::Skipped) => Ok(()),
            Some(ResponsesItemState::Message(_) | ResponsesItemState::Reasoning { .. }) => {
                wrong_item_kind()
            }
            None => Err(ScanError::new(0, "a delta of a call that was never started")),
        }
    }

    /// The whole arguments of a call. Emitted if no delta of them arrived.
    pub(super) fn complete_arguments(
        &mut self,
        at: Option<u64>,
        text: JsonText<'_>,
        emitter: &mut EventEmitter<'_>,
    ) -> ScanResult<()> {
        match self.find(at).map(|item| &item.kind) {
            Some(ResponsesItemState::Call { has_text: false, .. }) => {
                self.add_arguments(at, text, emitter)
            }
            _ => Ok(()),
        }
    }

    /// Adds text to a reasoning part. A blank line separates parts, as in a whole reply.
    pub(super) fn add_reasoning(
        &mut self,
        at: Option<u64>,
        part_index: ReasoningPartIndex,
        text: JsonText<'_>,
        emitter: &mut EventEmitter<'_>,
    ) -> ScanResult<()> {
        if self.find(at).is_none() {
            let block = emitter.open(BlockStart::Reasoning);
            self.insert(at, ResponsesItemState::Reasoning { block, part: None });
        }
        match self.find(at).map(|item| &mut item.kind) {
            Some(ResponsesItemState::Reasoning { block, part }) => {
                if part.is_some_and(|(last, _)| last != part_index) {
                    emitter.text(*block, "\n\n".into());
                }
                let before = part.is_some_and(|(last, has_text)| last == part_index && has_text);
                *part = Some((part_index, before || !text.is_empty()));
                emitter.text(*block, text);
                Ok(())
            }
            Some(ResponsesItemState::Skipped) | None => Ok(()),
            Some(ResponsesItemState::Message(_) | ResponsesItemState::Call { .. }) => {
                wrong_item_kind()
            }
        }
    }

    /// The whole text of a reasoning part. Emitted if no delta of it arrived.
    pub(super) fn complete_reasoning_part(
        &mut self,
        at: Option<u64>,
        part_index: ReasoningPartIndex,
        text: JsonText<'_>,
        emitter: &mut EventEmitter<'_>,
    ) -> ScanResult<()> {
        match self.find(at).map(|item| &item.kind) {
            Some(ResponsesItemState::Reasoning { part: Some((last, true)), .. })
                if *last == part_index =>
            {
                Ok(())
            }
            _ => self.add_reasoning(at, part_index, text, emitter),
        }
    }

    /// Closes all items.
    pub(super) fn close_all(&mut self, emitter: &mut EventEmitter<'_>) {
        for item in self.open.drain(..) {
            item.close(emitter);
        }
    }

    fn complete_reasoning(
        &mut self,
        at: Option<u64>,
        item: &JsonObject<'_, '_>,
        emitter: &mut EventEmitter<'_>,
    ) -> ScanResult<()> {
        for (section, key) in
            [(ReasoningSection::Summary, "summary"), (ReasoningSection::Content, "content")]
        {
            for (index, part) in (0..).zip(optional_list(item, key)?) {
                if let Some(text) = optional_text(&require_object(part, key)?, "text")? {
                    self.add_reasoning(at, (section, index), text, emitter)?;
                }
            }
        }
        Ok(())
    }

    /// The message part at these indexes. Opens it if there was no start event.
    fn find_message_part(
        &mut self,
        at: Option<u64>,
        index: u64,
        refusal: bool,
        emitter: &mut EventEmitter<'_>,
    ) -> ScanResult<Option<&mut ResponsesMessagePart>> {
        if self.find(at).is_none() {
            self.insert(at, ResponsesItemState::Message(Vec::new()));
        }
        match self.find(at).map(|item| &mut item.kind) {
            Some(ResponsesItemState::Message(parts)) => {
                let known = parts.iter().position(|part| part.index == index);
                let place = known.unwrap_or_else(|| {
                    let block =
                        emitter.open(if refusal { BlockStart::Refusal } else { BlockStart::Text });
                    parts.push(ResponsesMessagePart {
                        index,
                        block,
                        open: true,
                        has_text: false,
                        cited: false,
                    });
                    parts.len() - 1
                });
                Ok(parts.get_mut(place))
            }
            Some(ResponsesItemState::Skipped) | None => Ok(None),
            Some(ResponsesItemState::Call { .. } | ResponsesItemState::Reasoning { .. }) => {
                wrong_item_kind()
            }
        }
    }

    fn insert(&mut self, at: Option<u64>, kind: ResponsesItemState) {
        self.touched = true;
        self.open.push(ResponsesItem { index: at.unwrap_or_default(), kind });
    }

    /// The item at an output index; without an index, the newest one.
    fn find(&mut self, at: Option<u64>) -> Option<&mut ResponsesItem> {
        let place = self.position(at)?;
        self.open.get_mut(place)
    }

    fn position(&self, at: Option<u64>) -> Option<usize> {
        match at {
            Some(at) => self.open.iter().rposition(|item| item.index == at),
            None => self.open.len().checked_sub(1),
        }
    }
}

impl ResponsesItem {
    fn close(self, emitter: &mut EventEmitter<'_>) {
        match self.kind {
            ResponsesItemState::Message(mut parts) => {
                parts.iter_mut().for_each(|part| part.close(emitter))
            }
            ResponsesItemState::Call { block, .. }
            | ResponsesItemState::Reasoning { block, .. } => emitter.close(block),
            ResponsesItemState::Skipped => {}
        }
    }
}

impl ResponsesMessagePart {
    fn close(&mut self, emitter: &mut EventEmitter<'_>) {
        if std::mem::take(&mut self.open) {
            emitter.close(self.block);
        }
    }
}

/// Reports the fields of an item that another format cannot represent, as for a whole reply.
fn skip_item_fields(item: &JsonObject<'_, '_>, kind: &str, emitter: &mut EventEmitter<'_>) {
    match kind {
        "message" => emitter.skip_field(item, "phase"),
        "reasoning" => emitter.skip_call_fields(Some(unknown_fields(item, &KNOWN_IN_REPLY))),
        kind if call_shape(kind).is_some() => {
            emitter.skip_call_fields(Some(unknown_fields(item, &KNOWN_IN_REPLY)));
        }
        _ => {}
    }
}

fn wrong_item_kind<T>() -> ScanResult<T> {
    Err(ScanError::new(0, "a delta of another kind than its item"))
}
