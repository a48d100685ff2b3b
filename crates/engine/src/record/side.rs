//! What happens beside a reply and is none of the client's business: tools that an agent uses by
//! itself, and what it asks people. Told by whoever knows, whether a client is there or not.

use std::{collections::HashMap, sync::Arc};

use foxwedge_agent::{Ask, AskKind, Decision, Note};
use foxwedge_run::{
    self as run, Activity, Body, Call, CallRef, How, Json, Status, ToolResult, Verdict,
};
use serde_json::{Value, json};

use super::{
    block::{left_out, name},
    now,
    queue::{Queue, Told},
    waiting::Waiting,
};
use crate::config::Content;

/// Bytes of one input that are kept.
const MOST: usize = 64 << 10;
/// Questions whose call is remembered.
const ASKED: usize = 1_000;

/// A way into a run that is at work.
#[derive(Clone, Debug)]
pub(crate) struct Side {
    pub(super) queue: Queue,
    pub(super) session: Arc<str>,
    pub(super) run: Arc<str>,
    pub(super) content: Content,
    pub(super) waiting: Arc<Waiting>,
    /// The calls that questions are about.
    pub(super) asked: HashMap<String, CallRef>,
}

impl Side {
    /// Something that belongs into the run.
    pub(crate) fn note(&mut self, note: Note) {
        for body in self.bodies(note) {
            // What does not fit is left out: nobody waits for it.
            self.queue.beside(&self.session, &self.run, Told { at: now(), body });
        }
    }

    fn bodies(&mut self, note: Note) -> Vec<Body> {
        match note {
            Note::Own(call) => vec![Body::Call(Call {
                call: reference(&call.id),
                name: Some(name(&call.name)),
                input: Some(self.kept(&call.arguments)),
                status: Some(Status::Running),
                ..Call::default()
            })],
            Note::OwnDone { call, error } => vec![Body::Result(ToolResult {
                call: reference(&call),
                name: None,
                how: if error { How::Error } else { How::Ok },
                reason: None,
                content: None,
            })],
            Note::Asked(ask) => self.asked(&ask),
            Note::Settled { ticket, decision } => self.settled(&ticket, decision),
            Note::TimedOut(call) => {
                self.waiting.timed_out(&self.session, &self.run, &[call.as_str().into()]);
                vec![Body::TimedOut { call: Some(reference(&call)) }]
            }
            Note::Ignored(why, call) => {
                let content = json!({ "call": &*name(&call), "why": why });
                let id = Some(format!("ignored-{}", name(&call)).into());
                let kind = "ignored-answer".into();
                vec![Body::Activity(Activity { kind, id, content: Json::from(&content) })]
            }
        }
    }

    /// A question stands at a call. If the agent does not say which, it is one of its own.
    fn asked(&mut self, ask: &Ask) -> Vec<Body> {
        let call = reference(ask.call.as_deref().unwrap_or(&ask.ticket));
        if self.asked.len() >= ASKED {
            self.asked.clear();
        }
        self.asked.insert(ask.ticket.clone(), call.clone());
        let announced = Body::Call(Call {
            call: call.clone(),
            name: Some(name(&ask.tool)),
            input: Some(self.kept(&ask.input)),
            ..Call::default()
        });
        let kind = match ask.kind {
            AskKind::Permission => run::AskKind::Approval,
            AskKind::Questions => run::AskKind::Question,
        };
        let asked = Body::Asked(run::Ask {
            call,
            id: Some(name(&ask.ticket)),
            kind,
            prompt: None,
            choices: Some(self.kept(&ask.input)),
        });
        vec![announced, asked]
    }

    fn settled(&mut self, ticket: &str, decision: Option<Decision>) -> Vec<Body> {
        let call = self.asked.remove(ticket).unwrap_or_else(|| reference(ticket));
        let (verdict, answer) = match decision {
            None => (Verdict::Cancelled, None),
            Some(Decision::Allow { .. }) => (Verdict::Allowed, None),
            Some(Decision::Deny { message }) => (Verdict::Denied, Some(Value::String(message))),
            Some(Decision::Answers(answers)) => (Verdict::Answered, Some(Value::Object(answers))),
        };
        let answer = answer.map(|answer| self.kept(&answer));
        vec![Body::Replied(run::Reply { call, id: Some(name(ticket)), verdict, answer })]
    }

    /// What was said, if it is kept.
    fn kept(&self, value: &Value) -> Json {
        let bytes = value.to_string().len();
        match self.content {
            Content::Kept if bytes <= MOST => Json::from(value),
            Content::Kept | Content::Left => left_out(bytes),
        }
    }
}

fn reference(id: &str) -> CallRef {
    CallRef { id: Some(name(id)), turn: None }
}
