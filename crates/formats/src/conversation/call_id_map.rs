//! The call ids and tool names that a history gets in a format.
//!
//! They depend only on the history: the same history always gets the same ids, and different calls
//! get different ids.

use std::{
    borrow::Cow,
    collections::{HashMap, HashSet},
};

use foxwedge_core::{CallFamily, Format, IdRule, Profile, fresh_id, legal_name};

use super::{
    CallPairs, ContentPart, IdentifierReplacement, ModelHistory, ModelMessage, ModelPart,
    ModelRole, PartIndex, PartPlacement, ToolCallPart, ToolResultPart,
};

/// The identity to write for a call or a result.
#[derive(Clone, Debug)]
pub(crate) struct CallIdentity<'h> {
    /// The id that call and result share; `None` where the format allows that.
    pub(crate) id: Option<Cow<'h, str>>,
    /// The name of the tool.
    pub(crate) name: Cow<'h, str>,
    /// The kind of tool.
    pub(crate) family: CallFamily,
    /// Whether the part is written with its original JSON.
    pub(crate) keeps_origin: bool,
}

/// The identity of every call and every result of a history.
pub(crate) struct CallIdMap<'h> {
    pub(crate) pairs: CallPairs,
    /// One entry for each part of the history.
    entries: Vec<Option<CallIdentity<'h>>>,
    /// Ids that the format does not accept, with their replacements.
    pub(crate) renamed: Vec<IdentifierReplacement>,
    /// Tool names that the format does not accept, with their replacements.
    pub(crate) renamed_tools: Vec<IdentifierReplacement>,
}

impl<'h> CallIdMap<'h> {
    pub(crate) fn new(
        history: &'h ModelHistory<'_>,
        format: Format,
        profile: Profile,
        restored_ids: &'h HashMap<String, String>,
        pairs: CallPairs,
    ) -> CallIdMap<'h> {
        let mut entries = vec![None; pairs.places().len()];
        let rule = profile.id_rule();
        let mut ids = CallIdAllocator {
            history,
            wire: format,
            profile,
            rule,
            renamed_tools: Vec::new(),
            in_turn: HashSet::new(),
            renamed_names: HashSet::new(),
            restored_ids,
            existing: None,
            // About half of these parts are calls.
            used: HashSet::with_capacity(pairs.places().len() / 2),
            replacement_counts: HashMap::new(),
            renamed: Vec::new(),
            next: 1,
        };
        // A result takes over the id of its call, so calls come first.
        for (number, (at, part)) in all_parts(history).enumerate() {
            // Adjacent messages of the model are one turn.
            let is_model = |message: &ModelMessage<'_>| message.role == ModelRole::Assistant;
            if at.part == 0 && !history.messages.get(at.message).is_some_and(is_model) {
                ids.in_turn.clear();
            }
            if let ContentPart::ToolCall(call) = part.content() {
                let result = pairs.partner(at).and_then(|at| part_at(history, at));
                entries[number] = Some(ids.assign_call(part, call, result));
            }
        }
        for (number, (at, part)) in all_parts(history).enumerate() {
            if let ContentPart::ToolResult(result) = part.content() {
                let call = pairs.partner(at).and_then(|call| pairs.places().number(call));
                let call = call.and_then(|call| entries.get(call)?.as_ref());
                let identity = ids.assign_result(part, result, call);
                entries[number] = Some(identity);
            }
        }
        let (renamed, renamed_tools) = (ids.renamed, ids.renamed_tools);
        CallIdMap { pairs, entries, renamed, renamed_tools }
    }

    /// The identity to write for the call or result at this position.
    pub(crate) fn identity(&self, at: PartIndex) -> Option<&CallIdentity<'h>> {
        self.entries.get(self.pairs.places().number(at)?)?.as_ref()
    }
}

/// The parts of a history, with their positions.
pub(crate) fn all_parts<'h, 'a>(
    history: &'h ModelHistory<'a>,
) -> impl Iterator<Item = (PartIndex, &'h ModelPart<'a>)> {
    history.messages.iter().enumerate().flat_map(|(message_index, message)| {
        let index = move |part_index| PartIndex { message: message_index, part: part_index };
        message.parts.iter().enumerate().map(move |(part_index, part)| (index(part_index), part))
    })
}

/// The part at a position.
pub(crate) fn part_at<'h, 'a>(
    history: &'h ModelHistory<'a>,
    at: PartIndex,
) -> Option<&'h ModelPart<'a>> {
    history.messages.get(at.message)?.parts.get(at.part)
}

/// Assigns ids.
struct CallIdAllocator<'h, 'a> {
    history: &'h ModelHistory<'a>,
    wire: Format,
    profile: Profile,
    rule: IdRule,
    /// Maps replacements of an earlier conversion to the original ids.
    restored_ids: &'h HashMap<String, String>,
    /// Every id of the history, collected on first use. A generated id must not be one of them.
    existing: Option<HashSet<&'h str>>,
    /// The ids assigned so far.
    used: HashSet<Cow<'h, str>>,
    /// The ids assigned in the current turn.
    in_turn: HashSet<Cow<'h, str>>,
    /// Rejected tool names, with their replacements.
    renamed_tools: Vec<IdentifierReplacement>,
    renamed_names: HashSet<&'h str>,
    /// How often each id was replaced.
    replacement_counts: HashMap<&'h str, usize>,
    renamed: Vec<IdentifierReplacement>,
    next: usize,
}

impl<'h> CallIdAllocator<'h, '_> {
    /// An unused id for a call without one.
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

    /// An unused id derived from one that the format rejects.
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
                ContentPart::ToolResult(result) => result.id.as_deref(),
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
        result: Option<&'h ModelPart<'_>>,
    ) -> CallIdentity<'h> {
        let origin = part.origin_in(self.wire);
        let both_original = result.is_none_or(|result| result.origin_in(self.wire).is_some());
        let own_id = call.id.as_deref().map(Cow::Borrowed);
        let restored = call.id.as_deref().and_then(|id| self.restored_ids.get(id));
        let restored = restored.map(|id| Cow::Borrowed(id.as_str()));
        let is_free = |ids: &Self, id: &Cow<'_, str>| ids.rule.allows(id) && !ids.used.contains(id);
        // Most providers accept a reused id in a later turn, so a restored id may repeat there.
        let can_restore = |id: &Cow<'_, str>| match self.profile {
            Profile::Anthropic | Profile::Strict => is_free(self, id),
            _ => self.rule.allows(id) && !self.in_turn.contains(id),
        };
        let id = match (restored.filter(can_restore), own_id.clone()) {
            (Some(restored), _) => Some(restored),
            // An id in its original format stays.
            (None, Some(id)) if origin.is_some() && self.rule.allows(&id) => Some(id),
            // Legacy function calls of Chat have no ids.
            (None, None)
                if both_original
                    && origin.is_some_and(|raw| raw.placement == PartPlacement::Field) =>
            {
                None
            }
            (None, Some(id)) if is_free(self, &id) => Some(id),
            // Gemini allows calls without ids; results then match by name.
            (None, None) if self.wire == Format::Gemini => None,
            (None, Some(_)) => Some(self.derived_id(call.id.as_deref().unwrap_or_default())),
            (None, None) => Some(self.new_id()),
        };
        self.used.extend(id.clone());
        // Only needed if there are ids to restore.
        if !self.restored_ids.is_empty() {
            self.in_turn.extend(id.clone());
        }
        // A built-in tool of a provider only accepts its own kind of result.
        let plain = matches!(call.family, CallFamily::Function | CallFamily::Custom);
        let name = self.assign_name(&call.name);
        CallIdentity {
            keeps_origin: origin.is_some()
                && id == own_id
                && name == call.name
                && (plain || both_original),
            id,
            name,
            family: call.family,
        }
    }

    /// The name of a tool, or its replacement. The core repairs a missing name.
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
        result: &'h ToolResultPart<'_>,
        call: Option<&CallIdentity<'h>>,
    ) -> CallIdentity<'h> {
        let is_original = part.origin_in(self.wire).is_some();
        let own_id = result.id.as_deref().map(Cow::Borrowed);
        let id = match call {
            Some(call) => call.id.clone(),
            None if self.wire == Format::Gemini => own_id.clone(),
            None => Some(own_id.clone().unwrap_or_else(|| self.new_id())),
        };
        // A placeholder call for a built-in tool is a function call, and so is its result.
        let family = call.map_or(CallFamily::Function, |call| call.family);
        let same =
            call.is_none_or(|call| call.keeps_origin || self.wire != Format::OpenaiResponses);
        let own_name = result.name.as_deref();
        let name = call.map(|call| call.name.clone()).or(own_name.map(Cow::Borrowed));
        CallIdentity {
            keeps_origin: is_original && (id == own_id || self.wire == Format::Gemini) && same,
            id,
            name: name.unwrap_or_default(),
            family,
        }
    }
}
