//! What is kept of replies: what was said while nobody listened, and the last reply, for a client
//! that asks the same once more.

use serde_json::Value;

/// So much is kept, about, in bytes.
const MAX_BYTES: usize = 1 << 20;

/// Events, up to a limit.
#[derive(Debug, Default)]
pub(super) struct EventBuffer {
    events: Vec<Value>,
    bytes: usize,
}

impl EventBuffer {
    pub(super) fn push(&mut self, event: Value) {
        self.bytes = self.bytes.saturating_add(estimated_bytes(&event));
        self.events.push(event);
    }

    /// Whether nothing more should be said.
    pub(super) fn is_full(&self) -> bool {
        self.bytes > MAX_BYTES
    }

    pub(super) fn take(&mut self) -> Vec<Value> {
        std::mem::take(self).events
    }
}

/// The last reply, if it answered nothing but answers.
#[derive(Debug, Default)]
pub(super) struct LastReply {
    /// The calls that the request answered, in its order; none if the reply is not kept.
    calls: Vec<String>,
    reply: EventBuffer,
    complete: bool,
}

impl LastReply {
    /// A reply to these answers begins.
    pub(super) fn start(calls: Vec<String>) -> LastReply {
        LastReply { calls, ..LastReply::default() }
    }

    pub(super) fn push(&mut self, event: &Value) {
        if self.calls.is_empty() {
            return;
        }
        self.reply.push(event.clone());
        if self.reply.is_full() {
            *self = LastReply::default();
        }
    }

    pub(super) fn end(&mut self) {
        self.complete = true;
    }

    /// The reply, if the same answers come once more.
    pub(super) fn matching_reply(&self, calls: &[String]) -> Option<&[Value]> {
        let same = self.complete && !calls.is_empty() && self.calls == calls;
        same.then_some(&self.reply.events)
    }
}

/// About how many bytes an event needs.
fn estimated_bytes(value: &Value) -> usize {
    const NODE: usize = 32;
    NODE + match value {
        Value::String(text) => text.len(),
        Value::Array(list) => list.iter().map(estimated_bytes).sum(),
        Value::Object(map) => {
            map.iter().map(|(key, value)| key.len() + estimated_bytes(value)).sum()
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => 0,
    }
}
