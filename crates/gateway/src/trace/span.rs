//! The span of one model request.

use std::{
    sync::{
        Arc,
        atomic::{AtomicU16, Ordering},
    },
    time::{SystemTime, UNIX_EPOCH},
};

use foxwedge_formats::{
    model::{self, StopReason},
    otel_messages::write_output_messages,
};
use serde_json::{Value, json};

use super::{
    SpanContent,
    attribute::{number_attribute, text_attribute},
    export::SpanQueue,
    parent::TraceParent,
};
use crate::{FindingTally, record::ReplyCompletion};

/// The span of one model request. It ends when it is dropped.
#[derive(Debug)]
pub struct ChatSpan(ChatSpanState);

#[derive(Debug)]
enum ChatSpanState {
    /// Not exported. The client's trace header is passed on.
    Off(Option<Box<str>>),
    On(Box<OpenChatSpan>),
}

#[derive(Debug)]
struct OpenChatSpan {
    queue: Arc<SpanQueue>,
    own: TraceParent,
    parent: Option<u64>,
    began: u64,
    model: Box<str>,
    attributes: Vec<Value>,
    content: SpanContent,
    /// Messages of the request and the reply.
    messages: Vec<(&'static str, String)>,
    events: Vec<Value>,
    /// The status of a failure; 0 if there was none.
    failed: AtomicU16,
    ended: Option<ReplyCompletion>,
}

impl ChatSpan {
    pub(super) fn disabled(traceparent: Option<&str>) -> ChatSpan {
        ChatSpan(ChatSpanState::Off(traceparent.map(Box::from)))
    }

    pub(super) fn start(
        queue: Arc<SpanQueue>,
        content: SpanContent,
        parent: Option<TraceParent>,
        provider: &str,
        model: &str,
    ) -> ChatSpan {
        let (trace, span) = new_ids();
        let trace = parent.map_or(trace, |parent| parent.trace);
        ChatSpan(ChatSpanState::On(Box::new(OpenChatSpan {
            queue,
            own: TraceParent { trace, span, sampled: true },
            parent: parent.map(|parent| parent.span),
            began: unix_nanos(),
            model: model.into(),
            attributes: vec![
                text_attribute("gen_ai.operation.name", "chat"),
                text_attribute("gen_ai.provider.name", provider),
                text_attribute("gen_ai.request.model", model),
            ],
            content,
            messages: Vec::new(),
            events: Vec::new(),
            failed: AtomicU16::new(0),
            ended: None,
        })))
    }

    /// The trace header for the upstream.
    pub fn traceparent(&self) -> Option<String> {
        match &self.0 {
            ChatSpanState::Off(traceparent) => traceparent.as_deref().map(str::to_owned),
            ChatSpanState::On(open) => Some(open.own.to_header()),
        }
    }

    /// Sets the conversation and the run.
    pub fn set_run(&mut self, session: &str, run: &str) {
        if let ChatSpanState::On(open) = &mut self.0 {
            open.attributes.push(text_attribute("gen_ai.conversation.id", session));
            open.attributes.push(text_attribute("foxwedge.run.id", run));
        }
    }

    /// Sets the upstream, by its name in the configuration.
    pub fn set_upstream(&mut self, name: &str) {
        if let ChatSpanState::On(open) = &mut self.0 {
            open.attributes.push(text_attribute("foxwedge.upstream", name));
        }
    }

    /// Sets the messages that were sent. `messages` is called only if the span includes content.
    pub fn set_input_messages(&mut self, messages: impl FnOnce() -> Option<String>) {
        if let ChatSpanState::On(open) = &mut self.0
            && open.content == SpanContent::Included
            && let Some(messages) = messages()
        {
            open.add_messages("gen_ai.input.messages", messages);
        }
    }

    /// Adds the repairs.
    pub fn add_repairs(&mut self, findings: &[FindingTally]) {
        if let ChatSpanState::On(open) = &mut self.0 {
            open.events.extend(findings.iter().map(|finding| {
                json!({
                    "timeUnixNano": unix_nanos().to_string(),
                    "name": "foxwedge.repair",
                    "attributes": [
                        text_attribute("code", &format!("FW{}", finding.code)),
                        text_attribute("strategy", finding.strategy),
                        number_attribute("count", finding.count as u64),
                    ],
                })
            }));
        }
    }

    /// Sets the metadata of the reply, and its content only if the span includes content.
    pub fn set_reply(&mut self, reply: &model::ModelReply<'_>) {
        if let ChatSpanState::On(open) = &mut self.0 {
            let attributes = &mut open.attributes;
            if let Some(stop) = &reply.stop {
                let reason = json!({ "stringValue": finish_reason(stop) });
                attributes.push(json!({
                    "key": "gen_ai.response.finish_reasons",
                    "value": { "arrayValue": { "values": [reason] } },
                }));
            }
            let names = [
                ("gen_ai.response.id", reply.id.as_deref()),
                ("gen_ai.response.model", reply.model.as_deref()),
            ];
            for (key, value) in names {
                let value = value.filter(|value| !value.is_empty());
                attributes.extend(value.map(|value| text_attribute(key, value)));
            }
            let usage = [
                ("gen_ai.usage.input_tokens", reply.usage.input),
                ("gen_ai.usage.output_tokens", reply.usage.output),
                ("gen_ai.usage.cache_read.input_tokens", reply.usage.cache_read),
                ("gen_ai.usage.cache_creation.input_tokens", reply.usage.cache_written),
                ("gen_ai.usage.reasoning.output_tokens", reply.usage.reasoning),
            ];
            for (key, value) in usage {
                attributes.extend(value.map(|value| number_attribute(key, value)));
            }
            if open.content == SpanContent::Included {
                let reason = reply.stop.as_ref().map(finish_reason);
                let messages = write_output_messages(reply, reason);
                open.add_messages("gen_ai.output.messages", messages);
            }
        }
    }

    /// Sets how the reply ended.
    pub fn set_completion(&mut self, completion: ReplyCompletion) {
        if let ChatSpanState::On(open) = &mut self.0 {
            open.ended = Some(completion);
        }
    }

    /// Sets the status of a request that got no reply.
    pub fn set_failure(&self, status: u16) {
        if let ChatSpanState::On(open) = &self.0 {
            open.failed.store(status, Ordering::Relaxed);
        }
    }
}

/// Maximum bytes of the messages in one attribute. Collectors limit the size of a request.
const MAX_MESSAGE_BYTES: usize = 1 << 20;

impl OpenChatSpan {
    /// Adds messages. Those that are too large are left out whole: half a JSON text is useless.
    fn add_messages(&mut self, key: &'static str, messages: String) {
        if messages.len() <= MAX_MESSAGE_BYTES {
            self.messages.push((key, messages));
        } else {
            self.attributes.push(text_attribute("foxwedge.omitted", key));
        }
    }
}

impl Drop for OpenChatSpan {
    fn drop(&mut self) {
        let failure_status = self.failed.load(Ordering::Relaxed);
        // A client that disconnects is not an error.
        let (reason, error) = match (self.ended, failure_status) {
            (Some(ReplyCompletion::Complete), _) => ("completed", None),
            (Some(ReplyCompletion::Failed), 0) => ("failed", Some("provider_error".to_owned())),
            (Some(ReplyCompletion::Cut), _) => ("failed", Some("cut_off".to_owned())),
            (Some(ReplyCompletion::Unread), _) => ("failed", Some("unreadable".to_owned())),
            (None, 0) => ("stopped", None),
            (Some(ReplyCompletion::Failed) | None, status) => ("failed", Some(status.to_string())),
        };
        let mut attributes = std::mem::take(&mut self.attributes);
        attributes.push(text_attribute("foxwedge.terminal_reason", reason));
        attributes.extend(error.as_deref().map(|error| text_attribute("error.type", error)));
        let mut span = json!({
            "traceId": format!("{:032x}", self.own.trace),
            "spanId": format!("{:016x}", self.own.span),
            "name": format!("chat {}", self.model),
            "kind": SPAN_KIND_CLIENT,
            "startTimeUnixNano": self.began.to_string(),
            "endTimeUnixNano": unix_nanos().to_string(),
            "attributes": attributes,
            "events": std::mem::take(&mut self.events),
            "status": if error.is_some() { json!({ "code": SPAN_STATUS_ERROR }) } else { json!({}) },
        });
        if let (Some(parent), Some(fields)) = (self.parent, span.as_object_mut()) {
            fields.insert("parentSpanId".to_owned(), format!("{parent:016x}").into());
        }
        self.queue.push(span, std::mem::take(&mut self.messages));
    }
}

/// The OTLP number of a client span.
const SPAN_KIND_CLIENT: u8 = 3;

/// The OTLP number of an error status.
const SPAN_STATUS_ERROR: u8 = 2;

fn finish_reason<'a>(stop: &'a StopReason<'_>) -> &'a str {
    match stop {
        StopReason::End | StopReason::Sequence(_) => "stop",
        StopReason::ToolCalls => "tool_calls",
        StopReason::Length | StopReason::ContextFull => "length",
        StopReason::Refusal => "content_filter",
        StopReason::Pause => "pause",
        StopReason::MalformedCall => "malformed",
        StopReason::Other(_) => "other",
    }
}

/// Nanoseconds since 1970.
fn unix_nanos() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_nanos()).unwrap_or(u64::MAX)
}

/// New random ids. Neither may be zero.
fn new_ids() -> (u128, u64) {
    let mut bytes = [0; 24];
    if getrandom::fill(&mut bytes).is_err() {
        bytes[16..].copy_from_slice(&unix_nanos().to_be_bytes());
    }
    let number = |bytes: &[u8]| bytes.iter().fold(0, |sum, byte| sum << 8 | u128::from(*byte));
    let (trace, span) = bytes.split_at(16);
    (number(trace).max(1), u64::try_from(number(span)).unwrap_or(1).max(1))
}
