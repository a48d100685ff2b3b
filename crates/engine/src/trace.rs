//! Spans for OpenTelemetry, with the names of its conventions for generative models. Off unless a
//! collector is configured; then a request costs a look at one header.
//!
//! A span says who was asked, how long it took, what it cost and what was repaired. It has no
//! content. A client that goes away is not an error.

mod export;
mod parent;
mod span;

use std::{
    fmt,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use bytes::Bytes;
use http::{HeaderMap, HeaderValue, Method, header};
use tokio::task::JoinHandle;

use crate::{
    config::{Target, Telemetry},
    http::{Client, Outgoing},
    meter::Meter,
};

use export::Queue;
use parent::Parent;

pub use span::Span;

/// The header by which a trace goes on in another process.
pub const TRACEPARENT: &str = "traceparent";

/// Makes spans and sends them. A copy is the same.
#[derive(Clone)]
pub struct Tracer(Option<Arc<Exporter>>);

struct Exporter {
    queue: Arc<Queue>,
    task: Mutex<Option<JoinHandle<()>>>,
}

/// How long the last spans may take.
const LAST: Duration = Duration::from_secs(3);

impl Tracer {
    /// Starts, if there is a collector. Has to be called inside a runtime then.
    pub fn start(telemetry: &Telemetry, client: Client, meter: Meter) -> Tracer {
        let Some(target) = telemetry.otlp.clone() else {
            return Tracer::off();
        };
        let mut headers = HeaderMap::new();
        headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
        for (name, secret) in &telemetry.otlp_headers {
            if let Ok(mut value) = HeaderValue::from_str(secret.reveal()) {
                value.set_sensitive(true);
                headers.insert(name.clone(), value);
            }
        }
        let collector = Arc::new(Collector {
            client,
            path: format!("{}/v1/traces", target.prefix),
            target,
            headers,
        });
        Tracer::over(meter, move |body| collector.clone().send(body))
    }

    /// One that does nothing.
    pub fn off() -> Tracer {
        Tracer(None)
    }

    fn over<S, F>(meter: Meter, send: S) -> Tracer
    where
        S: Fn(Bytes) -> F + Send + 'static,
        F: Future<Output = Result<(), ()>> + Send + 'static,
    {
        let queue = Arc::new(Queue::new(meter));
        let task = tokio::spawn(queue.clone().export(send));
        Tracer(Some(Arc::new(Exporter { queue, task: Mutex::new(Some(task)) })))
    }

    /// A question to a model begins. The headers are the client's: they may name a trace that it
    /// belongs to.
    pub fn chat(&self, headers: &HeaderMap, provider: &str, model: &str) -> Span {
        let told = headers.get(TRACEPARENT).and_then(|value| value.to_str().ok());
        match (&self.0, told.map(Parent::read)) {
            // Whoever asks wants no spans of this trace.
            (Some(_), Some(Some(parent))) if !parent.sampled => Span::off(told),
            (Some(exporter), parent) => {
                Span::chat(exporter.queue.clone(), parent.flatten(), provider, model)
            }
            (None, Some(Some(_))) => Span::off(told),
            (None, Some(None) | None) => Span::off(None),
        }
    }

    /// Sends what is left, and ends. Spans that end later are lost.
    pub async fn drain(&self) {
        let Some(exporter) = &self.0 else {
            return;
        };
        exporter.queue.close();
        let task = exporter.task.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(mut task) = task
            && tokio::time::timeout(LAST, &mut task).await.is_err()
        {
            task.abort();
        }
    }
}

impl Drop for Exporter {
    fn drop(&mut self) {
        if let Some(task) = self.task.lock().unwrap_or_else(PoisonError::into_inner).take() {
            task.abort();
        }
    }
}

impl fmt::Debug for Tracer {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(if self.0.is_some() { "Tracer::On" } else { "Tracer::Off" })
    }
}

/// Where spans go.
struct Collector {
    client: Client,
    target: Target,
    path: String,
    headers: HeaderMap,
}

/// More of a collector's reply is not read.
const REPLY: usize = 64 << 10;

impl Collector {
    async fn send(self: Arc<Collector>, body: Bytes) -> Result<(), ()> {
        let request =
            Outgoing { method: Method::POST, path: &self.path, headers: &self.headers, body };
        let reply = self.client.send(&self.target, request).await.map_err(drop)?;
        let status = reply.status;
        // Read, so that the connection can be used again.
        reply.body.whole(REPLY).await.map_err(drop)?;
        if status.is_success() { Ok(()) } else { Err(()) }
    }
}

#[cfg(test)]
mod tests;
