//! What a request brings.

use super::{
    Agent, Client, Fault, Last, Note, Output, RequestCheck, Talk,
    calls::{Saying, TakenAnswers},
};
use crate::{Call, Order, Tail};

impl Talk {
    pub(super) fn request(&mut self, tail: Tail) {
        match self.admits() {
            Err(fault) => self.out.push(Output::Fail(fault)),
            Ok(()) if self.resumed => {
                self.resumed = false;
                self.speech.seed(tail.seed);
                self.listen(tail.one_at_a_time, Vec::new());
            }
            Ok(()) => self.take(tail),
        }
    }

    /// Whether somebody can ask at all.
    pub(super) fn admits(&self) -> Result<(), Fault> {
        let (status, code, message) = match (self.agent, self.client) {
            (Agent::Gone, _) => (502, "agent_died", "the agent is gone"),
            (Agent::Idle | Agent::Working, Client::There) => {
                (409, "agent_busy", "another request of this conversation is at work")
            }
            (Agent::Idle | Agent::Working, Client::Away) => return Ok(()),
        };
        Err(Fault { status, code, message: message.to_owned() })
    }

    /// What would become of a request.
    pub(super) fn foretell(&self, tail: &Tail) -> RequestCheck {
        if let Err(fault) = self.admits() {
            return RequestCheck { fault: Some(fault), ignored: Vec::new() };
        }
        if self.resumed {
            return RequestCheck::default();
        }
        let TakenAnswers { mut check, useful } =
            self.calls.clone().take_answers(tail, self.unheard);
        let calls: Vec<String> = tail.answers.iter().map(|answer| answer.call.clone()).collect();
        if !useful && check.fault.is_none() && self.last.to(&calls).is_none() {
            check.fault = self.has_news().err();
        }
        check
    }

    /// Whether there is a reply for somebody who brings nothing new.
    fn has_news(&self) -> Result<(), Fault> {
        let silent = self.message.is_none() && self.speech.is_empty() && !self.unheard;
        let owes = self.calls.any_unanswered() || self.calls.open().next().is_some();
        match self.agent {
            Agent::Idle if silent && !owes && !self.calls.any_due() => Err(Fault {
                status: 400,
                code: "nothing_new",
                message: "the request says nothing new".to_owned(),
            }),
            Agent::Idle | Agent::Working | Agent::Gone => Ok(()),
        }
    }

    fn take(&mut self, tail: Tail) {
        let calls: Vec<String> = tail.answers.iter().map(|answer| answer.call.clone()).collect();
        let TakenAnswers { check, useful } = self.calls.take_answers(&tail, self.unheard);
        for (why, id) in check.ignored {
            self.note(Note::Ignored(why, id));
        }
        if let Some(fault) = check.fault {
            // Nothing was taken: nothing else changes.
            return self.out.push(Output::Fail(fault));
        }
        let Tail { answers: _, words, foreign: _, one_at_a_time, seed } = tail;
        self.speech.seed(seed);
        // The same answers once more, and nothing else: so is the reply.
        if let (Some(reply), false) = (self.last.to(&calls), useful) {
            self.out.extend(reply.iter().cloned().map(Output::Say));
            self.out.push(Output::End);
            return;
        }
        if let (Err(fault), false) = (self.has_news(), useful) {
            return self.out.push(Output::Fail(fault));
        }
        if words.is_empty() {
            return self.listen(one_at_a_time, calls);
        }
        self.calls.cancel(self.saying());
        self.prompt.extend(words);
        self.listen(one_at_a_time, Vec::new());
    }

    /// From now on there is somebody to reply to.
    fn listen(&mut self, one_at_a_time: bool, answered: Vec<String>) {
        self.client = Client::There;
        self.most = if one_at_a_time { 1 } else { usize::MAX };
        self.abandoned = false;
        self.last = Last::begin(answered);
        self.go_on();
        let owed = self.calls.owed(self.most);
        if !owed.is_empty() {
            return self.tell_again(&owed);
        }
        let kept = self.kept.take();
        self.say(kept);
        if self.message.is_some() {
            return;
        }
        if self.calls.any_unanswered() {
            self.end_reply();
        } else if self.agent == Agent::Idle {
            // Nothing is to come.
            if self.speech.is_empty() && !self.unheard {
                self.fail(400, "nothing_new", "the request says nothing new".to_owned());
            } else {
                self.end_reply();
            }
        }
    }

    /// A reply with nothing in it but calls that the client knows of: whatever else there is waits
    /// until they have answers, so that the client's history stays in order.
    fn tell_again(&mut self, calls: &[(Call, String)]) {
        let mut events = Vec::new();
        let mut speech = self.speech.apart();
        for (call, text) in calls {
            speech.call(call, text, &mut events);
        }
        speech.finish(true, &mut events);
        self.finish_reply(events);
    }

    fn saying(&self) -> Saying {
        match self.message {
            Some(_) => Saying::On,
            None => Saying::Over,
        }
    }

    /// Tells the agent what it can be told: answers in call order, then words.
    pub(super) fn go_on(&mut self) {
        for order in self.calls.deliver(self.saying()) {
            self.order(order);
            self.agent = Agent::Working;
        }
        if !self.prompt.is_empty() && !self.calls.any_due() {
            let words = std::mem::take(&mut self.prompt);
            self.order(Order::Prompt(words));
            self.agent = Agent::Working;
            self.heard = false;
        }
    }
}
