//! Calls in streams of Responses. What the deltas said is repeated by the events that end the
//! arguments, the item and the response; all of them get the repaired call.

use serde_json::{Value, json};

use super::{
    RepairFrame,
    arguments::ArgumentRepair,
    calls::{FragmentOutcome, ReplyCalls},
    contains, write_event, write_frame,
};

/// Repairs the calls of a stream.
#[derive(Debug)]
pub(super) struct ResponsesRepair {
    pub(super) calls: ReplyCalls,
    /// The end of arguments that need a repair: the frame, and its value.
    ended: Option<(Vec<u8>, Value)>,
    /// How many events were added. The numbers of later ones are higher by that.
    added: u64,
}

/// Whether a call was cut off.
#[derive(Clone, Copy, PartialEq, Eq)]
enum CallState {
    Complete,
    CutOff,
}

impl ResponsesRepair {
    pub(super) fn new(seed: &str) -> ResponsesRepair {
        ResponsesRepair { calls: ReplyCalls::new(seed, "call_"), ended: None, added: 0 }
    }

    pub(super) fn is_relevant(&self, raw: &[u8]) -> bool {
        !self.calls.list.is_empty() || contains(raw, "\"function_call\"")
    }

    pub(super) fn flush(&mut self, out: &mut Vec<u8>) {
        self.calls.release(out);
        if let Some((raw, mut value)) = self.ended.take() {
            self.renumber(&mut value);
            self.write(&raw, &value, false, out);
        }
    }

    /// Corrects the number of an event that was sent.
    fn renumber(&self, value: &mut Value) {
        if let Some(number) = value["sequence_number"].as_u64().filter(|_| self.added > 0) {
            value["sequence_number"] = (number + self.added).into();
        }
    }

    /// Writes an event: as it came, unless it or its number was changed.
    fn write(&self, raw: &[u8], value: &Value, is_changed: bool, out: &mut Vec<u8>) {
        let is_renumbered = self.added > 0 && value["sequence_number"].is_u64();
        match is_changed || is_renumbered {
            true => write_frame(raw, value, out),
            false => out.extend_from_slice(raw),
        }
    }

    pub(super) fn read(&mut self, frame: RepairFrame<'_>, out: &mut Vec<u8>) {
        let RepairFrame { raw, mut value } = frame;
        self.write_ended(&value, out);
        let index = value["output_index"].as_u64().unwrap_or(0);
        let is_call = value["item"]["type"] == "function_call";
        let kind = value["type"].as_str().unwrap_or_default();
        let is_changed = match (kind, self.calls.find((0, index))) {
            ("response.output_item.added", _) if is_call => {
                self.calls.release(out);
                self.start_call(index, &mut value["item"])
            }
            ("response.function_call_arguments.delta", Some(call)) => {
                let fragment = value["delta"].as_str().unwrap_or_default().to_owned();
                match self.calls.read_fragment(call, &fragment, true, out) {
                    FragmentOutcome::Unchanged => false,
                    FragmentOutcome::Changed(fragment) => {
                        value["delta"] = fragment.into();
                        true
                    }
                    FragmentOutcome::Held => {
                        self.renumber(&mut value);
                        let mut frame = Vec::with_capacity(raw.len());
                        self.write(raw, &value, false, &mut frame);
                        self.calls.hold(call, &frame, value, "/delta".to_owned());
                        return;
                    }
                }
            }
            ("response.function_call_arguments.done", Some(call)) if self.needs_repair(call) => {
                self.ended = Some((raw.to_vec(), value));
                return;
            }
            ("response.output_item.done", Some(call)) if is_call => {
                let state = item_state(&value["item"]);
                self.complete(call, state, &value, out);
                self.repair_item(call, state, &mut value["item"])
            }
            ("response.completed" | "response.incomplete" | "response.failed", _) => {
                self.calls.release(out);
                self.repair_output(&mut value["response"]["output"])
            }
            _ => {
                self.calls.release(out);
                false
            }
        };
        self.renumber(&mut value);
        self.write(raw, &value, is_changed, out);
    }

    /// Repairs the start of a call. Returns whether it changed.
    fn start_call(&mut self, index: u64, item: &mut Value) -> bool {
        let call = self.calls.add((0, index), item["call_id"].as_str(), item["name"].as_str());
        // A name is only known to be missing if the item has none: its end repeats it.
        self.calls.name_missing(call);
        self.repair_names(call, item)
    }

    fn repair_names(&self, call: usize, item: &mut Value) -> bool {
        let Some(call) = self.calls.list.get(call) else { return false };
        let mut is_changed = false;
        if item["call_id"] != call.id.as_str() {
            item["call_id"] = call.id.as_str().into();
            is_changed = true;
        }
        if item["name"].as_str().is_none_or(str::is_empty) {
            item["name"] = super::UNNAMED_TOOL.into();
            is_changed = true;
        }
        is_changed
    }

    fn needs_repair(&self, call: usize) -> bool {
        let call = self.calls.list.get(call);
        call.is_some_and(|call| call.is_changed || !call.arguments.is_complete())
    }

    /// Writes the end of arguments that is held back. The next frame shows whether the call was cut
    /// off.
    fn write_ended(&mut self, next: &Value, out: &mut Vec<u8>) {
        let Some((raw, mut value)) = self.ended.take() else { return };
        let index = value["output_index"].as_u64().unwrap_or(0);
        let is_end = next["type"] == "response.output_item.done";
        let state = if is_end { item_state(&next["item"]) } else { CallState::Complete };
        let is_cut = state == CallState::CutOff || next["type"] == "response.incomplete";
        match self.calls.find((0, index)) {
            Some(call) if !is_cut => {
                self.complete(call, state, &value, out);
                let arguments = value["arguments"].as_str().unwrap_or_default();
                value["arguments"] = ArgumentRepair::whole(arguments).into();
                self.renumber(&mut value);
                write_frame(&raw, &value, out);
            }
            _ => {
                self.calls.release(out);
                self.renumber(&mut value);
                self.write(&raw, &value, false, out);
            }
        }
    }

    /// Writes the delta that completes a call's arguments, if they are incomplete.
    fn complete(&mut self, call: usize, state: CallState, end: &Value, out: &mut Vec<u8>) {
        if state == CallState::CutOff {
            return self.calls.release(out);
        }
        let Some(rest) = self.calls.complete(call, out) else { return };
        let item = end.get("item_id").or_else(|| end.pointer("/item/id"));
        let number = end["sequence_number"].as_u64().map(|number| number + self.added);
        self.added += 1;
        let value = json!({
            "type": "response.function_call_arguments.delta",
            "sequence_number": number,
            "item_id": item,
            "output_index": end["output_index"],
            "delta": rest,
        });
        write_event("response.function_call_arguments.delta", &value, out);
    }

    /// Repairs a complete item. Returns whether it changed.
    fn repair_item(&self, call: usize, state: CallState, item: &mut Value) -> bool {
        let is_changed = self.repair_names(call, item);
        let is_repaired = self.calls.list.get(call).is_some_and(|call| call.is_changed);
        if state == CallState::CutOff || !is_repaired {
            return is_changed;
        }
        let arguments = item["arguments"].as_str().unwrap_or_default();
        item["arguments"] = ArgumentRepair::whole(arguments).into();
        true
    }

    /// Repairs the calls of the complete response.
    fn repair_output(&self, output: &mut Value) -> bool {
        let mut is_changed = false;
        for (index, item) in output.as_array_mut().into_iter().flatten().enumerate() {
            if item["type"] != "function_call" {
                continue;
            }
            if let Some(call) = self.calls.find((0, index as u64)) {
                is_changed |= self.repair_item(call, item_state(item), item);
            }
        }
        is_changed
    }
}

fn item_state(item: &Value) -> CallState {
    if item["status"] == "incomplete" { CallState::CutOff } else { CallState::Complete }
}
