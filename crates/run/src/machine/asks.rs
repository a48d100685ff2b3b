//! What a call asks a person, and what became of it.

use super::Tool;
use crate::{Ask, AskKind, CallRef, Change, Effect, Id, Json, Reply, Resolution, ToolRef, Verdict};

/// Something that a person was asked.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Asked {
    /// The request's id; the call's own if it has none.
    pub id: Id,
    /// What is asked.
    pub kind: AskKind,
    /// What a person reads.
    pub prompt: Option<String>,
    /// The choices, in the agent's own form.
    pub choices: Option<Json>,
    /// What was decided.
    pub verdict: Option<Verdict>,
    /// What the person said.
    pub answer: Option<Json>,
    /// The id that the request turned out to have, where we had only concluded that there is one.
    alias: Option<Id>,
    /// Whether we only conclude from the tool's name that it asks.
    concluded: bool,
    /// Whether anybody asked; a decision may come first.
    asked: bool,
    shown: bool,
    closed: bool,
}

impl Asked {
    /// Whether somebody still has to decide.
    pub fn is_open(&self) -> bool {
        self.asked && self.verdict.is_none()
    }

    pub(super) fn is_answered(&self) -> bool {
        self.verdict == Some(Verdict::Answered)
    }

    pub(super) fn is_called(&self, id: &Id) -> bool {
        self.id == *id || self.alias.as_ref() == Some(id)
    }

    /// What whoever asked gets.
    fn resolve(&self, run: &Id, tool: &ToolRef, resolution: Resolution) -> Effect {
        let id = self.alias.as_ref().unwrap_or(&self.id).clone();
        Effect::Resolve { run: run.clone(), tool: tool.clone(), id, resolution }
    }
}

impl Tool {
    /// Whether a person has to decide something.
    pub fn is_asking(&self) -> bool {
        self.is_open() && self.asks.iter().any(Asked::is_open)
    }

    /// Takes a question. Tells whether it is new. If somebody has decided it before it was heard
    /// of, whoever asks need not wait.
    pub(super) fn ask(&mut self, ask: &Ask, run: &Id, effects: &mut Vec<Effect>) -> bool {
        let new = self.open_ask(ask, false);
        let id = ask.id.as_ref().unwrap_or(&self.call);
        let decided = self.asks.iter().find(|asked| asked.is_called(id));
        if let (true, Some(asked)) = (new, decided)
            && let Some(verdict) = asked.verdict
        {
            let resolution = Resolution::Replied(verdict, asked.answer.clone());
            effects.push(asked.resolve(run, &self.reference(), resolution));
        }
        new
    }

    /// A call that waits for a person has asked, told or not.
    pub(super) fn conclude_ask(&mut self, kind: AskKind) {
        if self.asks.is_empty() {
            let ask = Ask {
                call: CallRef::default(),
                id: None,
                kind,
                prompt: None,
                choices: self.input.clone(),
            };
            self.open_ask(&ask, true);
        }
    }

    fn open_ask(&mut self, ask: &Ask, concluded: bool) -> bool {
        let id = ask.id.clone().unwrap_or_else(|| self.call.clone());
        if let Some(known) = self.asks.iter_mut().find(|known| known.is_called(&id)) {
            let new = !known.asked || known.concluded && !concluded;
            if new {
                known.asked = true;
                known.concluded = false;
                known.prompt = ask.prompt.clone();
                known.choices = ask.choices.clone().or(known.choices.take());
            }
            return new;
        }
        if let Some(guess) = self.asks.iter_mut().find(|known| known.concluded && known.is_open()) {
            // The question itself, behind our conclusion that there will be one.
            guess.concluded = false;
            guess.kind = ask.kind;
            guess.prompt = ask.prompt.clone();
            match guess.shown {
                true => guess.alias = Some(id),
                false => guess.id = id,
            }
            return true;
        }
        self.asks.push(Asked {
            id,
            kind: ask.kind,
            prompt: ask.prompt.clone(),
            choices: ask.choices.clone(),
            verdict: None,
            answer: None,
            alias: None,
            concluded,
            asked: true,
            shown: false,
            closed: false,
        });
        true
    }

    /// Takes a decision: whoever waits for it gets it. Tells whether it is new.
    pub(super) fn reply(&mut self, reply: &Reply, run: &Id, effects: &mut Vec<Effect>) -> bool {
        let id = reply.id.clone().unwrap_or_else(|| self.call.clone());
        let by_id = self.asks.iter().position(|known| known.is_called(&id));
        // Without an id, or where the id is only our conclusion, the open question is meant.
        let meant = |asked: &Asked| asked.is_open() && (reply.id.is_none() || asked.concluded);
        let Some(place) = by_id.or_else(|| self.asks.iter().position(meant)) else {
            let kind = match reply.verdict {
                Verdict::Answered => AskKind::Question,
                Verdict::Allowed | Verdict::Denied | Verdict::Cancelled => AskKind::Approval,
            };
            self.asks.push(Asked {
                id,
                kind,
                prompt: None,
                choices: None,
                verdict: Some(reply.verdict),
                answer: reply.answer.clone(),
                alias: None,
                concluded: false,
                asked: false,
                shown: false,
                closed: false,
            });
            return true;
        };
        let tool = self.reference();
        match self.asks.get_mut(place) {
            Some(asked) if asked.verdict.is_none() => {
                asked.verdict = Some(reply.verdict);
                asked.answer = reply.answer.clone();
                let resolution = Resolution::Replied(reply.verdict, reply.answer.clone());
                effects.push(asked.resolve(run, &tool, resolution));
                true
            }
            Some(_) | None => false,
        }
    }

    /// Nobody will answer any more: whoever waits is told.
    pub(super) fn cancel_asks(&mut self, run: &Id, effects: &mut Vec<Effect>) {
        if self.asks.is_empty() {
            return;
        }
        let tool = self.reference();
        for asked in self.asks.iter_mut().filter(|asked| asked.is_open()) {
            asked.verdict = Some(Verdict::Cancelled);
            effects.push(asked.resolve(run, &tool, Resolution::Cancelled));
        }
    }

    pub(super) fn show_asks(&mut self, tell: &mut impl FnMut(Change)) {
        if self.asks.is_empty() {
            return;
        }
        let tool = self.reference();
        for asked in &mut self.asks {
            if !asked.shown && asked.is_open() {
                asked.shown = true;
                let ask = Ask {
                    call: CallRef { id: Some(tool.call.clone()), turn: Some(tool.turn) },
                    id: Some(asked.id.clone()),
                    kind: asked.kind,
                    prompt: asked.prompt.clone(),
                    choices: asked.choices.clone(),
                };
                tell(Change::Asked { tool: tool.clone(), ask });
            }
            if let (true, false, Some(verdict)) = (asked.shown, asked.closed, asked.verdict) {
                asked.closed = true;
                tell(Change::AskClosed { tool: tool.clone(), id: asked.id.clone(), verdict });
            }
        }
    }
}
