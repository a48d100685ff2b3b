//! The ids and names that a history gets in a format.
//!
//! Everything is computed from the history alone: the same history gets the same ids every time, and
//! different calls get different ones.

use std::{
    borrow::Cow,
    collections::{HashMap, HashSet},
};

use foxwedge_core::{CallFamily, Format, IdRule, Profile, fresh_id, legal_name};

use super::{
    CallPairs, ContentPart, IdentifierReplacement, ModelHistory, ModelPart, PartIndex,
    PartPlacement, ToolCallPart, ToolResultPart,
};

/// What is written for a call or an answer.
#[derive(Clone, Debug)]
pub(super) struct CallIdentity<'h> {
    /// The id that call and answer share; `None` where the format can do without.
    pub(super) id: Option<Cow<'h, str>>,
    /// The name of the tool.
    pub(super) name: Cow<'h, str>,
    /// The kind of tool.
    pub(super) family: CallFamily,
    /// It is written as it was spelled.
    pub(super) keeps_origin: bool,
}

/// Every call and every answer of a history, and what is written for it.
pub(super) struct CallIdMap<'h> {
    pub(super) pairs: CallPairs,
    /// One for each part of the history.
    entries: Vec<Option<CallIdentity<'h>>>,
    /// Ids that the format does not take, and what stands for them.
    pub(super) renamed: Vec<IdentifierReplacement>,
    /// Names of tools that the format does not take, and what stands for them.
    pub(super) renamed_tools: Vec<IdentifierReplacement>,
}

impl<'h> CallIdMap<'h> {
    pub(super) fn new(
        history: &'h ModelHistory<'_>,
        wire: Format,
        profile: Profile,
        restore: &'h HashMap<String, String>,
        pairs: CallPairs,
    ) -> CallIdMap<'h> {
        let mut entries = vec![None; pairs.places().len()];
        let rule = profile.id_rule();
        let mut ids = CallIdAllocator {
            history,
            wire,
            profile,
            rule,
            renamed_tools: Vec::new(),
            in_message: HashSet::new(),
            renamed_names: HashSet::new(),
            restored_ids: restore,
            existing: None,
            // Of a call and its answer, one is a call.
            used: HashSet::with_capacity(pairs.places().len() / 2),
            replacement_counts: HashMap::new(),
            renamed: Vec::new(),
            next: 1,
        };
        // An answer may stand before its call is known by number, so calls come first.
        for (number, (at, part)) in all_parts(history).enumerate() {
            if at.part == 0 {
                ids.in_message.clear();
            }
            if let ContentPart::ToolCall(call) = part.content() {
                let answer = pairs.partner(at).and_then(|at| part_at(history, at));
                entries[number] = Some(ids.assign_call(part, call, answer));
            }
        }
        for (number, (at, part)) in all_parts(history).enumerate() {
            if let ContentPart::ToolResult(answer) = part.content() {
                let call = pairs.partner(at).and_then(|call| pairs.places().number(call));
                let call = call.and_then(|call| entries.get(call)?.as_ref());
                let entry = ids.assign_result(part, answer, call);
                entries[number] = Some(entry);
            }
        }
        let (renamed, names) = (ids.renamed, ids.renamed_tools);
        CallIdMap { pairs, entries, renamed, renamed_tools: names }
    }

    /// What is written for the call or answer at a place.
    pub(super) fn identity(&self, at: PartIndex) -> Option<&CallIdentity<'h>> {
        self.entries.get(self.pairs.places().number(at)?)?.as_ref()
    }
}

/// The parts of a history, with their places.
pub(super) fn all_parts<'h, 'a>(
    history: &'h ModelHistory<'a>,
) -> impl Iterator<Item = (PartIndex, &'h ModelPart<'a>)> {
    history.messages.iter().enumerate().flat_map(|(message, said)| {
        let place = move |part| PartIndex { message, part };
        said.parts.iter().enumerate().map(move |(part, one)| (place(part), one))
    })
}

/// The part at a place.
pub(super) fn part_at<'h, 'a>(
    history: &'h ModelHistory<'a>,
    at: PartIndex,
) -> Option<&'h ModelPart<'a>> {
    history.messages.get(at.message)?.parts.get(at.part)
}

/// Gives out ids.
struct CallIdAllocator<'h, 'a> {
    history: &'h ModelHistory<'a>,
    wire: Format,
    profile: Profile,
    rule: IdRule,
    /// What stood for ids before, and the ids.
    restored_ids: &'h HashMap<String, String>,
    /// Every id of the history, once somebody asks: what is made up must be none of them.
    existing: Option<HashSet<&'h str>>,
    /// The ids that were given out.
    used: HashSet<Cow<'h, str>>,
    /// Those of the message at hand.
    in_message: HashSet<Cow<'h, str>>,
    /// Names that cannot stay, and what stands for them.
    renamed_tools: Vec<IdentifierReplacement>,
    renamed_names: HashSet<&'h str>,
    /// How often an id was replaced.
    replacement_counts: HashMap<&'h str, usize>,
    renamed: Vec<IdentifierReplacement>,
    next: usize,
}

impl<'h> CallIdAllocator<'h, '_> {
    /// An id that nobody has, for a call without one.
    fn new_id(&mut self) -> Cow<'h, str> {
        loop {
            let seed = format!("call_{}", self.next);
            self.next += 1;
            let id = match self.rule.allows(&seed) {
                true => seed,
                false => fresh_id(self.wire, self.rule, &seed),
            };
            if self.is_unused(&id) {
                self.renamed.push(IdentifierReplacement { old: String::new(), new: id.clone() });
                return Cow::Owned(id);
            }
        }
    }

    /// An id that nobody has, computed from one that cannot stay.
    fn derived_id(&mut self, old: &'h str) -> Cow<'h, str> {
        loop {
            let count = self.replacement_counts.entry(old).or_default();
            *count += 1;
            let seed = format!("{count} {old}");
            let new = fresh_id(self.wire, self.rule, &seed);
            if self.is_unused(&new) {
                self.renamed.push(IdentifierReplacement { old: old.to_owned(), new: new.clone() });
                return Cow::Owned(new);
            }
        }
    }

    fn is_unused(&mut self, id: &str) -> bool {
        let history = self.history;
        let known = self.existing.get_or_insert_with(|| {
            let ids = all_parts(history).filter_map(|(_, part)| match part.content() {
                ContentPart::ToolCall(call) => call.id.as_deref(),
                ContentPart::ToolResult(answer) => answer.id.as_deref(),
                ContentPart::Text(_)
                | ContentPart::Media(_)
                | ContentPart::Reasoning(_)
                | ContentPart::Unknown(_) => None,
            });
            ids.collect()
        });
        !known.contains(id) && !self.used.contains(id)
    }

    fn assign_call(
        &mut self,
        part: &ModelPart<'_>,
        call: &'h ToolCallPart<'_>,
        answer: Option<&'h ModelPart<'_>>,
    ) -> CallIdentity<'h> {
        let spelled = part.origin_in(self.wire);
        let both = answer.is_none_or(|answer| answer.origin_in(self.wire).is_some());
        let own = call.id.as_deref().map(Cow::Borrowed);
        let before = call.id.as_deref().and_then(|id| self.restored_ids.get(id));
        let before = before.map(|id| Cow::Borrowed(id.as_str()));
        let free = |ids: &Self, id: &Cow<'_, str>| ids.rule.allows(id) && !ids.used.contains(id);
        // Most providers take an id again in another turn: then it was there before, too.
        let back = |id: &Cow<'_, str>| match self.profile {
            Profile::Anthropic | Profile::Strict => free(self, id),
            _ => self.rule.allows(id) && !self.in_message.contains(id),
        };
        let id = match (before.filter(back), own.clone()) {
            (Some(before), _) => Some(before),
            // As the format had it, it stays.
            (None, Some(id)) if spelled.is_some() && self.rule.allows(&id) => Some(id),
            // The older form of chat calls has no ids.
            (None, None)
                if both && spelled.is_some_and(|raw| raw.placement == PartPlacement::Field) =>
            {
                None
            }
            (None, Some(id)) if free(self, &id) => Some(id),
            // Gemini does without ids; then the answers go by their names.
            (None, None) if self.wire == Format::Gemini => None,
            (None, Some(_)) => Some(self.derived_id(call.id.as_deref().unwrap_or_default())),
            (None, None) => Some(self.new_id()),
        };
        self.used.extend(id.clone());
        // Only where ids come back does anybody ask.
        if !self.restored_ids.is_empty() {
            self.in_message.extend(id.clone());
        }
        // A built-in tool of one provider takes only its own kind of answer.
        let plain = matches!(call.family, CallFamily::Function | CallFamily::Custom);
        let name = self.assign_name(&call.name);
        CallIdentity {
            keeps_origin: spelled.is_some() && id == own && name == call.name && (plain || both),
            id,
            name,
            family: call.family,
        }
    }

    /// The name of a tool, or what stands for it. A missing one is the engine's to mend.
    fn assign_name(&mut self, old: &'h str) -> Cow<'h, str> {
        let Some(new) = legal_name(self.profile, old).filter(|_| !old.is_empty()) else {
            return Cow::Borrowed(old);
        };
        if self.renamed_names.insert(old) {
            self.renamed_tools
                .push(IdentifierReplacement { old: old.to_owned(), new: new.clone() });
        }
        Cow::Owned(new)
    }

    fn assign_result(
        &mut self,
        part: &ModelPart<'_>,
        answer: &'h ToolResultPart<'_>,
        call: Option<&CallIdentity<'h>>,
    ) -> CallIdentity<'h> {
        let spelled = part.origin_in(self.wire).is_some();
        let own = answer.id.as_deref().map(Cow::Borrowed);
        let id = match call {
            Some(call) => call.id.clone(),
            None if self.wire == Format::Gemini => own.clone(),
            None => Some(own.clone().unwrap_or_else(|| self.new_id())),
        };
        // A call that was made up for a built-in tool is a function, and so is its answer.
        let family = call.map_or(CallFamily::Function, |call| call.family);
        let same =
            call.is_none_or(|call| call.keeps_origin || self.wire != Format::OpenaiResponses);
        let own_name = answer.name.as_deref();
        let name = call.map(|call| call.name.clone()).or(own_name.map(Cow::Borrowed));
        CallIdentity {
            keeps_origin: spelled && (id == own || self.wire == Format::Gemini) && same,
            id,
            name: name.unwrap_or_default(),
            family,
        }
    }
}
