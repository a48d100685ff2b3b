//! What a call asks a person.

use foxwedge_run::{ApprovalKind, ApprovalReply, ApprovalVerdict, SharedId};
use serde_json::{Value, json};

/// The questions of a call, in the order in which they were heard of.
#[derive(Clone, Debug, Default)]
pub(super) struct Asks(Vec<Asked>);

#[derive(Clone, Debug)]
struct Asked {
    id: SharedId,
    /// The id it turned out to have.
    other: Option<SharedId>,
    kind: ApprovalKind,
    verdict: Option<ApprovalVerdict>,
    origin: Origin,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Origin {
    /// Somebody asked.
    Asked,
    /// Nobody asked in so many words, but calls of this kind ask.
    Concluded,
    /// Somebody answered, and nobody has asked yet.
    Answered,
}

impl Asks {
    pub(super) fn are_open(&self) -> bool {
        self.0.iter().any(Asked::is_open)
    }

    pub(super) fn have_an_answer(&self) -> bool {
        self.0.iter().any(|asked| asked.verdict == Some(ApprovalVerdict::Answered))
    }

    pub(super) fn have_a_yes(&self) -> bool {
        self.0.iter().any(|asked| asked.verdict == Some(ApprovalVerdict::Allowed))
    }

    pub(super) fn conclude(&mut self, id: &SharedId, kind: ApprovalKind) {
        if self.0.is_empty() {
            self.add(id, kind, None, Origin::Concluded);
        }
    }

    pub(super) fn ask(&mut self, id: &SharedId, kind: ApprovalKind) {
        if let Some(known) = self.0.iter_mut().find(|asked| asked.is_called(id)) {
            known.origin = Origin::Asked;
            return;
        }
        let guess = |asked: &&mut Asked| asked.origin == Origin::Concluded && asked.is_open();
        match self.0.iter_mut().find(guess) {
            Some(guess) => {
                guess.origin = Origin::Asked;
                guess.other = Some(id.clone());
                guess.kind = kind;
            }
            None => self.add(id, kind, None, Origin::Asked),
        }
    }

    /// Tells whether the decision counts.
    pub(super) fn reply(&mut self, reply: &ApprovalReply, call: &SharedId) -> bool {
        let id = reply.id.as_ref().unwrap_or(call);
        let named = self.0.iter().position(|asked| asked.is_called(id));
        let meant = |asked: &Asked| {
            asked.is_open() && (reply.id.is_none() || asked.origin == Origin::Concluded)
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
                self.add(id, kind, Some(reply.verdict), Origin::Answered);
                true
            }
        }
    }

    pub(super) fn nobody_answers(&mut self) {
        for asked in self.0.iter_mut().filter(|asked| asked.is_open()) {
            asked.verdict = Some(ApprovalVerdict::Cancelled);
        }
    }

    pub(super) fn truth(&self) -> Option<Value> {
        let told = |asked: &Asked| {
            let kind = match asked.kind {
                ApprovalKind::Approval => "approval",
                ApprovalKind::Question => "question",
            };
            match asked.verdict {
                Some(verdict) => json!({"id": &*asked.id, "kind": kind, "verdict": verdict.name()}),
                None => json!({"id": &*asked.id, "kind": kind}),
            }
        };
        (!self.0.is_empty()).then(|| self.0.iter().map(told).collect())
    }

    fn add(
        &mut self,
        id: &SharedId,
        kind: ApprovalKind,
        verdict: Option<ApprovalVerdict>,
        origin: Origin,
    ) {
        self.0.push(Asked { id: id.clone(), other: None, kind, verdict, origin });
    }
}

impl Asked {
    fn is_open(&self) -> bool {
        self.origin != Origin::Answered && self.verdict.is_none()
    }

    fn is_called(&self, id: &SharedId) -> bool {
        self.id == *id || self.other.as_ref() == Some(id)
    }
}
