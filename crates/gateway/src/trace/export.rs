//! Exports spans in batches. Spans that cannot be sent are counted and dropped: no request waits.

use std::{
    fmt, mem,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use bytes::Bytes;
use serde_json::{Value, json};
use tokio::sync::Notify;

use super::attribute::text_attribute;
use crate::metrics::{DroppedItem, Metrics};

/// Spans that wait for their export.
pub(super) struct SpanQueue {
    waiting: Mutex<QueuedSpans>,
    wake: Notify,
    metrics: Metrics,
}

#[derive(Default)]
struct QueuedSpans {
    spans: Vec<Value>,
    /// Bytes of the messages in them.
    message_bytes: usize,
    closed: bool,
}

/// Maximum number of waiting spans.
pub(super) const MAX_QUEUED_SPANS: usize = 2_048;

/// Maximum bytes of the messages in all waiting spans. Further spans are sent without messages.
const MAX_QUEUED_MESSAGE_BYTES: usize = 8 << 20;

/// From this number on, spans are sent without waiting for more.
const EXPORT_BATCH_SIZE: usize = 256;

/// How long a span waits for others.
const BATCH_WAIT: Duration = Duration::from_secs(1);

/// Timeout of an export request.
const EXPORT_TIMEOUT: Duration = Duration::from_secs(10);

impl SpanQueue {
    pub(super) fn new(metrics: Metrics) -> SpanQueue {
        SpanQueue { waiting: Mutex::default(), wake: Notify::new(), metrics }
    }

    /// Adds a span with its messages, as far as there is room.
    pub(super) fn push(&self, mut span: Value, messages: Vec<(&'static str, String)>) {
        let mut waiting = self.lock();
        if waiting.closed || waiting.spans.len() >= MAX_QUEUED_SPANS {
            drop(waiting);
            self.metrics.count_dropped(DroppedItem::Spans, 1);
            return;
        }
        let attributes = span.get_mut("attributes").and_then(Value::as_array_mut);
        if let Some(attributes) = attributes {
            for (key, messages) in messages {
                let bytes = waiting.message_bytes + messages.len();
                if bytes <= MAX_QUEUED_MESSAGE_BYTES {
                    waiting.message_bytes = bytes;
                    attributes.push(text_attribute(key, &messages));
                } else {
                    attributes.push(text_attribute("foxwedge.omitted", key));
                }
            }
        }
        waiting.spans.push(span);
        let count = waiting.spans.len();
        drop(waiting);
        if count == 1 || count == EXPORT_BATCH_SIZE {
            self.wake.notify_one();
        }
    }

    /// Closes the queue. Waiting spans are still sent.
    pub(super) fn close(&self) {
        self.lock().closed = true;
        self.wake.notify_one();
    }

    /// Exports spans until the queue is closed and empty.
    pub(super) async fn export_spans<S, F>(self: Arc<SpanQueue>, send: S)
    where
        S: Fn(Bytes) -> F + Send,
        F: Future<Output = Result<(), ()>> + Send,
    {
        loop {
            // Woken by the first span; then others may join it, up to a full batch.
            self.wake.notified().await;
            if !self.is_full() {
                let _ = tokio::time::timeout(BATCH_WAIT, self.wake.notified()).await;
            }
            let (spans, closed) = {
                let mut waiting = self.lock();
                waiting.message_bytes = 0;
                (mem::take(&mut waiting.spans), waiting.closed)
            };
            for batch in spans.chunks(EXPORT_BATCH_SIZE) {
                let sent = tokio::time::timeout(EXPORT_TIMEOUT, send(export_body(batch))).await;
                if !matches!(sent, Ok(Ok(()))) {
                    self.metrics.count_dropped(DroppedItem::Spans, batch.len() as u64);
                }
            }
            if closed {
                return;
            }
        }
    }

    fn is_full(&self) -> bool {
        let waiting = self.lock();
        waiting.closed || waiting.spans.len() >= EXPORT_BATCH_SIZE
    }

    fn lock(&self) -> MutexGuard<'_, QueuedSpans> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl fmt::Debug for SpanQueue {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("Queue")
    }
}

fn export_body(spans: &[Value]) -> Bytes {
    let name = json!({ "key": "service.name", "value": { "stringValue": "foxwedge" } });
    let scope = json!({ "name": "foxwedge", "version": env!("CARGO_PKG_VERSION") });
    json!({ "resourceSpans": [{
        "resource": { "attributes": [name] },
        "scopeSpans": [{ "scope": scope, "spans": spans }],
    }] })
    .to_string()
    .into()
}
