//! The items of an answer that are open, and their parts.

use super::{
    WIRE, Words,
    calls::{call, input},
    left_out,
};
use crate::{
    canon::{Citation, Lost, decode},
    json::{Object, Scan, Trouble, Value},
    stream::{
        event::{Opened, Piece},
        read::{
            fields::{as_object, list, said, words},
            tell::Tell,
        },
    },
};

#[derive(Debug, Default)]
pub(super) struct Items {
    open: Vec<Item>,
    /// An item has begun.
    touched: bool,
    /// A call has begun that the client answers.
    called: bool,
}

#[derive(Debug)]
struct Item {
    /// Its place in the answer.
    index: u64,
    kind: Kind,
}

#[derive(Debug)]
enum Kind {
    Message(Vec<Part>),
    Call {
        block: u32,
        /// A piece of its arguments has come.
        said: bool,
    },
    Reasoning {
        block: u32,
        /// The part that was read last, and whether any of it has come.
        part: Option<(Thought, bool)>,
    },
    Skipped,
}

/// A part of reasoning: one of its summary, or one of its own words.
type Thought = (Side, u64);

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Side {
    Summary,
    Content,
}

/// A part of a message.
#[derive(Debug)]
struct Part {
    index: u64,
    block: u32,
    open: bool,
    said: bool,
    cited: bool,
}

impl Items {
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
        item.is_some_and(|item| matches!(item.kind, Kind::Call { .. } | Kind::Skipped))
    }

    /// An item begins.
    pub(super) fn added(
        &mut self,
        at: Option<u64>,
        item: &Object<'_, '_>,
        tell: &mut Tell<'_>,
    ) -> Scan<()> {
        let kind = words(item, "type")?.unwrap_or_default();
        let kind = match &*kind {
            "message" => Kind::Message(Vec::new()),
            "reasoning" => Kind::Reasoning { block: tell.open(Opened::Reasoning), part: None },
            kind => match call(item, kind)? {
                Some(call) => {
                    self.called = true;
                    Kind::Call { block: tell.open(call), said: false }
                }
                None => {
                    left_out(kind, tell);
                    Kind::Skipped
                }
            },
        };
        self.put(at, kind);
        Ok(())
    }

    /// An item is whole. What its pieces did not say is said now.
    pub(super) fn done(
        &mut self,
        at: Option<u64>,
        item: &Object<'_, '_>,
        tell: &mut Tell<'_>,
    ) -> Scan<()> {
        if self.find(at).is_none() {
            self.added(at, item, tell)?;
        }
        match self.find(at).map(|open| &mut open.kind) {
            Some(Kind::Message(_)) => {
                for (index, part) in (0..).zip(list(item, "content")?) {
                    self.part_done(at, index, &as_object(part, "content")?, tell)?;
                }
            }
            Some(Kind::Call { block, said: false }) => tell.text(*block, input(item)?),
            Some(Kind::Reasoning { block, part }) => {
                let block = *block;
                if part.is_none() {
                    self.whole_reasoning(at, item, tell)?;
                }
                if let Some(encrypted) = said(item, "encrypted_content")? {
                    tell.more(block, Piece::Encrypted(encrypted));
                }
            }
            Some(Kind::Call { said: true, .. } | Kind::Skipped) | None => {}
        }
        if let Some(place) = self.place(at) {
            self.open.remove(place).close(tell);
        }
        Ok(())
    }

    /// A part of an item begins.
    pub(super) fn part(
        &mut self,
        at: Option<u64>,
        index: u64,
        part: &Object<'_, '_>,
        tell: &mut Tell<'_>,
    ) -> Scan<()> {
        match &*words(part, "type")?.unwrap_or_default() {
            "output_text" | "text" => self.text(at, index, false, Words::default(), tell),
            "refusal" => self.text(at, index, true, Words::default(), tell),
            "reasoning_text" => self.thought(at, (Side::Content, index), Words::default(), tell),
            kind => {
                tell.skip_once(Lost::Unknown, kind, || {
                    format!("parts `{kind}` of a message were left out")
                });
                Ok(())
            }
        }
    }

    /// A part of an item is whole.
    pub(super) fn part_done(
        &mut self,
        at: Option<u64>,
        index: u64,
        part: &Object<'_, '_>,
        tell: &mut Tell<'_>,
    ) -> Scan<()> {
        let (key, refusal) = match &*words(part, "type")?.unwrap_or_default() {
            "output_text" | "text" => ("text", false),
            "refusal" => ("refusal", true),
            "reasoning_text" => return Ok(()),
            _ => return self.part(at, index, part, tell),
        };
        let text = words(part, key)?.unwrap_or_default();
        self.whole_text(at, index, refusal, text, tell)?;
        let Some(open) = self.message_part(at, index, refusal, tell)?.filter(|part| part.open)
        else {
            return Ok(());
        };
        if !open.cited {
            for annotation in list(part, "annotations")?.filter_map(Value::object) {
                tell.citation(open.block, decode::citation(WIRE, &annotation));
            }
        }
        open.close(tell);
        Ok(())
    }

    /// More of a message's text. It may be the first that is heard of it.
    pub(super) fn text(
        &mut self,
        at: Option<u64>,
        index: u64,
        refusal: bool,
        text: Words<'_>,
        tell: &mut Tell<'_>,
    ) -> Scan<()> {
        if let Some(part) = self.message_part(at, index, refusal, tell)?.filter(|part| part.open) {
            part.said |= !text.is_empty();
            tell.text(part.block, text);
        }
        Ok(())
    }

    /// The whole text of a part: said if no piece of it was.
    pub(super) fn whole_text(
        &mut self,
        at: Option<u64>,
        index: u64,
        refusal: bool,
        text: Words<'_>,
        tell: &mut Tell<'_>,
    ) -> Scan<()> {
        match self.message_part(at, index, refusal, tell)? {
            Some(part) if !part.said => self.text(at, index, refusal, text, tell),
            Some(_) | None => Ok(()),
        }
    }

    /// Where a text comes from.
    pub(super) fn cited(
        &mut self,
        at: Option<u64>,
        index: u64,
        citation: Citation<'_>,
        tell: &mut Tell<'_>,
    ) -> Scan<()> {
        if let Some(part) = self.message_part(at, index, false, tell)?.filter(|part| part.open) {
            part.cited = true;
            tell.citation(part.block, citation);
        }
        Ok(())
    }

    /// More of a call's arguments.
    pub(super) fn arguments(
        &mut self,
        at: Option<u64>,
        text: Words<'_>,
        tell: &mut Tell<'_>,
    ) -> Scan<()> {
        match self.find(at).map(|item| &mut item.kind) {
            Some(Kind::Call { block, said }) => {
                *said |= !text.is_empty();
                tell.text(*block, text);
                Ok(())
            }
            Some(Kind::Skipped) => Ok(()),
            Some(Kind::Message(_) | Kind::Reasoning { .. }) => other_kind(),
            None => Err(Trouble::new(0, "a piece of a call that never began")),
        }
    }

    /// All of a call's arguments: said if no piece of them was.
    pub(super) fn whole_arguments(
        &mut self,
        at: Option<u64>,
        text: Words<'_>,
        tell: &mut Tell<'_>,
    ) -> Scan<()> {
        match self.find(at).map(|item| &item.kind) {
            Some(Kind::Call { said: false, .. }) => self.arguments(at, text, tell),
            _ => Ok(()),
        }
    }

    /// More of a part of reasoning. Parts stand one below the other, as in an answer that comes
    /// whole.
    pub(super) fn thought(
        &mut self,
        at: Option<u64>,
        thought: Thought,
        text: Words<'_>,
        tell: &mut Tell<'_>,
    ) -> Scan<()> {
        if self.find(at).is_none() {
            let block = tell.open(Opened::Reasoning);
            self.put(at, Kind::Reasoning { block, part: None });
        }
        match self.find(at).map(|item| &mut item.kind) {
            Some(Kind::Reasoning { block, part }) => {
                if part.is_some_and(|(last, _)| last != thought) {
                    tell.text(*block, "\n\n".into());
                }
                let before = part.is_some_and(|(last, said)| last == thought && said);
                *part = Some((thought, before || !text.is_empty()));
                tell.text(*block, text);
                Ok(())
            }
            Some(Kind::Skipped) | None => Ok(()),
            Some(Kind::Message(_) | Kind::Call { .. }) => other_kind(),
        }
    }

    /// All of a part of reasoning: said if no piece of it was.
    pub(super) fn whole_thought(
        &mut self,
        at: Option<u64>,
        thought: Thought,
        text: Words<'_>,
        tell: &mut Tell<'_>,
    ) -> Scan<()> {
        match self.find(at).map(|item| &item.kind) {
            Some(Kind::Reasoning { part: Some((last, true)), .. }) if *last == thought => Ok(()),
            _ => self.thought(at, thought, text, tell),
        }
    }

    /// Everything is whole.
    pub(super) fn close(&mut self, tell: &mut Tell<'_>) {
        for item in self.open.drain(..) {
            item.close(tell);
        }
    }

    fn whole_reasoning(
        &mut self,
        at: Option<u64>,
        item: &Object<'_, '_>,
        tell: &mut Tell<'_>,
    ) -> Scan<()> {
        for (side, key) in [(Side::Summary, "summary"), (Side::Content, "content")] {
            for (index, part) in (0..).zip(list(item, key)?) {
                if let Some(text) = words(&as_object(part, key)?, "text")? {
                    self.thought(at, (side, index), text, tell)?;
                }
            }
        }
        Ok(())
    }

    /// The part of a message under its numbers. One that begins without a word is opened.
    fn message_part(
        &mut self,
        at: Option<u64>,
        index: u64,
        refusal: bool,
        tell: &mut Tell<'_>,
    ) -> Scan<Option<&mut Part>> {
        if self.find(at).is_none() {
            self.put(at, Kind::Message(Vec::new()));
        }
        match self.find(at).map(|item| &mut item.kind) {
            Some(Kind::Message(parts)) => {
                let known = parts.iter().position(|part| part.index == index);
                let place = known.unwrap_or_else(|| {
                    let block = tell.open(if refusal { Opened::Refusal } else { Opened::Text });
                    parts.push(Part { index, block, open: true, said: false, cited: false });
                    parts.len() - 1
                });
                Ok(parts.get_mut(place))
            }
            Some(Kind::Skipped) | None => Ok(None),
            Some(Kind::Call { .. } | Kind::Reasoning { .. }) => other_kind(),
        }
    }

    fn put(&mut self, at: Option<u64>, kind: Kind) {
        self.touched = true;
        self.open.push(Item { index: at.unwrap_or_default(), kind });
    }

    /// The item at a place of the answer; without a place the one that began last.
    fn find(&mut self, at: Option<u64>) -> Option<&mut Item> {
        let place = self.place(at)?;
        self.open.get_mut(place)
    }

    fn place(&self, at: Option<u64>) -> Option<usize> {
        match at {
            Some(at) => self.open.iter().rposition(|item| item.index == at),
            None => self.open.len().checked_sub(1),
        }
    }
}

impl Item {
    fn close(self, tell: &mut Tell<'_>) {
        match self.kind {
            Kind::Message(mut parts) => parts.iter_mut().for_each(|part| part.close(tell)),
            Kind::Call { block, .. } | Kind::Reasoning { block, .. } => tell.close(block),
            Kind::Skipped => {}
        }
    }
}

impl Part {
    fn close(&mut self, tell: &mut Tell<'_>) {
        if std::mem::take(&mut self.open) {
            tell.close(self.block);
        }
    }
}

fn other_kind<T>() -> Scan<T> {
    Err(Trouble::new(0, "a piece of another kind than its item"))
}
