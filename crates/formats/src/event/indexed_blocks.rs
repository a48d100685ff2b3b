//! Open blocks of formats with numbered blocks and explicit starts and stops.

use foxwedge_core::CallFamily;

use super::{
    emitter::EventEmitter,
    fields::{arguments_text, get, non_empty_text},
};
use crate::{
    conversation::{JsonText, LossKind},
    event::{BlockDelta, BlockStart},
};
use foxwedge_json::{JsonObject, ScanError, ScanResult};

/// The open blocks.
#[derive(Debug, Default)]
pub(crate) struct IndexedBlocks {
    open: Vec<IndexedBlock>,
}

/// An open block.
#[derive(Debug)]
pub(crate) struct IndexedBlock {
    /// Its index in the source format.
    pub(crate) index: u64,
    pub(crate) kind: IndexedBlockKind,
    /// Its block number in our events.
    pub(crate) block: u32,
    /// Arguments in the start event of a call. They count if no deltas follow.
    pub(crate) initial_arguments: Option<String>,
}

/// The kind of an open block.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum IndexedBlockKind {
    Text,
    Reasoning,
    Redacted,
    Call,
    /// Left out, with all of its deltas.
    Skipped,
}

impl IndexedBlocks {
    /// Starts a block. Closes an open block with the same index.
    pub(crate) fn open(
        &mut self,
        index: u64,
        kind: IndexedBlockKind,
        start: BlockStart<'_>,
        emitter: &mut EventEmitter<'_>,
    ) {
        self.close(index, emitter);
        let block = emitter.open(start);
        self.open.push(IndexedBlock { index, kind, block, initial_arguments: None });
    }

    /// Starts a call whose arguments are under `key`. They are usually an empty object here, and
    /// follow as deltas.
    pub(crate) fn open_call(
        &mut self,
        index: u64,
        call: &JsonObject<'_, '_>,
        key: &str,
        emitter: &mut EventEmitter<'_>,
    ) -> ScanResult<()> {
        let Some(name) = non_empty_text(call, "name")? else {
            self.skip(index, emitter);
            emitter.skip(LossKind::Unknown, "a call without a name was left out");
            return Ok(());
        };
        let id = non_empty_text(call, "id")?;
        let start = BlockStart::Call { id, name, family: CallFamily::Function, signature: None };
        self.open(index, IndexedBlockKind::Call, start, emitter);
        let input = get(call, key).map(arguments_text).filter(|input| !is_empty_object(input));
        if let (Some(open_block), Some(input)) = (self.get(Some(index)), input) {
            open_block.initial_arguments = Some(input.into_owned());
        }
        Ok(())
    }

    /// Starts a block that emits no events.
    pub(crate) fn skip(&mut self, index: u64, emitter: &mut EventEmitter<'_>) {
        self.close(index, emitter);
        self.open.push(IndexedBlock {
            index,
            kind: IndexedBlockKind::Skipped,
            block: 0,
            initial_arguments: None,
        });
    }

    /// The block with this index; without an index, the newest one.
    pub(crate) fn get(&mut self, index: Option<u64>) -> Option<&mut IndexedBlock> {
        match index {
            Some(index) => self.open.iter_mut().find(|open_block| open_block.index == index),
            None => self.open.last_mut(),
        }
    }

    /// The index of the newest block; 0 if there is none.
    pub(crate) fn last(&self) -> u64 {
        self.open.last().map_or(0, |open_block| open_block.index)
    }

    /// The block of that kind with this index. Opens text and reasoning without a start event.
    pub(crate) fn get_or_open(
        &mut self,
        index: Option<u64>,
        kind: IndexedBlockKind,
        emitter: &mut EventEmitter<'_>,
    ) -> ScanResult<Option<&mut IndexedBlock>> {
        if self.get(index).is_none() {
            let start = match kind {
                IndexedBlockKind::Text => BlockStart::Text,
                IndexedBlockKind::Reasoning => BlockStart::Reasoning,
                IndexedBlockKind::Redacted | IndexedBlockKind::Call | IndexedBlockKind::Skipped => {
                    return Err(ScanError::new(0, "a delta of a call that was never started"));
                }
            };
            self.open(index.unwrap_or_default(), kind, start, emitter);
        }
        match self.get(index) {
            Some(open_block) if open_block.kind == kind => Ok(Some(open_block)),
            Some(open_block) if open_block.kind == IndexedBlockKind::Skipped => Ok(None),
            _ => Err(ScanError::new(0, "a delta of another kind than its block")),
        }
    }

    /// Adds text to the block of that kind.
    pub(crate) fn add_text(
        &mut self,
        index: Option<u64>,
        kind: IndexedBlockKind,
        text: JsonText<'_>,
        emitter: &mut EventEmitter<'_>,
    ) -> ScanResult<()> {
        if let Some(open_block) = self.get_or_open(index, kind, emitter)?
            && !text.is_empty()
        {
            open_block.initial_arguments = None;
            emitter.text(open_block.block, text);
        }
        Ok(())
    }

    /// Adds the signature of a reasoning block.
    pub(crate) fn add_signature(
        &mut self,
        index: Option<u64>,
        signature: JsonText<'_>,
        emitter: &mut EventEmitter<'_>,
    ) -> ScanResult<()> {
        if let Some(open_block) = self.get_or_open(index, IndexedBlockKind::Reasoning, emitter)?
            && !signature.is_empty()
        {
            emitter.delta(open_block.block, BlockDelta::Signature(signature));
        }
        Ok(())
    }

    /// Closes the block with this index, if there is one.
    pub(crate) fn close(&mut self, index: u64, emitter: &mut EventEmitter<'_>) {
        if let Some(at) = self.open.iter().position(|open_block| open_block.index == index) {
            self.open.remove(at).close(emitter);
        }
    }

    /// Closes all blocks.
    pub(crate) fn close_all(&mut self, emitter: &mut EventEmitter<'_>) {
        for open_block in self.open.drain(..) {
            open_block.close(emitter);
        }
    }
}

impl IndexedBlock {
    fn close(self, emitter: &mut EventEmitter<'_>) {
        if self.kind == IndexedBlockKind::Skipped {
            return;
        }
        if let Some(arguments) = self.initial_arguments {
            emitter.text(self.block, arguments.into());
        }
        emitter.close(self.block);
    }
}

fn is_empty_object(text: &str) -> bool {
    let inside = text.trim().strip_prefix('{').and_then(|text| text.strip_suffix('}'));
    text.is_empty() || inside.is_some_and(|inside| inside.trim().is_empty())
}
