//! Applies client requests to the bridge.

use super::{
    AgentBridge, BridgeError, BridgeNote, BridgeOutput, BridgedAgentState, ClientPresence,
    LastReply, RequestCheck,
    calls::{AcceptedAnswers, MessageProgress},
};
use crate::{AgentCommand, ClientToolCall, RequestTail};

impl AgentBridge {
    pub(super) fn take_request(&mut self, tail: RequestTail) {
        match self.check_available() {
            Err(error) => self.out.push(BridgeOutput::Fail(error)),
            Ok(()) if self.resumed => {
                self.resumed = false;
                self.merger.set_seed(tail.seed);
                self.start_reply(tail.one_at_a_time, Vec::new());
            }
            Ok(()) => self.apply_tail(tail),
        }
    }

    /// Whether the bridge can accept a request.
    pub(super) fn check_available(&self) -> Result<(), BridgeError> {
        let (status, code, message) = match (self.agent, self.client) {
            (BridgedAgentState::Gone, _) => (502, "agent_died", "the agent process ended"),
            (BridgedAgentState::Idle | BridgedAgentState::Working, ClientPresence::Waiting) => {
                (409, "agent_busy", "another request of this conversation is in progress")
            }
            (BridgedAgentState::Idle | BridgedAgentState::Working, ClientPresence::Absent) => {
                return Ok(());
            }
        };
        Err(BridgeError { status, code, message: message.to_owned() })
    }

    /// Predicts the outcome of a request.
    pub(super) fn predict_request(&self, tail: &RequestTail) -> RequestCheck {
        if let Err(error) = self.check_available() {
            return RequestCheck { fault: Some(error), ignored: Vec::new() };
        }
        if self.resumed {
            return RequestCheck::default();
        }
        let AcceptedAnswers { mut check, useful } =
            self.calls.clone().take_answers(tail, self.has_unseen_timeout);
        let calls: Vec<String> = tail.answers.iter().map(|answer| answer.call.clone()).collect();
        if !useful && check.fault.is_none() && self.last_reply.matching_reply(&calls).is_none() {
            check.fault = self.check_news().err();
        }
        check
    }

    /// Whether there is a reply for a request without new content.
    fn check_news(&self) -> Result<(), BridgeError> {
        let has_no_output =
            self.message.is_none() && self.merger.is_empty() && !self.has_unseen_timeout;
        let has_open_calls = self.calls.has_unanswered() || self.calls.open().next().is_some();
        match self.agent {
            BridgedAgentState::Idle
                if has_no_output && !has_open_calls && !self.calls.has_undelivered() =>
            {
                Err(BridgeError {
                    status: 400,
                    code: "nothing_new",
                    message: "the request contains nothing new".to_owned(),
                })
            }
            BridgedAgentState::Idle | BridgedAgentState::Working | BridgedAgentState::Gone => {
                Ok(())
            }
        }
    }

    fn apply_tail(&mut self, tail: RequestTail) {
        let calls: Vec<String> = tail.answers.iter().map(|answer| answer.call.clone()).collect();
        let AcceptedAnswers { check, useful } =
            self.calls.take_answers(&tail, self.has_unseen_timeout);
        for (reason, id) in check.ignored {
            self.push_note(BridgeNote::Ignored(reason, id));
        }
        if let Some(error) = check.fault {
            // No result was accepted, so nothing else changes.
            return self.out.push(BridgeOutput::Fail(error));
        }
        let RequestTail { answers: _, user_content, foreign: _, one_at_a_time, seed } = tail;
        self.merger.set_seed(seed);
        // The same results again and nothing else: repeat the reply.
        if let (Some(reply), false) = (self.last_reply.matching_reply(&calls), useful) {
            self.out.extend(reply.iter().cloned().map(BridgeOutput::StreamEvent));
            self.out.push(BridgeOutput::End);
            return;
        }
        if let (Err(error), false) = (self.check_news(), useful) {
            return self.out.push(BridgeOutput::Fail(error));
        }
        if user_content.is_empty() {
            return self.start_reply(one_at_a_time, calls);
        }
        self.calls.cancel(self.message_progress());
        self.prompt.extend(user_content);
        self.start_reply(one_at_a_time, Vec::new());
    }

    /// Starts a reply to the client.
    fn start_reply(&mut self, one_at_a_time: bool, answered: Vec<String>) {
        self.client = ClientPresence::Waiting;
        self.call_limit = if one_at_a_time { 1 } else { usize::MAX };
        self.abandoned = false;
        self.last_reply = LastReply::start(answered);
        self.send_to_agent();
        let unanswered = self.calls.unanswered_known_calls(self.call_limit);
        if !unanswered.is_empty() {
            return self.repeat_calls(&unanswered);
        }
        let buffered = self.buffer.take();
        self.send_events(buffered);
        if self.message.is_some() {
            return;
        }
        if self.calls.has_unanswered() {
            self.end_reply();
        } else if self.agent == BridgedAgentState::Idle {
            // No more output will come.
            if self.merger.is_empty() && !self.has_unseen_timeout {
                self.fail(400, "nothing_new", "the request contains nothing new".to_owned());
            } else {
                self.end_reply();
            }
        }
    }

    /// Sends a reply that has only calls the client already knows. Everything else waits for their
    /// results, so that the client's history stays in order.
    fn repeat_calls(&mut self, calls: &[(ClientToolCall, String)]) {
        let mut events = Vec::new();
        let mut merger = self.merger.new_sibling();
        for (call, text) in calls {
            merger.push_call(call, text, &mut events);
        }
        merger.finish(true, &mut events);
        self.finish_reply(events);
    }

    fn message_progress(&self) -> MessageProgress {
        match self.message {
            Some(_) => MessageProgress::Open,
            None => MessageProgress::Ended,
        }
    }

    /// Sends what the agent can take: tool results in call order, then user content.
    pub(super) fn send_to_agent(&mut self) {
        for command in self.calls.deliver(self.message_progress()) {
            self.push_command(command);
            self.agent = BridgedAgentState::Working;
        }
        if !self.prompt.is_empty() && !self.calls.has_undelivered() {
            let prompt = std::mem::take(&mut self.prompt);
            self.push_command(AgentCommand::Prompt(prompt));
            self.agent = BridgedAgentState::Working;
            self.has_new_events = false;
        }
    }
}
