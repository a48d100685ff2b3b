//! A call that is open, and what a person is asked about it.

use foxwedge_core::{Language, Missing, interrupted, words};

use super::{Settled, Tell, Told};
use crate::{Ask, AskKind, Id, Json, Status, Verdict};

/// A call.
pub(in crate::encode) struct Tool {
    /// Its name in the run: the call's id, unless another call had it before.
    pub(in crate::encode) id: Id,
    /// The name of the message that its answer is.
    pub(in crate::encode) result: Id,
    /// What it calls.
    pub(in crate::encode) name: Id,
    /// The call whose sub-agent makes it.
    pub(in crate::encode) parent: Option<Id>,
    pub(in crate::encode) title: Option<String>,
    pub(in crate::encode) status: Status,
    /// Arguments, as far as they came in pieces.
    pub(in crate::encode) arguments: String,
    /// Whether nothing more of them comes.
    pub(in crate::encode) ready: bool,
    /// What nobody answered yet.
    pub(in crate::encode) requests: Vec<Request>,
    opened: u64,
}

/// Something that a person has to decide.
pub(in crate::encode) struct Request {
    /// Its name in the run.
    pub(in crate::encode) id: Id,
    pub(in crate::encode) kind: AskKind,
    pub(in crate::encode) prompt: Option<String>,
    pub(in crate::encode) choices: Option<Json>,
    /// What changes call it, if they do.
    key: Option<Id>,
}

impl Tool {
    pub(super) fn new(
        [id, result, name]: [Id; 3],
        parent: Option<Id>,
        title: Option<String>,
        opened: u64,
    ) -> Tool {
        Tool {
            id,
            result,
            name,
            parent,
            title,
            status: Status::Pending,
            arguments: String::new(),
            ready: false,
            requests: Vec::new(),
            opened,
        }
    }

    /// What a person reads about it.
    pub(in crate::encode) fn shown(&self) -> &str {
        self.title.as_deref().unwrap_or(&self.name)
    }

    /// A sub-agent's last call comes first, since others may work for it.
    pub(super) fn order(&self) -> u64 {
        if self.parent.is_some() { u64::MAX - self.opened } else { self.opened }
    }

    pub(super) fn grow(&mut self, delta: &str, tell: Tell<'_>) {
        if !self.ready && !delta.is_empty() {
            self.arguments.push_str(delta);
            tell(Told::ToolGrew(self, delta));
        }
    }

    pub(super) fn complete(&mut self, input: Option<&Json>, tell: Tell<'_>) {
        if !self.ready {
            self.ready = true;
            tell(Told::ToolReady(self, input));
            self.arguments = String::new();
        }
    }

    pub(super) fn change(&mut self, status: Status, tell: Tell<'_>) {
        // The end of a call has a change of its own.
        if !status.is_final() {
            self.status = status;
            tell(Told::ToolStatus(self, status));
        }
    }

    pub(super) fn has_asked(&self, ask: &Ask) -> bool {
        self.requests.iter().any(|request| request.key == ask.id)
    }

    pub(super) fn ask(&mut self, id: Id, ask: &Ask, tell: Tell<'_>) {
        let Ask { call: _, id: key, kind, prompt, choices } = ask;
        let (prompt, choices, key) = (prompt.clone(), choices.clone(), key.clone());
        let request = Request { id, kind: *kind, prompt, choices, key };
        tell(Told::Asked(self, &request));
        self.requests.push(request);
    }

    pub(super) fn reply(&mut self, id: &Id, verdict: Verdict, tell: Tell<'_>) {
        let named = self.requests.iter().position(|request| request.key.as_ref() == Some(id));
        let nameless = || self.requests.iter().position(|request| request.key.is_none());
        if let Some(at) = named.or_else(nameless) {
            let request = self.requests.remove(at);
            tell(Told::Replied(self, &request, verdict));
        }
    }

    pub(super) fn settle(&mut self, settled: Settled<'_>, tell: Tell<'_>) {
        self.complete(None, tell);
        for request in std::mem::take(&mut self.requests) {
            tell(Told::Replied(self, &request, Verdict::Cancelled));
        }
        let status = if settled.status.is_final() { settled.status } else { Status::Interrupted };
        self.status = status;
        tell(Told::ToolOver(self, Settled { status, ..settled }));
    }

    /// What a call has come to that is open when its run ends, and the words for it.
    pub(super) fn cut_off(&self) -> (Status, &'static str) {
        let (status, missing) = match self.status {
            Status::Running => (Status::Interrupted, interrupted(Some(&self.name))),
            Status::Unknown
            | Status::Pending
            | Status::AwaitingApproval
            | Status::Succeeded
            | Status::Failed
            | Status::Denied
            | Status::Cancelled
            | Status::Interrupted
            | Status::HandedOver => (Status::Cancelled, Missing::NotStarted),
        };
        (status, words(missing, Language::English))
    }
}
