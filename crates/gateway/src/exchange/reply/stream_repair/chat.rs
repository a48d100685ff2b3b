//! Calls in streams of Chat Completions. A delta names its call by an index; the end of a choice is
//! the end of its calls.

use serde_json::{Map, Value, json};

use super::{
    RepairFrame,
    calls::{FragmentOutcome, RepairedCall, ReplyCalls},
    contains, write_frame,
};

/// Repairs the calls of a stream.
#[derive(Debug)]
pub(super) struct ChatRepair {
    pub(super) calls: ReplyCalls,
}

/// What a frame needs.
#[derive(Default)]
struct FrameChanges {
    is_changed: bool,
    /// A fragment that ends with a comma: its call, and where it is.
    held: Option<(usize, String)>,
}

impl ChatRepair {
    pub(super) fn new(seed: &str) -> ChatRepair {
        ChatRepair { calls: ReplyCalls::new(seed, "call_") }
    }

    pub(super) fn is_relevant(&self, raw: &[u8]) -> bool {
        contains(raw, "\"tool_calls\"")
            || (!self.calls.list.is_empty() && contains(raw, "\"finish_reason\""))
    }

    pub(super) fn read(&mut self, frame: RepairFrame<'_>, out: &mut Vec<u8>) {
        let RepairFrame { raw, mut value } = frame;
        let head = frame_head(&value);
        let deltas: usize = choices(&mut value).map(|choice| call_deltas(choice).count()).sum();
        let mut changes = FrameChanges::default();
        if deltas == 0 && choices(&mut value).all(|choice| choice["finish_reason"].is_null()) {
            self.calls.release(out);
        }
        for (position, choice) in choices(&mut value).enumerate() {
            let number = choice["index"].as_u64().unwrap_or(0);
            let ending = choice["finish_reason"].as_str().map(str::to_owned);
            let mut in_frame = Vec::new();
            for (at, delta) in call_deltas(choice).enumerate() {
                let call = self.read_call(number, delta, &in_frame, &mut changes);
                in_frame.push((call, at));
                let pointer =
                    format!("/choices/{position}/delta/tool_calls/{at}/function/arguments");
                let may_hold = deltas == 1 && ending.is_none();
                self.read_arguments(call, delta, may_hold.then_some(pointer), &mut changes, out);
            }
            if let Some(ending) = ending {
                let own: Vec<usize> = (0..self.calls.list.len())
                    .filter(|call| self.calls.list.get(*call).is_some_and(|it| it.key.0 == number))
                    .collect();
                for call in own {
                    let delta = in_frame.iter().rev().find(|(other, _)| *other == call);
                    let delta = delta.and_then(|(_, at)| call_deltas(choice).nth(*at));
                    self.end_call(call, &ending, (number, &head), delta, &mut changes, out);
                }
            }
        }
        match changes {
            FrameChanges { is_changed: true, .. } => write_frame(raw, &value, out),
            FrameChanges { held: Some((call, pointer)), .. } => {
                self.calls.hold(call, raw, value, pointer);
            }
            FrameChanges { held: None, .. } => out.extend_from_slice(raw),
        }
    }

    /// Finds the call of a delta, and repairs its index, its id and its type. `before`: the calls
    /// of the deltas before it in the frame.
    fn read_call(
        &mut self,
        choice: u64,
        delta: &mut Value,
        before: &[(usize, usize)],
        changes: &mut FrameChanges,
    ) -> usize {
        let id = delta["id"].as_str().filter(|id| !id.is_empty()).map(str::to_owned);
        let name = delta["function"]["name"].as_str().filter(|name| !name.is_empty());
        let own = |call: &&RepairedCall| call.key.0 == choice;
        let indices = self.calls.list.iter().filter(own).map(|call| call.index);
        let next = indices.max().map_or(0, |last| last.saturating_add(1));
        let index = delta["index"].as_u64();
        let known = match index {
            Some(index) => self.calls.find((choice, index)),
            None => self.calls.list.iter().rposition(|call| call.key.0 == choice),
        };
        // Some servers give every call the same index, or none.
        let is_other = |call: &RepairedCall| {
            id.as_ref().is_some_and(|id| *id != call.source_id)
                && (name.is_some() || index.is_none())
        };
        let is_next = |at: usize, call: &RepairedCall| {
            let Some(name) = name.filter(|_| !call.name.is_empty()) else { return false };
            let is_repeated =
                name == call.name && id.as_ref().is_some_and(|id| *id == call.source_id);
            starts_call(call, name, delta)
                || !is_repeated && before.iter().any(|(other, _)| *other == at)
        };
        let is_new = |at: usize| {
            self.calls.list.get(at).is_some_and(|call| is_other(call) || is_next(at, call))
        };
        let known = known.filter(|at| !is_new(*at));
        let call = match known {
            Some(call) => call,
            None => {
                let key = (choice, index.unwrap_or(next));
                let is_taken = self.calls.list.iter().filter(own).any(|call| call.index == key.1);
                let call = self.calls.add(key, id.as_deref(), name);
                if let Some(added) = self.calls.list.get_mut(call).filter(|_| is_taken) {
                    added.index = next;
                }
                call
            }
        };
        let Some(state) = self.calls.list.get_mut(call) else { return call };
        if state.name.is_empty() {
            state.name = name.unwrap_or_default().to_owned();
        }
        let is_first = known.is_none();
        if index != Some(state.index) {
            delta["index"] = state.index.into();
            (changes.is_changed, state.is_repaired) = (true, true);
        }
        let is_wrong = if is_first {
            id.as_ref() != Some(&state.id)
        } else {
            id.is_some() && id.as_ref() != Some(&state.id)
        };
        if is_wrong {
            delta["id"] = state.id.as_str().into();
            (changes.is_changed, state.is_repaired) = (true, true);
        }
        if is_first && is_wrong && !delta["type"].is_string() {
            delta["type"] = "function".into();
        }
        call
    }

    fn read_arguments(
        &mut self,
        call: usize,
        delta: &mut Value,
        pointer: Option<String>,
        changes: &mut FrameChanges,
        out: &mut Vec<u8>,
    ) {
        let fragment = match &delta["function"]["arguments"] {
            Value::String(fragment) => fragment.clone(),
            Value::Null => return,
            // Some servers send an object.
            other => {
                changes.is_changed = true;
                other.to_string()
            }
        };
        let may_hold = pointer.is_some() && !changes.is_changed;
        match self.calls.read_fragment(call, &fragment, may_hold, out) {
            FragmentOutcome::Unchanged if changes.is_changed => {
                delta["function"]["arguments"] = fragment.into();
            }
            FragmentOutcome::Unchanged => {}
            FragmentOutcome::Changed(fragment) => {
                delta["function"]["arguments"] = fragment.into();
                changes.is_changed = true;
            }
            FragmentOutcome::Held => {
                changes.held = pointer.map(|pointer| (call, pointer));
            }
        }
    }

    /// Completes a call, in its own delta if the frame has one, else in a frame before it.
    fn end_call(
        &mut self,
        call: usize,
        ending: &str,
        (choice, head): (u64, &Map<String, Value>),
        delta: Option<&mut Value>,
        changes: &mut FrameChanges,
        out: &mut Vec<u8>,
    ) {
        if matches!(ending, "length" | "content_filter") {
            self.calls.release(out);
            return;
        }
        let rest = self.calls.complete(call, out);
        let name = self.calls.name_missing(call);
        if rest.is_none() && name.is_none() {
            self.calls.release(out);
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
        let index = self.calls.list.get(call).map_or(0, |call| call.index);
        let mut frame = head.clone();
        let delta = json!({ "tool_calls": [{ "index": index, "function": function }] });
        let choice = json!({ "index": choice, "delta": delta, "finish_reason": null });
        frame.insert("choices".to_owned(), json!([choice]));
        write_frame(b"", &Value::Object(frame), out);
    }
}

/// Whether a delta with a name begins another call than the last one. Some servers repeat the name
/// in every delta of a call.
fn starts_call(last: &RepairedCall, name: &str, delta: &Value) -> bool {
    if name != last.name {
        // A name in several parts ends before the arguments begin.
        return last.arguments.is_started();
    }
    let is_object = match &delta["function"]["arguments"] {
        Value::String(fragment) => fragment.trim_start().starts_with('{'),
        other => other.is_object(),
    };
    is_object && last.arguments.is_ended()
}

/// The fields that every frame repeats.
fn frame_head(value: &Value) -> Map<String, Value> {
    let fields = value.as_object().into_iter().flatten();
    let head = fields.filter(|(name, _)| !matches!(name.as_str(), "choices" | "usage"));
    head.map(|(name, value)| (name.clone(), value.clone())).collect()
}

fn choices(value: &mut Value) -> impl Iterator<Item = &mut Value> {
    let choices = value.get_mut("choices").and_then(Value::as_array_mut);
    choices.into_iter().flatten().filter(|choice| choice.is_object())
}

fn call_deltas(choice: &mut Value) -> impl Iterator<Item = &mut Value> {
    let calls = choice.pointer_mut("/delta/tool_calls").and_then(Value::as_array_mut);
    calls.into_iter().flatten().filter(|call| call.is_object())
}
