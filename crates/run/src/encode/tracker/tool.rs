//! An open call and its requests.

use foxwedge_core::{MissingAnswer, PlaceholderLanguage, classify_open_call, placeholder_text};

use super::{ChangeSink, ToolEnding, TrackedChange};
use crate::{ApprovalKind, ApprovalRequest, ApprovalVerdict, RawJson, SharedId, ToolStatus};

/// A tool call.
pub(in crate::encode) struct TrackedTool {
    /// Its unique name in the run: the call's id, unless an earlier call had the same one.
    pub(in crate::encode) id: SharedId,
    /// The id of the message that carries its result.
    pub(in crate::encode) result: SharedId,
    /// The name of the tool.
    pub(in crate::encode) name: SharedId,
    /// The call whose sub-agent made it.
    pub(in crate::encode) parent: Option<SharedId>,
    pub(in crate::encode) title: Option<String>,
    pub(in crate::encode) status: ToolStatus,
    /// Whether it started: it was running, or it asked a person a question.
    pub(in crate::encode) begun: bool,
    /// The arguments, as far as they arrived in deltas.
    pub(in crate::encode) arguments: String,
    /// Whether the arguments are complete, or no more will come.
    pub(in crate::encode) ready: bool,
    /// Its open requests.
    pub(in crate::encode) requests: Vec<TrackedRequest>,
    opened: u64,
}

/// A request to a person.
pub(in crate::encode) struct TrackedRequest {
    /// Its unique name in the run.
    pub(in crate::encode) id: SharedId,
    pub(in crate::encode) kind: ApprovalKind,
    pub(in crate::encode) prompt: Option<String>,
    pub(in crate::encode) choices: Option<RawJson>,
    /// The id that changes use, if any.
    key: Option<SharedId>,
}

impl TrackedTool {
    pub(super) fn new(
        [id, result, name]: [SharedId; 3],
        parent: Option<SharedId>,
        title: Option<String>,
        opened: u64,
    ) -> TrackedTool {
        TrackedTool {
            id,
            result,
            name,
            parent,
            title,
            status: ToolStatus::Pending,
            begun: false,
            arguments: String::new(),
            ready: false,
            requests: Vec::new(),
            opened,
        }
    }

    /// The title to show to a person.
    pub(in crate::encode) fn display_title(&self) -> &str {
        self.title.as_deref().unwrap_or(&self.name)
    }

    /// The sort key at the end of a run. Calls of sub-agents are sorted newest first, since newer
    /// ones may belong to older ones.
    pub(in crate::encode) fn order(&self) -> u64 {
        if self.parent.is_some() { u64::MAX - self.opened } else { self.opened }
    }

    pub(super) fn append_arguments(&mut self, delta: &str, emit: ChangeSink<'_>) {
        if !self.ready && !delta.is_empty() {
            self.arguments.push_str(delta);
            emit(TrackedChange::ToolArguments(self, delta));
        }
    }

    pub(super) fn complete_arguments(&mut self, input: Option<&RawJson>, emit: ChangeSink<'_>) {
        if !self.ready {
            self.ready = true;
            emit(TrackedChange::ToolReady(self, input));
            self.arguments = String::new();
        }
    }

    pub(super) fn set_status(&mut self, status: ToolStatus, emit: ChangeSink<'_>) {
        // A final status comes with `ToolSettled`.
        if !status.is_final() {
            self.status = status;
            self.begun |= status == ToolStatus::Running;
            emit(TrackedChange::ToolStatus(self, status));
        }
    }

    pub(super) fn has_request(&self, request: &ApprovalRequest) -> bool {
        self.requests.iter().any(|tracked| tracked.key == request.id)
    }

    pub(super) fn add_request(
        &mut self,
        id: SharedId,
        request: &ApprovalRequest,
        emit: ChangeSink<'_>,
    ) {
        let ApprovalRequest { call: _, id: key, kind, prompt, choices } = request;
        let (prompt, choices, key) = (prompt.clone(), choices.clone(), key.clone());
        let tracked = TrackedRequest { id, kind: *kind, prompt, choices, key };
        self.begun |= *kind == ApprovalKind::Question;
        emit(TrackedChange::ApprovalRequested(self, &tracked));
        self.requests.push(tracked);
    }

    pub(super) fn close_request(
        &mut self,
        id: &SharedId,
        verdict: ApprovalVerdict,
        emit: ChangeSink<'_>,
    ) {
        let by_key = self.requests.iter().position(|request| request.key.as_ref() == Some(id));
        let without_key = || self.requests.iter().position(|request| request.key.is_none());
        if let Some(at) = by_key.or_else(without_key) {
            let request = self.requests.remove(at);
            emit(TrackedChange::ApprovalReplied(self, &request, verdict));
        }
    }

    pub(super) fn settle(&mut self, ending: ToolEnding<'_>, emit: ChangeSink<'_>) {
        let status = if ending.status.is_final() { ending.status } else { ToolStatus::Interrupted };
        self.status = status;
        self.complete_arguments(None, emit);
        for request in std::mem::take(&mut self.requests) {
            emit(TrackedChange::ApprovalReplied(self, &request, ApprovalVerdict::Cancelled));
        }
        emit(TrackedChange::ToolEnded(self, ToolEnding { status, ..ending }));
    }

    /// Returns the status of a call that is open when its run ends, and its placeholder.
    pub(super) fn status_at_run_end(&self) -> (ToolStatus, &'static str) {
        let (status, missing) = match self.status {
            ToolStatus::Running => (ToolStatus::Interrupted, classify_open_call(Some(&self.name))),
            ToolStatus::Unknown
            | ToolStatus::Pending
            | ToolStatus::AwaitingApproval
            | ToolStatus::Succeeded
            | ToolStatus::Failed
            | ToolStatus::Denied
            | ToolStatus::Cancelled
            | ToolStatus::Interrupted
            | ToolStatus::HandedOver => (ToolStatus::Cancelled, MissingAnswer::NotStarted),
        };
        (status, placeholder_text(missing, PlaceholderLanguage::English))
    }
}
