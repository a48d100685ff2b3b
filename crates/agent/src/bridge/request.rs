//! What a request brings.

use super::{
    AgentBridge, BridgeError, BridgeNote, BridgeOutput, BridgedAgentState, ClientPresence,
    LastReply, RequestCheck,
    calls::{AcceptedAnswers, MessageProgress},
};
use crate::{AgentCommand, ClientToolCall, RequestTail};

impl AgentBridge {
    pub(super) fn take_request(&mut self, tail: RequestTail) {
        match self.check_available() {
            Err(fault) => self.out.push(BridgeOutput::Fail(fault)),
            Ok(()) if self.resumed => {
                self.resumed = false;
                self.merger.set_seed(tail.seed);
                self.start_reply(tail.one_at_a_time, Vec::new());
            }
            Ok(()) => self.apply_tail(tail),
        }
    }

    /// Whether somebody can ask at all.
    pub(super) fn check_available(&self) -> Result<(), BridgeError> {
        let (status, code, message) = match (self.agent, self.client) {
            (BridgedAgentState::Gone, _) => (502, "agent_died", "the agent is gone"),
            (BridgedAgentState::Idle | BridgedAgentState::Working, ClientPresence::Waiting) => {
                (409, "agent_busy", "another request of this conversation is at work")
            }
            (BridgedAgentState::Idle | BridgedAgentState::Working, ClientPresence::Absent) => {
                return Ok(());
            }
        };
        Err(BridgeError { status, code, message: message.to_owned() })
    }

    /// What would become of a request.
    pub(super) fn predict_request(&self, tail: &RequestTail) -> RequestCheck {
        if let Err(fault) = self.check_available() {
            return RequestCheck { fault: Some(fault), ignored: Vec::new() };
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

    /// Whether there is a reply for somebody who brings nothing new.
    fn check_news(&self) -> Result<(), BridgeError> {
        let silent = self.message.is_none() && self.merger.is_empty() && !self.has_unseen_timeout;
        let owes = self.calls.has_unanswered() || self.calls.open().next().is_some();
        match self.agent {
            BridgedAgentState::Idle if silent && !owes && !self.calls.has_undelivered() => {
                Err(BridgeError {
                    status: 400,
                    code: "nothing_new",
                    message: "the request says nothing new".to_owned(),
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
        for (why, id) in check.ignored {
            self.push_note(BridgeNote::Ignored(why, id));
        }
        if let Some(fault) = check.fault {
            // Nothing was taken: nothing else changes.
            return self.out.push(BridgeOutput::Fail(fault));
        }
        let RequestTail { answers: _, user_content: words, foreign: _, one_at_a_time, seed } = tail;
        self.merger.set_seed(seed);
        // The same answers once more, and nothing else: so is the reply.
        if let (Some(reply), false) = (self.last_reply.matching_reply(&calls), useful) {
            self.out.extend(reply.iter().cloned().map(BridgeOutput::StreamEvent));
            self.out.push(BridgeOutput::End);
            return;
        }
        if let (Err(fault), false) = (self.check_news(), useful) {
            return self.out.push(BridgeOutput::Fail(fault));
        }
        if words.is_empty() {
            return self.start_reply(one_at_a_time, calls);
        }
        self.calls.cancel(self.message_progress());
        self.prompt.extend(words);
        self.start_reply(one_at_a_time, Vec::new());
    }

    /// From now on there is somebody to reply to.
    fn start_reply(&mut self, one_at_a_time: bool, answered: Vec<String>) {
        self.client = ClientPresence::Waiting;
        self.call_limit = if one_at_a_time { 1 } else { usize::MAX };
        self.abandoned = false;
        self.last_reply = LastReply::start(answered);
        self.send_to_agent();
        let owed = self.calls.unanswered_known_calls(self.call_limit);
        if !owed.is_empty() {
            return self.repeat_calls(&owed);
        }
        let kept = self.buffer.take();
        self.send_events(kept);
        if self.message.is_some() {
            return;
        }
        if self.calls.has_unanswered() {
            self.end_reply();
        } else if self.agent == BridgedAgentState::Idle {
            // Nothing is to come.
            if self.merger.is_empty() && !self.has_unseen_timeout {
                self.fail(400, "nothing_new", "the request says nothing new".to_owned());
            } else {
                self.end_reply();
            }
        }
    }

    /// A reply with nothing in it but calls that the client knows of: whatever else there is waits
    /// until they have answers, so that the client's history stays in order.
    fn repeat_calls(&mut self, calls: &[(ClientToolCall, String)]) {
        let mut events = Vec::new();
        let mut speech = self.merger.new_sibling();
        for (call, text) in calls {
            speech.push_call(call, text, &mut events);
        }
        speech.finish(true, &mut events);
        self.finish_reply(events);
    }

    fn message_progress(&self) -> MessageProgress {
        match self.message {
            Some(_) => MessageProgress::Open,
            None => MessageProgress::Ended,
        }
    }

    /// Tells the agent what it can be told: answers in call order, then words.
    pub(super) fn send_to_agent(&mut self) {
        for order in self.calls.deliver(self.message_progress()) {
            self.push_command(order);
            self.agent = BridgedAgentState::Working;
        }
        if !self.prompt.is_empty() && !self.calls.has_undelivered() {
            let words = std::mem::take(&mut self.prompt);
            self.push_command(AgentCommand::Prompt(words));
            self.agent = BridgedAgentState::Working;
            self.has_new_events = false;
        }
    }
}
