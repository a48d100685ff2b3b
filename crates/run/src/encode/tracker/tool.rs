//! A call that is open, and what a person is asked about it.

use foxwedge_core::{MissingAnswer, PlaceholderLanguage, classify_open_call, placeholder_text};

use super::{ChangeSink, ToolEnding, TrackedChange};
use crate::{ApprovalKind, ApprovalRequest, ApprovalVerdict, RawJson, SharedId, ToolStatus};

/// A call.
pub(in crate::encode) struct TrackedTool {
    /// Its name in the run: the call's id, unless another call had it before.
    pub(in crate::encode) id: SharedId,
    /// The name of the message that its answer is.
    pub(in crate::encode) result: SharedId,
    /// What it calls.
    pub(in crate::encode) name: SharedId,
    /// The call whose sub-agent makes it.
    pub(in crate::encode) parent: Option<SharedId>,
    pub(in crate::encode) title: Option<String>,
    pub(in crate::encode) status: ToolStatus,
    /// Arguments, as far as they came in pieces.
    pub(in crate::encode) arguments: String,
    /// Whether nothing more of them comes.
    pub(in crate::encode) ready: bool,
    /// What nobody answered yet.
    pub(in crate::encode) requests: Vec<TrackedRequest>,
    opened: u64,
}

/// Something that a person has to decide.
pub(in crate::encode) struct TrackedRequest {
    /// Its name in the run.
    pub(in crate::encode) id: SharedId,
    pub(in crate::encode) kind: ApprovalKind,
    pub(in crate::encode) prompt: Option<String>,
    pub(in crate::encode) choices: Option<RawJson>,
    /// What changes call it, if they do.
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
            arguments: String::new(),
            ready: false,
            requests: Vec::new(),
            opened,
        }
    }

    /// What a person reads about it.
    pub(in crate::encode) fn display_title(&self) -> &str {
        self.title.as_deref().unwrap_or(&self.name)
    }

    /// A sub-agent's last call comes first, since others may work for it.
    pub(super) fn order(&self) -> u64 {
        if self.parent.is_some() { u64::MAX - self.opened } else { self.opened }
    }

    pub(super) fn append_arguments(&mut self, delta: &str, tell: ChangeSink<'_>) {
        if !self.ready && !delta.is_empty() {
            self.arguments.push_str(delta);
            tell(TrackedChange::ToolArguments(self, delta));
        }
    }

    pub(super) fn complete_arguments(&mut self, input: Option<&RawJson>, tell: ChangeSink<'_>) {
        if !self.ready {
            self.ready = true;
            tell(TrackedChange::ToolReady(self, input));
            self.arguments = String::new();
        }
    }

    pub(super) fn set_status(&mut self, status: ToolStatus, tell: ChangeSink<'_>) {
        // The end of a call has a change of its own.
        if !status.is_final() {
            self.status = status;
            tell(TrackedChange::ToolStatus(self, status));
        }
    }

    pub(super) fn has_request(&self, ask: &ApprovalRequest) -> bool {
        self.requests.iter().any(|request| request.key == ask.id)
    }

    pub(super) fn add_request(
        &mut self,
        id: SharedId,
        ask: &ApprovalRequest,
        tell: ChangeSink<'_>,
    ) {
        let ApprovalRequest { call: _, id: key, kind, prompt, choices } = ask;
        let (prompt, choices, key) = (prompt.clone(), choices.clone(), key.clone());
        let request = TrackedRequest { id, kind: *kind, prompt, choices, key };
        tell(TrackedChange::ApprovalRequested(self, &request));
        self.requests.push(request);
    }

    pub(super) fn close_request(
        &mut self,
        id: &SharedId,
        verdict: ApprovalVerdict,
        tell: ChangeSink<'_>,
    ) {
        let named = self.requests.iter().position(|request| request.key.as_ref() == Some(id));
        let nameless = || self.requests.iter().position(|request| request.key.is_none());
        if let Some(at) = named.or_else(nameless) {
            let request = self.requests.remove(at);
            tell(TrackedChange::ApprovalReplied(self, &request, verdict));
        }
    }

    pub(super) fn settle(&mut self, settled: ToolEnding<'_>, tell: ChangeSink<'_>) {
        self.complete_arguments(None, tell);
        for request in std::mem::take(&mut self.requests) {
            tell(TrackedChange::ApprovalReplied(self, &request, ApprovalVerdict::Cancelled));
        }
        let status =
            if settled.status.is_final() { settled.status } else { ToolStatus::Interrupted };
        self.status = status;
        tell(TrackedChange::ToolEnded(self, ToolEnding { status, ..settled }));
    }

    /// What a call has come to that is open when its run ends, and the words for it.
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
