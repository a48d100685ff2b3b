//! Buffers of replies: output that arrived while no client was connected, and the last reply, for a
//! client that repeats its request.

use serde_json::Value;

/// Approximate limit in bytes.
const MAX_BYTES: usize = 1 << 20;

/// Events up to a size limit.
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

    /// Whether no more content should be added.
    pub(super) fn is_full(&self) -> bool {
        self.bytes > MAX_BYTES
    }

    pub(super) fn take(&mut self) -> Vec<Value> {
        std::mem::take(self).events
    }
}

/// The last reply, if its request had only tool results.
#[derive(Debug, Default)]
pub(super) struct LastReply {
    /// The calls that the request answered, in order; empty if the reply is not kept.
    calls: Vec<String>,
    reply: EventBuffer,
    complete: bool,
}

impl LastReply {
    /// Starts a reply to results of these calls.
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

    /// The reply, if the same results are sent again.
    pub(super) fn matching_reply(&self, calls: &[String]) -> Option<&[Value]> {
        let same = self.complete && !calls.is_empty() && self.calls == calls;
        same.then_some(&self.reply.events)
    }
}

/// Approximate size of an event in memory.
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
