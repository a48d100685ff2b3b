//! What must be true whenever something is told to an agent or to a client.

use super::World;
use crate::client::Called;

impl World {
    pub(super) fn judge_answer(&mut self, ticket: &str, text: &str) {
        let name = self.agent.log.wishes.get(ticket);
        let name = name.unwrap_or_else(|| panic!("nobody wants {ticket}"));
        if text.starts_with("[foxwedge]") {
            self.seen.cancelled += 1;
            let late = self.timed_out.contains(name);
            assert_eq!(late, text.contains("Timed out"), "{name}: {text}");
            let given_up = late || self.client.gave_up(name) || !self.told.contains(name);
            assert!(given_up, "nobody has cancelled {name}");
        } else {
            self.seen.answers += 1;
            assert_eq!(text, format!("answer to {name}"));
        }
        // The agent hears nothing before all answers are there that it waits for.
        let closed = |name: &String| self.agent.log.closed.contains(name);
        let late = |name: &String| self.timed_out.contains(name);
        let mut owed = self.client.owed.iter();
        let missing = owed.find(|call| !closed(&call.name) && !late(&call.name));
        assert!(missing.is_none(), "{name} is answered before {missing:?}");
    }

    /// Words come behind the answers to everything that the client knew of.
    pub(super) fn judge_prompt(&self) {
        let log = &self.agent.log;
        let answered = |call: &String| log.answers.iter().any(|(name, _)| name == call);
        let missing = self.told.iter().find(|call| !answered(call) && !log.closed.contains(*call));
        assert!(missing.is_none(), "words before the answer to {missing:?}");
    }

    /// What the client is told is what the agent said: each of its messages whole, and a blank line
    /// between two of them.
    pub(super) fn judge_text(&self, text: &str) {
        for piece in text.split("\n\n").filter(|_| !text.is_empty()) {
            assert!(self.agent.log.messages.iter().any(|said| said == piece), "{text:?}");
        }
    }

    /// Calls that the client hears of for the first time.
    pub(super) fn judge_new(&mut self, calls: &[Called]) {
        assert!(!self.client.serial || calls.len() < 2, "{calls:?}");
        for call in calls {
            if self.told.contains(&call.name) {
                assert!(self.repeats, "{call:?} was told before");
                continue;
            }
            assert!(!self.agent.log.closed.contains(&call.name), "{call:?} is closed");
            let number = call.name.replace("f_", "");
            assert_eq!(call.arguments.replace(' ', ""), format!("{{\"n\":{number}}}"));
            self.told.push(call.name.clone());
        }
        let order = |name: &String| self.agent.log.calls.iter().position(|call| call == name);
        assert!(self.told.iter().map(order).is_sorted(), "{:?}", self.told);
    }

    /// The agent has nothing to do, and the client owes nothing: nothing is left anywhere.
    pub(super) fn judge_rest(&self, said: &str) {
        let log = &self.agent.log;
        assert!(!self.agent.is_working(), "it works, and nobody knows");
        assert!(log.wishes.is_empty(), "{:?}", log.wishes);
        assert_eq!(said, self.client.texts);
        assert_eq!(log.prompts, self.client.said);
        for call in &log.calls {
            let answered = log.answers.iter().filter(|(name, _)| name == call).count();
            let closed = log.closed.contains(call);
            assert!(answered == 1 || answered == 0 && closed, "{call}: {answered}");
            assert!(
                closed || self.told.contains(call) || self.seen.cancelled > 0,
                "{call} was never told"
            );
        }
    }
}
