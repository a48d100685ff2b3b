//! The history while it is being repaired.

use std::borrow::Cow;

use super::{BodyEdits, Edit, NewWords, Patch, Piece, Slot, Source, edits::EditLog};
use crate::{
    check::Question,
    draft::{Builder, Content, Draft, Kind, Layout, Marks, Message, Part, Role, Text},
    pair::{Pairing, pair},
    policy::Policy,
    report::Strategy,
    span::Span,
};

/// The history while it is being repaired: slots instead of messages, and the edits so far.
pub(super) struct Work<'w, 'a> {
    pub(super) input: &'w Draft<'a>,
    pub(super) question: &'w Question,
    pub(super) slots: Vec<Slot<'a>>,
    pub(super) edits: EditLog,
    pub(super) body: BodyEdits,
    pub(super) surrogates: Vec<Span>,
    /// Something was done to it that is no repair.
    pub(super) changed: bool,
}

impl<'w, 'a> Work<'w, 'a> {
    pub(super) fn new(input: &'w Draft<'a>, question: &'w Question) -> Work<'w, 'a> {
        let slot = |(at, message): (usize, &Message)| Slot {
            origin: Some(at),
            role: message.role,
            pieces: Vec::new(),
            opened: false,
            content: message.content,
            marks: message.marks,
            touched: false,
            recast: false,
            without_id: false,
        };
        Work {
            input,
            question,
            slots: input.messages.iter().enumerate().map(slot).collect(),
            edits: EditLog::default(),
            body: BodyEdits::default(),
            surrogates: Vec::new(),
            changed: false,
        }
    }

    /// Whether a rule is asked for (and can show itself in this layout).
    pub(super) fn wants(&self, code: u16) -> bool {
        self.question.rules.has(code)
            && crate::rules::ALL
                .iter()
                .any(|rule| rule.code == code && rule.layouts.contains(&self.input.layout()))
    }

    pub(super) fn policy(&self) -> Policy {
        self.question.policy
    }

    /// The outline of what has been reached so far: message indices are slot indices. Before the
    /// first edit that is the input itself.
    pub(super) fn draft(&self) -> Cow<'w, Draft<'a>> {
        if self.edits.is_empty() && !self.changed {
            return Cow::Borrowed(self.input);
        }
        let parts = self.input.parts.len();
        let mut builder =
            Builder::sized(self.input.source, self.input.wire, self.slots.len(), parts);
        *builder.body() = self.input.body.clone();
        if !self.surrogates.is_empty() {
            builder.body().surrogates.clear();
        }
        if self.body.thinking_off {
            builder.body().thinking = false;
        }
        if !self.body.declare.is_empty() {
            builder.body().tools = true;
        }
        if !self.body.mended.is_empty() {
            let mut at = 0..;
            let mended = &self.body.mended;
            builder
                .body()
                .flaws
                .retain(|_| at.next().is_some_and(|at| mended.binary_search(&at).is_err()));
        }
        for slot in &self.slots {
            if slot.opened {
                for piece in &slot.pieces {
                    builder.part(piece.part.span, piece.part.kind.clone());
                }
            } else {
                for part in slot.parts(self.input) {
                    builder.part(part.span, part.kind.clone());
                }
            }
            let span = slot.message(self.input).map_or(Span::NOWHERE, |message| message.span);
            builder.message(slot.role, span, slot.content, slot.marks);
        }
        Cow::Owned(builder.finish())
    }

    /// A message whose blocks changed holds a list of blocks, not a string any more.
    pub(super) fn settle(&mut self) {
        if self.input.layout() == Layout::Blocks {
            for slot in self.slots.iter_mut().filter(|slot| slot.touched && slot.opened) {
                let whole = match slot.pieces.as_slice() {
                    [piece] => matches!(piece.part.kind, Kind::Text(_)),
                    _ => false,
                };
                if slot.content == Content::Text && !whole {
                    slot.content = Content::List;
                }
            }
        }
    }

    /// A slot whose pieces are about to be looked at or changed.
    pub(super) fn open(&mut self, at: usize) -> &mut Slot<'a> {
        let slot = &mut self.slots[at];
        slot.open(self.input);
        slot
    }

    /// A slot that is about to be rewritten.
    pub(super) fn touch(&mut self, at: usize) -> &mut Slot<'a> {
        let slot = self.open(at);
        slot.touched = true;
        slot
    }

    /// A slot about which something else than its pieces is about to change.
    pub(super) fn mark(&mut self, at: usize) -> &mut Slot<'a> {
        let slot = &mut self.slots[at];
        slot.touched = true;
        slot
    }

    /// The outline and its pairs.
    pub(super) fn paired(&self) -> (Cow<'w, Draft<'a>>, Pairing) {
        let draft = self.draft();
        let pairing = pair(&draft);
        (draft, pairing)
    }

    /// The message of the input that stands at or before a slot: where people look for an edit.
    pub(super) fn place(&self, slot: usize) -> usize {
        let upto = slot.min(self.slots.len().saturating_sub(1));
        let known = self.slots.get(..=upto).unwrap_or(&[]);
        known.iter().rev().find_map(|slot| slot.origin).unwrap_or(0)
    }

    /// Notes a step.
    pub(super) fn note(
        &mut self,
        code: u16,
        strategy: Strategy,
        slot: usize,
        ids: Vec<String>,
        note: String,
    ) {
        // Where it is matters only if anybody is told.
        let message = if self.edits.lists(code) { self.place(slot) } else { 0 };
        self.edits.push(Edit { code, strategy, message, ids, note });
    }

    /// Removes slots, given by their indices in order.
    pub(super) fn remove_slots(&mut self, gone: &[usize]) {
        let mut gone = gone.iter().copied().peekable();
        let mut index = 0;
        self.slots.retain(|_| {
            index += 1;
            gone.next_if_eq(&(index - 1)).is_none()
        });
    }
}

impl<'a> Piece<'a> {
    pub(super) fn kept(part: Part<'a>) -> Piece<'a> {
        Piece { part, source: Source::Kept, patch: Patch::default() }
    }

    /// Invented text.
    pub(super) fn words(text: impl Into<NewWords>) -> Piece<'a> {
        let text = text.into();
        let kind = Kind::Text(if text.is_empty() { Text::Empty } else { Text::Full });
        Piece {
            part: Part { span: Span::NOWHERE, kind },
            source: Source::Words(text),
            patch: Patch::default(),
        }
    }

    pub(super) fn is_kept(&self) -> bool {
        self.source == Source::Kept && self.patch.is_empty()
    }

    pub(super) fn is_answer(&self) -> bool {
        matches!(self.part.kind, Kind::Answer(_))
    }

    pub(super) fn is_call(&self) -> bool {
        matches!(self.part.kind, Kind::Call(_))
    }

    pub(super) fn is_reasoning(&self) -> bool {
        matches!(self.part.kind, Kind::Reasoning(_))
    }
}

impl<'a> Slot<'a> {
    /// A new message.
    pub(super) fn new(role: Role, content: Content, pieces: Vec<Piece<'a>>) -> Slot<'a> {
        Slot {
            origin: None,
            role,
            pieces,
            opened: true,
            content,
            marks: Marks::default(),
            touched: true,
            recast: false,
            without_id: false,
        }
    }

    /// A new message with a few words.
    pub(super) fn say(role: Role, text: impl Into<NewWords>) -> Slot<'a> {
        Slot::new(role, Content::List, vec![Piece::words(text)])
    }

    /// Takes the pieces over from the input. Most messages are never looked into, and cost nothing.
    pub(crate) fn open(&mut self, input: &Draft<'a>) {
        if !self.opened {
            self.opened = true;
            self.pieces = self.parts(input).iter().cloned().map(Piece::kept).collect();
        }
    }

    /// The parts of the message it still is.
    pub(super) fn parts<'d>(&self, input: &'d Draft<'a>) -> &'d [Part<'a>] {
        self.message(input).map_or(&[], |message| input.parts_of(message))
    }

    /// The message of the input whose other fields it keeps.
    fn message<'d>(&self, input: &'d Draft<'_>) -> Option<&'d Message> {
        input.messages.get(self.origin?)
    }

    /// Whether it holds a part of some kind.
    pub(super) fn holds(&self, input: &Draft<'a>, wanted: impl Fn(&Kind<'a>) -> bool) -> bool {
        if self.opened {
            return self.pieces.iter().any(|piece| wanted(&piece.part.kind));
        }
        self.parts(input).iter().any(|part| wanted(&part.kind))
    }

    /// Keeps the pieces for which `keep` says so; tells how many went.
    pub(super) fn keep(&mut self, mut keep: impl FnMut(&Piece<'a>) -> bool) -> usize {
        let before = self.pieces.len();
        self.pieces.retain(|piece| keep(piece));
        let gone = before - self.pieces.len();
        if gone > 0 {
            self.pieces.shrink_to_fit();
            self.touched = true;
            self.settle();
        }
        gone
    }

    /// A slot whose last text went holds an empty list, not a string.
    pub(super) fn settle(&mut self) {
        let text = self.pieces.iter().any(|piece| matches!(piece.part.kind, Kind::Text(_)));
        if self.content == Content::Text && !text {
            self.content = Content::List;
        }
    }

    /// The ids it mentions, for reports.
    pub(super) fn ids(&self) -> Vec<String> {
        self.pieces.iter().filter_map(|piece| piece.part.kind.id()).map(str::to_owned).collect()
    }
}
