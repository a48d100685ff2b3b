//! A conversation over the gateway, turn by turn, as a client holds it.

use serde_json::{Value, json};

use crate::{
    gateway::TOKEN,
    wire::{Framing, post, send},
};

/// What a client knows of its conversation.
#[derive(Clone, Debug)]
pub(crate) struct Conversation {
    number: usize,
    model: String,
    stream: bool,
    messages: Vec<Value>,
    turn: usize,
    /// The session of the last reply.
    pub(crate) session: Option<String>,
}

/// A turn that got its reply.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Turn {
    /// How the session was found.
    pub(crate) matched: String,
    /// The session before, and now.
    pub(crate) sessions: (Option<String>, String),
}

impl Turn {
    /// Whether it went on in the same session.
    pub(crate) fn goes_on(&self) -> bool {
        self.matched == "prefix" && self.sessions.0.as_deref() == Some(&self.sessions.1)
    }
}

impl Conversation {
    pub(crate) fn new(number: usize, model: &str) -> Conversation {
        Conversation {
            number,
            model: model.to_owned(),
            stream: number.is_multiple_of(2),
            messages: Vec::new(),
            turn: 0,
            session: None,
        }
    }

    /// Says something more. `None` if no whole reply came.
    pub(crate) fn turn(&mut self, to: &str) -> Option<Turn> {
        self.turn += 1;
        // Nobody else says the same: conversations are told apart by their words.
        let words = format!("turn {} of conversation {}", self.turn, self.number);
        let said = json!({"role": "user", "content": words});
        let mut messages = self.messages.clone();
        messages.push(said);
        let body = json!({"model": self.model, "stream": self.stream, "messages": messages});
        let headers = format!("x-foxwedge-token: {TOKEN}\r\n");
        let answer = send(to, &post("/v1/chat/completions", &headers, body.to_string())).ok()?;
        if answer.status != 200 || answer.framing == Framing::BrokenOff {
            return None;
        }
        let text = match self.stream {
            true => streamed(&answer.body)?,
            false => answer.json()["choices"][0]["message"]["content"].as_str()?.to_owned(),
        };
        messages.push(json!({"role": "assistant", "content": text}));
        self.messages = messages;
        let session = answer.header("x-foxwedge-session").to_owned();
        let before = self.session.replace(session.clone());
        let matched = answer.header("x-foxwedge-match").to_owned();
        Some(Turn { matched, sessions: (before, session) })
    }
}

/// The words of a stream that is whole.
fn streamed(body: &str) -> Option<String> {
    let mut text = String::new();
    for data in body.lines().filter_map(|line| line.strip_prefix("data: ")) {
        if data == "[DONE]" {
            return Some(text);
        }
        let chunk: Value = serde_json::from_str(data).ok()?;
        text.push_str(chunk["choices"][0]["delta"]["content"].as_str().unwrap_or_default());
    }
    None
}
