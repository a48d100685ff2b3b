//! Blocks under the numbers of a format that says where each begins and ends.

use super::emitter::EventEmitter;
use crate::{
    json::{ScanError, ScanResult},
    model::JsonText,
    stream::event::{BlockDelta, BlockStart},
};

/// The blocks that are open.
#[derive(Debug, Default)]
pub(super) struct IndexedBlocks {
    open: Vec<IndexedBlock>,
}

/// A block that is open.
#[derive(Debug)]
pub(super) struct IndexedBlock {
    /// The format's number.
    pub(super) index: u64,
    pub(super) kind: IndexedBlockKind,
    /// Ours.
    pub(super) block: u32,
    /// Arguments that came with the beginning of a call: they count if no pieces follow.
    pub(super) initial_arguments: Option<String>,
}

/// What an open block is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum IndexedBlockKind {
    Text,
    Reasoning,
    Redacted,
    Call,
    /// Left out, with all of its pieces.
    Skipped,
}

impl IndexedBlocks {
    /// A block begins. A number that is still in use is free again.
    pub(super) fn open(
        &mut self,
        index: u64,
        kind: IndexedBlockKind,
        opened: BlockStart<'_>,
        tell: &mut EventEmitter<'_>,
    ) {
        self.close(index, tell);
        let block = tell.open(opened);
        self.open.push(IndexedBlock { index, kind, block, initial_arguments: None });
    }

    /// A block begins that nobody hears of.
    pub(super) fn skip(&mut self, index: u64, tell: &mut EventEmitter<'_>) {
        self.close(index, tell);
        self.open.push(IndexedBlock {
            index,
            kind: IndexedBlockKind::Skipped,
            block: 0,
            initial_arguments: None,
        });
    }

    /// The block under a number; without a number the one that began last.
    pub(super) fn get(&mut self, index: Option<u64>) -> Option<&mut IndexedBlock> {
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
    pub(super) fn get_or_open(
        &mut self,
        index: Option<u64>,
        kind: IndexedBlockKind,
        tell: &mut EventEmitter<'_>,
    ) -> ScanResult<Option<&mut IndexedBlock>> {
        if self.get(index).is_none() {
            let opened = match kind {
                IndexedBlockKind::Text => BlockStart::Text,
                IndexedBlockKind::Reasoning => BlockStart::Reasoning,
                IndexedBlockKind::Redacted | IndexedBlockKind::Call | IndexedBlockKind::Skipped => {
                    return Err(ScanError::new(0, "a piece of a call that never began"));
                }
            };
            self.open(index.unwrap_or_default(), kind, opened, tell);
        }
        match self.get(index) {
            Some(slot) if slot.kind == kind => Ok(Some(slot)),
            Some(slot) if slot.kind == IndexedBlockKind::Skipped => Ok(None),
            _ => Err(ScanError::new(0, "a piece of another kind than its block")),
        }
    }

    /// More text for the block of that kind.
    pub(super) fn add_text(
        &mut self,
        index: Option<u64>,
        kind: IndexedBlockKind,
        text: JsonText<'_>,
        tell: &mut EventEmitter<'_>,
    ) -> ScanResult<()> {
        if let Some(slot) = self.get_or_open(index, kind, tell)?
            && !text.is_empty()
        {
            slot.initial_arguments = None;
            tell.text(slot.block, text);
        }
        Ok(())
    }

    /// The signature of the reasoning under a number.
    pub(super) fn add_signature(
        &mut self,
        index: Option<u64>,
        signature: JsonText<'_>,
        tell: &mut EventEmitter<'_>,
    ) -> ScanResult<()> {
        if let Some(slot) = self.get_or_open(index, IndexedBlockKind::Reasoning, tell)?
            && !signature.is_empty()
        {
            tell.delta(slot.block, BlockDelta::Signature(signature));
        }
        Ok(())
    }

    /// The block under a number is whole, if there is one.
    pub(super) fn close(&mut self, index: u64, tell: &mut EventEmitter<'_>) {
        if let Some(at) = self.open.iter().position(|slot| slot.index == index) {
            self.open.remove(at).close(tell);
        }
    }

    /// Everything is whole.
    pub(super) fn close_all(&mut self, tell: &mut EventEmitter<'_>) {
        for slot in self.open.drain(..) {
            slot.close(tell);
        }
    }
}

impl IndexedBlock {
    fn close(self, tell: &mut EventEmitter<'_>) {
        if self.kind == IndexedBlockKind::Skipped {
            return;
        }
        if let Some(whole) = self.initial_arguments {
            tell.text(self.block, whole.into());
        }
        tell.close(self.block);
    }
}
