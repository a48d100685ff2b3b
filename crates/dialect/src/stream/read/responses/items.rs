//! The items of an answer that are open, and their parts.

use super::{
    JsonText, WIRE,
    calls::{read_call, read_input},
    record_skipped_item,
};
use crate::{
    json::{JsonObject, JsonValue, ScanError, ScanResult},
    model::{LossKind, TextCitation, decode},
    stream::{
        event::{BlockDelta, BlockStart},
        read::{
            emitter::EventEmitter,
            fields::{non_empty_text, optional_list, optional_text, require_object},
        },
    },
};

#[derive(Debug, Default)]
pub(super) struct ResponsesItems {
    open: Vec<ResponsesItem>,
    /// An item has begun.
    touched: bool,
    /// A call has begun that the client answers.
    called: bool,
}

#[derive(Debug)]
struct ResponsesItem {
    /// Its place in the answer.
    index: u64,
    kind: ResponsesItemState,
}

#[derive(Debug)]
enum ResponsesItemState {
    Message(Vec<ResponsesMessagePart>),
    Call {
        block: u32,
        /// A piece of its arguments has come.
        said: bool,
    },
    Reasoning {
        block: u32,
        /// The part that was read last, and whether any of it has come.
        part: Option<(ReasoningPartIndex, bool)>,
    },
    Skipped,
}

/// A part of reasoning: one of its summary, or one of its own words.
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
    said: bool,
    cited: bool,
}

impl ResponsesItems {
    /// Whether no item has begun.
    pub(super) fn is_untouched(&self) -> bool {
        !self.touched
    }

    /// Whether the client has something to answer.
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

    /// An item begins.
    pub(super) fn start_item(
        &mut self,
        at: Option<u64>,
        item: &JsonObject<'_, '_>,
        tell: &mut EventEmitter<'_>,
    ) -> ScanResult<()> {
        let kind = optional_text(item, "type")?.unwrap_or_default();
        let kind = match &*kind {
            "message" => ResponsesItemState::Message(Vec::new()),
            "reasoning" => ResponsesItemState::Reasoning {
                block: tell.open(BlockStart::Reasoning),
                part: None,
            },
            kind => match read_call(item, kind)? {
                Some(call) => {
                    self.called = true;
                    ResponsesItemState::Call { block: tell.open(call), said: false }
                }
                None => {
                    record_skipped_item(kind, tell);
                    ResponsesItemState::Skipped
                }
            },
        };
        self.insert(at, kind);
        Ok(())
    }

    /// An item is whole. What its pieces did not say is said now.
    pub(super) fn finish_item(
        &mut self,
        at: Option<u64>,
        item: &JsonObject<'_, '_>,
        tell: &mut EventEmitter<'_>,
    ) -> ScanResult<()> {
        if self.find(at).is_none() {
            self.start_item(at, item, tell)?;
        }
        match self.find(at).map(|open| &mut open.kind) {
            Some(ResponsesItemState::Message(_)) => {
                for (index, part) in (0..).zip(optional_list(item, "content")?) {
                    self.finish_part(at, index, &require_object(part, "content")?, tell)?;
                }
            }
            Some(ResponsesItemState::Call { block, said: false }) => {
                tell.text(*block, read_input(item)?)
            }
            Some(ResponsesItemState::Reasoning { block, part }) => {
                let block = *block;
                if part.is_none() {
                    self.complete_reasoning(at, item, tell)?;
                }
                if let Some(encrypted) = non_empty_text(item, "encrypted_content")? {
                    tell.delta(block, BlockDelta::Encrypted(encrypted));
                }
            }
            Some(ResponsesItemState::Call { said: true, .. } | ResponsesItemState::Skipped)
            | None => {}
        }
        if let Some(place) = self.position(at) {
            self.open.remove(place).close(tell);
        }
        Ok(())
    }

    /// A part of an item begins.
    pub(super) fn start_part(
        &mut self,
        at: Option<u64>,
        index: u64,
        part: &JsonObject<'_, '_>,
        tell: &mut EventEmitter<'_>,
    ) -> ScanResult<()> {
        match &*optional_text(part, "type")?.unwrap_or_default() {
            "output_text" | "text" => self.add_text(at, index, false, JsonText::default(), tell),
            "refusal" => self.add_text(at, index, true, JsonText::default(), tell),
            "reasoning_text" => self.add_reasoning(
                at,
                (ReasoningSection::Content, index),
                JsonText::default(),
                tell,
            ),
            kind => {
                tell.skip_once(LossKind::Unknown, kind, || {
                    format!("parts `{kind}` of a message were left out")
                });
                Ok(())
            }
        }
    }

    /// A part of an item is whole.
    pub(super) fn finish_part(
        &mut self,
        at: Option<u64>,
        index: u64,
        part: &JsonObject<'_, '_>,
        tell: &mut EventEmitter<'_>,
    ) -> ScanResult<()> {
        let (key, refusal) = match &*optional_text(part, "type")?.unwrap_or_default() {
            "output_text" | "text" => ("text", false),
            "refusal" => ("refusal", true),
            "reasoning_text" => return Ok(()),
            _ => return self.start_part(at, index, part, tell),
        };
        let text = optional_text(part, key)?.unwrap_or_default();
        self.complete_text(at, index, refusal, text, tell)?;
        let Some(open) = self.find_message_part(at, index, refusal, tell)?.filter(|part| part.open)
        else {
            return Ok(());
        };
        if !open.cited {
            for annotation in optional_list(part, "annotations")?.filter_map(JsonValue::object) {
                tell.citation(open.block, decode::read_citation(WIRE, &annotation));
            }
        }
        open.close(tell);
        Ok(())
    }

    /// More of a message's text. It may be the first that is heard of it.
    pub(super) fn add_text(
        &mut self,
        at: Option<u64>,
        index: u64,
        refusal: bool,
        text: JsonText<'_>,
        tell: &mut EventEmitter<'_>,
    ) -> ScanResult<()> {
        if let Some(part) =
            self.find_message_part(at, index, refusal, tell)?.filter(|part| part.open)
        {
            part.said |= !text.is_empty();
            tell.text(part.block, text);
        }
        Ok(())
    }

    /// The whole text of a part: said if no piece of it was.
    pub(super) fn complete_text(
        &mut self,
        at: Option<u64>,
        index: u64,
        refusal: bool,
        text: JsonText<'_>,
        tell: &mut EventEmitter<'_>,
    ) -> ScanResult<()> {
        match self.find_message_part(at, index, refusal, tell)? {
            Some(part) if !part.said => self.add_text(at, index, refusal, text, tell),
            Some(_) | None => Ok(()),
        }
    }

    /// Where a text comes from.
    pub(super) fn add_citation(
        &mut self,
        at: Option<u64>,
        index: u64,
        citation: TextCitation<'_>,
        tell: &mut EventEmitter<'_>,
    ) -> ScanResult<()> {
        if let Some(part) = self.find_message_part(at, index, false, tell)?.filter(|part| part.open)
        {
            part.cited = true;
            tell.citation(part.block, citation);
        }
        Ok(())
    }

    /// More of a call's arguments.
    pub(super) fn add_arguments(
        &mut self,
        at: Option<u64>,
        text: JsonText<'_>,
        tell: &mut EventEmitter<'_>,
    ) -> ScanResult<()> {
        match self.find(at).map(|item| &mut item.kind) {
            Some(ResponsesItemState::Call { block, said }) => {
                *said |= !text.is_empty();
                tell.text(*block, text);
                Ok(())
            }
            Some(ResponsesItemState::Skipped) => Ok(()),
            Some(ResponsesItemState::Message(_) | ResponsesItemState::Reasoning { .. }) => {
                wrong_item_kind()
            }
            None => Err(ScanError::new(0, "a piece of a call that never began")),
        }
    }

    /// All of a call's arguments: said if no piece of them was.
    pub(super) fn complete_arguments(
        &mut self,
        at: Option<u64>,
        text: JsonText<'_>,
        tell: &mut EventEmitter<'_>,
    ) -> ScanResult<()> {
        match self.find(at).map(|item| &item.kind) {
            Some(ResponsesItemState::Call { said: false, .. }) => {
                self.add_arguments(at, text, tell)
            }
            _ => Ok(()),
        }
    }

    /// More of a part of reasoning. Parts stand one below the other, as in an answer that comes
    /// whole.
    pub(super) fn add_reasoning(
        &mut self,
        at: Option<u64>,
        thought: ReasoningPartIndex,
        text: JsonText<'_>,
        tell: &mut EventEmitter<'_>,
    ) -> ScanResult<()> {
        if self.find(at).is_none() {
            let block = tell.open(BlockStart::Reasoning);
            self.insert(at, ResponsesItemState::Reasoning { block, part: None });
        }
        match self.find(at).map(|item| &mut item.kind) {
            Some(ResponsesItemState::Reasoning { block, part }) => {
                if part.is_some_and(|(last, _)| last != thought) {
                    tell.text(*block, "\n\n".into());
                }
                let before = part.is_some_and(|(last, said)| last == thought && said);
                *part = Some((thought, before || !text.is_empty()));
                tell.text(*block, text);
                Ok(())
            }
            Some(ResponsesItemState::Skipped) | None => Ok(()),
            Some(ResponsesItemState::Message(_) | ResponsesItemState::Call { .. }) => {
                wrong_item_kind()
            }
        }
    }

    /// All of a part of reasoning: said if no piece of it was.
    pub(super) fn complete_reasoning_part(
        &mut self,
        at: Option<u64>,
        thought: ReasoningPartIndex,
        text: JsonText<'_>,
        tell: &mut EventEmitter<'_>,
    ) -> ScanResult<()> {
        match self.find(at).map(|item| &item.kind) {
            Some(ResponsesItemState::Reasoning { part: Some((last, true)), .. })
                if *last == thought =>
            {
                Ok(())
            }
            _ => self.add_reasoning(at, thought, text, tell),
        }
    }

    /// Everything is whole.
    pub(super) fn close_all(&mut self, tell: &mut EventEmitter<'_>) {
        for item in self.open.drain(..) {
            item.close(tell);
        }
    }

    fn complete_reasoning(
        &mut self,
        at: Option<u64>,
        item: &JsonObject<'_, '_>,
        tell: &mut EventEmitter<'_>,
    ) -> ScanResult<()> {
        for (side, key) in
            [(ReasoningSection::Summary, "summary"), (ReasoningSection::Content, "content")]
        {
            for (index, part) in (0..).zip(optional_list(item, key)?) {
                if let Some(text) = optional_text(&require_object(part, key)?, "text")? {
                    self.add_reasoning(at, (side, index), text, tell)?;
                }
            }
        }
        Ok(())
    }

    /// The part of a message under its numbers. One that begins without a word is opened.
    fn find_message_part(
        &mut self,
        at: Option<u64>,
        index: u64,
        refusal: bool,
        tell: &mut EventEmitter<'_>,
    ) -> ScanResult<Option<&mut ResponsesMessagePart>> {
        if self.find(at).is_none() {
            self.insert(at, ResponsesItemState::Message(Vec::new()));
        }
        match self.find(at).map(|item| &mut item.kind) {
            Some(ResponsesItemState::Message(parts)) => {
                let known = parts.iter().position(|part| part.index == index);
                let place = known.unwrap_or_else(|| {
                    let block =
                        tell.open(if refusal { BlockStart::Refusal } else { BlockStart::Text });
                    parts.push(ResponsesMessagePart {
                        index,
                        block,
                        open: true,
                        said: false,
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

    /// The item at a place of the answer; without a place the one that began last.
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
    fn close(self, tell: &mut EventEmitter<'_>) {
        match self.kind {
            ResponsesItemState::Message(mut parts) => {
                parts.iter_mut().for_each(|part| part.close(tell))
            }
            ResponsesItemState::Call { block, .. }
            | ResponsesItemState::Reasoning { block, .. } => tell.close(block),
            ResponsesItemState::Skipped => {}
        }
    }
}

impl ResponsesMessagePart {
    fn close(&mut self, tell: &mut EventEmitter<'_>) {
        if std::mem::take(&mut self.open) {
            tell.close(self.block);
        }
    }
}

fn wrong_item_kind<T>() -> ScanResult<T> {
    Err(ScanError::new(0, "a piece of another kind than its item"))
}
