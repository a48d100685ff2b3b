//! Spans for OpenTelemetry, with the names of its conventions for generative models. Disabled
//! unless a collector is configured; then a request costs one header lookup.
//!
//! A span has the provider, the duration, the token usage and the repairs. It has content only if
//! the configuration says so. A client that disconnects is not an error.

mod attribute;
mod export;
mod parent;
mod provider;
mod span;

use std::{
    fmt,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use bytes::Bytes;
use http::{HeaderMap, HeaderValue, Method, header};
use tokio::task::JoinHandle;

use crate::{config::TelemetryConfig, metrics::Metrics};
use foxwedge_upstream::{
    NetworkTarget,
    http::{HttpClient, HttpRequest},
};

use export::SpanQueue;
use parent::TraceParent;

pub(crate) use provider::provider_name;
pub use span::ChatSpan;

/// The header that passes a trace on to another process.
pub const TRACEPARENT: &str = "traceparent";

/// Creates and exports spans. Cheap to clone; clones share state.
#[derive(Clone)]
pub struct ChatTracer(Option<Arc<SpanExporter>>);

struct SpanExporter {
    queue: Arc<SpanQueue>,
    content: SpanContent,
    task: Mutex<Option<JoinHandle<()>>>,
}

/// Whether spans include the messages of requests and replies.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum SpanContent {
    Omitted,
    Included,
}

/// How long the export of the last spans may take.
const DRAIN_TIMEOUT: Duration = Duration::from_secs(3);

impl ChatTracer {
    /// Starts the exporter if a collector is configured. Must be called inside a runtime then.
    pub fn start(telemetry: &TelemetryConfig, client: HttpClient, metrics: Metrics) -> ChatTracer {
        let Some(target) = telemetry.otlp.clone() else {
            return ChatTracer::disabled();
        };
        let mut headers = HeaderMap::new();
        headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
        for (name, secret) in &telemetry.otlp_headers {
            if let Ok(mut value) = HeaderValue::from_str(secret.reveal()) {
                value.set_sensitive(true);
                headers.insert(name.clone(), value);
            }
        }
        let collector = Arc::new(OtlpCollector {
            client,
            path: format!("{}/v1/traces", target.prefix),
            target,
            headers,
        });
        let content = match telemetry.otlp_content {
            true => SpanContent::Included,
            false => SpanContent::Omitted,
        };
        ChatTracer::with_sender(metrics, content, move |body| collector.clone().send(body))
    }

    /// A tracer that does nothing.
    pub fn disabled() -> ChatTracer {
        ChatTracer(None)
    }

    fn with_sender<S, F>(metrics: Metrics, content: SpanContent, send: S) -> ChatTracer
    where
        S: Fn(Bytes) -> F + Send + 'static,
        F: Future<Output = Result<(), ()>> + Send + 'static,
    {
        let queue = Arc::new(SpanQueue::new(metrics));
        let task = tokio::spawn(queue.clone().export_spans(send));
        let task = Mutex::new(Some(task));
        ChatTracer(Some(Arc::new(SpanExporter { queue, content, task })))
    }

    /// Starts the span of a model request. The headers are the client's: they may contain the
    /// parent trace.
    pub fn start_span(&self, headers: &HeaderMap, provider: &str, model: &str) -> ChatSpan {
        let header_value = headers.get(TRACEPARENT).and_then(|value| value.to_str().ok());
        match (&self.0, header_value.map(TraceParent::read)) {
            // The client does not sample this trace.
            (Some(_), Some(Some(parent))) if !parent.sampled => ChatSpan::disabled(header_value),
            (Some(exporter), parent) => {
                let queue = exporter.queue.clone();
                ChatSpan::start(queue, exporter.content, parent.flatten(), provider, model)
            }
            (None, Some(Some(_))) => ChatSpan::disabled(header_value),
            (None, Some(None) | None) => ChatSpan::disabled(None),
        }
    }

    /// Exports the remaining spans, and stops. Later spans are lost.
    pub async fn drain(&self) {
        let Some(exporter) = &self.0 else {
            return;
        };
        exporter.queue.close();
        let task = exporter.task.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(mut task) = task
            && tokio::time::timeout(DRAIN_TIMEOUT, &mut task).await.is_err()
        {
            task.abort();
        }
    }
}

impl Drop for SpanExporter {
    fn drop(&mut self) {
        if let Some(task) = self.task.lock().unwrap_or_else(PoisonError::into_inner).take() {
            task.abort();
        }
    }
}

impl fmt::Debug for ChatTracer {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(if self.0.is_some() { "Tracer::On" } else { "Tracer::Off" })
    }
}

/// The collector of spans.
struct OtlpCollector {
    client: HttpClient,
    target: NetworkTarget,
    path: String,
    headers: HeaderMap,
}

/// Maximum bytes that are read of a collector's reply.
const MAX_REPLY_BYTES: usize = 64 << 10;

impl OtlpCollector {
    async fn send(self: Arc<OtlpCollector>, body: Bytes) -> Result<(), ()> {
        let request =
            HttpRequest { method: Method::POST, path: &self.path, headers: &self.headers, body };
        let reply = self.client.send(&self.target, request).await.map_err(drop)?;
        let status = reply.status;
        // Read the body, so that the connection can be reused.
        reply.body.read_all(MAX_REPLY_BYTES).await.map_err(drop)?;
        if status.is_success() { Ok(()) } else { Err(()) }
    }
}

#[cfg(test)]
mod tests;
