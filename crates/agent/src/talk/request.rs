//! What a request brings.

use super::{
    Agent, Client, Fault, Last, Note, Output, Talk,
    calls::{Saying, Took},
};
use crate::{Call, Order, Tail};

impl Talk {
    pub(super) fn request(&mut self, tail: Tail) {
        match (self.agent, self.client) {
            (Agent::Gone, _) => self.refuse(502, "agent_died", "the agent is gone"),
            (Agent::Idle | Agent::Working, Client::There) => {
                self.refuse(409, "agent_busy", "another request of this conversation is at work");
            }
            (Agent::Idle | Agent::Working, Client::Away) if self.resumed => {
                self.resumed = false;
                self.listen(tail.one_at_a_time, Vec::new());
            }
            (Agent::Idle | Agent::Working, Client::Away) => self.take(tail),
        }
    }

    /// A fault for somebody who asks; nothing else changes.
    fn refuse(&mut self, status: u16, code: &'static str, message: &str) {
        self.out.push(Output::Fail(Fault { status, code, message: message.to_owned() }));
    }

    fn take(&mut self, tail: Tail) {
        let Tail { answers, words, foreign: _, one_at_a_time } = tail;
        let calls: Vec<String> = answers.iter().map(|answer| answer.call.clone()).collect();
        let (mut useful, mut unknown) = (!words.is_empty(), None);
        for answer in answers {
            let id = answer.call.clone();
            match self.calls.answer(answer) {
                Took::Taken => useful = true,
                Took::Late => {
                    useful = true;
                    self.note(Note::Ignored("late", id));
                }
                Took::Useless(why) => self.note(Note::Ignored(why, id)),
                Took::Unknown => {
                    unknown.get_or_insert_with(|| id.clone());
                    self.note(Note::Ignored("unknown", id));
                }
            }
        }
        if let (Some(id), false) = (unknown, useful) {
            let message = format!("no open call has the id `{id}`");
            return self.refuse(400, "unknown_call", &message);
        }
        // The same answers once more, and nothing else: so is the reply.
        if let (Some(reply), false) = (self.last.to(&calls), useful) {
            self.out.extend(reply.iter().cloned().map(Output::Say));
            self.out.push(Output::End);
            return;
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
            if self.speech.is_empty() {
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
