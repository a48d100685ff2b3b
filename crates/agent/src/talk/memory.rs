//! What is kept of replies: what was said while nobody listened, and the last reply, for a client
//! that asks the same once more.

use serde_json::Value;

/// So much is kept, about, in bytes.
const MOST: usize = 1 << 20;

/// Events, up to a limit.
#[derive(Debug, Default)]
pub(super) struct Kept {
    events: Vec<Value>,
    weight: usize,
}

impl Kept {
    pub(super) fn push(&mut self, event: Value) {
        self.weight = self.weight.saturating_add(weight(&event));
        self.events.push(event);
    }

    /// Whether nothing more should be said.
    pub(super) fn is_full(&self) -> bool {
        self.weight > MOST
    }

    pub(super) fn take(&mut self) -> Vec<Value> {
        std::mem::take(self).events
    }
}

/// The last reply, if it answered nothing but answers.
#[derive(Debug, Default)]
pub(super) struct Last {
    /// The calls that the request answered, in its order; none if the reply is not kept.
    calls: Vec<String>,
    reply: Kept,
    whole: bool,
}

impl Last {
    /// A reply to these answers begins.
    pub(super) fn begin(calls: Vec<String>) -> Last {
        Last { calls, ..Last::default() }
    }

    pub(super) fn say(&mut self, event: &Value) {
        if self.calls.is_empty() {
            return;
        }
        self.reply.push(event.clone());
        if self.reply.is_full() {
            *self = Last::default();
        }
    }

    pub(super) fn end(&mut self) {
        self.whole = true;
    }

    /// The reply, if the same answers come once more.
    pub(super) fn to(&self, calls: &[String]) -> Option<&[Value]> {
        let same = self.whole && !calls.is_empty() && self.calls == calls;
        same.then_some(&self.reply.events)
    }
}

/// About how many bytes an event needs.
fn weight(value: &Value) -> usize {
    const NODE: usize = 32;
    NODE + match value {
        Value::String(text) => text.len(),
        Value::Array(list) => list.iter().map(weight).sum(),
        Value::Object(map) => map.iter().map(|(key, value)| key.len() + weight(value)).sum(),
        Value::Null | Value::Bool(_) | Value::Number(_) => 0,
    }
}
