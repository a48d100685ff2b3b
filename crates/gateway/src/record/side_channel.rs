//! Events beside a reply that the client does not see: tools that an agent runs by itself, and its
//! questions to people. They are recorded whether a client is connected or not.

use std::{collections::HashMap, sync::Arc};

use foxwedge_agents::{BridgeNote, PermissionDecision, PermissionKind, PermissionRequest};
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

/// Maximum bytes of one input that are stored.
const MAX_INPUT_BYTES: usize = 64 << 10;
/// How many open questions are remembered with their call.
const MAX_OPEN_QUESTIONS: usize = 1_000;

/// A channel into a run in progress.
#[derive(Clone, Debug)]
pub(crate) struct SideChannel {
    pub(super) queue: RecordQueue,
    pub(super) session: Arc<str>,
    pub(super) run: Arc<str>,
    pub(super) content: ContentRecording,
    pub(super) waiting_runs: Arc<RunsAwaitingTools>,
    /// The calls of open questions, by ticket.
    pub(super) open_questions: HashMap<String, CallRef>,
}

impl SideChannel {
    /// Records a note of the agent.
    pub(crate) fn record_note(&mut self, note: BridgeNote) {
        for body in self.note_events(note) {
            // What does not fit is dropped: the agent does not wait.
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
            BridgeNote::PermissionRequested(request) => self.question_events(&request),
            BridgeNote::PermissionClosed { ticket, decision } => {
                self.decision_events(&ticket, decision)
            }
            BridgeNote::TimedOut(call) => {
                self.waiting_runs.remove_calls(&self.session, &self.run, &[call.as_str().into()]);
                vec![EventPayload::TimedOut { call: Some(call_reference(&call)) }]
            }
            BridgeNote::Ignored(reason, call) => {
                let content = json!({ "call": &*record_name(&call), "why": reason });
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

    /// A question belongs to a call. Without a call id from the agent, it gets a call of its own.
    fn question_events(&mut self, request: &PermissionRequest) -> Vec<EventPayload> {
        let call = call_reference(request.call.as_deref().unwrap_or(&request.ticket));
        if self.open_questions.len() >= MAX_OPEN_QUESTIONS {
            self.open_questions.clear();
        }
        self.open_questions.insert(request.ticket.clone(), call.clone());
        let call_event = EventPayload::ToolCall(ToolCallUpdate {
            call: call.clone(),
            name: Some(record_name(&request.tool)),
            input: Some(self.content_json(&request.input)),
            ..ToolCallUpdate::default()
        });
        let kind = match request.kind {
            PermissionKind::Permission => run::ApprovalKind::Approval,
            PermissionKind::Questions => run::ApprovalKind::Question,
        };
        let approval_event = EventPayload::ApprovalRequested(run::ApprovalRequest {
            call,
            id: Some(record_name(&request.ticket)),
            kind,
            prompt: None,
            choices: Some(self.content_json(&request.input)),
        });
        vec![call_event, approval_event]
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

    /// The content, or a placeholder if content is not stored.
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
