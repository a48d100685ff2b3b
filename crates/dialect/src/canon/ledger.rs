//! The ids and names that a history gets in a format.
//!
//! Everything is computed from the history alone: the same history gets the same ids every time.

use std::{
    borrow::Cow,
    collections::{HashMap, HashSet},
};

use foxwedge_core::{Family, IdRule, Profile, Wire};

use super::{Answer, At, Bit, Call, Form, History, Pairs, Part};

/// What is written for a call or an answer.
#[derive(Clone, Debug)]
pub(super) struct Entry<'h> {
    /// The id that call and answer share; `None` where the format can do without.
    pub(super) id: Option<Cow<'h, str>>,
    /// The name of the tool.
    pub(super) name: Cow<'h, str>,
    /// The kind of tool.
    pub(super) family: Family,
    /// It is written as it was spelled.
    pub(super) as_spelled: bool,
}

/// Every call and every answer of a history, and what is written for it.
pub(super) struct Ledger<'h> {
    pub(super) pairs: Pairs,
    entries: HashMap<At, Entry<'h>>,
}

impl<'h> Ledger<'h> {
    pub(super) fn new(history: &'h History<'_>, wire: Wire) -> Ledger<'h> {
        let pairs = Pairs::of(history);
        let mut entries = HashMap::new();
        let mut ids = Ids::new(history, wire);
        for (at, part) in parts(history) {
            if let Bit::Call(call) = part.bit() {
                let answer = pairs.partner(at).and_then(|at| part_at(history, at));
                entries.insert(at, ids.call(part, call, answer));
            }
        }
        for (at, part) in parts(history) {
            if let Bit::Answer(answer) = part.bit() {
                let call = pairs.partner(at).and_then(|call| entries.get(&call));
                let entry = ids.answer(part, answer, call);
                entries.insert(at, entry);
            }
        }
        Ledger { pairs, entries }
    }

    /// What is written for the call or answer at a place.
    pub(super) fn entry(&self, at: At) -> Option<&Entry<'h>> {
        self.entries.get(&at)
    }
}

/// The parts of a history, with their places.
pub(super) fn parts<'h, 'a>(history: &'h History<'a>) -> impl Iterator<Item = (At, &'h Part<'a>)> {
    history.messages.iter().enumerate().flat_map(|(message, said)| {
        let place = move |part| At { message, part };
        said.parts.iter().enumerate().map(move |(part, one)| (place(part), one))
    })
}

/// The part at a place.
pub(super) fn part_at<'h, 'a>(history: &'h History<'a>, at: At) -> Option<&'h Part<'a>> {
    history.messages.get(at.message)?.parts.get(at.part)
}

/// Gives out ids.
struct Ids<'h> {
    wire: Wire,
    rule: IdRule,
    /// Every id of the history: what is made up is none of them.
    known: HashSet<&'h str>,
    /// The ids that were given out.
    used: HashSet<Cow<'h, str>>,
    next: usize,
}

impl<'h> Ids<'h> {
    fn new(history: &'h History<'_>, wire: Wire) -> Ids<'h> {
        let known = parts(history).filter_map(|(_, part)| match part.bit() {
            Bit::Call(call) => call.id.as_deref(),
            Bit::Answer(answer) => answer.id.as_deref(),
            Bit::Text(_) | Bit::Media(_) | Bit::Reasoning(_) | Bit::Other(_) => None,
        });
        Ids {
            wire,
            rule: Profile::of(wire).ids(),
            known: known.collect(),
            used: HashSet::new(),
            next: 1,
        }
    }

    /// An id that nobody has.
    fn made_up(&mut self) -> Cow<'h, str> {
        loop {
            let id = format!("call_{}", self.next);
            self.next += 1;
            if !self.known.contains(id.as_str()) {
                return Cow::Owned(id);
            }
        }
    }

    fn call(
        &mut self,
        part: &Part<'_>,
        call: &'h Call<'_>,
        answer: Option<&'h Part<'_>>,
    ) -> Entry<'h> {
        let spelled = part.spelled(self.wire);
        let both = answer.is_none_or(|answer| answer.spelled(self.wire).is_some());
        let own = call.id.as_deref().map(Cow::Borrowed);
        let id = match own.clone() {
            // As the format had it, it stays.
            Some(id) if spelled.is_some() => Some(id),
            // The older form of chat calls has no ids.
            None if both && spelled.is_some_and(|raw| raw.form == Form::Field) => None,
            Some(id) if self.rule.allows(&id) && !self.used.contains(&id) => Some(id),
            // Gemini does without ids; then the answers go by their names.
            None if self.wire == Wire::Gemini => None,
            Some(_) | None => Some(self.made_up()),
        };
        self.used.extend(id.clone());
        // A built-in tool of one provider takes only its own kind of answer.
        let plain = matches!(call.family, Family::Function | Family::Custom);
        Entry {
            as_spelled: spelled.is_some() && id == own && (plain || both),
            id,
            name: Cow::Borrowed(&*call.name),
            family: call.family,
        }
    }

    fn answer(
        &mut self,
        part: &Part<'_>,
        answer: &'h Answer<'_>,
        call: Option<&Entry<'h>>,
    ) -> Entry<'h> {
        let spelled = part.spelled(self.wire).is_some();
        let own = answer.id.as_deref().map(Cow::Borrowed);
        let id = match call {
            Some(call) => call.id.clone(),
            None if self.wire == Wire::Gemini => own.clone(),
            None => Some(own.clone().unwrap_or_else(|| self.made_up())),
        };
        // A call that was made up for a built-in tool is a function, and so is its answer.
        let family = call.map_or(Family::Function, |call| call.family);
        let same = call.is_none_or(|call| call.as_spelled || self.wire != Wire::OpenaiResponses);
        let own_name = answer.name.as_deref();
        let name = call.map(|call| call.name.clone()).or(own_name.map(Cow::Borrowed));
        Entry {
            as_spelled: spelled && (id == own || self.wire == Wire::Gemini) && same,
            id,
            name: name.unwrap_or_default(),
            family,
        }
    }
}
