//! The open calls of an agent: their results, and whether client and agent know of them.

use std::collections::VecDeque;

use foxwedge_core::MissingAnswer;

use super::{
    BridgeError, RequestCheck,
    pending_call::{
        AnswerSource, CallAnswer, CallOrigin, PendingCall, PendingCallStage, ToolResultRequest,
    },
};
use crate::{AgentCommand, ClientToolCall, ClientToolResult, RequestTail};

/// Number of finished call ids that are kept.
const MAX_FINISHED: usize = 1024;

/// All open calls, in call order.
#[derive(Clone, Debug, Default)]
pub(super) struct PendingCalls {
    list: Vec<PendingCall>,
    /// Result requests for calls that are not streamed yet.
    early_requests: Vec<ToolResultRequest>,
    finished: VecDeque<FinishedCall>,
}

/// A finished call.
#[derive(Clone, Debug)]
struct FinishedCall {
    id: String,
    /// Why a further result is ignored.
    repeat_reason: &'static str,
    /// The agent has not confirmed the result yet.
    unconfirmed: bool,
}

/// Whether the agent is streaming a message.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum MessageProgress {
    Open,
    Ended,
}

/// The outcome of the tool results of a request.
pub(super) struct AcceptedAnswers {
    pub(super) check: RequestCheck,
    /// The request has content, or a result that was expected.
    pub(super) useful: bool,
}

/// The outcome of one tool result.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum AnswerDisposition {
    /// Accepted.
    Accepted,
    /// Expected of the client, but the agent no longer needs it.
    Late,
    /// Ignored: `duplicate` or `late`.
    Ignored(&'static str),
    /// No call has this id.
    Unknown,
}

impl PendingCalls {
    /// Adds a call of the model.
    pub(super) fn add_call(&mut self, call: ClientToolCall, text: String) {
        let same_id = |request: &ToolResultRequest| request.call.as_ref() == Some(&call.id);
        let same_name =
            |request: &ToolResultRequest| request.call.is_none() && request.name == call.name;
        let same_arguments =
            |request: &ToolResultRequest| same_name(request) && request.arguments == call.arguments;
        let position = |same_id: &dyn Fn(&ToolResultRequest) -> bool| {
            self.early_requests.iter().position(same_id)
        };
        let early = position(&same_id)
            .or_else(|| position(&same_arguments))
            .or_else(|| position(&same_name));
        let tickets = early.map(|at| self.early_requests.remove(at).ticket).into_iter().collect();
        self.list.push(PendingCall::from_model(call, text, tickets));
    }

    /// Matches a result request with its call. Returns the request if the call is unknown.
    pub(super) fn match_request(
        &mut self,
        request: ToolResultRequest,
    ) -> Option<ToolResultRequest> {
        let has_ticket = |pending: &PendingCall| pending.tickets.contains(&request.ticket);
        if self.list.iter().any(has_ticket)
            || self.early_requests.iter().any(|it| it.ticket == request.ticket)
        {
            return None;
        }
        let is_free = |pending: &PendingCall| pending.tickets.is_empty();
        let same_id = |pending: &PendingCall| Some(&pending.call.id) == request.call.as_ref();
        let same_name = |pending: &PendingCall| {
            request.call.is_none() && is_free(pending) && pending.call.name == request.name
        };
        let same_arguments = |pending: &PendingCall| {
            same_name(pending) && pending.call.arguments == request.arguments
        };
        let position = |same_id: &dyn Fn(&PendingCall) -> bool| self.list.iter().position(same_id);
        let found = position(&|pending| same_id(pending) && is_free(pending))
            .or_else(|| position(&same_id));
        let found = found.or_else(|| position(&same_arguments)).or_else(|| position(&same_name));
        match found.and_then(|at| self.list.get_mut(at)) {
            Some(pending) => {
                pending.tickets.push(request.ticket);
                pending.closed = false;
                if matches!(pending.stage, PendingCallStage::Unwanted) {
                    pending.stage = PendingCallStage::Known;
                }
            }
            None => return Some(request),
        }
        None
    }

    /// Holds a request whose call is not streamed yet.
    pub(super) fn hold_request(&mut self, request: ToolResultRequest) {
        self.early_requests.push(request);
    }

    /// The message has ended: remaining requests become calls.
    pub(super) fn release_held_requests(&mut self) {
        for request in std::mem::take(&mut self.early_requests) {
            self.add_requested_call(request);
        }
    }

    /// Adds a call that is known only from its result request.
    pub(super) fn add_requested_call(&mut self, request: ToolResultRequest) {
        self.list.push(PendingCall::from_request(request));
    }

    /// Takes the tool results of a request. A request that has only results for unknown calls is
    /// rejected and changes nothing. `news`: the agent continued without the client, so a late
    /// result is a valid reason to ask for a reply.
    pub(super) fn take_answers(&mut self, tail: &RequestTail, news: bool) -> AcceptedAnswers {
        let mut useful = !tail.user_content.is_empty();
        let (mut ignored, mut unknown, mut known) = (Vec::new(), None, false);
        for answer in &tail.answers {
            let id = &answer.call;
            let disposition = self.accept_answer(answer);
            known |= news && disposition != AnswerDisposition::Unknown;
            match disposition {
                AnswerDisposition::Accepted => useful = true,
                AnswerDisposition::Late => {
                    useful = true;
                    ignored.push(("late", id.clone()));
                }
                AnswerDisposition::Ignored(why) => ignored.push((why, id.clone())),
                AnswerDisposition::Unknown => {
                    unknown.get_or_insert(id);
                    ignored.push(("unknown", id.clone()));
                }
            }
        }
        let fault = unknown.filter(|_| !useful && !known).map(|id| BridgeError {
            status: 400,
            code: "unknown_call",
            message: format!("no open call has the id `{id}`"),
        });
        AcceptedAnswers { check: RequestCheck { fault, ignored }, useful }
    }

    fn accept_answer(&mut self, answer: &ClientToolResult) -> AnswerDisposition {
        let is_open =
            |pending: &PendingCall| pending.is_known_unanswered() && pending.call.id == answer.call;
        if let Some(at) = self.list.iter().position(is_open) {
            if self
                .list
                .get(at)
                .is_some_and(|pending| matches!(pending.stage, PendingCallStage::Unwanted))
            {
                let id = self.list.remove(at).call.id;
                self.remember_finished(FinishedCall {
                    id,
                    repeat_reason: "late",
                    unconfirmed: false,
                });
                return AnswerDisposition::Late;
            }
            if let Some(pending) = self.list.get_mut(at) {
                let (content, error) = (answer.content.clone(), answer.error);
                pending.stage = PendingCallStage::Answered(CallAnswer {
                    content,
                    error,
                    source: AnswerSource::Client,
                });
            }
            return AnswerDisposition::Accepted;
        }
        let mut named = self.list.iter().filter(|pending| pending.call.id == answer.call);
        let pending_reason = named.find_map(PendingCall::repeat_reason);
        let finished = || self.finished.iter().rev().find(|finished| finished.id == answer.call);
        match pending_reason.or_else(|| finished().map(|finished| finished.repeat_reason)) {
            Some(reason) => AnswerDisposition::Ignored(reason),
            None => AnswerDisposition::Unknown,
        }
    }

    /// The client continues without answering: all open calls get placeholders. New calls of a
    /// message that is still streamed are left for its end.
    pub(super) fn cancel(&mut self, message: MessageProgress) {
        let unwanted =
            self.take_matching(|pending| matches!(pending.stage, PendingCallStage::Unwanted));
        self.remember_closed(unwanted);
        for pending in &mut self.list {
            match (&pending.stage, message) {
                (PendingCallStage::New, MessageProgress::Open) => {}
                _ => pending.cancel(),
            }
        }
    }

    /// Gives every call that waits for the client an error result. Returns the ids.
    pub(super) fn time_out(&mut self) -> Vec<String> {
        let unwanted =
            self.take_matching(|pending| matches!(pending.stage, PendingCallStage::Unwanted));
        let mut calls: Vec<String> =
            unwanted.iter().map(|pending| pending.call.id.clone()).collect();
        self.remember_closed(unwanted);
        for pending in
            self.list.iter_mut().filter(|pending| matches!(pending.stage, PendingCallStage::Known))
        {
            calls.push(pending.call.id.clone());
            pending.close(MissingAnswer::TimedOut);
        }
        calls
    }

    /// Results that can go to the agent now, in call order: once no result is missing, all that the
    /// agent has requested. They do not wait for calls of a message that is still streamed.
    pub(super) fn deliver(&mut self, message: MessageProgress) -> Vec<AgentCommand> {
        let missing = self.list.iter().any(|pending| match (&pending.stage, message) {
            (PendingCallStage::Known, _) | (PendingCallStage::New, MessageProgress::Ended) => true,
            (PendingCallStage::New, MessageProgress::Open)
            | (
                PendingCallStage::Unwanted
                | PendingCallStage::Answered(_)
                | PendingCallStage::Undelivered(_),
                _,
            ) => false,
        });
        if !missing {
            for pending in &mut self.list {
                pending.stage = match std::mem::replace(&mut pending.stage, PendingCallStage::New) {
                    PendingCallStage::Answered(answer) => PendingCallStage::Undelivered(answer),
                    stage @ (PendingCallStage::New
                    | PendingCallStage::Known
                    | PendingCallStage::Unwanted
                    | PendingCallStage::Undelivered(_)) => stage,
                };
            }
        }
        let mut commands = Vec::new();
        let is_due = |pending: &PendingCall| {
            matches!(pending.stage, PendingCallStage::Undelivered(_)) && !pending.tickets.is_empty()
        };
        for pending in self.take_matching(is_due) {
            let PendingCall { call, tickets, stage: PendingCallStage::Undelivered(answer), .. } =
                pending
            else {
                continue;
            };
            let CallAnswer { content, error, source } = answer;
            for ticket in tickets {
                commands.push(AgentCommand::ToolResult { ticket, content: content.clone(), error });
            }
            self.remember_finished(FinishedCall {
                id: call.id,
                repeat_reason: source.repeat_reason(),
                unconfirmed: true,
            });
        }
        commands
    }

    /// The agent reports that a call has its result. Returns client results that are no longer
    /// needed.
    pub(super) fn close(&mut self, id: &str) -> Vec<String> {
        let confirmed =
            self.finished.iter_mut().find(|finished| finished.unconfirmed && finished.id == id);
        if let Some(finished) = confirmed {
            finished.unconfirmed = false;
            return Vec::new();
        }
        self.early_requests.retain(|request| request.call.as_deref() != Some(id));
        let is_named = |pending: &&mut PendingCall| {
            pending.call.id == id && !matches!(pending.stage, PendingCallStage::Unwanted)
        };
        match self.list.iter_mut().find(is_named) {
            Some(pending) => pending.closed = true,
            None => return Vec::new(),
        }
        self.close_matching(|pending| pending.closed).0
    }

    /// The agent withdraws a request. A call that is known only from that request is finished.
    pub(super) fn withdraw(&mut self, ticket: &str) -> Vec<String> {
        self.early_requests.retain(|request| request.ticket != ticket);
        for pending in &mut self.list {
            pending.tickets.retain(|it| it != ticket);
        }
        self.close_matching(|pending| {
            pending.tickets.is_empty() && pending.origin == CallOrigin::RequestOnly
        })
        .0
    }

    /// The agent has continued: closes calls whose results it has not requested. Returns unused
    /// results, and whether the client still expects to answer one.
    pub(super) fn close_unrequested(&mut self) -> (Vec<String>, bool) {
        self.close_matching(|pending| pending.tickets.is_empty())
    }

    /// Closes matching calls. The client never sees those that it has not received yet.
    fn close_matching(
        &mut self,
        matches_call: impl Fn(&PendingCall) -> bool,
    ) -> (Vec<String>, bool) {
        let mut abandoned = false;
        for pending in self.list.iter_mut().filter(|pending| matches_call(pending)) {
            pending.tickets.clear();
            if matches!(pending.stage, PendingCallStage::Known) {
                pending.stage = PendingCallStage::Unwanted;
                abandoned = true;
            }
        }
        let finished = self.take_matching(|pending| {
            matches_call(pending) && !matches!(pending.stage, PendingCallStage::Unwanted)
        });
        (self.remember_closed(finished), abandoned)
    }

    /// Calls that the client has received and not answered; they are sent again.
    pub(super) fn unanswered_known_calls(&self, limit: usize) -> Vec<(ClientToolCall, String)> {
        let unanswered =
            self.list.iter().filter(|pending| pending.is_known_unanswered()).take(limit);
        unanswered.map(|pending| (pending.call.clone(), pending.text.clone())).collect()
    }

    /// Marks calls that are new for the client as sent, and returns them.
    pub(super) fn hand_out(&mut self, limit: usize) -> Vec<(ClientToolCall, String)> {
        let new =
            self.list.iter_mut().filter(|pending| matches!(pending.stage, PendingCallStage::New));
        let sent = new.take(limit).map(|pending| {
            pending.stage = PendingCallStage::Known;
            (pending.call.clone(), pending.text.clone())
        });
        sent.collect()
    }

    /// Calls that the client has received and not answered.
    pub(super) fn open(&self) -> impl Iterator<Item = &ClientToolCall> {
        self.list
            .iter()
            .filter(|pending| pending.is_known_unanswered())
            .map(|pending| &pending.call)
    }

    /// Whether the agent waits for a result of the client.
    pub(super) fn has_unanswered(&self) -> bool {
        self.list.iter().any(PendingCall::is_unanswered)
    }

    /// Whether a result waits until the agent requests it.
    pub(super) fn has_undelivered(&self) -> bool {
        self.list.iter().any(|pending| matches!(pending.stage, PendingCallStage::Undelivered(_)))
    }

    /// Removes and returns matching calls.
    fn take_matching(&mut self, matching: impl Fn(&PendingCall) -> bool) -> Vec<PendingCall> {
        if !self.list.iter().any(&matching) {
            return Vec::new();
        }
        let (matching, list) = std::mem::take(&mut self.list).into_iter().partition(matching);
        self.list = list;
        matching
    }

    /// Records calls that the agent closed itself. Returns unused results.
    fn remember_closed(&mut self, pending: Vec<PendingCall>) -> Vec<String> {
        let mut late = Vec::new();
        for pending in pending {
            let id = pending.call.id;
            match pending.stage {
                PendingCallStage::New => continue,
                PendingCallStage::Known | PendingCallStage::Unwanted => {}
                PendingCallStage::Answered(answer) | PendingCallStage::Undelivered(answer) => {
                    late.extend((answer.source == AnswerSource::Client).then(|| id.clone()));
                }
            }
            self.remember_finished(FinishedCall { id, repeat_reason: "late", unconfirmed: false });
        }
        late
    }

    fn remember_finished(&mut self, call: FinishedCall) {
        if self.finished.len() == MAX_FINISHED {
            self.finished.pop_front();
        }
        self.finished.push_back(call);
    }
}
