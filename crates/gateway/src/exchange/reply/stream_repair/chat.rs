//! Calls in streams of Chat Completions. A delta names its call by an index; the end of a choice is
//! the end of its calls.

mod delta;

use std::collections::BTreeSet;

use serde_json::{Map, Value, json};

use super::{
    RepairFrame,
    calls::{FragmentOutcome, ReplyCalls, UnclearEnd},
    contains, frame_value, is_done, write_frame,
};
use delta::{ChoiceEnd, DeltaHead, remove_repeated};

/// Repairs the calls of a stream.
#[derive(Debug)]
pub(super) struct ChatRepair {
    pub(super) calls: ReplyCalls,
    /// The choices that ended.
    ended: BTreeSet<u64>,
    /// Whether an error was reported: what is incomplete was cut off.
    has_failed: bool,
    /// The fields that every chunk repeats.
    head: Map<String, Value>,
}

/// What a frame needs.
#[derive(Default)]
struct FrameChanges {
    is_changed: bool,
    /// A fragment whose end is unclear: its call, and where it is.
    held: Option<(usize, String)>,
}

/// Where a delta is in its frame.
struct DeltaPlace {
    choice: usize,
    delta: usize,
    unclear_end: UnclearEnd,
}

impl ChatRepair {
    pub(super) fn new(seed: &str) -> ChatRepair {
        ChatRepair {
            calls: ReplyCalls::new(seed, "call_"),
            ended: BTreeSet::new(),
            has_failed: false,
            head: Map::new(),
        }
    }

    pub(super) fn is_relevant(&self, raw: &[u8]) -> bool {
        contains(raw, "\"tool_calls\"")
            || (!self.calls.list.is_empty()
                && (contains(raw, "\"finish_reason\"") || contains(raw, "\"error\"")))
    }

    /// Reads a frame without calls.
    pub(super) fn read_aside(&mut self, raw: &[u8], out: &mut Vec<u8>) {
        if is_done(raw) {
            self.end_unended(out);
            self.calls.release(out);
        } else if self.calls.held_call().is_some()
            && frame_value(raw).is_some_and(|mut value| choices(&mut value).next().is_some())
        {
            self.calls.release(out);
        }
        self.calls.write_aside(raw, out);
    }

    pub(super) fn read(&mut self, frame: RepairFrame<'_>, out: &mut Vec<u8>) {
        let RepairFrame { raw, mut value } = frame;
        self.has_failed |= value.get("error").is_some_and(|error| !error.is_null());
        if choices(&mut value).next().is_none() {
            if self.has_failed {
                self.calls.release(out);
            }
            return self.calls.write_aside(raw, out);
        }
        self.head = frame_head(&value);
        let deltas: usize = choices(&mut value).map(|(_, it)| call_deltas(it).count()).sum();
        let mut changes = FrameChanges::default();
        for (place, choice) in choices(&mut value) {
            self.read_choice(place, choice, deltas == 1, &mut changes, out);
        }
        let mut changed = Vec::new();
        if changes.is_changed {
            write_frame(raw, &value, &mut changed);
        }
        let raw = if changes.is_changed { changed.as_slice() } else { raw };
        match changes.held {
            Some((call, pointer)) => self.calls.hold(call, raw, value, pointer),
            None => {
                self.calls.release(out);
                out.extend_from_slice(raw);
            }
        }
    }

    fn read_choice(
        &mut self,
        place: usize,
        choice: &mut Value,
        is_only_delta: bool,
        changes: &mut FrameChanges,
        out: &mut Vec<u8>,
    ) {
        let number = choice["index"].as_u64().unwrap_or(0);
        let end = ChoiceEnd::of(choice);
        let end = if self.has_failed { end.map(|_| ChoiceEnd::CutOff) } else { end };
        let (mut in_frame, mut sent) = (Vec::new(), Vec::new());
        for (at, delta) in call_deltas(choice) {
            let head = DeltaHead::of(delta);
            if head.is_sent(&self.calls, number) {
                sent.push(at);
                continue;
            }
            let call = self.read_call(number, &head, delta, &in_frame, changes);
            in_frame.push((call, at));
            let unclear_end = match end {
                Some(ChoiceEnd::Complete) => UnclearEnd::LeaveOut,
                Some(ChoiceEnd::CutOff) => UnclearEnd::Send,
                None if is_only_delta => UnclearEnd::HoldFrame,
                None if changes.is_changed => UnclearEnd::LeaveOut,
                None => UnclearEnd::Send,
            };
            let place = DeltaPlace { choice: place, delta: at, unclear_end };
            self.read_arguments(call, delta, place, changes, out);
        }
        if let Some(end) = end {
            self.ended.insert(number);
            let mut calls = self.calls_of(number);
            // The frame that is held back comes before the frames that complete other calls.
            calls.sort_by_key(|call| Some(*call) != self.calls.held_call());
            for call in calls {
                let delta = in_frame.iter().rev().find(|(other, _)| *other == call);
                let delta = delta.and_then(|(_, place)| {
                    call_deltas(choice).find(|(at, _)| at == place).map(|(_, delta)| delta)
                });
                self.end_call(call, end, delta, changes, out);
            }
        }
        if !sent.is_empty() {
            remove_deltas(choice, &sent);
            changes.is_changed = true;
        }
    }

    /// Finds the call of a delta, and repairs its index, its id, its name and its type.
    fn read_call(
        &mut self,
        choice: u64,
        head: &DeltaHead,
        delta: &mut Value,
        in_frame: &[(usize, usize)],
        changes: &mut FrameChanges,
    ) -> usize {
        let known = head.find_call(&self.calls, choice, in_frame);
        let call = known.unwrap_or_else(|| self.add_call(choice, head));
        let Some(state) = self.calls.list.get_mut(call) else { return call };
        let mut is_repaired = false;
        if head.index != Some(state.index) {
            delta["index"] = state.index.into();
            is_repaired = true;
        }
        if known.is_some() {
            is_repaired |= remove_repeated(delta, head, state);
            state.chat.is_named_first &= head.name.is_none();
        } else if head.id.as_ref() != Some(&state.id) {
            delta["id"] = state.id.as_str().into();
            if !delta["type"].is_string() {
                delta["type"] = "function".into();
            }
            is_repaired = true;
        }
        if state.name.is_empty() {
            state.name = head.name.clone().unwrap_or_default();
        }
        if state.source_id.is_empty() {
            state.source_id = head.id.clone().unwrap_or_default();
        }
        state.is_repaired |= is_repaired;
        changes.is_changed |= is_repaired;
        call
    }

    /// Adds a call. The client's indices have no gaps: SDKs keep calls in a list.
    fn add_call(&mut self, choice: u64, head: &DeltaHead) -> usize {
        let next = self.calls_of(choice).len() as u64;
        let key = (choice, head.index.unwrap_or(next));
        let call = self.calls.add(key, head.id.as_deref(), head.name.as_deref());
        if let Some(added) = self.calls.list.get_mut(call) {
            added.index = next;
            added.chat.is_custom = head.is_custom;
            added.chat.is_named_first = head.is_named_first();
        }
        call
    }

    fn calls_of(&self, choice: u64) -> Vec<usize> {
        let calls = self.calls.list.iter().enumerate();
        calls.filter(|(_, call)| call.key.0 == choice).map(|(at, _)| at).collect()
    }

    fn is_custom(&self, call: usize) -> bool {
        self.calls.list.get(call).is_some_and(|call| call.chat.is_custom)
    }

    fn read_arguments(
        &mut self,
        call: usize,
        delta: &mut Value,
        place: DeltaPlace,
        changes: &mut FrameChanges,
        out: &mut Vec<u8>,
    ) {
        if self.is_custom(call) {
            return;
        }
        let fragment = match &delta["function"]["arguments"] {
            Value::String(fragment) => fragment.clone(),
            Value::Null => return,
            // Some servers send an object.
            other => {
                let fragment = other.to_string();
                delta["function"]["arguments"] = fragment.as_str().into();
                changes.is_changed = true;
                fragment
            }
        };
        match self.calls.read_fragment(call, &fragment, place.unclear_end, out) {
            FragmentOutcome::Unchanged => {}
            FragmentOutcome::Changed(fragment) => {
                delta["function"]["arguments"] = fragment.into();
                changes.is_changed = true;
            }
            FragmentOutcome::Held => {
                let DeltaPlace { choice, delta, .. } = place;
                let pointer =
                    format!("/choices/{choice}/delta/tool_calls/{delta}/function/arguments");
                changes.held = Some((call, pointer));
            }
        }
    }

    /// Completes the calls of choices that have no end, if only brackets are missing.
    fn end_unended(&mut self, out: &mut Vec<u8>) {
        for call in 0..self.calls.list.len() {
            let is_closable = self.calls.list.get(call).is_some_and(|call| {
                !self.ended.contains(&call.key.0) && call.arguments.is_closable()
            });
            if is_closable && !self.has_failed {
                let changes = &mut FrameChanges::default();
                self.end_call(call, ChoiceEnd::Complete, None, changes, out);
            }
        }
    }

    /// Completes a call, in its own delta if the frame has one, else in a frame before it.
    fn end_call(
        &mut self,
        call: usize,
        end: ChoiceEnd,
        delta: Option<&mut Value>,
        changes: &mut FrameChanges,
        out: &mut Vec<u8>,
    ) {
        if end == ChoiceEnd::CutOff || self.is_custom(call) {
            return self.calls.release(out);
        }
        let rest = self.calls.complete(call, "", out);
        let name = self.calls.name_missing(call);
        if rest.is_none() && name.is_none() {
            return;
        }
        let rest = rest.unwrap_or_default();
        if let Some(delta) = delta {
            let before = delta["function"]["arguments"].as_str().unwrap_or_default().to_owned();
            delta["function"]["arguments"] = (before + &rest).into();
            if let Some(name) = name {
                delta["function"]["name"] = name.into();
            }
            changes.is_changed = true;
            return;
        }
        let mut function = json!({ "arguments": rest });
        if let Some(name) = name {
            function["name"] = name.into();
        }
        let (choice, index) =
            self.calls.list.get(call).map_or((0, 0), |call| (call.key.0, call.index));
        let delta = json!({ "tool_calls": [{ "index": index, "function": function }] });
        let choice = json!({ "index": choice, "delta": delta, "finish_reason": null });
        let mut frame = self.head.clone();
        frame.insert("choices".to_owned(), json!([choice]));
        write_frame(b"", &Value::Object(frame), out);
    }
}

/// The fields that every frame repeats.
fn frame_head(value: &Value) -> Map<String, Value> {
    let fields = value.as_object().into_iter().flatten();
    let head = fields.filter(|(name, _)| !matches!(name.as_str(), "choices" | "usage" | "error"));
    head.map(|(name, value)| (name.clone(), value.clone())).collect()
}

/// The choices of a frame, each with its place.
fn choices(value: &mut Value) -> impl Iterator<Item = (usize, &mut Value)> {
    objects(value.get_mut("choices"))
}

/// The deltas of calls, each with its place.
fn call_deltas(choice: &mut Value) -> impl Iterator<Item = (usize, &mut Value)> {
    objects(choice.pointer_mut("/delta/tool_calls"))
}

fn objects(list: Option<&mut Value>) -> impl Iterator<Item = (usize, &mut Value)> {
    let list = list.and_then(Value::as_array_mut).into_iter().flatten().enumerate();
    list.filter(|(_, value)| value.is_object())
}

/// Removes deltas from a frame, by their places.
fn remove_deltas(choice: &mut Value, places: &[usize]) {
    let Some(delta) = choice.get_mut("delta").and_then(Value::as_object_mut) else { return };
    let Some(calls) = delta.get_mut("tool_calls").and_then(Value::as_array_mut) else { return };
    let mut at = 0;
    calls.retain(|_| {
        at += 1;
        !places.contains(&(at - 1))
    });
    if calls.is_empty() {
        delta.remove("tool_calls");
    }
}
