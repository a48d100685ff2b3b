//! Which answer belongs to which call.
//!
//! A plain reading for histories that are sound: an answer goes to the newest turn that has an open
//! call of its id; without ids, names and the order decide. Whether that is what a provider takes
//! is asked of the outline, not here.

use std::collections::{HashMap, VecDeque};

use super::{Answer, Bit, Call, History, Speaker};

/// Where a part stands.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Hash)]
pub struct At {
    /// Index of the message.
    pub message: usize,
    /// Index of the part in it.
    pub part: usize,
}

/// The calls of a history and their answers.
#[derive(Clone, Debug, Default)]
pub struct Pairs {
    /// The partner of a call or an answer.
    partners: HashMap<At, At>,
}

impl Pairs {
    /// Matches calls and answers, in one pass.
    pub fn of(history: &History<'_>) -> Pairs {
        let mut pairs = Pairs::default();
        let mut open = Open::default();
        let mut before = None;
        for (message, said) in history.messages.iter().enumerate() {
            // Neighbouring messages of the model are one turn.
            if said.role == Speaker::Assistant && before != Some(Speaker::Assistant) {
                open.turn += 1;
            }
            before = Some(said.role);
            for (part, one) in said.parts.iter().enumerate() {
                let at = At { message, part };
                match one.bit() {
                    Bit::Call(call) => open.call(at, call),
                    Bit::Answer(answer) => {
                        if let Some(call) = open.answer(answer) {
                            pairs.partners.insert(call, at);
                            pairs.partners.insert(at, call);
                        }
                    }
                    Bit::Text(_) | Bit::Media(_) | Bit::Reasoning(_) | Bit::Other(_) => {}
                }
            }
        }
        pairs
    }

    /// The answer to a call, or the call of an answer.
    pub fn partner(&self, at: At) -> Option<At> {
        self.partners.get(&at).copied()
    }
}

/// Calls that wait for their answer, found by id, by name, and by order.
#[derive(Default)]
struct Open<'h> {
    turn: usize,
    calls: Vec<Waiting>,
    by_id: HashMap<&'h str, Turns>,
    by_name: HashMap<&'h str, Turns>,
    all: Turns,
}

struct Waiting {
    at: At,
    has_id: bool,
    answered: bool,
}

impl<'h> Open<'h> {
    fn call(&mut self, at: At, call: &'h Call<'_>) {
        let index = self.calls.len();
        self.calls.push(Waiting { at, has_id: call.id.is_some(), answered: false });
        if let Some(id) = call.id.as_deref() {
            self.by_id.entry(id).or_default().push(self.turn, index);
        }
        self.by_name.entry(&call.name).or_default().push(self.turn, index);
        self.all.push(self.turn, index);
    }

    /// The call that an answer belongs to, which is open no longer.
    fn answer(&mut self, answer: &Answer<'_>) -> Option<At> {
        let calls = &self.calls;
        let by_id = answer.id.as_deref().and_then(|id| self.by_id.get_mut(id)?.first(calls));
        let found = by_id.or_else(|| {
            let found = match answer.name.as_deref() {
                Some(name) => self.by_name.get_mut(name)?.first(calls),
                None => self.all.first(calls),
            };
            // Two different ids are two different things.
            found.filter(|&index| answer.id.is_none() || !calls[index].has_id)
        });
        let call = self.calls.get_mut(found?)?;
        call.answered = true;
        Some(call.at)
    }
}

/// Calls by turn, the newest turn last, each in order.
#[derive(Default)]
struct Turns(Vec<(usize, VecDeque<usize>)>);

impl Turns {
    fn push(&mut self, turn: usize, index: usize) {
        match self.0.last_mut() {
            Some((last, calls)) if *last == turn => calls.push_back(index),
            _ => self.0.push((turn, VecDeque::from([index]))),
        }
    }

    /// The first open call of the newest turn that has one. Answered calls are forgotten on the way.
    fn first(&mut self, calls: &[Waiting]) -> Option<usize> {
        while let Some((_, queue)) = self.0.last_mut() {
            while let Some(&index) = queue.front() {
                if !calls[index].answered {
                    return Some(index);
                }
                queue.pop_front();
            }
            self.0.pop();
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::canon::{Part, Said};
    use foxwedge_core::Family;

    /// `a` is a message of the model with its calls, `u` one of the user with its answers. A call
    /// or an answer is `id/name`, either of which may be left out.
    fn history(shape: &'static str) -> History<'static> {
        let part = |role: Speaker, word: &'static str| {
            let (id, name) = word.split_once('/').unwrap_or((word, ""));
            let some = |text: &'static str| (!text.is_empty()).then(|| text.into());
            Part::new(match role {
                Speaker::Assistant => Bit::Call(Call {
                    id: some(id),
                    name: name.into(),
                    family: Family::Function,
                    arguments: "{}".into(),
                }),
                _ => Bit::Answer(Answer {
                    id: some(id),
                    name: some(name),
                    parts: Vec::new(),
                    error: false,
                }),
            })
        };
        let said = |message: &'static str| {
            let mut words = message.split_whitespace();
            let role = if words.next() == Some("a") { Speaker::Assistant } else { Speaker::User };
            Said::new(role, words.map(|word| part(role, word)).collect())
        };
        History { messages: shape.split(',').map(said).collect() }
    }

    #[test]
    fn answers_find_their_calls() {
        let table = [
            ("a x, u x", "0.0-1.0"),
            ("a x y, u y x", "0.0-1.1 0.1-1.0"),
            ("a x, a y, u x, u y", "0.0-2.0 1.0-3.0"),
            ("a x, u x, a x, u x", "0.0-1.0 2.0-3.0"),
            // A reused id shadows the older call; in one turn the order decides.
            ("a x, u, a x, u x", "2.0-3.0"),
            ("a x x, u x x", "0.0-1.0 0.1-1.1"),
            ("a /f /g, u /g /f", "0.0-1.1 0.1-1.0"),
            ("a /f /f, u / /", "0.0-1.0 0.1-1.1"),
            ("a x/f, u /f", "0.0-1.0"),
            ("a /f, u x/f", "0.0-1.0"),
            ("a x/f, u y/f", ""),
            ("u x, a x", ""),
        ];
        for (shape, expected) in table {
            let history = history(shape);
            let pairs = Pairs::of(&history);
            let mut found = Vec::new();
            for (message, said) in history.messages.iter().enumerate() {
                for part in 0..said.parts.len() {
                    let at = At { message, part };
                    if let (Speaker::Assistant, Some(to)) = (said.role, pairs.partner(at)) {
                        found.push(format!("{message}.{part}-{}.{}", to.message, to.part));
                        assert_eq!(pairs.partner(to), Some(at));
                    }
                }
            }
            assert_eq!(found.join(" "), expected, "{shape}");
        }
    }
}
