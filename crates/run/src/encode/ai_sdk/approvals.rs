//! Approvals, and call ends that agree with them.
//!
//! A message is valid only if a call with an approval ends as follows: with an output or an error
//! after it was approved, as denied after it was denied, and never while the request is open. A
//! denied call must have an approval request. So the end of a call resolves an open request, and a
//! denial without a request gets an automatic one.

use std::collections::HashMap;

use super::{FrameSink, chunk, data_chunk, tool_fields};
use crate::{
    ApprovalVerdict, SharedId, ToolStatus,
    encode::{
        common_fields,
        json::JsonObjectWriter,
        tracker::{ToolEnding, TrackedRequest, TrackedTool},
        unique_names::UniqueNames,
    },
};

/// The last request of each open call.
#[derive(Default)]
pub(super) struct ApprovalTracker {
    requests: HashMap<SharedId, TrackedApproval>,
    names: UniqueNames,
}

struct TrackedApproval {
    id: SharedId,
    request: SharedId,
    /// The chunk that sends the request.
    chunk: String,
    answer: ApprovalAnswer,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum ApprovalAnswer {
    Missing,
    Yes,
    No,
}

/// The state in which a call ends in a message.
#[derive(PartialEq, Eq)]
enum ToolEndState {
    Output,
    Error,
    Denied,
}

impl ApprovalTracker {
    pub(super) fn is_open(&self, tool: &SharedId) -> bool {
        self.requests.get(tool).is_some_and(|approval| approval.answer == ApprovalAnswer::Missing)
    }

    pub(super) fn add_request(
        &mut self,
        tool: &TrackedTool,
        request: &TrackedRequest,
        sink: &mut FrameSink<'_>,
    ) {
        let id = self.names.take(&request.id);
        let chunk = chunk("tool-approval-request")
            .text("approvalId", &id)
            .text("toolCallId", &tool.id)
            .optional_text("reason", request.prompt.as_deref())
            .finish();
        sink.push_frame(chunk.clone());
        let request = request.id.clone();
        let approval = TrackedApproval { id, request, chunk, answer: ApprovalAnswer::Missing };
        self.requests.insert(tool.id.clone(), approval);
    }

    /// Sends the request again, after the arguments replaced it.
    pub(super) fn repeat_request(&self, tool: &SharedId, sink: &mut FrameSink<'_>) {
        if let Some(approval) = self.requests.get(tool).filter(|_| self.is_open(tool)) {
            sink.push_frame(approval.chunk.clone());
        }
    }

    pub(super) fn add_reply(
        &mut self,
        tool: &TrackedTool,
        request: &TrackedRequest,
        verdict: ApprovalVerdict,
        sink: &mut FrameSink<'_>,
    ) {
        let approval = self.requests.get_mut(&tool.id);
        // Only the last request can be answered.
        let Some(approval) = approval.filter(|approval| approval.request == request.id) else {
            return;
        };
        let answer = match verdict {
            ApprovalVerdict::Allowed | ApprovalVerdict::Answered => ApprovalAnswer::Yes,
            ApprovalVerdict::Denied => ApprovalAnswer::No,
            // Cancelled without an answer. The end of the call follows soon and resolves it.
            ApprovalVerdict::Cancelled => return,
        };
        approval.answer = answer;
        sink.push_frame(response_chunk(&approval.id, answer, None));
    }

    /// Ends a call.
    pub(super) fn end_call(
        &mut self,
        tool: &TrackedTool,
        ending: ToolEnding<'_>,
        sink: &mut FrameSink<'_>,
    ) {
        let text = ending.content.plain();
        let approval = self.requests.remove(&tool.id);
        let state = match (approval, default_end_state(ending.status)) {
            (None, ToolEndState::Denied) => {
                let id = self.names.take(&format!("denied-{}", tool.id));
                sink.push_frame(automatic_denial_chunk(&id, tool));
                sink.push_frame(response_chunk(&id, ApprovalAnswer::No, Some(&text)));
                ToolEndState::Denied
            }
            (None, state) => state,
            (Some(TrackedApproval { id, answer: ApprovalAnswer::Missing, .. }), state) => {
                // A call that ran was approved; one that did not run was denied.
                let ran = state != ToolEndState::Denied && ending.status != ToolStatus::Cancelled;
                let answer = if ran { ApprovalAnswer::Yes } else { ApprovalAnswer::No };
                sink.push_frame(response_chunk(&id, answer, (!ran).then_some(text.as_str())));
                if ran { state } else { ToolEndState::Denied }
            }
            (Some(TrackedApproval { answer: ApprovalAnswer::Yes, .. }), ToolEndState::Denied) => {
                ToolEndState::Error
            }
            (Some(TrackedApproval { answer: ApprovalAnswer::Yes, .. }), state) => state,
            (Some(TrackedApproval { answer: ApprovalAnswer::No, .. }), _) => ToolEndState::Denied,
        };
        sink.push_frame(match state {
            ToolEndState::Output => end_chunk("tool-output-available", tool)
                .json("output", ending.content)
                .flag("dynamic", true)
                .finish(),
            ToolEndState::Error => end_chunk("tool-output-error", tool)
                .text("errorText", if text.is_empty() { ending.status.name() } else { &text })
                .flag("dynamic", true)
                .finish(),
            ToolEndState::Denied => end_chunk("tool-output-denied", tool).finish(),
        });
        if !is_described_by(&state, ending) {
            let status = common_fields::add_tool_ending(tool_fields(tool), ending);
            sink.push_frame(data_chunk("tool-status", &tool.id, status));
        }
    }
}

fn default_end_state(status: ToolStatus) -> ToolEndState {
    match status {
        ToolStatus::Succeeded | ToolStatus::HandedOver => ToolEndState::Output,
        ToolStatus::Denied => ToolEndState::Denied,
        ToolStatus::Unknown
        | ToolStatus::Pending
        | ToolStatus::AwaitingApproval
        | ToolStatus::Running
        | ToolStatus::Failed
        | ToolStatus::Cancelled
        | ToolStatus::Interrupted => ToolEndState::Error,
    }
}

/// Whether the state alone describes how the call ended.
fn is_described_by(state: &ToolEndState, ending: ToolEnding<'_>) -> bool {
    let is_plain = matches!(
        (state, ending.status),
        (ToolEndState::Output, ToolStatus::Succeeded)
            | (ToolEndState::Error, ToolStatus::Failed)
            | (ToolEndState::Denied, ToolStatus::Denied)
    );
    is_plain && ending.reason.is_none()
}

fn end_chunk(kind: &str, tool: &TrackedTool) -> JsonObjectWriter {
    chunk(kind).text("toolCallId", &tool.id)
}

/// The request for a denial by a rule, without a person.
fn automatic_denial_chunk(id: &str, tool: &TrackedTool) -> String {
    chunk("tool-approval-request")
        .text("approvalId", id)
        .text("toolCallId", &tool.id)
        .flag("isAutomatic", true)
        .finish()
}

fn response_chunk(id: &str, answer: ApprovalAnswer, reason: Option<&str>) -> String {
    chunk("tool-approval-response")
        .text("approvalId", id)
        .flag("approved", answer == ApprovalAnswer::Yes)
        .optional_text("reason", reason.filter(|reason| !reason.is_empty()))
        .finish()
}
