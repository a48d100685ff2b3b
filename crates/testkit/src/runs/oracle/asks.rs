//! The approval requests of a call.

use foxwedge_run::{ApprovalKind, ApprovalReply, ApprovalVerdict, SharedId};
use serde_json::{Value, json};

/// The approval requests of a call, in the order in which they became known.
#[derive(Clone, Debug, Default)]
pub(super) struct CallQuestions(Vec<CallQuestion>);

#[derive(Clone, Debug)]
struct CallQuestion {
    id: SharedId,
    /// Its actual id, if that became known later.
    other: Option<SharedId>,
    kind: ApprovalKind,
    verdict: Option<ApprovalVerdict>,
    origin: ApprovalOrigin,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum ApprovalOrigin {
    /// It was requested.
    Asked,
    /// It was not requested explicitly, but calls of this kind need approval.
    Concluded,
    /// It was answered before it was requested.
    Answered,
}

impl CallQuestions {
    pub(super) fn are_open(&self) -> bool {
        self.0.iter().any(CallQuestion::is_open)
    }

    pub(super) fn have_an_answer(&self) -> bool {
        self.0.iter().any(|question| question.verdict == Some(ApprovalVerdict::Answered))
    }

    pub(super) fn have_a_yes(&self) -> bool {
        self.0.iter().any(|question| question.verdict == Some(ApprovalVerdict::Allowed))
    }

    pub(super) fn conclude(&mut self, id: &SharedId, kind: ApprovalKind) {
        if self.0.is_empty() {
            self.add(id, kind, None, ApprovalOrigin::Concluded);
        }
    }

    pub(super) fn ask(&mut self, id: &SharedId, kind: ApprovalKind) {
        if let Some(known) = self.0.iter_mut().find(|question| question.is_called(id)) {
            known.origin = ApprovalOrigin::Asked;
            return;
        }
        let guess = |question: &&mut CallQuestion| {
            question.origin == ApprovalOrigin::Concluded && question.is_open()
        };
        match self.0.iter_mut().find(guess) {
            Some(guess) => {
                guess.origin = ApprovalOrigin::Asked;
                guess.other = Some(id.clone());
                guess.kind = kind;
            }
            None => self.add(id, kind, None, ApprovalOrigin::Asked),
        }
    }

    /// Applies a reply. Returns whether the decision counts.
    pub(super) fn reply(&mut self, reply: &ApprovalReply, call: &SharedId) -> bool {
        let id = reply.id.as_ref().unwrap_or(call);
        let named = self.0.iter().position(|question| question.is_called(id));
        let meant = |question: &CallQuestion| {
            question.is_open()
                && (reply.id.is_none() || question.origin == ApprovalOrigin::Concluded)
        };
        match named.or_else(|| self.0.iter().position(meant)) {
            Some(place) if self.0[place].verdict.is_some() => false,
            Some(place) => {
                self.0[place].verdict = Some(reply.verdict);
                true
            }
            None => {
                let kind = match reply.verdict {
                    ApprovalVerdict::Answered => ApprovalKind::Question,
                    ApprovalVerdict::Allowed
                    | ApprovalVerdict::Denied
                    | ApprovalVerdict::Cancelled => ApprovalKind::Approval,
                };
                self.add(id, kind, Some(reply.verdict), ApprovalOrigin::Answered);
                true
            }
        }
    }

    pub(super) fn nobody_answers(&mut self) {
        for question in self.0.iter_mut().filter(|question| question.is_open()) {
            question.verdict = Some(ApprovalVerdict::Cancelled);
        }
    }

    pub(super) fn truth(&self) -> Option<Value> {
        let question_json = |question: &CallQuestion| {
            let kind = match question.kind {
                ApprovalKind::Approval => "approval",
                ApprovalKind::Question => "question",
            };
            match question.verdict {
                Some(verdict) => {
                    json!({"id": &*question.id, "kind": kind, "verdict": verdict.name()})
                }
                None => json!({"id": &*question.id, "kind": kind}),
            }
        };
        (!self.0.is_empty()).then(|| self.0.iter().map(question_json).collect())
    }

    fn add(
        &mut self,
        id: &SharedId,
        kind: ApprovalKind,
        verdict: Option<ApprovalVerdict>,
        origin: ApprovalOrigin,
    ) {
        self.0.push(CallQuestion { id: id.clone(), other: None, kind, verdict, origin });
    }
}

impl CallQuestion {
    fn is_open(&self) -> bool {
        self.origin != ApprovalOrigin::Answered && self.verdict.is_none()
    }

    fn is_called(&self, id: &SharedId) -> bool {
        self.id == *id || self.other.as_ref() == Some(id)
    }
}
