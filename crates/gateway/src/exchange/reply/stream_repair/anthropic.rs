//! Calls in streams of Messages. Every call is a block with a start and a stop; only the frame after
//! the stop shows whether the reply was cut off in it.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::{
    RepairFrame,
    calls::{FragmentOutcome, ReplyCalls, UnclearEnd},
    contains, frame_value, has_room, text_of, write_event, write_frame,
};

/// Repairs the calls of a stream.
#[derive(Debug)]
pub(super) struct AnthropicRepair {
    pub(super) calls: ReplyCalls,
    stopped: Option<StoppedBlock>,
    indices: BlockIndices,
}

/// The stop of a block whose arguments are incomplete.
#[derive(Debug)]
struct StoppedBlock {
    call: usize,
    raw: Vec<u8>,
    /// Frames after it that do not show whether the call was cut off.
    waiting: Vec<Vec<u8>>,
}

/// Whether a call was cut off.
#[derive(Clone, Copy, PartialEq, Eq)]
enum BlockEnd {
    Complete,
    CutOff,
}

/// The indices of blocks. Some servers give several blocks the same one, none, or begin at one; SDKs
/// keep blocks in a list.
#[derive(Debug, Default)]
struct BlockIndices {
    /// How many blocks the client knows.
    count: u64,
    /// The client's index of the newest block of an index in the stream.
    newest: BTreeMap<Option<u64>, u64>,
    /// Whether a block has another index in the stream.
    is_moved: bool,
}

impl BlockIndices {
    /// The client's index of a block that starts.
    fn start(&mut self, index: Option<u64>) -> u64 {
        let own = self.count;
        self.count += 1;
        self.newest.insert(index, own);
        self.is_moved |= index != Some(own);
        own
    }

    /// The client's index of the newest block of an index. Without one it is the last block.
    fn find(&self, index: Option<u64>) -> Option<u64> {
        self.newest.get(&index).copied().or_else(|| index.or_else(|| self.count.checked_sub(1)))
    }
}

impl AnthropicRepair {
    pub(super) fn new(seed: &str) -> AnthropicRepair {
        AnthropicRepair {
            calls: ReplyCalls::new(seed, "toolu_"),
            stopped: None,
            indices: BlockIndices::default(),
        }
    }

    pub(super) fn is_relevant(&self, raw: &[u8]) -> bool {
        !self.calls.list.is_empty()
            || self.indices.is_moved
            || contains(raw, "\"content_block_start\"")
    }

    pub(super) fn flush(&mut self, out: &mut Vec<u8>) {
        while let Some(stopped) = self.stopped.take() {
            self.write_stopped(stopped, BlockEnd::CutOff, out);
        }
        self.calls.release(out);
    }

    /// Reads a frame that is not part of the reply.
    pub(super) fn read_aside(&mut self, raw: &[u8], out: &mut Vec<u8>) {
        match &mut self.stopped {
            Some(stopped) if has_room(&stopped.waiting, raw) => stopped.waiting.push(raw.to_vec()),
            Some(_) => {
                self.flush(out);
                out.extend_from_slice(raw);
            }
            None => self.calls.write_aside(raw, out),
        }
    }

    pub(super) fn read(&mut self, frame: RepairFrame<'_>, out: &mut Vec<u8>) {
        if frame.value["type"] == "ping" {
            return self.read_aside(frame.raw, out);
        }
        // Behind one stop there may be another one.
        while let Some(mut stopped) = self.stopped.take() {
            let end = match block_end(&frame.value) {
                None if has_room(&stopped.waiting, frame.raw) => {
                    stopped.waiting.push(frame.raw.to_vec());
                    self.stopped = Some(stopped);
                    return;
                }
                end => end.unwrap_or(BlockEnd::CutOff),
            };
            self.write_stopped(stopped, end, out);
        }
        let RepairFrame { raw, mut value } = frame;
        let mut moved = Vec::new();
        let index = self.move_index(&mut value);
        if index.is_some() {
            write_frame(raw, &value, &mut moved);
        }
        let raw = if moved.is_empty() { raw } else { moved.as_slice() };
        self.read_block(raw, value, !moved.is_empty(), out);
    }

    /// Gives a frame the client's index of its block. Returns that if it was another one.
    fn move_index(&mut self, value: &mut Value) -> Option<u64> {
        let index = value["index"].as_u64();
        let own = match text_of(&value["type"]) {
            "content_block_start" => Some(self.indices.start(index)),
            "content_block_delta" | "content_block_stop" => self.indices.find(index),
            _ => None,
        };
        let own = own.filter(|own| index != Some(*own))?;
        value["index"] = own.into();
        Some(own)
    }

    fn read_block(&mut self, raw: &[u8], mut value: Value, is_moved: bool, out: &mut Vec<u8>) {
        let index = value["index"].as_u64().unwrap_or(0);
        match (text_of(&value["type"]), self.calls.find((0, index))) {
            ("content_block_start", _) if value["content_block"]["type"] == "tool_use" => {
                self.calls.release(out);
                match self.start_call(index, &mut value["content_block"]) {
                    true => write_frame(raw, &value, out),
                    false => out.extend_from_slice(raw),
                }
                if let Some(call) = self.calls.list.last_mut() {
                    call.is_repaired |= is_moved;
                }
            }
            ("content_block_delta", Some(call)) if value["delta"]["type"] == "input_json_delta" => {
                let fragment = text_of(&value["delta"]["partial_json"]).to_owned();
                match self.calls.read_fragment(call, &fragment, UnclearEnd::HoldFrame, out) {
                    FragmentOutcome::Unchanged => out.extend_from_slice(raw),
                    FragmentOutcome::Changed(fragment) => {
                        value["delta"]["partial_json"] = fragment.into();
                        write_frame(raw, &value, out);
                    }
                    FragmentOutcome::Held => {
                        self.calls.hold(call, raw, value, "/delta/partial_json".to_owned());
                    }
                }
            }
            ("content_block_stop", Some(call)) if self.is_incomplete(call) => {
                let (raw, waiting) = (raw.to_vec(), Vec::new());
                self.stopped = Some(StoppedBlock { call, raw, waiting });
            }
            _ => {
                self.calls.release(out);
                out.extend_from_slice(raw);
            }
        }
    }

    /// Repairs the start of a call. Returns whether it changed.
    fn start_call(&mut self, index: u64, block: &mut Value) -> bool {
        let call = self.calls.add((0, index), block["id"].as_str(), block["name"].as_str());
        let mut is_changed = false;
        if let Some(added) = self.calls.list.get(call).filter(|added| added.is_repaired) {
            block["id"] = added.id.as_str().into();
            is_changed = true;
        }
        if let Some(name) = self.calls.name_missing(call) {
            block["name"] = name.into();
            is_changed = true;
        }
        is_changed
    }

    /// Whether arguments began and did not end. A call without arguments has none.
    fn is_incomplete(&self, call: usize) -> bool {
        let call = self.calls.list.get(call);
        call.is_some_and(|call| call.arguments.is_started() && !call.arguments.is_complete())
    }

    /// Writes the stop that is held back, what completes its call before it, unless that was cut
    /// off, and what waits behind it.
    fn write_stopped(&mut self, stopped: StoppedBlock, end: BlockEnd, out: &mut Vec<u8>) {
        let StoppedBlock { call, raw, waiting } = stopped;
        match end {
            BlockEnd::CutOff => self.calls.release(out),
            BlockEnd::Complete => {
                if let Some(rest) = self.calls.complete(call, "", out) {
                    let index = self.calls.list.get(call).map_or(0, |call| call.index);
                    let delta = json!({ "type": "input_json_delta", "partial_json": rest });
                    let value =
                        json!({ "type": "content_block_delta", "index": index, "delta": delta });
                    write_event("content_block_delta", &value, out);
                }
            }
        }
        out.extend(raw);
        for raw in waiting {
            match frame_value(&raw) {
                Some(value) => self.read(RepairFrame { raw: &raw, value }, out),
                None => self.read_aside(&raw, out),
            }
        }
    }
}

/// What a frame says about a block that stopped before it; `None` if nothing.
fn block_end(next: &Value) -> Option<BlockEnd> {
    match text_of(&next["type"]) {
        // The model went on after the block.
        "content_block_start" => Some(BlockEnd::Complete),
        "message_delta" => match text_of(&next["delta"]["stop_reason"]) {
            "" => None,
            "tool_use" | "end_turn" | "stop_sequence" | "pause_turn" => Some(BlockEnd::Complete),
            _ => Some(BlockEnd::CutOff),
        },
        "message_stop" | "error" => Some(BlockEnd::CutOff),
        _ => None,
    }
}
