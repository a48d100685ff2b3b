//! Which call a delta belongs to, and what it repeats.

use serde_json::Value;

use super::super::{
    calls::{RepairedCall, ReplyCalls},
    text_of,
};

/// How a delta names its call. Empty texts are left out.
pub(super) struct DeltaHead {
    pub(super) index: Option<u64>,
    pub(super) id: Option<String>,
    pub(super) name: Option<String>,
    /// Whether it is the call of a custom tool.
    pub(super) is_custom: bool,
    /// Its arguments, empty if it has none.
    arguments: String,
}

impl DeltaHead {
    pub(super) fn of(delta: &Value) -> DeltaHead {
        let is_custom = delta["type"] == "custom" || delta["custom"].is_object();
        let body = &delta[if is_custom { "custom" } else { "function" }];
        let text = |value: &Value| value.as_str().filter(|it| !it.is_empty()).map(str::to_owned);
        DeltaHead {
            index: delta["index"].as_u64(),
            id: text(&delta["id"]),
            name: text(&body["name"]),
            is_custom,
            arguments: match &body["arguments"] {
                Value::String(arguments) => arguments.clone(),
                Value::Null => String::new(),
                other => other.to_string(),
            },
        }
    }

    /// Finds the call that a delta continues; `None` if it begins one. `in_frame`: the calls of the
    /// deltas before it in the frame.
    pub(super) fn find_call(
        &self,
        calls: &ReplyCalls,
        choice: u64,
        in_frame: &[(usize, usize)],
    ) -> Option<usize> {
        let known = match self.index {
            Some(index) => calls.find((choice, index)),
            None => calls.list.iter().rposition(|call| call.key.0 == choice),
        };
        known.filter(|at| {
            let call = calls.list.get(*at);
            let is_in_frame = in_frame.iter().any(|(other, _)| other == at);
            call.is_some_and(|call| !self.is_other(call) && !self.is_next(call, is_in_frame))
        })
    }

    /// Whether a delta sends a whole call again, which the stream has sent before.
    pub(super) fn is_sent(&self, calls: &ReplyCalls, choice: u64) -> bool {
        let is_same = |call: &RepairedCall| {
            call.key.0 == choice
                && self.index.is_none_or(|index| index == call.key.1)
                && self.id.as_ref() == Some(&call.source_id)
                && self.name.as_ref() == Some(&call.name)
                && call.arguments.is_ended()
                && [&call.source, &call.sent].iter().any(|it| is_same_json(it, &self.arguments))
        };
        !self.arguments.is_empty() && calls.list.iter().any(is_same)
    }

    fn repeats_id(&self, call: &RepairedCall) -> bool {
        self.id.as_ref().is_some_and(|id| *id == call.source_id)
    }

    /// Whether the id belongs to another call. Some servers give every call the same index, or none.
    fn is_other(&self, call: &RepairedCall) -> bool {
        if self.id.is_none() || self.repeats_id(call) {
            return false;
        }
        let is_other_name = |name: &String| !call.name.is_empty() && *name != call.name;
        match call.source_id.is_empty() {
            false => self.name.is_some() || self.index.is_none(),
            // The id may come late.
            true if call.arguments.is_ended() && !call.arguments.is_placeholder() => {
                self.name.is_some() || self.index.is_none()
            }
            true => self.name.as_ref().is_some_and(is_other_name),
        }
    }

    /// Whether the name begins another call than the last one. Some servers repeat the name in every
    /// delta of a call.
    fn is_next(&self, last: &RepairedCall, is_in_frame: bool) -> bool {
        let Some(name) = self.name.as_ref().filter(|_| !last.name.is_empty()) else { return false };
        let is_repeated = *name == last.name && self.repeats_id(last);
        if is_in_frame && !is_repeated {
            return true;
        }
        if *name != last.name {
            // A name in several parts ends before the arguments begin.
            return last.arguments.is_started();
        }
        if self.arguments.is_empty() {
            return self.id.is_none() && last.chat.is_named_first && last.arguments.is_ended();
        }
        // After an empty object the real arguments may come. Without any ids it is a call of its own.
        let has_id = self.id.is_some() || !last.source_id.is_empty();
        let is_late = has_id && last.arguments.is_placeholder();
        self.arguments.trim_start().starts_with('{') && last.arguments.is_ended() && !is_late
    }

    /// Whether this is how a call begins whose name is in its first delta only.
    pub(super) fn is_named_first(&self) -> bool {
        self.name.is_some() && self.arguments.is_empty()
    }
}

/// Removes the id and the name of a delta that continues a call, if the client knows them: SDKs
/// append what they read. Returns whether there were any.
pub(super) fn remove_repeated(delta: &mut Value, head: &DeltaHead, call: &RepairedCall) -> bool {
    let mut is_changed = false;
    if head.id.is_some()
        && let Some(delta) = delta.as_object_mut()
    {
        is_changed |= delta.remove("id").is_some();
    }
    let is_known = head.name.as_ref().is_some_and(|name| *name == call.name);
    if is_known
        && (head.id.is_some() || call.arguments.is_started() || !head.arguments.is_empty())
        && let Some(function) = delta.get_mut("function").and_then(Value::as_object_mut)
    {
        is_changed |= function.remove("name").is_some();
    }
    is_changed
}

fn is_same_json(one: &str, other: &str) -> bool {
    let read = |text: &str| serde_json::from_str::<Value>(text).ok();
    one == other || read(one).is_some_and(|one| read(other) == Some(one))
}

/// Why a choice ended.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum ChoiceEnd {
    /// Its calls are complete.
    Complete,
    /// Its last call may be half of one.
    CutOff,
}

impl ChoiceEnd {
    /// The end that a chunk tells; `None` if the choice goes on. Some servers send an empty reason
    /// until then.
    pub(super) fn of(choice: &Value) -> Option<ChoiceEnd> {
        match text_of(&choice["finish_reason"]) {
            "" => None,
            "stop" | "tool_calls" | "function_call" => Some(ChoiceEnd::Complete),
            _ => Some(ChoiceEnd::CutOff),
        }
    }
}
