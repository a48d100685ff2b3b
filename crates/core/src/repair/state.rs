//! The history while it is being repaired.

use std::borrow::Cow;

use super::{
    BodyEdits, Edit, NewText, PartPatch, PartSource, RepairedMessage, RepairedPart, edits::EditLog,
};
use crate::{
    check::CheckOptions,
    draft::{
        ContentShape, Draft, DraftBuilder, Message, MessageFlags, MessageLayout, Part, PartKind,
        Role, TextShape,
    },
    pairing::{CallPairing, pair_calls},
    policy::Policy,
    report::Strategy,
    span::Span,
};

/// The history while it is being repaired: slots instead of messages, and the edits so far.
pub(super) struct RepairState<'w, 'a> {
    pub(super) input: &'w Draft<'a>,
    pub(super) options: &'w CheckOptions,
    pub(super) messages: Vec<RepairedMessage<'a>>,
    pub(super) edits: EditLog,
    pub(super) body: BodyEdits,
    pub(super) surrogates: Vec<Span>,
    /// Something was done to it that is no repair.
    pub(super) changed: bool,
}

impl<'w, 'a> RepairState<'w, 'a> {
    pub(super) fn new(input: &'w Draft<'a>, question: &'w CheckOptions) -> RepairState<'w, 'a> {
        let slot = |(at, message): (usize, &Message)| RepairedMessage {
            origin: Some(at),
            role: message.role,
            parts: Vec::new(),
            parts_loaded: false,
            content: message.content,
            flags: message.flags,
            touched: false,
            role_changed: false,
            without_id: false,
        };
        RepairState {
            input,
            options: question,
            messages: input.messages.iter().enumerate().map(slot).collect(),
            edits: EditLog::default(),
            body: BodyEdits::default(),
            surrogates: Vec::new(),
            changed: false,
        }
    }

    /// Whether a rule is asked for (and can show itself in this layout).
    pub(super) fn is_enabled(&self, code: u16) -> bool {
        self.options.rules.has(code)
            && crate::rules::ALL
                .iter()
                .any(|rule| rule.code == code && rule.layouts.contains(&self.input.layout()))
    }

    pub(super) fn policy(&self) -> Policy {
        self.options.policy
    }

    /// The outline of what has been reached so far: message indices are slot indices. Before the
    /// first edit that is the input itself.
    pub(super) fn draft(&self) -> Cow<'w, Draft<'a>> {
        if self.edits.is_empty() && !self.changed {
            return Cow::Borrowed(self.input);
        }
        let parts = self.input.parts.len();
        let mut builder = DraftBuilder::with_capacity(
            self.input.source,
            self.input.format,
            self.messages.len(),
            parts,
        );
        *builder.body_mut() = self.input.body.clone();
        if !self.surrogates.is_empty() {
            builder.body_mut().surrogates.clear();
        }
        if self.body.thinking_off {
            builder.body_mut().thinking = false;
        }
        if !self.body.declare.is_empty() {
            builder.body_mut().tools = true;
        }
        if !self.body.fixed_defects.is_empty() {
            let mut at = 0..;
            let mended = &self.body.fixed_defects;
            builder
                .body_mut()
                .defects
                .retain(|_| at.next().is_some_and(|at| mended.binary_search(&at).is_err()));
        }
        for slot in &self.messages {
            if slot.parts_loaded {
                for piece in &slot.parts {
                    builder.push_part(piece.part.span, piece.part.kind.clone());
                }
            } else {
                for part in slot.input_parts(self.input) {
                    builder.push_part(part.span, part.kind.clone());
                }
            }
            let span = slot.input_message(self.input).map_or(Span::NOWHERE, |message| message.span);
            builder.push_message(slot.role, span, slot.content, slot.flags);
        }
        Cow::Owned(builder.finish())
    }

    /// A message whose blocks changed holds a list of blocks, not a string any more.
    pub(super) fn update_content_shapes(&mut self) {
        if self.input.layout() == MessageLayout::Blocks {
            for slot in self.messages.iter_mut().filter(|slot| slot.touched && slot.parts_loaded) {
                let whole = match slot.parts.as_slice() {
                    [piece] => matches!(piece.part.kind, PartKind::Text(_)),
                    _ => false,
                };
                if slot.content == ContentShape::Text && !whole {
                    slot.content = ContentShape::List;
                }
            }
        }
    }

    /// A slot whose pieces are about to be looked at or changed.
    pub(super) fn load_message(&mut self, at: usize) -> &mut RepairedMessage<'a> {
        let slot = &mut self.messages[at];
        slot.load_parts(self.input);
        slot
    }

    /// A slot that is about to be rewritten.
    pub(super) fn edit_message(&mut self, at: usize) -> &mut RepairedMessage<'a> {
        let slot = self.load_message(at);
        slot.touched = true;
        slot
    }

    /// A slot about which something else than its pieces is about to change.
    pub(super) fn mark_message(&mut self, at: usize) -> &mut RepairedMessage<'a> {
        let slot = &mut self.messages[at];
        slot.touched = true;
        slot
    }

    /// The outline and its pairs.
    pub(super) fn draft_with_pairing(&self) -> (Cow<'w, Draft<'a>>, CallPairing) {
        let draft = self.draft();
        let pairing = pair_calls(&draft);
        (draft, pairing)
    }

    /// The message of the input that stands at or before a slot: where people look for an edit.
    pub(super) fn input_position(&self, slot: usize) -> usize {
        let upto = slot.min(self.messages.len().saturating_sub(1));
        let known = self.messages.get(..=upto).unwrap_or(&[]);
        known.iter().rev().find_map(|slot| slot.origin).unwrap_or(0)
    }

    /// Notes a step.
    pub(super) fn note_edit(
        &mut self,
        code: u16,
        strategy: Strategy,
        slot: usize,
        ids: Vec<String>,
        note: String,
    ) {
        // Where it is matters only if anybody is told.
        let message = if self.edits.lists(code) { self.input_position(slot) } else { 0 };
        self.edits.push(Edit { code, strategy, message, ids, note });
    }

    /// Removes slots, given by their indices in order.
    pub(super) fn remove_messages(&mut self, gone: &[usize]) {
        let mut gone = gone.iter().copied().peekable();
        let mut index = 0;
        self.messages.retain(|_| {
            index += 1;
            gone.next_if_eq(&(index - 1)).is_none()
        });
    }
}

impl<'a> RepairedPart<'a> {
    pub(super) fn from_input(part: Part<'a>) -> RepairedPart<'a> {
        RepairedPart { part, source: PartSource::Input, patch: PartPatch::default() }
    }

    /// Invented text.
    pub(super) fn from_text(text: impl Into<NewText>) -> RepairedPart<'a> {
        let text = text.into();
        let kind = PartKind::Text(if text.is_empty() { TextShape::Empty } else { TextShape::Full });
        RepairedPart {
            part: Part { span: Span::NOWHERE, kind },
            source: PartSource::Text(text),
            patch: PartPatch::default(),
        }
    }

    pub(super) fn is_kept(&self) -> bool {
        self.source == PartSource::Input && self.patch.is_empty()
    }

    pub(super) fn is_answer(&self) -> bool {
        matches!(self.part.kind, PartKind::Answer(_))
    }

    pub(super) fn is_call(&self) -> bool {
        matches!(self.part.kind, PartKind::Call(_))
    }

    pub(super) fn is_reasoning(&self) -> bool {
        matches!(self.part.kind, PartKind::Reasoning(_))
    }
}

impl<'a> RepairedMessage<'a> {
    /// A new message.
    pub(super) fn new(
        role: Role,
        content: ContentShape,
        pieces: Vec<RepairedPart<'a>>,
    ) -> RepairedMessage<'a> {
        RepairedMessage {
            origin: None,
            role,
            parts: pieces,
            parts_loaded: true,
            content,
            flags: MessageFlags::default(),
            touched: true,
            role_changed: false,
            without_id: false,
        }
    }

    /// A new message with a few words.
    pub(super) fn with_text(role: Role, text: impl Into<NewText>) -> RepairedMessage<'a> {
        RepairedMessage::new(role, ContentShape::List, vec![RepairedPart::from_text(text)])
    }

    /// Takes the pieces over from the input. Most messages are never looked into, and cost nothing.
    pub(crate) fn load_parts(&mut self, input: &Draft<'a>) {
        if !self.parts_loaded {
            self.parts_loaded = true;
            self.parts =
                self.input_parts(input).iter().cloned().map(RepairedPart::from_input).collect();
        }
    }

    /// The parts of the message it still is.
    pub(super) fn input_parts<'d>(&self, input: &'d Draft<'a>) -> &'d [Part<'a>] {
        self.input_message(input).map_or(&[], |message| input.parts_of(message))
    }

    /// The message of the input whose other fields it keeps.
    fn input_message<'d>(&self, input: &'d Draft<'_>) -> Option<&'d Message> {
        input.messages.get(self.origin?)
    }

    /// Whether it holds a part of some kind.
    pub(super) fn holds(&self, input: &Draft<'a>, wanted: impl Fn(&PartKind<'a>) -> bool) -> bool {
        if self.parts_loaded {
            return self.parts.iter().any(|piece| wanted(&piece.part.kind));
        }
        self.input_parts(input).iter().any(|part| wanted(&part.kind))
    }

    /// Keeps the pieces for which `keep` says so; tells how many went.
    pub(super) fn retain_parts(
        &mut self,
        mut keep: impl FnMut(&RepairedPart<'a>) -> bool,
    ) -> usize {
        let before = self.parts.len();
        self.parts.retain(|piece| keep(piece));
        let gone = before - self.parts.len();
        if gone > 0 {
            self.parts.shrink_to_fit();
            self.touched = true;
            self.update_content_shape();
        }
        gone
    }

    /// A slot whose last text went holds an empty list, not a string.
    pub(super) fn update_content_shape(&mut self) {
        let text = self.parts.iter().any(|piece| matches!(piece.part.kind, PartKind::Text(_)));
        if self.content == ContentShape::Text && !text {
            self.content = ContentShape::List;
        }
    }

    /// The ids it mentions, for reports.
    pub(super) fn ids(&self) -> Vec<String> {
        self.parts.iter().filter_map(|piece| piece.part.kind.id()).map(str::to_owned).collect()
    }
}
