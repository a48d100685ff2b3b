//! The texts and thoughts of a run, and its final text.

use std::{
    collections::{HashMap, HashSet},
    hash::{Hash, Hasher},
};

use crate::{RunEffect, SharedId, TextUpdate, UiChange, UiPart};

/// The kind of a text.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum TextKind {
    /// Text of a message.
    Text,
    /// Reasoning.
    Thought,
}

/// One text or thought.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct TextItem {
    /// Its id.
    pub id: SharedId,
    /// Text or reasoning.
    pub kind: TextKind,
    /// The call whose sub-agent wrote it.
    pub parent: Option<SharedId>,
    /// Its turn.
    pub turn: u32,
    /// The text so far.
    pub text: String,
    /// Whether the text is complete.
    pub complete: bool,
    /// Its position in the log.
    pub(crate) position: u64,
    /// The number of bytes that are shown.
    shown: usize,
    /// The number of parts it is shown in.
    parts: u32,
    /// Whether we generated its id.
    anonymous: bool,
}

/// All texts of a run.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(super) struct RunTexts {
    pub(super) items: Vec<TextItem>,
    by_id: HashMap<(TextKind, SharedId), usize>,
    parts: HashSet<SharedId>,
    /// The text that is currently shown.
    open: Option<(usize, UiPart)>,
    anonymous: u32,
}

/// Leaves out the lookup tables: they follow from the texts.
impl Hash for RunTexts {
    fn hash<H: Hasher>(&self, state: &mut H) {
        (&self.items, &self.open, self.anonymous).hash(state);
    }
}

impl RunTexts {
    /// Applies a delta or a full text. Returns whether it contained anything new.
    pub(super) fn take(
        &mut self,
        kind: TextKind,
        text: &TextUpdate,
        (turn, position): (u32, u64),
        (run, effects): (&SharedId, &mut Vec<RunEffect>),
    ) -> bool {
        let delta = text.delta.as_deref().unwrap_or("");
        if delta.is_empty() && text.full.is_none() {
            return false;
        }
        let index = self.find(kind, text, turn, position);
        let Some(item) = self.items.get_mut(index) else { return false };
        if item.complete {
            return false;
        }
        item.text.push_str(delta);
        if let Some(full) = &text.full {
            if !full.starts_with(item.text.as_str()) {
                // Text that was shown cannot be removed; the stored text is the full one.
                item.shown = full.len();
            }
            item.text.clone_from(full);
            item.complete = true;
        }
        self.show(index, run, effects);
        true
    }

    /// Closes the text that is currently shown.
    pub(super) fn close(&mut self, run: &SharedId, effects: &mut Vec<RunEffect>) {
        let Some((index, part)) = self.open.take() else { return };
        let Some(item) = self.items.get(index) else { return };
        let change = match item.kind {
            TextKind::Text => UiChange::TextClosed(part),
            TextKind::Thought => UiChange::ThoughtClosed(part),
        };
        effects.push(RunEffect::Show { run: run.clone(), change });
    }

    /// The kind of the text that is currently shown.
    pub(super) fn open_kind(&self) -> Option<TextKind> {
        let (index, _) = self.open.as_ref()?;
        self.items.get(*index).map(|item| item.kind)
    }

    /// Returns the final text of the run: its last complete text, else all streamed text.
    pub(super) fn final_text(&self) -> Option<String> {
        let own = || {
            let items = self.items.iter();
            items.filter(|item| item.kind == TextKind::Text && item.parent.is_none())
        };
        let complete = own().rev().find(|item| item.complete && !item.text.trim().is_empty());
        if let Some(item) = complete {
            return Some(item.text.clone());
        }
        let streamed: String = own().map(|item| item.text.as_str()).collect();
        (!streamed.trim().is_empty()).then_some(streamed)
    }

    fn find(&mut self, kind: TextKind, text: &TextUpdate, turn: u32, position: u64) -> usize {
        let Some(id) = text.message.as_ref().filter(|id| !id.is_empty()) else {
            let index = self.find_unnamed(kind, text.parent.as_ref());
            return index.unwrap_or_else(|| {
                self.anonymous += 1;
                let id = SharedId::from(format!("part-{}", self.anonymous));
                self.add(kind, text, (id, true), (turn, position))
            });
        };
        // Most updates are for the text that is currently shown.
        if let Some((index, _)) = &self.open {
            let item = self.items.get(*index);
            if item.is_some_and(|item| item.kind == kind && item.id == *id && !item.anonymous) {
                return *index;
            }
        }
        let next = self.items.len();
        let index = *self.by_id.entry((kind, id.clone())).or_insert(next);
        if index == next {
            self.add(kind, text, (id.clone(), false), (turn, position));
        }
        index
    }

    fn add(
        &mut self,
        kind: TextKind,
        text: &TextUpdate,
        (id, anonymous): (SharedId, bool),
        (turn, position): (u32, u64),
    ) -> usize {
        self.items.push(TextItem {
            id,
            kind,
            parent: text.parent.clone(),
            turn,
            text: String::new(),
            complete: false,
            position,
            shown: 0,
            parts: 0,
            anonymous,
        });
        self.items.len() - 1
    }

    /// Finds the text that an update without an id continues: the open one, if it has no id either.
    fn find_unnamed(&self, kind: TextKind, parent: Option<&SharedId>) -> Option<usize> {
        let (index, _) = self.open.as_ref()?;
        let item = self.items.get(*index)?;
        let is_same = item.kind == kind && item.parent.as_ref() == parent && !item.complete;
        (is_same && item.anonymous).then_some(*index)
    }

    fn show(&mut self, index: usize, run: &SharedId, effects: &mut Vec<RunEffect>) {
        let Some(item) = self.items.get_mut(index) else { return };
        let (kind, complete) = (item.kind, item.complete);
        let new = item.text.get(item.shown..).unwrap_or("");
        if !new.is_empty() {
            let delta = new.to_owned();
            item.shown = item.text.len();
            let part = match &self.open {
                Some((open, part)) if *open == index => part.clone(),
                Some(_) | None => self.open_part(index, run, effects),
            };
            let change = match kind {
                TextKind::Text => UiChange::TextDelta(part, delta),
                TextKind::Thought => UiChange::ThoughtDelta(part, delta),
            };
            effects.push(RunEffect::Show { run: run.clone(), change });
        }
        if complete && self.open.as_ref().is_some_and(|(open, _)| *open == index) {
            self.close(run, effects);
        }
    }

    /// Opens a part for a text: its first, or another one after something else was shown.
    fn open_part(&mut self, index: usize, run: &SharedId, effects: &mut Vec<RunEffect>) -> UiPart {
        self.close(run, effects);
        let Some(item) = self.items.get_mut(index) else {
            return UiPart { id: SharedId::from(""), parent: None };
        };
        let (kind, parent) = (item.kind, item.parent.clone());
        let plain = match kind {
            TextKind::Text => item.id.clone(),
            TextKind::Thought => SharedId::from(format!("thought-{}", item.id)),
        };
        let id = loop {
            item.parts += 1;
            let id = match item.parts {
                1 => plain.clone(),
                again => SharedId::from(format!("{plain}~{again}")),
            };
            if self.parts.insert(id.clone()) {
                break id;
            }
        };
        let part = UiPart { id, parent };
        self.open = Some((index, part.clone()));
        let change = match kind {
            TextKind::Text => UiChange::TextOpened(part.clone()),
            TextKind::Thought => UiChange::ThoughtOpened(part.clone()),
        };
        effects.push(RunEffect::Show { run: run.clone(), change });
        part
    }
}
