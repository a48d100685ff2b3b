//! The pipe: one JSON object a line, both ways.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Value, json};

use super::telling::Telling;
use super::words::{answer, choices, prompt, text};
use super::{ClaudeCode, SERVER, tools};
use crate::{Ask, Decision, Heard, Names, Order, Protocol, Trouble};

/// Wishes and questions that may be open at the same time; more are refused.
const OPEN: usize = 10_000;

/// How Claude Code is spoken to.
///
/// A ticket is the id of the agent's control request. An answer to a ticket that is not open says
/// nothing, so nothing is answered twice.
#[derive(Debug)]
pub struct Pipe {
    pub(super) names: Names,
    pub(super) tools: Vec<Value>,
    pub(super) asks: bool,
    /// Wishes that are open, with the id that the tool server was given.
    pub(super) wishes: BTreeMap<String, Value>,
    /// Questions that are open.
    pub(super) questions: BTreeSet<String>,
    pub(super) telling: Telling,
    /// Its instructions; `None` leaves it its own.
    system: Option<String>,
    /// Requests that we have made.
    requests: u64,
    /// What went wrong with the provider in this turn, if something did.
    status: Option<u16>,
    /// Whether it tells its state: then a result is not the end, but only `idle` is.
    states: bool,
}

/// The id of our first request.
const HELLO: &str = "foxwedge-0";

impl Pipe {
    /// For the instructions and the tools of a request in Anthropic's format.
    pub fn new(kind: &ClaudeCode, body: &Value) -> Pipe {
        let tools = tools::read(body);
        let mut system = instructions(body);
        if !tools.rest.is_empty() {
            system.get_or_insert_default().push_str(&tools.rest);
        }
        if kind.bare {
            system.get_or_insert_default();
        }
        Pipe {
            names: tools.names,
            tools: tools.list,
            asks: kind.asks,
            wishes: BTreeMap::new(),
            questions: BTreeSet::new(),
            telling: Telling::default(),
            system,
            requests: 0,
            status: None,
            states: false,
        }
    }

    /// The names of the client's tools.
    pub(super) fn names(&self) -> &Names {
        &self.names
    }

    /// Whether there is room for one more wish or question with this ticket.
    pub(super) fn room(&self, ticket: &str) -> bool {
        let known = self.wishes.contains_key(ticket) || self.questions.contains(ticket);
        !known && self.wishes.len() + self.questions.len() < OPEN
    }

    fn request(&mut self, request: &Value) -> String {
        let id = format!("foxwedge-{}", self.requests);
        self.requests += 1;
        json!({"type": "control_request", "request_id": id, "request": request}).to_string()
    }

    fn answered(&self, response: &Value) -> Vec<Heard> {
        match (text(response, "request_id"), text(response, "subtype")) {
            (Some(HELLO), Some("success")) => vec![Heard::Ready],
            (Some(HELLO), _) => {
                let message = text(response, "error").unwrap_or("it cannot be initialized");
                let trouble = Trouble { status: None, message: message.to_owned(), stopped: false };
                vec![Heard::Ended { trouble: Some(trouble), text: None, more: false }]
            }
            _ => Vec::new(),
        }
    }

    fn assistant(&mut self, mut line: Value) -> Vec<Heard> {
        if line.get("error").is_some_and(|error| !error.is_null())
            || line.get("is_api_error_message") == Some(&Value::Bool(true))
            || line.get("isApiErrorMessage") == Some(&Value::Bool(true))
        {
            self.status = status(&line).or(self.status);
            return Vec::new();
        }
        let message = line.get_mut("message").map(Value::take).unwrap_or_default();
        self.telling.line(message, &self.names)
    }

    fn result(&mut self, line: &Value) -> Vec<Heard> {
        let (told, mut heard) = self.telling.end(text(line, "stop_reason"));
        let failed = match line.get("is_error").and_then(Value::as_bool) {
            Some(failed) => failed,
            None => text(line, "subtype").is_some_and(|subtype| subtype.starts_with("error")),
        };
        let status = status(line).or(self.status.take());
        self.status = None;
        let said = text(line, "result").filter(|said| !said.is_empty());
        let stopped =
            text(line, "terminal_reason").is_some_and(|reason| reason.starts_with("aborted"));
        let trouble = (failed || stopped).then(|| {
            let message = match (stopped, said) {
                (true, _) => "it was stopped".to_owned(),
                (false, Some(said)) => said.to_owned(),
                (false, None) => errors(line),
            };
            Trouble { status, message, stopped }
        });
        let said = said.filter(|_| !told && trouble.is_none()).map(str::to_owned);
        let queued = line.get("queued_turn_count").and_then(Value::as_u64);
        let more = self.states || queued.is_some_and(|turns| turns > 0);
        heard.push(Heard::Ended { trouble, text: said, more });
        heard
    }

    fn system(&mut self, line: &Value) -> Vec<Heard> {
        if text(line, "subtype") != Some("session_state_changed") {
            return Vec::new();
        }
        self.states = true;
        if text(line, "state") != Some("idle") {
            return Vec::new();
        }
        let mut heard = self.telling.finish(None);
        heard.push(Heard::Idle);
        heard
    }

    fn decide(&mut self, ask: Ask, decision: Decision) -> Vec<String> {
        if !self.questions.remove(&ask.ticket) {
            return Vec::new();
        }
        let response = match decision {
            Decision::Allow { input } => {
                json!({"behavior": "allow", "updatedInput": input.unwrap_or(ask.input)})
            }
            Decision::Answers(answers) => {
                let mut input = match ask.input {
                    Value::Object(input) => input,
                    _ => serde_json::Map::new(),
                };
                input.insert("answers".to_owned(), Value::Object(choices(answers)));
                json!({"behavior": "allow", "updatedInput": input})
            }
            Decision::Deny { message } => json!({"behavior": "deny", "message": message}),
        };
        vec![response_line(&ask.ticket, &response)]
    }
}

impl Protocol for Pipe {
    fn begin(&mut self) -> Vec<String> {
        let mut hello = json!({"subtype": "initialize", "sdkMcpServers": [SERVER]});
        if let (Some(system), Some(hello)) = (&self.system, hello.as_object_mut()) {
            hello.insert("systemPrompt".to_owned(), json!([system]));
        }
        vec![self.request(&hello)]
    }

    fn line(&mut self, line: &[u8]) -> (Vec<Heard>, Vec<String>) {
        let line = line.trim_ascii();
        if line.is_empty() {
            return (Vec::new(), Vec::new());
        }
        let Ok(mut line) = serde_json::from_slice::<Value>(line) else {
            return (vec![Heard::Noise], Vec::new());
        };
        let main = line.get("parent_tool_use_id").is_none_or(Value::is_null);
        let heard = match (text(&line, "type"), main) {
            (Some("control_request"), _) => return self.control(&line),
            (Some("control_cancel_request"), _) => self.withdrawn(&line),
            (Some("control_response"), _) => match line.get("response") {
                Some(response) => self.answered(response),
                None => vec![Heard::Noise],
            },
            (Some("stream_event"), true) => {
                let event = line.get_mut("event").map(Value::take).unwrap_or_default();
                self.telling.event(event, &self.names)
            }
            (Some("assistant"), true) => self.assistant(line),
            (Some("user"), true) => closed(&line),
            (Some("result"), _) => self.result(&line),
            (Some("system"), _) => self.system(&line),
            // Other conversations of the agent, and what newer versions tell.
            (Some(_), _) => Vec::new(),
            (None, _) => vec![Heard::Noise],
        };
        (heard, Vec::new())
    }

    /// Some versions say nothing when their provider breaks off behind a whole call: the open
    /// message is ended in good form.
    fn quiet(&mut self) -> Vec<Heard> {
        if self.wishes.is_empty() { Vec::new() } else { self.telling.finish(None) }
    }

    fn order(&mut self, order: Order) -> Vec<String> {
        match order {
            Order::Prompt(blocks) => {
                let content = prompt(blocks);
                if content.is_empty() {
                    return Vec::new();
                }
                let line = json!({
                    "type": "user",
                    "message": {"role": "user", "content": content},
                    "parent_tool_use_id": null,
                    "session_id": "",
                });
                vec![line.to_string()]
            }
            Order::Answer { ticket, content, error } => match self.wishes.remove(&ticket) {
                Some(id) => {
                    let result = json!({"content": answer(content), "isError": error});
                    vec![super::control::rpc_line(&ticket, &id, Ok(result))]
                }
                None => Vec::new(),
            },
            Order::Decide { ask, decision } => self.decide(ask, decision),
            Order::Interrupt => vec![self.request(&json!({"subtype": "interrupt"}))],
        }
    }
}

/// The line that answers a control request of the agent.
pub(super) fn response_line(id: &str, response: &Value) -> String {
    json!({
        "type": "control_response",
        "response": {"subtype": "success", "request_id": id, "response": response},
    })
    .to_string()
}

/// The instructions of a request: its own, and those among its messages.
fn instructions(body: &Value) -> Option<String> {
    let messages = body.get("messages").and_then(Value::as_array);
    let within = messages.into_iter().flatten().filter(|one| text(one, "role") == Some("system"));
    let all = body.get("system").into_iter().chain(within.filter_map(|one| one.get("content")));
    let mut texts: Vec<&str> = Vec::new();
    for one in all {
        match one {
            Value::String(said) => texts.push(said),
            Value::Array(blocks) => texts.extend(blocks.iter().filter_map(|b| text(b, "text"))),
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::Object(_) => {}
        }
    }
    texts.retain(|text| !text.is_empty());
    (!texts.is_empty()).then(|| texts.join("\n\n"))
}

/// The answers that a line of the agent's history holds.
fn closed(line: &Value) -> Vec<Heard> {
    let blocks = line.get("message").and_then(|message| message.get("content"));
    let blocks = blocks.and_then(Value::as_array).into_iter().flatten();
    blocks
        .filter(|block| text(block, "type") == Some("tool_result"))
        .filter_map(|block| {
            let error = block.get("is_error") == Some(&Value::Bool(true));
            Some(Heard::Closed { call: text(block, "tool_use_id")?.to_owned(), error })
        })
        .collect()
}

/// The status that the agent's provider answered with.
fn status(line: &Value) -> Option<u16> {
    let status = line.get("api_error_status")?.as_u64()?;
    u16::try_from(status).ok().filter(|status| (400..600).contains(status))
}

/// What a result says about its errors.
fn errors(line: &Value) -> String {
    let errors = line.get("errors").and_then(Value::as_array).into_iter().flatten();
    let errors: Vec<&str> = errors.filter_map(Value::as_str).collect();
    let reason = || text(line, "terminal_reason").or(text(line, "subtype"));
    if errors.is_empty() { reason().unwrap_or("it failed").to_owned() } else { errors.join("; ") }
}
