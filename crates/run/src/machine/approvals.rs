//! Requests of a call to a person, and their replies.

use super::ToolCallState;
use crate::{
    ApprovalKind, ApprovalReply, ApprovalRequest, ApprovalResolution, ApprovalVerdict, CallRef,
    RawJson, RunEffect, SharedId, ToolRef, UiChange,
};

/// A request to a person.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct ApprovalState {
    /// The id of the request; the id of the call if it has none.
    pub id: SharedId,
    /// Approval or question.
    pub kind: ApprovalKind,
    /// The text to show to the person.
    pub prompt: Option<String>,
    /// The choices, in the agent's own form.
    pub choices: Option<RawJson>,
    /// The decision.
    pub verdict: Option<ApprovalVerdict>,
    /// The person's answer.
    pub answer: Option<RawJson>,
    /// The id that the source gave later to a request that we had inferred.
    alias: Option<SharedId>,
    /// Whether the request is inferred from the call and has not been seen yet.
    inferred: bool,
    /// Whether the request has been seen or inferred; a reply may come first.
    requested: bool,
    shown: bool,
    closed: bool,
}

impl ApprovalState {
    /// Whether the request still needs a decision.
    pub fn is_open(&self) -> bool {
        self.requested && self.verdict.is_none()
    }

    pub(super) fn is_answered(&self) -> bool {
        self.verdict == Some(ApprovalVerdict::Answered)
    }

    pub(super) fn has_id(&self, id: &SharedId) -> bool {
        self.id == *id || self.alias.as_ref() == Some(id)
    }

    /// Returns the effect that resolves the request for its source.
    fn resolve(&self, run: &SharedId, tool: &ToolRef, resolution: ApprovalResolution) -> RunEffect {
        let id = self.alias.as_ref().unwrap_or(&self.id).clone();
        RunEffect::Resolve { run: run.clone(), tool: tool.clone(), id, resolution }
    }
}

impl ToolCallState {
    /// Whether a person must decide something.
    pub fn awaits_person(&self) -> bool {
        self.is_open() && self.approvals.iter().any(ApprovalState::is_open)
    }

    /// Adds a request. Returns whether it is new. If the reply came first, the request is resolved
    /// at once.
    pub(super) fn add_request(
        &mut self,
        request: &ApprovalRequest,
        run: &SharedId,
        effects: &mut Vec<RunEffect>,
    ) -> bool {
        let is_new = self.open_request(request, false);
        let id = request.id.as_ref().unwrap_or(&self.call);
        let decided = self.approvals.iter().find(|approval| approval.has_id(id));
        if let (true, Some(approval)) = (is_new, decided)
            && let Some(verdict) = approval.verdict
        {
            let resolution = ApprovalResolution::Replied(verdict, approval.answer.clone());
            effects.push(approval.resolve(run, &self.reference(), resolution));
        }
        is_new
    }

    /// Infers a request for a call that waits for a person, in case none is reported.
    pub(super) fn infer_request(&mut self, kind: ApprovalKind) {
        if self.approvals.is_empty() {
            let request = ApprovalRequest {
                call: CallRef::default(),
                id: None,
                kind,
                prompt: None,
                choices: self.input.clone(),
            };
            self.open_request(&request, true);
        }
    }

    fn open_request(&mut self, request: &ApprovalRequest, inferred: bool) -> bool {
        let id = request.id.clone().unwrap_or_else(|| self.call.clone());
        if let Some(known) = self.approvals.iter_mut().find(|known| known.has_id(&id)) {
            let is_new = !known.requested || known.inferred && !inferred;
            if is_new {
                known.requested = true;
                known.inferred = false;
                known.prompt = request.prompt.clone();
                known.choices = request.choices.clone().or(known.choices.take());
            }
            return is_new;
        }
        if let Some(approval) =
            self.approvals.iter_mut().find(|known| known.inferred && known.is_open())
        {
            // The actual request for one that we had inferred.
            approval.inferred = false;
            approval.kind = request.kind;
            approval.prompt = request.prompt.clone();
            match approval.shown {
                true => approval.alias = Some(id),
                false => approval.id = id,
            }
            return true;
        }
        self.approvals.push(ApprovalState {
            id,
            kind: request.kind,
            prompt: request.prompt.clone(),
            choices: request.choices.clone(),
            verdict: None,
            answer: None,
            alias: None,
            inferred,
            requested: true,
            shown: false,
            closed: false,
        });
        true
    }

    /// Applies a reply and resolves the request. Returns whether the reply is new.
    pub(super) fn apply_reply(
        &mut self,
        reply: &ApprovalReply,
        run: &SharedId,
        effects: &mut Vec<RunEffect>,
    ) -> bool {
        let id = reply.id.clone().unwrap_or_else(|| self.call.clone());
        let by_id = self.approvals.iter().position(|known| known.has_id(&id));
        // A reply without an id, or for a request whose id is inferred, is for the open request.
        let is_target = |approval: &ApprovalState| {
            approval.is_open() && (reply.id.is_none() || approval.inferred)
        };
        let Some(index) = by_id.or_else(|| self.approvals.iter().position(is_target)) else {
            let kind = match reply.verdict {
                ApprovalVerdict::Answered => ApprovalKind::Question,
                ApprovalVerdict::Allowed | ApprovalVerdict::Denied | ApprovalVerdict::Cancelled => {
                    ApprovalKind::Approval
                }
            };
            self.approvals.push(ApprovalState {
                id,
                kind,
                prompt: None,
                choices: None,
                verdict: Some(reply.verdict),
                answer: reply.answer.clone(),
                alias: None,
                inferred: false,
                requested: false,
                shown: false,
                closed: false,
            });
            return true;
        };
        let tool = self.reference();
        match self.approvals.get_mut(index) {
            Some(approval) if approval.verdict.is_none() => {
                approval.verdict = Some(reply.verdict);
                approval.answer = reply.answer.clone();
                let resolution = ApprovalResolution::Replied(reply.verdict, reply.answer.clone());
                effects.push(approval.resolve(run, &tool, resolution));
                true
            }
            Some(_) | None => false,
        }
    }

    /// Cancels open requests and resolves them.
    pub(super) fn cancel_requests(&mut self, run: &SharedId, effects: &mut Vec<RunEffect>) {
        if self.approvals.is_empty() {
            return;
        }
        let tool = self.reference();
        for approval in self.approvals.iter_mut().filter(|approval| approval.is_open()) {
            approval.verdict = Some(ApprovalVerdict::Cancelled);
            effects.push(approval.resolve(run, &tool, ApprovalResolution::Cancelled));
        }
    }

    pub(super) fn show_requests(&mut self, emit: &mut impl FnMut(UiChange)) {
        if self.approvals.is_empty() {
            return;
        }
        let tool = self.reference();
        for approval in &mut self.approvals {
            if !approval.shown && approval.is_open() {
                approval.shown = true;
                let request = ApprovalRequest {
                    call: CallRef { id: Some(tool.call.clone()), turn: Some(tool.turn) },
                    id: Some(approval.id.clone()),
                    kind: approval.kind,
                    prompt: approval.prompt.clone(),
                    choices: approval.choices.clone(),
                };
                emit(UiChange::ApprovalRequested { tool: tool.clone(), request });
            }
            if let (true, false, Some(verdict)) =
                (approval.shown, approval.closed, approval.verdict)
            {
                approval.closed = true;
                emit(UiChange::ApprovalClosed {
                    tool: tool.clone(),
                    id: approval.id.clone(),
                    verdict,
                });
            }
        }
    }
}
