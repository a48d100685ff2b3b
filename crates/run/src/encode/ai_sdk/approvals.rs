//! Approvals, and the ends of calls that agree with them.
//!
//! A message is valid only if a call with an approval ends like this: with an output or an error
//! after a yes, denied after a no, and never without an answer. A denied call must have been asked
//! about. So the end of a call decides what nobody answered, and a no from nowhere is an automatic
//! one.

use std::collections::HashMap;

use super::{Sink, chunk, data, of};
use crate::{
    Id, Status, Verdict,
    encode::{
        json::Object,
        names::Names,
        tracker::{Request, Settled, Tool},
        words,
    },
};

/// The last request about each open call.
#[derive(Default)]
pub(super) struct Approvals {
    requests: HashMap<Id, Approval>,
    names: Names,
}

struct Approval {
    id: Id,
    request: Id,
    /// The chunk that asks.
    chunk: String,
    answer: Answer,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Answer {
    Missing,
    Yes,
    No,
}

/// How a call ends in a message.
#[derive(PartialEq, Eq)]
enum State {
    Output,
    Error,
    Denied,
}

impl Approvals {
    pub(super) fn is_open(&self, tool: &Id) -> bool {
        self.requests.get(tool).is_some_and(|approval| approval.answer == Answer::Missing)
    }

    pub(super) fn asked(&mut self, tool: &Tool, request: &Request, sink: &mut Sink<'_>) {
        let id = self.names.take(&request.id);
        let chunk = chunk("tool-approval-request")
            .text("approvalId", &id)
            .text("toolCallId", &tool.id)
            .maybe("reason", request.prompt.as_deref())
            .end();
        sink.frame(chunk.clone());
        let request = request.id.clone();
        let approval = Approval { id, request, chunk, answer: Answer::Missing };
        self.requests.insert(tool.id.clone(), approval);
    }

    /// The arguments came after the request and took its place.
    pub(super) fn again(&self, tool: &Id, sink: &mut Sink<'_>) {
        if let Some(approval) = self.requests.get(tool).filter(|_| self.is_open(tool)) {
            sink.frame(approval.chunk.clone());
        }
    }

    pub(super) fn replied(
        &mut self,
        tool: &Tool,
        request: &Request,
        verdict: Verdict,
        sink: &mut Sink<'_>,
    ) {
        let approval = self.requests.get_mut(&tool.id);
        // Only the last request can be answered.
        let Some(approval) = approval.filter(|approval| approval.request == request.id) else {
            return;
        };
        let answer = match verdict {
            Verdict::Allowed | Verdict::Answered => Answer::Yes,
            Verdict::Denied => Answer::No,
            // Nobody answered. The end of the call, which is near, says what it comes to.
            Verdict::Cancelled => return,
        };
        approval.answer = answer;
        sink.frame(response(&approval.id, answer, None));
    }

    /// The end of a call.
    pub(super) fn over(&mut self, tool: &Tool, settled: Settled<'_>, sink: &mut Sink<'_>) {
        let words = settled.content.plain();
        let approval = self.requests.remove(&tool.id);
        let state = match (approval, natural(settled.status)) {
            (None, State::Denied) => {
                let id = self.names.take(&format!("denied-{}", tool.id));
                sink.frame(automatic(&id, tool));
                sink.frame(response(&id, Answer::No, Some(&words)));
                State::Denied
            }
            (None, state) => state,
            (Some(Approval { id, answer: Answer::Missing, .. }), state) => {
                // What did not run was not allowed, and what did was.
                let ran = state != State::Denied && settled.status != Status::Cancelled;
                let answer = if ran { Answer::Yes } else { Answer::No };
                sink.frame(response(&id, answer, (!ran).then_some(words.as_str())));
                if ran { state } else { State::Denied }
            }
            (Some(Approval { answer: Answer::Yes, .. }), State::Denied) => State::Error,
            (Some(Approval { answer: Answer::Yes, .. }), state) => state,
            (Some(Approval { answer: Answer::No, .. }), _) => State::Denied,
        };
        sink.frame(match state {
            State::Output => of_end("tool-output-available", tool)
                .json("output", settled.content)
                .flag("dynamic", true)
                .end(),
            State::Error => of_end("tool-output-error", tool)
                .text("errorText", if words.is_empty() { settled.status.name() } else { &words })
                .flag("dynamic", true)
                .end(),
            State::Denied => of_end("tool-output-denied", tool).end(),
        });
        if !says_all(&state, settled) {
            let status = words::settled(of(tool), settled);
            sink.frame(data("tool-status", &tool.id, status));
        }
    }
}

fn natural(status: Status) -> State {
    match status {
        Status::Succeeded | Status::HandedOver => State::Output,
        Status::Denied => State::Denied,
        Status::Unknown
        | Status::Pending
        | Status::AwaitingApproval
        | Status::Running
        | Status::Failed
        | Status::Cancelled
        | Status::Interrupted => State::Error,
    }
}

/// Whether the state of the call alone tells how it ended.
fn says_all(state: &State, settled: Settled<'_>) -> bool {
    let is_plain = matches!(
        (state, settled.status),
        (State::Output, Status::Succeeded)
            | (State::Error, Status::Failed)
            | (State::Denied, Status::Denied)
    );
    is_plain && settled.reason.is_none()
}

fn of_end(kind: &str, tool: &Tool) -> Object {
    chunk(kind).text("toolCallId", &tool.id)
}

/// A no that nobody was asked for: a rule said it.
fn automatic(id: &str, tool: &Tool) -> String {
    chunk("tool-approval-request")
        .text("approvalId", id)
        .text("toolCallId", &tool.id)
        .flag("isAutomatic", true)
        .end()
}

fn response(id: &str, answer: Answer, reason: Option<&str>) -> String {
    chunk("tool-approval-response")
        .text("approvalId", id)
        .flag("approved", answer == Answer::Yes)
        .maybe("reason", reason.filter(|reason| !reason.is_empty()))
        .end()
}
