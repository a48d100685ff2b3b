//! Exported traces: OTLP as JSON, one document or one per line, as the file exporter of an
//! OpenTelemetry collector writes it.
//!
//! The span of a model request may hold the history that was sent, in `gen_ai.input.messages`. Each
//! history is read into a draft and checked by the engine, under the profile of its provider. One
//! history is decoded at a time. A trace is never changed.

mod attribute_text;
mod otlp;
mod provider;
mod trace_check;

pub use trace_check::{check_trace, is_trace};

/// The model request that a finding of a trace belongs to.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct TraceRequest {
    /// The id of the trace, as the exporter wrote it.
    pub trace_id: String,
    /// The id of the span.
    pub span_id: String,
    /// The name of the span.
    pub name: String,
    /// The model that the request names.
    pub model: Option<String>,
    /// The provider.
    pub provider: Option<String>,
    /// When the request was sent, in UTC.
    pub time: Option<String>,
}

impl TraceRequest {
    /// The ids that find the request in a trace viewer.
    pub fn ids(&self) -> String {
        format!("trace {} span {}", self.trace_id, self.span_id)
    }

    /// One line about the request: its span, its model, its time and its ids.
    pub fn describe(&self) -> String {
        let model = self.model.as_deref().filter(|model| !self.name.contains(model));
        let ids = self.ids();
        let words = [Some(self.name.as_str()), model, self.time.as_deref(), Some(ids.as_str())];
        let words: Vec<&str> = words.into_iter().flatten().filter(|it| !it.is_empty()).collect();
        words.join(" · ")
    }
}

/// The number of spans and requests in a trace.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct TraceCounts {
    /// All spans.
    pub spans: usize,
    /// Requests whose history was checked.
    pub requests: usize,
    /// Requests with findings.
    pub broken: usize,
    /// Requests whose history the exporter cut off. They are not checked.
    pub cut_off: usize,
    /// Requests whose history has an unknown form. They are not checked.
    pub unreadable: usize,
    /// Requests with parts of an unknown type. The turns around these parts are not judged.
    pub partly_judged: usize,
}
