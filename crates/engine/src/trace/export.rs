//! Sends spans, many at a time. What cannot be sent is counted and lost: nobody waits for it.

use std::{
    fmt, mem,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use bytes::Bytes;
use serde_json::{Value, json};
use tokio::sync::Notify;

use crate::meter::{Dropped, Meter};

/// Spans that wait to be sent.
pub(super) struct Queue {
    waiting: Mutex<Waiting>,
    bell: Notify,
    meter: Meter,
}

#[derive(Default)]
struct Waiting {
    spans: Vec<Value>,
    closed: bool,
}

/// Spans that may wait.
pub(super) const MOST: usize = 2_048;

/// So many are sent without waiting for more.
const BATCH: usize = 256;

/// A single span waits so long for others.
const REST: Duration = Duration::from_secs(1);

/// A collector has to reply.
const PATIENCE: Duration = Duration::from_secs(10);

impl Queue {
    pub(super) fn new(meter: Meter) -> Queue {
        Queue { waiting: Mutex::default(), bell: Notify::new(), meter }
    }

    /// Adds a span, if there is room.
    pub(super) fn push(&self, span: Value) {
        let mut waiting = self.lock();
        if waiting.closed || waiting.spans.len() >= MOST {
            drop(waiting);
            self.meter.dropped(Dropped::Spans, 1);
            return;
        }
        waiting.spans.push(span);
        let number = waiting.spans.len();
        drop(waiting);
        if number == 1 || number == BATCH {
            self.bell.notify_one();
        }
    }

    /// No more are taken; what is there is sent.
    pub(super) fn close(&self) {
        self.lock().closed = true;
        self.bell.notify_one();
    }

    /// Sends until the queue is closed and empty.
    pub(super) async fn export<S, F>(self: Arc<Queue>, send: S)
    where
        S: Fn(Bytes) -> F + Send,
        F: Future<Output = Result<(), ()>> + Send,
    {
        loop {
            // Rung for the first span; then others may join it, until there are many.
            self.bell.notified().await;
            if !self.is_full() {
                let _ = tokio::time::timeout(REST, self.bell.notified()).await;
            }
            let (spans, closed) = {
                let mut waiting = self.lock();
                (mem::take(&mut waiting.spans), waiting.closed)
            };
            for batch in spans.chunks(BATCH) {
                let sent = tokio::time::timeout(PATIENCE, send(body(batch))).await;
                if !matches!(sent, Ok(Ok(()))) {
                    self.meter.dropped(Dropped::Spans, batch.len() as u64);
                }
            }
            if closed {
                return;
            }
        }
    }

    fn is_full(&self) -> bool {
        let waiting = self.lock();
        waiting.closed || waiting.spans.len() >= BATCH
    }

    fn lock(&self) -> MutexGuard<'_, Waiting> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl fmt::Debug for Queue {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("Queue")
    }
}

fn body(spans: &[Value]) -> Bytes {
    let name = json!({ "key": "service.name", "value": { "stringValue": "foxwedge" } });
    let scope = json!({ "name": "foxwedge", "version": env!("CARGO_PKG_VERSION") });
    json!({ "resourceSpans": [{
        "resource": { "attributes": [name] },
        "scopeSpans": [{ "scope": scope, "spans": spans }],
    }] })
    .to_string()
    .into()
}
