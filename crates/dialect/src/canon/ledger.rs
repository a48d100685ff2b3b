//! The ids and names that a history gets in a format.
//!
//! Everything is computed from the history alone: the same history gets the same ids every time, and
//! different calls get different ones.

use std::{
    borrow::Cow,
    collections::{HashMap, HashSet},
};

use foxwedge_core::{Family, IdRule, Profile, Wire, fresh_id, legal_name};

use super::{Answer, At, Bit, Call, Form, History, Pairs, Part, Renamed};

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
    /// One for each part of the history.
    entries: Vec<Option<Entry<'h>>>,
    /// Ids that the format does not take, and what stands for them.
    pub(super) renamed: Vec<Renamed>,
    /// Names of tools that the format does not take, and what stands for them.
    pub(super) names: Vec<Renamed>,
}

impl<'h> Ledger<'h> {
    pub(super) fn new(
        history: &'h History<'_>,
        wire: Wire,
        profile: Profile,
        restore: &'h HashMap<String, String>,
        pairs: Pairs,
    ) -> Ledger<'h> {
        let mut entries = vec![None; pairs.places().len()];
        let rule = profile.ids();
        let mut ids = Ids {
            history,
            wire,
            profile,
            rule,
            names: Vec::new(),
            here: HashSet::new(),
            named: HashSet::new(),
            restore,
            known: None,
            // Of a call and its answer, one is a call.
            used: HashSet::with_capacity(pairs.places().len() / 2),
            again: HashMap::new(),
            renamed: Vec::new(),
            next: 1,
        };
        // An answer may stand before its call is known by number, so calls come first.
        for (number, (at, part)) in parts(history).enumerate() {
            if at.part == 0 {
                ids.here.clear();
            }
            if let Bit::Call(call) = part.bit() {
                let answer = pairs.partner(at).and_then(|at| part_at(history, at));
                entries[number] = Some(ids.call(part, call, answer));
            }
        }
        for (number, (at, part)) in parts(history).enumerate() {
            if let Bit::Answer(answer) = part.bit() {
                let call = pairs.partner(at).and_then(|call| pairs.places().number(call));
                let call = call.and_then(|call| entries.get(call)?.as_ref());
                let entry = ids.answer(part, answer, call);
                entries[number] = Some(entry);
            }
        }
        let (renamed, names) = (ids.renamed, ids.names);
        Ledger { pairs, entries, renamed, names }
    }

    /// What is written for the call or answer at a place.
    pub(super) fn entry(&self, at: At) -> Option<&Entry<'h>> {
        self.entries.get(self.pairs.places().number(at)?)?.as_ref()
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
struct Ids<'h, 'a> {
    history: &'h History<'a>,
    wire: Wire,
    profile: Profile,
    rule: IdRule,
    /// What stood for ids before, and the ids.
    restore: &'h HashMap<String, String>,
    /// Every id of the history, once somebody asks: what is made up must be none of them.
    known: Option<HashSet<&'h str>>,
    /// The ids that were given out.
    used: HashSet<Cow<'h, str>>,
    /// Those of the message at hand.
    here: HashSet<Cow<'h, str>>,
    /// Names that cannot stay, and what stands for them.
    names: Vec<Renamed>,
    named: HashSet<&'h str>,
    /// How often an id was replaced.
    again: HashMap<&'h str, usize>,
    renamed: Vec<Renamed>,
    next: usize,
}

impl<'h> Ids<'h, '_> {
    /// An id that nobody has, for a call without one.
    fn made_up(&mut self) -> Cow<'h, str> {
        loop {
            let seed = format!("call_{}", self.next);
            self.next += 1;
            let id = match self.rule.allows(&seed) {
                true => seed,
                false => fresh_id(self.wire, self.rule, &seed),
            };
            if self.is_nobodys(&id) {
                self.renamed.push(Renamed { old: String::new(), new: id.clone() });
                return Cow::Owned(id);
            }
        }
    }

    /// An id that nobody has, computed from one that cannot stay.
    fn computed(&mut self, old: &'h str) -> Cow<'h, str> {
        loop {
            let count = self.again.entry(old).or_default();
            *count += 1;
            let seed = format!("{count} {old}");
            let new = fresh_id(self.wire, self.rule, &seed);
            if self.is_nobodys(&new) {
                self.renamed.push(Renamed { old: old.to_owned(), new: new.clone() });
                return Cow::Owned(new);
            }
        }
    }

    fn is_nobodys(&mut self, id: &str) -> bool {
        let history = self.history;
        let known = self.known.get_or_insert_with(|| {
            let ids = parts(history).filter_map(|(_, part)| match part.bit() {
                Bit::Call(call) => call.id.as_deref(),
                Bit::Answer(answer) => answer.id.as_deref(),
                Bit::Text(_) | Bit::Media(_) | Bit::Reasoning(_) | Bit::Other(_) => None,
            });
            ids.collect()
        });
        !known.contains(id) && !self.used.contains(id)
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
        let before = call.id.as_deref().and_then(|id| self.restore.get(id));
        let before = before.map(|id| Cow::Borrowed(id.as_str()));
        let free = |ids: &Self, id: &Cow<'_, str>| ids.rule.allows(id) && !ids.used.contains(id);
        // Most providers take an id again in another turn: then it was there before, too.
        let back = |id: &Cow<'_, str>| match self.profile {
            Profile::Anthropic | Profile::Strict => free(self, id),
            _ => self.rule.allows(id) && !self.here.contains(id),
        };
        let id = match (before.filter(back), own.clone()) {
            (Some(before), _) => Some(before),
            // As the format had it, it stays.
            (None, Some(id)) if spelled.is_some() && self.rule.allows(&id) => Some(id),
            // The older form of chat calls has no ids.
            (None, None) if both && spelled.is_some_and(|raw| raw.form == Form::Field) => None,
            (None, Some(id)) if free(self, &id) => Some(id),
            // Gemini does without ids; then the answers go by their names.
            (None, None) if self.wire == Wire::Gemini => None,
            (None, Some(_)) => Some(self.computed(call.id.as_deref().unwrap_or_default())),
            (None, None) => Some(self.made_up()),
        };
        self.used.extend(id.clone());
        // Only where ids come back does anybody ask.
        if !self.restore.is_empty() {
            self.here.extend(id.clone());
        }
        // A built-in tool of one provider takes only its own kind of answer.
        let plain = matches!(call.family, Family::Function | Family::Custom);
        let name = self.name(&call.name);
        Entry {
            as_spelled: spelled.is_some() && id == own && name == call.name && (plain || both),
            id,
            name,
            family: call.family,
        }
    }

    /// The name of a tool, or what stands for it. A missing one is the engine's to mend.
    fn name(&mut self, old: &'h str) -> Cow<'h, str> {
        let Some(new) = legal_name(self.profile, old).filter(|_| !old.is_empty()) else {
            return Cow::Borrowed(old);
        };
        if self.named.insert(old) {
            self.names.push(Renamed { old: old.to_owned(), new: new.clone() });
        }
        Cow::Owned(new)
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
