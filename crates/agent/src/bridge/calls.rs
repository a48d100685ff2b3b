//! The calls that an agent waits for: who knows of them, who has answered, who wants to hear.

use std::collections::VecDeque;

use foxwedge_core::MissingAnswer;

use super::{
    BridgeError, RequestCheck,
    pending_call::{
        AnswerSource, CallAnswer, CallOrigin, PendingCall, PendingCallStage, ToolResultRequest,
    },
};
use crate::{AgentCommand, ClientToolCall, ClientToolResult, RequestTail};

/// Ids of calls that are over are known for a while: so many of them.
const MAX_FINISHED: usize = 1024;

/// All calls that are not over, in call order.
#[derive(Clone, Debug, Default)]
pub(super) struct PendingCalls {
    list: Vec<PendingCall>,
    /// Wishes for calls that are still to be said.
    early_requests: Vec<ToolResultRequest>,
    finished: VecDeque<FinishedCall>,
}

/// A call that is over.
#[derive(Clone, Debug)]
struct FinishedCall {
    id: String,
    /// What a further answer is called.
    repeat_reason: &'static str,
    /// The agent is still to say that it has the answer.
    unconfirmed: bool,
}

/// Whether the agent is saying a message.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum MessageProgress {
    Open,
    Ended,
}

/// What became of the answers of a request.
pub(super) struct AcceptedAnswers {
    pub(super) check: RequestCheck,
    /// The request says something: words, or an answer that somebody waited for.
    pub(super) useful: bool,
}

/// What became of an answer.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum AnswerDisposition {
    /// It is kept.
    Accepted,
    /// The client owed it, and the agent does not want it any more.
    Late,
    /// It is of no use: `duplicate` or `late`.
    Ignored(&'static str),
    /// Nobody knows its call.
    Unknown,
}

impl PendingCalls {
    /// The model has said a call.
    pub(super) fn add_call(&mut self, call: ClientToolCall, text: String) {
        let fits = |wish: &ToolResultRequest| wish.call.as_ref() == Some(&call.id);
        let alike = |wish: &ToolResultRequest| wish.call.is_none() && wish.name == call.name;
        let same = |wish: &ToolResultRequest| alike(wish) && wish.arguments == call.arguments;
        let place =
            |fits: &dyn Fn(&ToolResultRequest) -> bool| self.early_requests.iter().position(fits);
        let early = place(&fits).or_else(|| place(&same)).or_else(|| place(&alike));
        let tickets = early.map(|at| self.early_requests.remove(at).ticket).into_iter().collect();
        self.list.push(PendingCall::from_model(call, text, tickets));
    }

    /// The agent wants an answer. Gives the wish back if its call is not known.
    pub(super) fn match_request(&mut self, wish: ToolResultRequest) -> Option<ToolResultRequest> {
        let known = |held: &PendingCall| held.tickets.contains(&wish.ticket);
        if self.list.iter().any(known)
            || self.early_requests.iter().any(|it| it.ticket == wish.ticket)
        {
            return None;
        }
        let free = |held: &PendingCall| held.tickets.is_empty();
        let fits = |held: &PendingCall| Some(&held.call.id) == wish.call.as_ref();
        let alike =
            |held: &PendingCall| wish.call.is_none() && free(held) && held.call.name == wish.name;
        let same = |held: &PendingCall| alike(held) && held.call.arguments == wish.arguments;
        let place = |fits: &dyn Fn(&PendingCall) -> bool| self.list.iter().position(fits);
        let found = place(&|held| fits(held) && free(held)).or_else(|| place(&fits));
        let found = found.or_else(|| place(&same)).or_else(|| place(&alike));
        match found.and_then(|at| self.list.get_mut(at)) {
            Some(held) => {
                held.tickets.push(wish.ticket);
                held.closed = false;
                if matches!(held.stage, PendingCallStage::Unwanted) {
                    held.stage = PendingCallStage::Known;
                }
            }
            None => return Some(wish),
        }
        None
    }

    /// A wish whose call is still to be said.
    pub(super) fn hold_request(&mut self, wish: ToolResultRequest) {
        self.early_requests.push(wish);
    }

    /// Nothing more is said: wishes that are left are calls of their own.
    pub(super) fn release_held_requests(&mut self) {
        for wish in std::mem::take(&mut self.early_requests) {
            self.add_requested_call(wish);
        }
    }

    /// A call of which only the wish is known.
    pub(super) fn add_requested_call(&mut self, wish: ToolResultRequest) {
        self.list.push(PendingCall::from_request(wish));
    }

    /// The client answers. A request that says nothing but answers to unknown calls is refused, and
    /// changes nothing. `news`: the agent went on without the client, and an answer that comes late
    /// is a reason to hear of it.
    pub(super) fn take_answers(&mut self, tail: &RequestTail, news: bool) -> AcceptedAnswers {
        let mut useful = !tail.user_content.is_empty();
        let (mut ignored, mut unknown, mut known) = (Vec::new(), None, false);
        for answer in &tail.answers {
            let id = &answer.call;
            let took = self.accept_answer(answer);
            known |= news && took != AnswerDisposition::Unknown;
            match took {
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
        let told = |held: &PendingCall| held.is_known_unanswered() && held.call.id == answer.call;
        if let Some(at) = self.list.iter().position(told) {
            if self
                .list
                .get(at)
                .is_some_and(|held| matches!(held.stage, PendingCallStage::Unwanted))
            {
                let id = self.list.remove(at).call.id;
                self.remember_finished(FinishedCall {
                    id,
                    repeat_reason: "late",
                    unconfirmed: false,
                });
                return AnswerDisposition::Late;
            }
            if let Some(held) = self.list.get_mut(at) {
                let (content, error) = (answer.content.clone(), answer.error);
                held.stage = PendingCallStage::Answered(CallAnswer {
                    content,
                    error,
                    source: AnswerSource::Client,
                });
            }
            return AnswerDisposition::Accepted;
        }
        let mut named = self.list.iter().filter(|held| held.call.id == answer.call);
        let given = named.find_map(PendingCall::repeat_reason);
        let gone = || self.finished.iter().rev().find(|gone| gone.id == answer.call);
        match given.or_else(|| gone().map(|gone| gone.repeat_reason)) {
            Some(another) => AnswerDisposition::Ignored(another),
            None => AnswerDisposition::Unknown,
        }
    }

    /// The client goes on without answering: nobody will. Calls of a message that is still being
    /// said are left for its end.
    pub(super) fn cancel(&mut self, message: MessageProgress) {
        let shut = self.take_matching(|held| matches!(held.stage, PendingCallStage::Unwanted));
        self.remember_closed(shut);
        for held in &mut self.list {
            match (&held.stage, message) {
                (PendingCallStage::New, MessageProgress::Open) => {}
                _ => held.cancel(),
            }
        }
    }

    /// The client did not answer in time: an error stands for each answer that it owes. Tells whose.
    pub(super) fn time_out(&mut self) -> Vec<String> {
        let shut = self.take_matching(|held| matches!(held.stage, PendingCallStage::Unwanted));
        let mut calls: Vec<String> = shut.iter().map(|held| held.call.id.clone()).collect();
        self.remember_closed(shut);
        for held in
            self.list.iter_mut().filter(|held| matches!(held.stage, PendingCallStage::Known))
        {
            calls.push(held.call.id.clone());
            held.close(MissingAnswer::TimedOut);
        }
        calls
    }

    /// Answers that can go to the agent now, in call order: all of them, once none is missing, as
    /// far as the agent wants them. They do not wait for calls of a message that is still being
    /// said.
    pub(super) fn deliver(&mut self, message: MessageProgress) -> Vec<AgentCommand> {
        let missing = self.list.iter().any(|held| match (&held.stage, message) {
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
            for held in &mut self.list {
                held.stage = match std::mem::replace(&mut held.stage, PendingCallStage::New) {
                    PendingCallStage::Answered(given) => PendingCallStage::Undelivered(given),
                    stage @ (PendingCallStage::New
                    | PendingCallStage::Known
                    | PendingCallStage::Unwanted
                    | PendingCallStage::Undelivered(_)) => stage,
                };
            }
        }
        let mut orders = Vec::new();
        let due = |held: &PendingCall| {
            matches!(held.stage, PendingCallStage::Undelivered(_)) && !held.tickets.is_empty()
        };
        for held in self.take_matching(due) {
            let PendingCall { call, tickets, stage: PendingCallStage::Undelivered(given), .. } =
                held
            else {
                continue;
            };
            let CallAnswer { content, error, source: by } = given;
            for ticket in tickets {
                orders.push(AgentCommand::ToolResult { ticket, content: content.clone(), error });
            }
            self.remember_finished(FinishedCall {
                id: call.id,
                repeat_reason: by.repeat_reason(),
                unconfirmed: true,
            });
        }
        orders
    }

    /// The agent says that a call has its answer. Tells an answer of the client that is not
    /// wanted any more.
    pub(super) fn close(&mut self, id: &str) -> Vec<String> {
        let confirmed = self.finished.iter_mut().find(|gone| gone.unconfirmed && gone.id == id);
        if let Some(gone) = confirmed {
            gone.unconfirmed = false;
            return Vec::new();
        }
        self.early_requests.retain(|wish| wish.call.as_deref() != Some(id));
        let named = |held: &&mut PendingCall| {
            held.call.id == id && !matches!(held.stage, PendingCallStage::Unwanted)
        };
        match self.list.iter_mut().find(named) {
            Some(held) => held.closed = true,
            None => return Vec::new(),
        }
        self.close_matching(|held| held.closed).0
    }

    /// The agent does not want an answer any more. A call of which nothing but the wish was known
    /// is over then.
    pub(super) fn withdraw(&mut self, ticket: &str) -> Vec<String> {
        self.early_requests.retain(|wish| wish.ticket != ticket);
        for held in &mut self.list {
            held.tickets.retain(|it| it != ticket);
        }
        self.close_matching(|held| {
            held.tickets.is_empty() && held.origin == CallOrigin::RequestOnly
        })
        .0
    }

    /// The agent has gone on: calls that it does not wait for are over. Tells answers that came for
    /// nothing, and whether the client still believes that one is wanted.
    pub(super) fn close_unrequested(&mut self) -> (Vec<String>, bool) {
        self.close_matching(|held| held.tickets.is_empty())
    }

    /// The agent wants no answers to these any more. The client never hears of those that it does
    /// not know yet.
    fn close_matching(&mut self, these: impl Fn(&PendingCall) -> bool) -> (Vec<String>, bool) {
        let mut abandoned = false;
        for held in self.list.iter_mut().filter(|held| these(held)) {
            held.tickets.clear();
            if matches!(held.stage, PendingCallStage::Known) {
                held.stage = PendingCallStage::Unwanted;
                abandoned = true;
            }
        }
        let over = self
            .take_matching(|held| these(held) && !matches!(held.stage, PendingCallStage::Unwanted));
        (self.remember_closed(over), abandoned)
    }

    /// Calls that the client was told of before and has not answered: it is told once more.
    pub(super) fn unanswered_known_calls(&self, most: usize) -> Vec<(ClientToolCall, String)> {
        let owed = self.list.iter().filter(|held| held.is_known_unanswered()).take(most);
        owed.map(|held| (held.call.clone(), held.text.clone())).collect()
    }

    /// The calls that the client does not know yet: it is told now.
    pub(super) fn hand_out(&mut self, most: usize) -> Vec<(ClientToolCall, String)> {
        let new = self.list.iter_mut().filter(|held| matches!(held.stage, PendingCallStage::New));
        let told = new.take(most).map(|held| {
            held.stage = PendingCallStage::Known;
            (held.call.clone(), held.text.clone())
        });
        told.collect()
    }

    /// Calls that the client knows of and has not answered.
    pub(super) fn open(&self) -> impl Iterator<Item = &ClientToolCall> {
        self.list.iter().filter(|held| held.is_known_unanswered()).map(|held| &held.call)
    }

    /// Whether the agent waits for an answer of the client.
    pub(super) fn has_unanswered(&self) -> bool {
        self.list.iter().any(PendingCall::is_unanswered)
    }

    /// Whether an answer waits for the agent's wish.
    pub(super) fn has_undelivered(&self) -> bool {
        self.list.iter().any(|held| matches!(held.stage, PendingCallStage::Undelivered(_)))
    }

    /// Takes out calls that are over.
    fn take_matching(&mut self, over: impl Fn(&PendingCall) -> bool) -> Vec<PendingCall> {
        if !self.list.iter().any(&over) {
            return Vec::new();
        }
        let (over, list) = std::mem::take(&mut self.list).into_iter().partition(over);
        self.list = list;
        over
    }

    /// Remembers calls that the agent answered itself; tells answers that came for nothing.
    fn remember_closed(&mut self, held: Vec<PendingCall>) -> Vec<String> {
        let mut late = Vec::new();
        for held in held {
            let id = held.call.id;
            match held.stage {
                PendingCallStage::New => continue,
                PendingCallStage::Known | PendingCallStage::Unwanted => {}
                PendingCallStage::Answered(given) | PendingCallStage::Undelivered(given) => {
                    late.extend((given.source == AnswerSource::Client).then(|| id.clone()));
                }
            }
            self.remember_finished(FinishedCall { id, repeat_reason: "late", unconfirmed: false });
        }
        late
    }

    fn remember_finished(&mut self, gone: FinishedCall) {
        if self.finished.len() == MAX_FINISHED {
            self.finished.pop_front();
        }
        self.finished.push_back(gone);
    }
}
