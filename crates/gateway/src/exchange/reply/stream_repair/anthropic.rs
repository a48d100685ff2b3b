//! Calls in streams of Messages. Every call is a block with a start and a stop; only the frame after
//! the stop shows whether the reply was cut off in it.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Value, json};

use super::{
    RepairFrame,
    calls::{FragmentOutcome, ReplyCalls},
    contains, write_event, write_frame,
};

/// Repairs the calls of a stream.
#[derive(Debug)]
pub(super) struct AnthropicRepair {
    pub(super) calls: ReplyCalls,
    /// The stop of a block whose arguments are incomplete: its call, and the frame.
    stopped: Option<(usize, Vec<u8>)>,
    indices: BlockIndices,
}

/// The indices of blocks. Some servers give several blocks the same one.
#[derive(Debug, Default)]
struct BlockIndices {
    /// Those that the client knows.
    taken: BTreeSet<u64>,
    /// The client's index of the newest block of an index in the stream, where it is another one.
    moved: BTreeMap<u64, u64>,
}

impl BlockIndices {
    /// The client's index of a block that starts.
    fn start(&mut self, index: u64) -> u64 {
        let next = self.taken.last().map_or(0, |last| last.saturating_add(1));
        let own = if self.taken.contains(&index) { next } else { index };
        self.taken.insert(own);
        match own == index {
            true => self.moved.remove(&index),
            false => self.moved.insert(index, own),
        };
        own
    }

    /// The client's index of the newest block of an index.
    fn find(&self, index: u64) -> u64 {
        self.moved.get(&index).copied().unwrap_or(index)
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
        !raw.starts_with(b"event: ping")
            && (!self.calls.list.is_empty()
                || !self.indices.moved.is_empty()
                || contains(raw, "\"content_block_start\""))
    }

    pub(super) fn flush(&mut self, out: &mut Vec<u8>) {
        self.calls.release(out);
        if let Some((_, frame)) = self.stopped.take() {
            out.extend(frame);
        }
    }

    pub(super) fn read(&mut self, frame: RepairFrame<'_>, out: &mut Vec<u8>) {
        let RepairFrame { raw, mut value } = frame;
        self.end_stopped(&value, out);
        let index = value["index"].as_u64().unwrap_or(0);
        let own_index = match value["type"].as_str() {
            Some("content_block_start") => self.indices.start(index),
            Some("content_block_delta" | "content_block_stop") => self.indices.find(index),
            _ => index,
        };
        let mut moved = Vec::new();
        if own_index != index {
            value["index"] = own_index.into();
            write_frame(raw, &value, &mut moved);
        }
        let raw = if moved.is_empty() { raw } else { moved.as_slice() };
        let index = own_index;
        let kind = value["type"].as_str().unwrap_or_default();
        match (kind, self.calls.find((0, index))) {
            ("content_block_start", _) if value["content_block"]["type"] == "tool_use" => {
                self.calls.release(out);
                match self.start_call(index, &mut value["content_block"]) {
                    true => write_frame(raw, &value, out),
                    false => out.extend_from_slice(raw),
                }
                if let Some(call) = self.calls.list.last_mut() {
                    call.is_repaired |= !moved.is_empty();
                }
            }
            ("content_block_delta", Some(call)) if value["delta"]["type"] == "input_json_delta" => {
                let fragment = value["delta"]["partial_json"].as_str().unwrap_or_default();
                let fragment = fragment.to_owned();
                match self.calls.read_fragment(call, &fragment, true, out) {
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
                self.stopped = Some((call, raw.to_vec()));
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

    /// Writes the stop that is held back, and what completes its call, unless the reply was cut
    /// off.
    fn end_stopped(&mut self, next: &Value, out: &mut Vec<u8>) {
        let Some((call, frame)) = self.stopped.take() else { return };
        let reason = next["delta"]["stop_reason"].as_str().unwrap_or_default();
        let is_cut = next["type"] == "error"
            || matches!(reason, "max_tokens" | "model_context_window_exceeded" | "refusal");
        if is_cut {
            self.calls.release(out);
        } else if let Some(rest) = self.calls.complete(call, out) {
            let index = self.calls.list.get(call).map_or(0, |call| call.index);
            let delta = json!({ "type": "input_json_delta", "partial_json": rest });
            let value = json!({ "type": "content_block_delta", "index": index, "delta": delta });
            write_event("content_block_delta", &value, out);
        }
        out.extend(frame);
    }
}
