//! Questions: which key is an answer, and what becomes of it.

use foxwedge_engine::tool_loop::Decision;

use super::{Act, Screen};
use crate::chat::terminal::{
    ask::{Ask, QUIET, Stage},
    editor::Edited,
    keys::Key,
};

impl Screen {
    /// Somebody has to be asked.
    pub(in crate::chat::terminal) fn ask(&mut self, ask: Ask) {
        self.asks.push_back(ask);
    }

    /// What stands on the screen has been drawn.
    pub(in crate::chat::terminal) fn drawn(&mut self, now: u64) {
        if self.stage == Stage::New && !self.asks.is_empty() {
            self.stage = Stage::Seen(now);
        }
    }

    /// Whether a key is an answer to the question.
    pub(in crate::chat::terminal) fn is_armed(&self, now: u64) -> bool {
        match self.stage {
            Stage::New | Stage::Why(_) => false,
            Stage::Seen(since) => {
                self.editor.is_empty() && now >= since.max(self.typed_at).saturating_add(QUIET)
            }
            Stage::Turned => true,
        }
    }

    pub(super) fn answer(&mut self, key: &Key) -> Vec<Act> {
        let Some(ask) = self.asks.front() else { return Vec::new() };
        let (decision, always) = match key {
            Key::Char('y' | 'Y') => (Decision::Allow, None),
            Key::Char('a' | 'A') => (Decision::Allow, Some(ask.tool.clone())),
            Key::Char('n' | 'N') => (Decision::Deny(None), None),
            Key::Char('t' | 'T') => {
                self.stage = Stage::Why(self.editor.put_aside());
                return Vec::new();
            }
            // Somebody turned to the question, and back.
            Key::Tab => {
                self.stage = Stage::Seen(self.typed_at);
                return Vec::new();
            }
            _ => return Vec::new(),
        };
        self.decide(decision, always)
    }

    /// Somebody types why not.
    pub(super) fn why(&mut self, key: &Key) -> Vec<Act> {
        match self.editor.press(key) {
            Edited::Yes | Edited::No | Edited::Full => Vec::new(),
            Edited::Sent => {
                let why = self.editor.put_aside().trim().to_owned();
                self.decide(Decision::Deny((!why.is_empty()).then_some(why)), None)
            }
        }
    }

    pub(super) fn decide(&mut self, decision: Decision, always: Option<String>) -> Vec<Act> {
        let Some(ask) = self.asks.front().cloned() else { return Vec::new() };
        self.drop_ask();
        let mut acts = vec![Act::Decide { number: ask.number, decision, always: always.clone() }];
        // Those that wait behind it are allowed by the same word.
        while let Some(tool) = &always
            && let Some(next) = self.asks.front().filter(|next| next.tool == *tool)
        {
            acts.push(Act::Decide { number: next.number, decision: Decision::Allow, always: None });
            self.drop_ask();
        }
        acts
    }

    /// Nobody wants to know any more.
    pub(super) fn forget_ask(&mut self, call: &str) {
        if self.asks.front().is_some_and(|ask| ask.call == call) {
            self.drop_ask();
        } else {
            self.asks.retain(|ask| ask.call != call);
        }
    }

    /// The first question is over. What was in the editor before stands in it again.
    pub(super) fn drop_ask(&mut self) {
        self.asks.pop_front();
        if let Stage::Why(aside) = std::mem::replace(&mut self.stage, Stage::New) {
            self.editor.take();
            self.editor.set(&aside);
        }
    }
}
