//! What a call asks a person, and what became of it.

use super::ToolCallState;
use crate::{
    ApprovalKind, ApprovalReply, ApprovalRequest, ApprovalResolution, ApprovalVerdict, CallRef,
    RawJson, RunEffect, SharedId, ToolRef, UiChange,
};

/// Something that a person was asked.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct ApprovalState {
    /// The request's id; the call's own if it has none.
    pub id: SharedId,
    /// What is asked.
    pub kind: ApprovalKind,
    /// What a person reads.
    pub prompt: Option<String>,
    /// The choices, in the agent's own form.
    pub choices: Option<RawJson>,
    /// What was decided.
    pub verdict: Option<ApprovalVerdict>,
    /// What the person said.
    pub answer: Option<RawJson>,
    /// The id that the request turned out to have, where we had only concluded that there is one.
    alias: Option<SharedId>,
    /// Whether we only conclude from the tool's name that it asks.
    inferred: bool,
    /// Whether anybody asked; a decision may come first.
    requested: bool,
    shown: bool,
    closed: bool,
}

impl ApprovalState {
    /// Whether somebody still has to decide.
    pub fn is_open(&self) -> bool {
        self.requested && self.verdict.is_none()
    }

    pub(super) fn is_answered(&self) -> bool {
        self.verdict == Some(ApprovalVerdict::Answered)
    }

    pub(super) fn has_id(&self, id: &SharedId) -> bool {
        self.id == *id || self.alias.as_ref() == Some(id)
    }

    /// What whoever asked gets.
    fn resolve(&self, run: &SharedId, tool: &ToolRef, resolution: ApprovalResolution) -> RunEffect {
        let id = self.alias.as_ref().unwrap_or(&self.id).clone();
        RunEffect::Resolve { run: run.clone(), tool: tool.clone(), id, resolution }
    }
}

impl ToolCallState {
    /// Whether a person has to decide something.
    pub fn awaits_person(&self) -> bool {
        self.is_open() && self.approvals.iter().any(ApprovalState::is_open)
    }

    /// Takes a question. Tells whether it is new. If somebody has decided it before it was heard
    /// of, whoever asks need not wait.
    pub(super) fn add_request(
        &mut self,
        ask: &ApprovalRequest,
        run: &SharedId,
        effects: &mut Vec<RunEffect>,
    ) -> bool {
        let new = self.open_request(ask, false);
        let id = ask.id.as_ref().unwrap_or(&self.call);
        let decided = self.approvals.iter().find(|asked| asked.has_id(id));
        if let (true, Some(asked)) = (new, decided)
            && let Some(verdict) = asked.verdict
        {
            let resolution = ApprovalResolution::Replied(verdict, asked.answer.clone());
            effects.push(asked.resolve(run, &self.reference(), resolution));
        }
        new
    }

    /// A call that waits for a person has asked, told or not.
    pub(super) fn infer_request(&mut self, kind: ApprovalKind) {
        if self.approvals.is_empty() {
            let ask = ApprovalRequest {
                call: CallRef::default(),
                id: None,
                kind,
                prompt: None,
                choices: self.input.clone(),
            };
            self.open_request(&ask, true);
        }
    }

    fn open_request(&mut self, ask: &ApprovalRequest, concluded: bool) -> bool {
        let id = ask.id.clone().unwrap_or_else(|| self.call.clone());
        if let Some(known) = self.approvals.iter_mut().find(|known| known.has_id(&id)) {
            let new = !known.requested || known.inferred && !concluded;
            if new {
                known.requested = true;
                known.inferred = false;
                known.prompt = ask.prompt.clone();
                known.choices = ask.choices.clone().or(known.choices.take());
            }
            return new;
        }
        if let Some(guess) =
            self.approvals.iter_mut().find(|known| known.inferred && known.is_open())
        {
            // The question itself, behind our conclusion that there will be one.
            guess.inferred = false;
            guess.kind = ask.kind;
            guess.prompt = ask.prompt.clone();
            match guess.shown {
                true => guess.alias = Some(id),
                false => guess.id = id,
            }
            return true;
        }
        self.approvals.push(ApprovalState {
            id,
            kind: ask.kind,
            prompt: ask.prompt.clone(),
            choices: ask.choices.clone(),
            verdict: None,
            answer: None,
            alias: None,
            inferred: concluded,
            requested: true,
            shown: false,
            closed: false,
        });
        true
    }

    /// Takes a decision: whoever waits for it gets it. Tells whether it is new.
    pub(super) fn apply_reply(
        &mut self,
        reply: &ApprovalReply,
        run: &SharedId,
        effects: &mut Vec<RunEffect>,
    ) -> bool {
        let id = reply.id.clone().unwrap_or_else(|| self.call.clone());
        let by_id = self.approvals.iter().position(|known| known.has_id(&id));
        // Without an id, or where the id is only our conclusion, the open question is meant.
        let meant =
            |asked: &ApprovalState| asked.is_open() && (reply.id.is_none() || asked.inferred);
        let Some(place) = by_id.or_else(|| self.approvals.iter().position(meant)) else {
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
        match self.approvals.get_mut(place) {
            Some(asked) if asked.verdict.is_none() => {
                asked.verdict = Some(reply.verdict);
                asked.answer = reply.answer.clone();
                let resolution = ApprovalResolution::Replied(reply.verdict, reply.answer.clone());
                effects.push(asked.resolve(run, &tool, resolution));
                true
            }
            Some(_) | None => false,
        }
    }

    /// Nobody will answer any more: whoever waits is told.
    pub(super) fn cancel_requests(&mut self, run: &SharedId, effects: &mut Vec<RunEffect>) {
        if self.approvals.is_empty() {
            return;
        }
        let tool = self.reference();
        for asked in self.approvals.iter_mut().filter(|asked| asked.is_open()) {
            asked.verdict = Some(ApprovalVerdict::Cancelled);
            effects.push(asked.resolve(run, &tool, ApprovalResolution::Cancelled));
        }
    }

    pub(super) fn show_requests(&mut self, tell: &mut impl FnMut(UiChange)) {
        if self.approvals.is_empty() {
            return;
        }
        let tool = self.reference();
        for asked in &mut self.approvals {
            if !asked.shown && asked.is_open() {
                asked.shown = true;
                let ask = ApprovalRequest {
                    call: CallRef { id: Some(tool.call.clone()), turn: Some(tool.turn) },
                    id: Some(asked.id.clone()),
                    kind: asked.kind,
                    prompt: asked.prompt.clone(),
                    choices: asked.choices.clone(),
                };
                tell(UiChange::ApprovalRequested { tool: tool.clone(), request: ask });
            }
            if let (true, false, Some(verdict)) = (asked.shown, asked.closed, asked.verdict) {
                asked.closed = true;
                tell(UiChange::ApprovalClosed {
                    tool: tool.clone(),
                    id: asked.id.clone(),
                    verdict,
                });
            }
        }
    }
}
