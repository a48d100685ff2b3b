//! Calls in streams of Responses. What the deltas said is repeated by the events that end the
//! arguments, the item and the response; all of them get the repaired call.

mod items;

use std::collections::BTreeSet;

use serde_json::{Value, json};

use super::{
    RepairFrame,
    arguments::ArgumentRepair,
    calls::{FragmentOutcome, ReplyCalls, UnclearEnd},
    contains, frame_value, has_room, text_of, write_event, write_frame,
};
use items::OutputItems;

/// Repairs the calls of a stream.
#[derive(Debug)]
pub(super) struct ResponsesRepair {
    pub(super) calls: ReplyCalls,
    items: OutputItems,
    ended: Option<EndedArguments>,
    /// How many events were added. The numbers of later ones are higher by that.
    added: u64,
}

/// The end of arguments that need a repair.
#[derive(Debug)]
struct EndedArguments {
    call: usize,
    raw: Vec<u8>,
    value: Value,
    /// Frames after it that do not show whether the call was cut off.
    waiting: Vec<Vec<u8>>,
}

/// Whether a call was cut off.
#[derive(Clone, Copy, PartialEq, Eq)]
enum CallState {
    Complete,
    CutOff,
}

impl ResponsesRepair {
    pub(super) fn new(seed: &str) -> ResponsesRepair {
        ResponsesRepair {
            calls: ReplyCalls::new(seed, "call_"),
            items: OutputItems::default(),
            ended: None,
            added: 0,
        }
    }

    pub(super) fn is_relevant(&self, raw: &[u8]) -> bool {
        !self.calls.list.is_empty()
            || self.items.is_moved
            || contains(raw, "\"function_call\"")
            || contains(raw, "\"response.output_item.added\"")
    }

    pub(super) fn flush(&mut self, out: &mut Vec<u8>) {
        while let Some(ended) = self.ended.take() {
            self.write_ended(ended, CallState::CutOff, &Value::Null, out);
        }
        self.calls.release(out);
    }

    /// Reads a frame that is not part of the reply.
    pub(super) fn read_aside(&mut self, raw: &[u8], out: &mut Vec<u8>) {
        match &mut self.ended {
            Some(ended) if has_room(&ended.waiting, raw) => ended.waiting.push(raw.to_vec()),
            Some(_) => {
                self.flush(out);
                out.extend_from_slice(raw);
            }
            None => self.calls.write_aside(raw, out),
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
        // Behind the end of one call's arguments there may be that of another.
        while let Some(mut ended) = self.ended.take() {
            let state = match self.state_after(&ended, &frame.value) {
                None if has_room(&ended.waiting, frame.raw) => {
                    ended.waiting.push(frame.raw.to_vec());
                    self.ended = Some(ended);
                    return;
                }
                state => state.unwrap_or(CallState::CutOff),
            };
            self.write_ended(ended, state, &frame.value["item"], out);
        }
        let RepairFrame { raw, mut value } = frame;
        let kind = text_of(&value["type"]).to_owned();
        if !kind.starts_with("response.") && kind != "error" {
            // A keep-alive.
            self.renumber(&mut value);
            let mut frame = Vec::with_capacity(raw.len());
            self.write(raw, &value, false, &mut frame);
            return self.calls.write_aside(&frame, out);
        }
        let is_start = kind == "response.output_item.added";
        let is_repeated = is_start && self.items.start(&value).is_none();
        let moved = self.move_index(raw, &mut value);
        let raw = moved.as_deref().unwrap_or(raw);
        self.read_event(raw, value, (&kind, is_repeated), out);
    }

    /// Gives an event the client's index of its item. Returns its frame if that was another one.
    fn move_index(&self, raw: &[u8], value: &mut Value) -> Option<Vec<u8>> {
        let index = self.items.find(value).filter(|_| self.items.is_moved)?;
        if value["output_index"].as_u64().unwrap_or(0) == index {
            return None;
        }
        value["output_index"] = index.into();
        let mut moved = Vec::with_capacity(raw.len());
        write_frame(raw, value, &mut moved);
        Some(moved)
    }

    fn read_event(
        &mut self,
        raw: &[u8],
        mut value: Value,
        (kind, is_repeated): (&str, bool),
        out: &mut Vec<u8>,
    ) {
        let index = value["output_index"].as_u64().unwrap_or(0);
        let is_call = value["item"]["type"] == "function_call";
        let is_changed = match (kind, self.calls.find((0, index))) {
            ("response.output_item.added", known) if is_call => {
                self.calls.release(out);
                let known = known.filter(|_| is_repeated);
                self.start_call(known, index, &mut value["item"])
            }
            ("response.function_call_arguments.delta", Some(call)) => {
                let fragment = text_of(&value["delta"]).to_owned();
                match self.calls.read_fragment(call, &fragment, UnclearEnd::HoldFrame, out) {
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
            ("response.function_call_arguments.done", Some(call)) => {
                if self.needs_repair(call, &value["arguments"]) {
                    let (raw, waiting) = (raw.to_vec(), Vec::new());
                    self.ended = Some(EndedArguments { call, raw, value, waiting });
                    return;
                }
                self.calls.release(out);
                self.keep_arguments(call, text_of(&value["arguments"]));
                false
            }
            ("response.output_item.done", Some(call)) if is_call => {
                let state = item_state(&value["item"]);
                let whole = text_of(&value["item"]["arguments"]).to_owned();
                self.complete(call, state, &whole, &value, out);
                if let Some(item) = self.items.get(index) {
                    item.is_complete |= state == CallState::Complete;
                }
                self.repair_item(call, state, &mut value["item"])
            }
            (_, _) if reply_state(kind).is_some() => {
                self.calls.release(out);
                let state = reply_state(kind).unwrap_or(CallState::CutOff);
                value
                    .pointer_mut("/response/output")
                    .is_some_and(|output| self.repair_output(state, output))
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
    fn start_call(&mut self, known: Option<usize>, index: u64, item: &mut Value) -> bool {
        let (id, name) = (item["call_id"].as_str(), item["name"].as_str());
        let call = known.unwrap_or_else(|| self.calls.add((0, index), id, name));
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
        if text_of(&item["name"]).is_empty() {
            item["name"] = super::UNNAMED_TOOL.into();
            is_changed = true;
        }
        is_changed
    }

    /// Whether the end of a call's arguments waits for the end of the item. `whole`: the arguments,
    /// as this end repeats them.
    fn needs_repair(&mut self, call: usize, whole: &Value) -> bool {
        let has_deltas = self.has_deltas(call);
        let Some(call) = self.calls.list.get(call) else { return false };
        match !has_deltas {
            true => ArgumentRepair::whole(text_of(whole)) != text_of(whole),
            false => call.is_changed || !call.arguments.is_complete() || text_of(whole).is_empty(),
        }
    }

    /// Whether a call has its arguments in deltas. Empty ones do not count if its start has them.
    fn has_deltas(&mut self, call: usize) -> bool {
        let Some(call) = self.calls.list.get(call) else { return false };
        let item = self.items.get(call.index);
        let is_told = item.is_some_and(|item| !item.arguments.is_empty());
        call.has_fragment && (!call.source.is_empty() || !is_told)
    }

    /// Keeps the arguments of a call that has no deltas.
    fn keep_arguments(&mut self, call: usize, arguments: &str) {
        let index = self.calls.list.get(call).map_or(0, |call| call.index);
        if let Some(item) = self.items.get(index).filter(|_| !arguments.is_empty()) {
            item.arguments = arguments.to_owned();
        }
    }

    /// What an event says about a call whose arguments ended before it; `None` if nothing.
    fn state_after(&self, ended: &EndedArguments, next: &Value) -> Option<CallState> {
        let kind = text_of(&next["type"]);
        if kind == "response.output_item.done" {
            let index = self.items.find(next).or_else(|| next["output_index"].as_u64());
            let is_own = index.unwrap_or(0) == ended.value["output_index"].as_u64().unwrap_or(0);
            return is_own.then(|| item_state(&next["item"]));
        }
        reply_state(kind)
    }

    /// Writes the end of arguments that is held back, repaired unless the call was cut off, and what
    /// waits behind it. `item`: the item, if its end comes next.
    fn write_ended(
        &mut self,
        ended: EndedArguments,
        state: CallState,
        item: &Value,
        out: &mut Vec<u8>,
    ) {
        let EndedArguments { call, raw, mut value, waiting } = ended;
        let told = [&value["arguments"], &item["arguments"]].map(text_of);
        let whole = told.into_iter().find(|text| !text.is_empty()).unwrap_or_default().to_owned();
        self.complete(call, state, &whole, &value, out);
        let mut is_changed = false;
        if state == CallState::Complete {
            let arguments = self.whole_arguments(call, &whole);
            is_changed = value["arguments"] != arguments.as_str();
            value["arguments"] = arguments.into();
        }
        self.renumber(&mut value);
        self.write(&raw, &value, is_changed, out);
        for raw in waiting {
            match frame_value(&raw) {
                Some(value) => self.read(RepairFrame { raw: &raw, value }, out),
                None => self.read_aside(&raw, out),
            }
        }
    }

    /// Writes the delta that completes a call's arguments, if it has deltas and they are incomplete.
    fn complete(
        &mut self,
        call: usize,
        state: CallState,
        whole: &str,
        end: &Value,
        out: &mut Vec<u8>,
    ) {
        if state == CallState::CutOff || !self.has_deltas(call) {
            return self.calls.release(out);
        }
        let source = self.calls.list.get(call).map_or("", |call| call.source.as_str());
        let missing = whole.strip_prefix(source).unwrap_or_default().to_owned();
        let Some(rest) = self.calls.complete(call, &missing, out) else { return };
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

    /// The arguments of a complete call. `told`: as an event that repeats them has them.
    fn whole_arguments(&mut self, call: usize, told: &str) -> String {
        let has_deltas = self.has_deltas(call);
        let Some(known) = self.calls.list.get(call) else { return told.to_owned() };
        if has_deltas {
            let text = if known.is_changed || told.is_empty() { &known.sent } else { told };
            return text.to_owned();
        }
        let item = self.items.get(known.index);
        let text = match (told, item) {
            ("", Some(item)) => &item.arguments,
            _ => told,
        };
        let whole = ArgumentRepair::whole(text);
        if whole != text
            && let Some(known) = self.calls.list.get_mut(call)
        {
            known.is_repaired = true;
        }
        self.keep_arguments(call, &whole);
        whole
    }

    /// Repairs a complete item. Returns whether it changed.
    fn repair_item(&mut self, call: usize, state: CallState, item: &mut Value) -> bool {
        let is_changed = self.repair_names(call, item);
        if state == CallState::CutOff {
            return is_changed;
        }
        let told = text_of(&item["arguments"]).to_owned();
        let arguments = self.whole_arguments(call, &told);
        if arguments == told {
            return is_changed;
        }
        item["arguments"] = arguments.into();
        true
    }

    /// Repairs the calls of the complete response.
    fn repair_output(&mut self, reply: CallState, output: &mut Value) -> bool {
        let items = output.as_array_mut().into_iter().flatten().enumerate();
        let mut items: Vec<_> = items.filter(|(_, item)| item["type"] == "function_call").collect();
        let (mut used, mut is_changed) = (BTreeSet::new(), false);
        // Those that name their call come first: the others are the remaining ones.
        for is_named in [true, false] {
            items.retain_mut(|(position, item)| {
                let call = match is_named {
                    true => self.call_of(item, &used),
                    false => self.next_call(*position, &used),
                };
                let Some(call) = call else { return true };
                used.insert(call);
                let index = self.calls.list.get(call).map_or(0, |call| call.index);
                let is_whole = reply == CallState::Complete
                    || self.items.get(index).is_some_and(|item| item.is_complete);
                let state = if is_whole { item_state(item) } else { CallState::CutOff };
                is_changed |= self.repair_item(call, state, item);
                false
            });
        }
        is_changed
    }

    /// The call of an item of the response, by the item's id or the call's.
    fn call_of(&self, item: &Value, used: &BTreeSet<usize>) -> Option<usize> {
        let (id, call_id) = (text_of(&item["id"]), text_of(&item["call_id"]));
        let index = self.items.with_id(id).filter(|_| !id.is_empty());
        let by_id = index.and_then(|index| self.calls.find((0, index)));
        let mut calls = self.calls.list.iter().enumerate();
        by_id.filter(|call| !used.contains(call)).or_else(|| {
            let is_own = |at: usize, source: &str| source == call_id && !used.contains(&at);
            let own = calls.find(|(at, call)| is_own(*at, &call.source_id));
            own.map(|(at, _)| at).filter(|_| !call_id.is_empty())
        })
    }

    /// The call of an item that has no known id: by its position, or the first one that is left.
    fn next_call(&self, position: usize, used: &BTreeSet<usize>) -> Option<usize> {
        let by_position = self.calls.find((0, position as u64));
        by_position
            .filter(|call| !used.contains(call))
            .or_else(|| (0..self.calls.list.len()).find(|call| !used.contains(call)))
    }
}

fn item_state(item: &Value) -> CallState {
    match text_of(&item["status"]) {
        "incomplete" | "failed" => CallState::CutOff,
        _ => CallState::Complete,
    }
}

/// How the reply ended; `None` if an event does not end it.
fn reply_state(kind: &str) -> Option<CallState> {
    match kind {
        "response.completed" => Some(CallState::Complete),
        "response.incomplete" | "response.failed" | "response.cancelled" | "error" => {
            Some(CallState::CutOff)
        }
        _ => None,
    }
}
