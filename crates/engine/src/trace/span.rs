//! One question to a model.

use std::{
    sync::{
        Arc,
        atomic::{AtomicU16, Ordering},
    },
    time::{SystemTime, UNIX_EPOCH},
};

use foxwedge_dialect::canon::{self, Stop};
use serde_json::{Value, json};

use super::{export::Queue, parent::Parent};
use crate::{Noted, record::Ended};

/// A question to a model. It is over when it is dropped.
#[derive(Debug)]
pub struct Span(State);

#[derive(Debug)]
enum State {
    /// Nobody wants to see it; a trace of the client's goes on.
    Off(Option<Box<str>>),
    On(Box<Open>),
}

#[derive(Debug)]
struct Open {
    queue: Arc<Queue>,
    own: Parent,
    parent: Option<u64>,
    began: u64,
    model: Box<str>,
    attributes: Vec<Value>,
    events: Vec<Value>,
    /// The status of a failure; 0 if there was none.
    failed: AtomicU16,
    ended: Option<Ended>,
}

impl Span {
    pub(super) fn off(told: Option<&str>) -> Span {
        Span(State::Off(told.map(Box::from)))
    }

    pub(super) fn chat(
        queue: Arc<Queue>,
        parent: Option<Parent>,
        provider: &str,
        model: &str,
    ) -> Span {
        let (trace, span) = ids();
        let trace = parent.map_or(trace, |parent| parent.trace);
        Span(State::On(Box::new(Open {
            queue,
            own: Parent { trace, span, sampled: true },
            parent: parent.map(|parent| parent.span),
            began: now(),
            model: model.into(),
            attributes: vec![
                text("gen_ai.operation.name", "chat"),
                text("gen_ai.provider.name", provider),
                text("gen_ai.request.model", model),
            ],
            events: Vec::new(),
            failed: AtomicU16::new(0),
            ended: None,
        })))
    }

    /// What an upstream is told about the trace.
    pub fn header(&self) -> Option<String> {
        match &self.0 {
            State::Off(told) => told.as_deref().map(str::to_owned),
            State::On(open) => Some(open.own.text()),
        }
    }

    /// Which conversation and run it belongs to.
    pub fn of(&mut self, session: &str, run: &str) {
        if let State::On(open) = &mut self.0 {
            open.attributes.push(text("gen_ai.conversation.id", session));
            open.attributes.push(text("foxwedge.run.id", run));
        }
    }

    /// What was repaired.
    pub fn repaired(&mut self, noted: &[Noted]) {
        if let State::On(open) = &mut self.0 {
            open.events.extend(noted.iter().map(|noted| {
                json!({
                    "timeUnixNano": now().to_string(),
                    "name": "foxwedge.repair",
                    "attributes": [
                        text("code", &format!("FW{}", noted.code)),
                        text("strategy", noted.strategy),
                        number("count", noted.count as u64),
                    ],
                })
            }));
        }
    }

    /// What the model said of itself: never what it said.
    pub fn told(&mut self, reply: &canon::Reply<'_>) {
        if let State::On(open) = &mut self.0 {
            let attributes = &mut open.attributes;
            if let Some(stop) = &reply.stop {
                let reason = json!({ "stringValue": reason(stop) });
                attributes.push(json!({
                    "key": "gen_ai.response.finish_reasons",
                    "value": { "arrayValue": { "values": [reason] } },
                }));
            }
            let usage = [
                ("gen_ai.usage.input_tokens", reply.usage.input),
                ("gen_ai.usage.output_tokens", reply.usage.output),
            ];
            for (key, value) in usage {
                attributes.extend(value.map(|value| number(key, value)));
            }
        }
    }

    /// The reply is over.
    pub fn ended(&mut self, ended: Ended) {
        if let State::On(open) = &mut self.0 {
            open.ended = Some(ended);
        }
    }

    /// There is no reply, but a status.
    pub fn failed(&self, status: u16) {
        if let State::On(open) = &self.0 {
            open.failed.store(status, Ordering::Relaxed);
        }
    }
}

impl Drop for Open {
    fn drop(&mut self) {
        let failed = self.failed.load(Ordering::Relaxed);
        // A client that went away did what it wanted.
        let (reason, error) = match (self.ended, failed) {
            (Some(Ended::Replied), _) => ("completed", None),
            (Some(Ended::Failed), 0) => ("failed", Some("provider_error".to_owned())),
            (Some(Ended::Cut), _) => ("failed", Some("cut_off".to_owned())),
            (None, 0) => ("stopped", None),
            (Some(Ended::Failed) | None, status) => ("failed", Some(status.to_string())),
        };
        let mut attributes = std::mem::take(&mut self.attributes);
        attributes.push(text("foxwedge.terminal_reason", reason));
        attributes.extend(error.as_deref().map(|error| text("error.type", error)));
        let mut span = json!({
            "traceId": format!("{:032x}", self.own.trace),
            "spanId": format!("{:016x}", self.own.span),
            "name": format!("chat {}", self.model),
            "kind": CLIENT,
            "startTimeUnixNano": self.began.to_string(),
            "endTimeUnixNano": now().to_string(),
            "attributes": attributes,
            "events": std::mem::take(&mut self.events),
            "status": if error.is_some() { json!({ "code": ERROR }) } else { json!({}) },
        });
        if let (Some(parent), Some(fields)) = (self.parent, span.as_object_mut()) {
            fields.insert("parentSpanId".to_owned(), format!("{parent:016x}").into());
        }
        self.queue.push(span);
    }
}

/// The number of a span that asks somebody else.
const CLIENT: u8 = 3;

/// The number of a status that is an error.
const ERROR: u8 = 2;

fn reason<'a>(stop: &'a Stop<'_>) -> &'a str {
    match stop {
        Stop::End | Stop::Sequence(_) => "stop",
        Stop::Calls => "tool_calls",
        Stop::Length | Stop::ContextFull => "length",
        Stop::Refusal => "content_filter",
        Stop::Pause => "pause",
        Stop::Malformed => "malformed",
        Stop::Other(_) => "other",
    }
}

fn text(key: &str, value: &str) -> Value {
    json!({ "key": key, "value": { "stringValue": value } })
}

fn number(key: &str, value: u64) -> Value {
    json!({ "key": key, "value": { "intValue": value.to_string() } })
}

/// Nanoseconds since 1970.
fn now() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_nanos()).unwrap_or(u64::MAX)
}

/// Neither may be zero.
fn ids() -> (u128, u64) {
    let mut bytes = [0; 24];
    if getrandom::fill(&mut bytes).is_err() {
        bytes[16..].copy_from_slice(&now().to_be_bytes());
    }
    let number = |bytes: &[u8]| bytes.iter().fold(0, |all, byte| all << 8 | u128::from(*byte));
    let (trace, span) = bytes.split_at(16);
    (number(trace).max(1), u64::try_from(number(span)).unwrap_or(1).max(1))
}
