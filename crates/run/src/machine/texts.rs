//! What the model said and thought, and the one text that stands for the run.

use std::{
    collections::{HashMap, HashSet},
    hash::{Hash, Hasher},
};

use crate::{RunEffect, SharedId, TextUpdate, UiChange, UiPart};

/// Said or thought.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum TextKind {
    /// Said.
    Text,
    /// Thought.
    Thought,
}

/// One text.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct TextItem {
    /// Its id.
    pub id: SharedId,
    /// Said or thought.
    pub kind: TextKind,
    /// The call whose sub-agent said it.
    pub parent: Option<SharedId>,
    /// The turn it came in.
    pub turn: u32,
    /// All of it, so far.
    pub text: String,
    /// Whether that is all.
    pub complete: bool,
    /// Its place in the log.
    pub(crate) position: u64,
    /// How much of it is shown.
    shown: usize,
    /// In how many parts.
    parts: u32,
    /// Whether its id is ours.
    anonymous: bool,
}

/// Every text of a run.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(super) struct RunTexts {
    pub(super) items: Vec<TextItem>,
    by_id: HashMap<(TextKind, SharedId), usize>,
    parts: HashSet<SharedId>,
    /// The text that is being shown.
    open: Option<(usize, UiPart)>,
    anonymous: u32,
}

/// What finds texts follows from the texts.
impl Hash for RunTexts {
    fn hash<H: Hasher>(&self, state: &mut H) {
        (&self.items, &self.open, self.anonymous).hash(state);
    }
}

impl RunTexts {
    /// Takes a piece, or all of a text. Tells whether there was anything new in it.
    pub(super) fn take(
        &mut self,
        kind: TextKind,
        text: &TextUpdate,
        (turn, place): (u32, u64),
        (run, effects): (&SharedId, &mut Vec<RunEffect>),
    ) -> bool {
        let delta = text.delta.as_deref().unwrap_or("");
        if delta.is_empty() && text.full.is_none() {
            return false;
        }
        let index = self.find(kind, text, turn, place);
        let Some(item) = self.items.get_mut(index) else { return false };
        if item.complete {
            return false;
        }
        item.text.push_str(delta);
        if let Some(full) = &text.full {
            if !full.starts_with(item.text.as_str()) {
                // What was shown cannot be taken back; what is kept is what was meant.
                item.shown = full.len();
            }
            item.text.clone_from(full);
            item.complete = true;
        }
        self.show(index, run, effects);
        true
    }

    /// Closes what is being shown.
    pub(super) fn close(&mut self, run: &SharedId, effects: &mut Vec<RunEffect>) {
        let Some((index, part)) = self.open.take() else { return };
        let Some(item) = self.items.get(index) else { return };
        let change = match item.kind {
            TextKind::Text => UiChange::TextClosed(part),
            TextKind::Thought => UiChange::ThoughtClosed(part),
        };
        effects.push(RunEffect::Show { run: run.clone(), change });
    }

    /// What is being said or thought right now.
    pub(super) fn open_kind(&self) -> Option<TextKind> {
        let (index, _) = self.open.as_ref()?;
        self.items.get(*index).map(|item| item.kind)
    }

    /// What the run said in the end: its last complete text, else what was streamed.
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

    fn find(&mut self, kind: TextKind, text: &TextUpdate, turn: u32, place: u64) -> usize {
        let Some(id) = text.message.as_ref().filter(|id| !id.is_empty()) else {
            let index = self.find_unnamed(kind, text.parent.as_ref());
            return index.unwrap_or_else(|| {
                self.anonymous += 1;
                let id = SharedId::from(format!("part-{}", self.anonymous));
                self.add(kind, text, (id, true), (turn, place))
            });
        };
        // The one that is being shown is nearly always the one.
        if let Some((index, _)) = &self.open {
            let item = self.items.get(*index);
            if item.is_some_and(|item| item.kind == kind && item.id == *id && !item.anonymous) {
                return *index;
            }
        }
        let next = self.items.len();
        let index = *self.by_id.entry((kind, id.clone())).or_insert(next);
        if index == next {
            self.add(kind, text, (id.clone(), false), (turn, place));
        }
        index
    }

    fn add(
        &mut self,
        kind: TextKind,
        text: &TextUpdate,
        (id, anonymous): (SharedId, bool),
        (turn, born): (u32, u64),
    ) -> usize {
        self.items.push(TextItem {
            id,
            kind,
            parent: text.parent.clone(),
            turn,
            text: String::new(),
            complete: false,
            position: born,
            shown: 0,
            parts: 0,
            anonymous,
        });
        self.items.len() - 1
    }

    /// A text without an id goes on for as long as nothing else is said.
    fn find_unnamed(&self, kind: TextKind, parent: Option<&SharedId>) -> Option<usize> {
        let (index, _) = self.open.as_ref()?;
        let item = self.items.get(*index)?;
        let same = item.kind == kind && item.parent.as_ref() == parent && !item.complete;
        (same && item.anonymous).then_some(*index)
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

    /// Opens a part of its own for a text: the first, or one more after something else was said.
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
