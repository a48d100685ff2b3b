//! A history in turns: neighbours joined where the format wants it, answers behind their calls.

use foxwedge_core::Wire;

use super::{page::Page, system};
use crate::canon::{At, Bit, Form, Part, Raw, Said, Speaker, ledger::part_at};

/// What becomes one message; in chat, a run of answers and one message.
pub(super) struct Turn<'h, 'a> {
    pub(super) role: Speaker,
    pub(super) parts: Vec<(At, &'h Part<'a>)>,
    /// The messages it was made of, first and last.
    messages: (usize, usize),
}

impl<'h, 'a> Turn<'h, 'a> {
    /// The message it stands for, if that is one of this format.
    pub(super) fn origin(&self, page: &Page<'h, 'a>) -> Option<&'h Said<'a>> {
        let (first, last) = self.messages;
        let said = page.history.messages.get(first).filter(|_| first == last)?;
        (said.wire() == Some(page.wire)).then_some(said)
    }

    /// The one part of it that is a message as a whole.
    pub(super) fn whole(&self, page: &Page<'h, 'a>) -> Option<Raw<'a>> {
        let (at, part) = self.parts.first()?;
        page.spelled(*at, part).filter(|raw| raw.form == Form::Message)
    }
}

/// Takes a history apart into turns.
pub(super) fn turns<'h, 'a>(page: &mut Page<'h, 'a>) -> Vec<Turn<'h, 'a>> {
    let mut work = Work { turns: Vec::new(), calls: Vec::new() };
    let history = page.history;
    for (index, said) in history.messages.iter().enumerate() {
        page.fields(index, said);
        if system::is_beside(page, index, said) {
            continue;
        }
        let role = system::role(page, index, said);
        let mut parts = Vec::with_capacity(said.parts.len());
        for (part, one) in said.parts.iter().enumerate() {
            let at = At { message: index, part };
            // An answer with a call stands behind that call.
            let home =
                matches!(one.bit(), Bit::Answer(_)) && page.ledger.pairs.partner(at).is_some();
            if home {
                page.noted(at, one);
            } else if page.takes(at, role, one) {
                parts.push((at, one));
            }
        }
        if role != Speaker::Assistant {
            work.settle(page);
        }
        let answers = said.parts.len() > parts.len();
        if !parts.is_empty() || !answers && !said.members(page.wire).is_empty() {
            work.add(page, index, role, parts);
        }
    }
    work.settle(page);
    work.turns
}

struct Work<'h, 'a> {
    turns: Vec<Turn<'h, 'a>>,
    /// Calls whose answers were not written yet.
    calls: Vec<At>,
}

impl<'h, 'a> Work<'h, 'a> {
    fn add(
        &mut self,
        page: &Page<'h, 'a>,
        index: usize,
        role: Speaker,
        parts: Vec<(At, &'h Part<'a>)>,
    ) {
        let joins = self.turns.last().is_some_and(|turn| joins(page, turn, index, role));
        if !joins {
            self.settle(page);
        }
        let calls = parts.iter().filter(|(_, part)| matches!(part.bit(), Bit::Call(_)));
        self.calls.extend(calls.map(|(at, _)| *at));
        match self.turns.last_mut().filter(|_| joins) {
            Some(turn) => {
                turn.parts.extend(parts);
                turn.messages.1 = index;
            }
            None => self.turns.push(Turn { role, parts, messages: (index, index) }),
        }
    }

    /// Puts the answers of the calls so far behind them, in the order of the calls.
    fn settle(&mut self, page: &Page<'h, 'a>) {
        let calls = self.calls.drain(..);
        let mut answers: Vec<At> = calls.filter_map(|at| page.ledger.pairs.partner(at)).collect();
        let own =
            |at: &At| page.history.messages.get(at.message).and_then(Said::wire) == Some(page.wire);
        // What the format itself had in another order stays.
        if answers.iter().all(own) {
            answers.sort_unstable();
        }
        let (Some(first), Some(last)) = (answers.iter().min(), answers.iter().max()) else {
            return;
        };
        let messages = (first.message, last.message);
        let parts = answers.into_iter().filter_map(|at| Some((at, part_at(page.history, at)?)));
        self.turns.push(Turn { role: Speaker::User, parts: parts.collect(), messages });
    }
}

/// Whether a message belongs to the turn before it.
fn joins(page: &Page<'_, '_>, turn: &Turn<'_, '_>, index: usize, role: Speaker) -> bool {
    if turn.role != role || matches!(role, Speaker::System | Speaker::Developer) {
        return false;
    }
    let (first, last) = turn.messages;
    if first == index && last == index {
        return true;
    }
    // What the format itself kept apart stays apart, and a whole message is no part of another.
    let said = |index: usize| page.history.messages.get(index);
    let own = |index: usize| said(index).and_then(Said::wire) == Some(page.wire);
    let whole = |index: usize| {
        let part = said(index).and_then(|said| said.parts.first());
        let raw = part.and_then(|part| part.spelled(page.wire));
        raw.is_some_and(|raw| raw.form == Form::Message)
    };
    let apart = own(last) && own(index) || whole(last) || whole(index);
    let user = role == Speaker::User && page.wire == Wire::OpenaiChat;
    !apart && !user
}
