//! Blocks under the numbers of a format that says where each begins and ends.

use super::tell::Tell;
use crate::{
    canon::Words,
    json::{Scan, Trouble},
    stream::event::{Opened, Piece},
};

/// The blocks that are open.
#[derive(Debug, Default)]
pub(super) struct Slots {
    open: Vec<Slot>,
}

/// A block that is open.
#[derive(Debug)]
pub(super) struct Slot {
    /// The format's number.
    pub(super) index: u64,
    pub(super) kind: Kind,
    /// Ours.
    pub(super) block: u32,
    /// Arguments that came with the beginning of a call: they count if no pieces follow.
    pub(super) whole: Option<String>,
}

/// What an open block is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Kind {
    Text,
    Reasoning,
    Redacted,
    Call,
    /// Left out, with all of its pieces.
    Skipped,
}

impl Slots {
    /// A block begins. A number that is still in use is free again.
    pub(super) fn open(&mut self, index: u64, kind: Kind, opened: Opened<'_>, tell: &mut Tell<'_>) {
        self.close(index, tell);
        let block = tell.open(opened);
        self.open.push(Slot { index, kind, block, whole: None });
    }

    /// A block begins that nobody hears of.
    pub(super) fn skip(&mut self, index: u64, tell: &mut Tell<'_>) {
        self.close(index, tell);
        self.open.push(Slot { index, kind: Kind::Skipped, block: 0, whole: None });
    }

    /// The block under a number; without a number the one that began last.
    pub(super) fn get(&mut self, index: Option<u64>) -> Option<&mut Slot> {
        match index {
            Some(index) => self.open.iter_mut().find(|slot| slot.index == index),
            None => self.open.last_mut(),
        }
    }

    /// The number of the block that began last; of the first one if there is none.
    pub(super) fn last(&self) -> u64 {
        self.open.last().map_or(0, |slot| slot.index)
    }

    /// The block of that kind under a number. One that begins without a word is opened.
    pub(super) fn of_kind(
        &mut self,
        index: Option<u64>,
        kind: Kind,
        tell: &mut Tell<'_>,
    ) -> Scan<Option<&mut Slot>> {
        if self.get(index).is_none() {
            let opened = match kind {
                Kind::Text => Opened::Text,
                Kind::Reasoning => Opened::Reasoning,
                Kind::Redacted | Kind::Call | Kind::Skipped => {
                    return Err(Trouble::new(0, "a piece of a call that never began"));
                }
            };
            self.open(index.unwrap_or_default(), kind, opened, tell);
        }
        match self.get(index) {
            Some(slot) if slot.kind == kind => Ok(Some(slot)),
            Some(slot) if slot.kind == Kind::Skipped => Ok(None),
            _ => Err(Trouble::new(0, "a piece of another kind than its block")),
        }
    }

    /// More text for the block of that kind.
    pub(super) fn text(
        &mut self,
        index: Option<u64>,
        kind: Kind,
        text: Words<'_>,
        tell: &mut Tell<'_>,
    ) -> Scan<()> {
        if let Some(slot) = self.of_kind(index, kind, tell)?
            && !text.is_empty()
        {
            slot.whole = None;
            tell.text(slot.block, text);
        }
        Ok(())
    }

    /// The signature of the reasoning under a number.
    pub(super) fn signature(
        &mut self,
        index: Option<u64>,
        signature: Words<'_>,
        tell: &mut Tell<'_>,
    ) -> Scan<()> {
        if let Some(slot) = self.of_kind(index, Kind::Reasoning, tell)?
            && !signature.is_empty()
        {
            tell.more(slot.block, Piece::Signature(signature));
        }
        Ok(())
    }

    /// The block under a number is whole, if there is one.
    pub(super) fn close(&mut self, index: u64, tell: &mut Tell<'_>) {
        if let Some(at) = self.open.iter().position(|slot| slot.index == index) {
            self.open.remove(at).close(tell);
        }
    }

    /// Everything is whole.
    pub(super) fn close_all(&mut self, tell: &mut Tell<'_>) {
        for slot in self.open.drain(..) {
            slot.close(tell);
        }
    }
}

impl Slot {
    fn close(self, tell: &mut Tell<'_>) {
        if self.kind == Kind::Skipped {
            return;
        }
        if let Some(whole) = self.whole {
            tell.text(self.block, whole.into());
        }
        tell.close(self.block);
    }
}
