//! The state of a repair.

use std::{borrow::Cow, sync::Arc};

use super::{
    BodyEdits, Edit, MessageState, NewText, PartList, PartPatch, PartSource, RepairedMessage,
    RepairedPart, edits::EditLog,
};
use crate::{
    Span, TextReplacement,
    check::CheckOptions,
    draft::{
        ContentShape, Draft, DraftBuilder, DraftFeatures, Message, MessageFlags, MessageLayout,
        Part, PartKind, Role, TextShape, UnresolvedReference,
    },
    pairing::{CallPairing, pair_calls},
    policy::Policy,
    report::Strategy,
};

/// The history during a repair: its messages and the edits so far.
pub(super) struct RepairState<'w, 'a> {
    pub(super) input: &'w Draft<'a>,
    pub(super) options: &'w CheckOptions,
    pub(super) messages: Vec<RepairedMessage<'a>>,
    pub(super) edits: EditLog,
    pub(super) body: BodyEdits,
    pub(super) surrogates: Vec<Span>,
    /// What replaces references, in order.
    pub(super) replacements: Vec<TextReplacement>,
    /// It was changed by something other than a repair.
    pub(super) changed: bool,
}

impl<'w, 'a> RepairState<'w, 'a> {
    pub(super) fn new(input: &'w Draft<'a>, options: &'w CheckOptions) -> RepairState<'w, 'a> {
        let unchanged = |(at, message): (usize, &Message)| RepairedMessage {
            parts: PartList::UNLOADED,
            origin: u32::try_from(at).unwrap_or(RepairedMessage::NEW),
            flags: message.flags,
            role: message.role,
            state: MessageState::new(message.content, false),
        };
        RepairState {
            input,
            options,
            messages: input.messages.iter().enumerate().map(unchanged).collect(),
            edits: EditLog::default(),
            body: BodyEdits::default(),
            surrogates: Vec::new(),
            replacements: Vec::new(),
            changed: false,
        }
    }

    /// Whether a rule is enabled and applies to this layout.
    pub(super) fn is_enabled(&self, code: u16) -> bool {
        self.options.rules.has(code)
            && crate::rules::ALL
                .iter()
                .any(|rule| rule.code == code && rule.layouts.contains(&self.input.layout()))
    }

    pub(super) fn policy(&self) -> Policy {
        self.options.policy
    }

    /// The outline of the current history. Before the first edit it is the input itself.
    pub(super) fn draft(&self) -> Cow<'w, Draft<'a>> {
        if self.edits.is_empty() && !self.changed {
            return Cow::Borrowed(self.input);
        }
        let parts = self.messages.iter().map(|message| message.parts.len()).sum();
        let mut builder = DraftBuilder::sharing(self.input, self.messages.len(), parts);
        *builder.body_mut() = self.input.body.clone();
        if !self.surrogates.is_empty() {
            builder.body_mut().surrogates.clear();
        }
        if !self.replacements.is_empty() {
            let is_left = |reference: &UnresolvedReference| {
                let start = reference.replacement.span.start;
                self.replacements.binary_search_by_key(&start, |it| it.span.start).is_err()
            };
            Arc::make_mut(&mut builder.body_mut().references).retain(is_left);
        }
        if self.body.thinking_off {
            builder.body_mut().thinking = false;
        }
        if !self.body.declare.is_empty() {
            builder.body_mut().tools = true;
        }
        if !self.body.fixed_defects.is_empty() {
            let mut at = 0..;
            let fixed = &self.body.fixed_defects;
            builder
                .body_mut()
                .defects
                .retain(|_| at.next().is_some_and(|at| fixed.binary_search(&at).is_err()));
        }
        for message in &self.messages {
            let (role, content, flags) = (message.role, message.content(), message.flags);
            let original = message.input_message(self.input);
            if let Some(original) = original.filter(|_| !message.parts.is_loaded()) {
                builder.push_shared_message(role, original, content, flags);
                continue;
            }
            for part in &message.parts {
                builder.push_part(part.part.span, part.part.kind.clone());
            }
            let span = original.map_or(Span::NOWHERE, |original| original.span);
            builder.push_message(role, span, content, flags);
        }
        let mut draft = builder.finish();
        // The model signs its calls, also if the signed one is removed.
        if self.input.features.intersects(DraftFeatures::SIGNED_CALL) {
            draft.features.insert(DraftFeatures::SIGNED_CALL);
        }
        Cow::Owned(draft)
    }

    /// A message whose blocks changed holds a list of blocks, no longer a string.
    pub(super) fn update_content_shapes(&mut self) {
        if self.input.layout() == MessageLayout::Blocks {
            let is_loaded = |message: &&mut RepairedMessage<'_>| {
                message.is_touched() && message.parts.is_loaded()
            };
            for message in self.messages.iter_mut().filter(is_loaded) {
                let is_text = match &*message.parts {
                    [part] => matches!(part.part.kind, PartKind::Text(_)),
                    _ => false,
                };
                if message.content() == ContentShape::Text && !is_text {
                    message.set_content(ContentShape::List);
                }
            }
        }
    }

    /// Drops the parts of messages that were inspected and not changed: they are in the input.
    pub(super) fn unload_unchanged(&mut self) {
        for message in self.messages.iter_mut().filter(|message| !message.is_touched()) {
            message.parts = PartList::UNLOADED;
        }
    }

    /// A message with its parts loaded, to inspect or change them.
    pub(super) fn load_message(&mut self, at: usize) -> &mut RepairedMessage<'a> {
        let message = &mut self.messages[at];
        message.load_parts(self.input);
        message
    }

    /// A message with its parts loaded, marked as rewritten.
    pub(super) fn edit_message(&mut self, at: usize) -> &mut RepairedMessage<'a> {
        let message = self.load_message(at);
        message.touch();
        message
    }

    /// A message marked as rewritten without loading its parts, to change other fields.
    pub(super) fn mark_message(&mut self, at: usize) -> &mut RepairedMessage<'a> {
        let message = &mut self.messages[at];
        message.touch();
        message
    }

    /// The outline and its pairing.
    pub(super) fn draft_with_pairing(&self) -> (Cow<'w, Draft<'a>>, CallPairing) {
        let draft = self.draft();
        let pairing = pair_calls(&draft);
        (draft, pairing)
    }

    /// The message of the input at or before a message: the position that reports give for an edit.
    pub(super) fn input_position(&self, at: usize) -> usize {
        let last = at.min(self.messages.len().saturating_sub(1));
        let preceding = self.messages.get(..=last).unwrap_or(&[]);
        preceding.iter().rev().find_map(RepairedMessage::origin).unwrap_or(0)
    }

    /// Records an edit.
    pub(super) fn note_edit(
        &mut self,
        code: u16,
        strategy: Strategy,
        at: usize,
        ids: Vec<String>,
        note: String,
    ) {
        // The position matters only if the edit is listed.
        let message = if self.edits.lists(code) { self.input_position(at) } else { 0 };
        self.edits.push(Edit { code, strategy, message, ids, note });
    }

    /// Removes messages, given by their indices in order.
    pub(super) fn remove_messages(&mut self, removed: &[usize]) {
        let mut removed = removed.iter().copied().peekable();
        let mut index = 0;
        self.messages.retain(|_| {
            index += 1;
            removed.next_if_eq(&(index - 1)).is_none()
        });
    }
}

impl<'a> RepairedPart<'a> {
    pub(super) fn from_input(part: Part<'a>) -> RepairedPart<'a> {
        RepairedPart { part, patch: PartPatch::default() }
    }

    /// Generated text.
    pub(super) fn from_text(text: impl Into<NewText>) -> RepairedPart<'a> {
        let text = text.into();
        let kind = PartKind::Text(if text.is_empty() { TextShape::Empty } else { TextShape::Full });
        RepairedPart {
            part: Part { span: Span::NOWHERE, kind },
            patch: PartPatch::with_source(PartSource::Text(text)),
        }
    }

    pub(super) fn is_kept(&self) -> bool {
        *self.source() == PartSource::Input && self.patch.is_empty()
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
        parts: Vec<RepairedPart<'a>>,
    ) -> RepairedMessage<'a> {
        RepairedMessage {
            parts: parts.into(),
            origin: RepairedMessage::NEW,
            flags: MessageFlags::default(),
            role,
            state: MessageState::new(content, true),
        }
    }

    /// A new message with one text.
    pub(super) fn with_text(role: Role, text: impl Into<NewText>) -> RepairedMessage<'a> {
        RepairedMessage::new(role, ContentShape::List, vec![RepairedPart::from_text(text)])
    }

    /// Copies the parts from the input. Most messages are never inspected and cost nothing.
    pub(crate) fn load_parts(&mut self, input: &Draft<'a>) {
        if !self.parts.is_loaded() {
            let parts = self.input_parts(input).iter().cloned().map(RepairedPart::from_input);
            self.parts = parts.collect::<Vec<_>>().into();
        }
    }

    /// Makes it an untouched message again if only parts were added that are gone by now.
    pub(super) fn restore_original(&mut self, input: &Draft<'a>) {
        let Some(original) = self.input_message(input) else { return };
        let old = input.parts_of(original);
        let is_same =
            |(new, old): (&RepairedPart<'_>, &Part<'_>)| new.is_kept() && new.part.span == old.span;
        let same_fields = self.flags == original.flags && !self.has_new_role() && !self.loses_id();
        if same_fields && self.parts.len() == old.len() && self.parts.iter().zip(old).all(is_same) {
            self.state = MessageState::new(original.content, false);
            self.parts = PartList::UNLOADED;
        }
    }

    /// The parts of its message in the input.
    pub(super) fn input_parts<'d>(&self, input: &'d Draft<'a>) -> &'d [Part<'a>] {
        self.input_message(input).map_or(&[], |message| input.parts_of(message))
    }

    /// The message of the input whose other fields it keeps.
    fn input_message<'d>(&self, input: &'d Draft<'_>) -> Option<&'d Message> {
        input.messages.get(self.origin()?)
    }

    /// Whether it holds a part of a kind that `matches` accepts.
    pub(super) fn holds(&self, input: &Draft<'a>, matches: impl Fn(&PartKind<'a>) -> bool) -> bool {
        if self.parts.is_loaded() {
            return self.parts.iter().any(|part| matches(&part.part.kind));
        }
        self.input_parts(input).iter().any(|part| matches(&part.kind))
    }

    /// Keeps the parts for which `keep` returns true; returns the number of removed parts.
    pub(super) fn retain_parts(
        &mut self,
        mut keep: impl FnMut(&RepairedPart<'a>) -> bool,
    ) -> usize {
        let before = self.parts.len();
        self.parts.update(|parts| parts.retain(|part| keep(part)));
        let removed = before - self.parts.len();
        if removed > 0 {
            self.touch();
            self.update_content_shape();
        }
        removed
    }

    /// A message without its last text holds an empty list, not a string.
    pub(super) fn update_content_shape(&mut self) {
        let text = self.parts.iter().any(|part| matches!(part.part.kind, PartKind::Text(_)));
        if self.content() == ContentShape::Text && !text {
            self.set_content(ContentShape::List);
        }
    }

    /// The ids of its calls and answers, for reports.
    pub(super) fn ids(&self) -> Vec<String> {
        self.parts.iter().filter_map(|part| part.part.kind.id()).map(str::to_owned).collect()
    }
}
