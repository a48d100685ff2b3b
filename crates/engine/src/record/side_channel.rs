//! What happens beside a reply and is none of the client's business: tools that an agent uses by
//! itself, and what it asks people. Told by whoever knows, whether a client is there or not.

use std::{collections::HashMap, sync::Arc};

use foxwedge_agent::{BridgeNote, PermissionDecision, PermissionKind, PermissionRequest};
use foxwedge_run::{
    self as run, ActivityCard, ApprovalVerdict, CallRef, EventPayload, RawJson, ToolCallUpdate,
    ToolOutcome, ToolResult, ToolStatus,
};
use serde_json::{Value, json};

use super::{
    queue::{RecordQueue, TimedEvent},
    reply_block::{omitted_json, record_name},
    unix_millis,
    waiting_runs::RunsAwaitingTools,
};
use crate::config::ContentRecording;

/// Bytes of one input that are kept.
const MAX_INPUT_BYTES: usize = 64 << 10;
/// Questions whose call is remembered.
const MAX_OPEN_QUESTIONS: usize = 1_000;

/// A way into a run that is at work.
#[derive(Clone, Debug)]
pub(crate) struct SideChannel {
    pub(super) queue: RecordQueue,
    pub(super) session: Arc<str>,
    pub(super) run: Arc<str>,
    pub(super) content: ContentRecording,
    pub(super) waiting_runs: Arc<RunsAwaitingTools>,
    /// The calls that questions are about.
    pub(super) open_questions: HashMap<String, CallRef>,
}

impl SideChannel {
    /// Something that belongs into the run.
    pub(crate) fn record_note(&mut self, note: BridgeNote) {
        for body in self.note_events(note) {
            // What does not fit is left out: nobody waits for it.
            self.queue.append_side_event(
                &self.session,
                &self.run,
                TimedEvent { at: unix_millis(), body },
            );
        }
    }

    fn note_events(&mut self, note: BridgeNote) -> Vec<EventPayload> {
        match note {
            BridgeNote::AgentToolStarted(call) => vec![EventPayload::ToolCall(ToolCallUpdate {
                call: call_reference(&call.id),
                name: Some(record_name(&call.name)),
                input: Some(self.content_json(&call.arguments)),
                status: Some(ToolStatus::Running),
                ..ToolCallUpdate::default()
            })],
            BridgeNote::AgentToolEnded { call, error } => {
                vec![EventPayload::ToolResult(ToolResult {
                    call: call_reference(&call),
                    name: None,
                    outcome: if error { ToolOutcome::Error } else { ToolOutcome::Ok },
                    reason: None,
                    content: None,
                })]
            }
            BridgeNote::PermissionRequested(ask) => self.question_events(&ask),
            BridgeNote::PermissionClosed { ticket, decision } => {
                self.decision_events(&ticket, decision)
            }
            BridgeNote::TimedOut(call) => {
                self.waiting_runs.remove_calls(&self.session, &self.run, &[call.as_str().into()]);
                vec![EventPayload::TimedOut { call: Some(call_reference(&call)) }]
            }
            BridgeNote::Ignored(why, call) => {
                let content = json!({ "call": &*record_name(&call), "why": why });
                let id = Some(format!("ignored-{}", record_name(&call)).into());
                let kind = "ignored-answer".into();
                vec![EventPayload::Activity(ActivityCard {
                    kind,
                    id,
                    content: RawJson::from(&content),
                })]
            }
        }
    }

    /// A question stands at a call. If the agent does not say which, it is one of its own.
    fn question_events(&mut self, ask: &PermissionRequest) -> Vec<EventPayload> {
        let call = call_reference(ask.call.as_deref().unwrap_or(&ask.ticket));
        if self.open_questions.len() >= MAX_OPEN_QUESTIONS {
            self.open_questions.clear();
        }
        self.open_questions.insert(ask.ticket.clone(), call.clone());
        let announced = EventPayload::ToolCall(ToolCallUpdate {
            call: call.clone(),
            name: Some(record_name(&ask.tool)),
            input: Some(self.content_json(&ask.input)),
            ..ToolCallUpdate::default()
        });
        let kind = match ask.kind {
            PermissionKind::Permission => run::ApprovalKind::Approval,
            PermissionKind::Questions => run::ApprovalKind::Question,
        };
        let asked = EventPayload::ApprovalRequested(run::ApprovalRequest {
            call,
            id: Some(record_name(&ask.ticket)),
            kind,
            prompt: None,
            choices: Some(self.content_json(&ask.input)),
        });
        vec![announced, asked]
    }

    fn decision_events(
        &mut self,
        ticket: &str,
        decision: Option<PermissionDecision>,
    ) -> Vec<EventPayload> {
        let call = self.open_questions.remove(ticket).unwrap_or_else(|| call_reference(ticket));
        let (verdict, answer) = match decision {
            None => (ApprovalVerdict::Cancelled, None),
            Some(PermissionDecision::Allow { .. }) => (ApprovalVerdict::Allowed, None),
            Some(PermissionDecision::Deny { message }) => {
                (ApprovalVerdict::Denied, Some(Value::String(message)))
            }
            Some(PermissionDecision::Answers(answers)) => {
                (ApprovalVerdict::Answered, Some(Value::Object(answers)))
            }
        };
        let answer = answer.map(|answer| self.content_json(&answer));
        vec![EventPayload::ApprovalReplied(run::ApprovalReply {
            call,
            id: Some(record_name(ticket)),
            verdict,
            answer,
        })]
    }

    /// What was said, if it is kept.
    fn content_json(&self, value: &Value) -> RawJson {
        let bytes = value.to_string().len();
        match self.content {
            ContentRecording::Stored if bytes <= MAX_INPUT_BYTES => RawJson::from(value),
            ContentRecording::Stored | ContentRecording::Omitted => omitted_json(bytes),
        }
    }
}

fn call_reference(id: &str) -> CallRef {
    CallRef { id: Some(record_name(id)), turn: None }
}
