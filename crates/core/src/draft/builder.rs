//! Builds a draft message by message and records which features occur.

use crate::sorting::sort_by_key;
use std::sync::Arc;

use super::{
    AnswerShape, ArgumentsShape, ContentShape, Draft, DraftBody, DraftFeatures, Format, Message,
    MessageFlags, MessageLayout, OwnedCall, Part, PartKind, PartTable, Role, TextShape,
};
use foxwedge_json::Span;

/// The only way to build a [`Draft`]: for parsers of formats, and for repairs that check their own
/// result.
#[derive(Debug)]
pub struct DraftBuilder<'a> {
    draft: Draft<'a>,
    first: u32,
    open: OpenMessage,
}

/// What occurs in the current message.
#[derive(Clone, Copy, Debug, Default)]
struct OpenMessage {
    call_count: u32,
    has_answers: bool,
    has_other_parts: bool,
    has_call: bool,
    has_text: bool,
}

/// The maximum number of calls OpenAI accepts in one message.
const MAX_CALLS: u32 = 128;

impl<'a> DraftBuilder<'a> {
    /// Starts an empty draft.
    pub fn new(source: &'a str, format: Format) -> DraftBuilder<'a> {
        // A tool-heavy message is about a kilobyte. Reserving more than that at once is faster than
        // growing ten times, and untouched memory costs nothing.
        DraftBuilder::with_capacity(source, format, source.len() / 400 + 8, source.len() / 300 + 8)
    }

    /// Starts a draft of a known size.
    pub fn with_capacity(
        source: &'a str,
        format: Format,
        messages: usize,
        parts: usize,
    ) -> DraftBuilder<'a> {
        DraftBuilder {
            draft: Draft {
                source,
                format,
                body: DraftBody::default(),
                messages: Vec::with_capacity(messages),
                parts: PartTable::with_capacity(parts),
                features: DraftFeatures::ALWAYS,
            },
            first: 0,
            open: OpenMessage::default(),
        }
    }

    /// Starts the outline of a repaired history. It shares the parts of the input and has room for
    /// `parts` others.
    pub(crate) fn sharing(input: &Draft<'a>, messages: usize, parts: usize) -> DraftBuilder<'a> {
        let mut builder = DraftBuilder::with_capacity(input.source, input.format, messages, 0);
        builder.draft.parts = PartTable::sharing(&input.parts, parts);
        builder.first = to_index(input.parts.len());
        builder
    }

    /// The document around the list; may be filled in at any time.
    pub fn body_mut(&mut self) -> &mut DraftBody<'a> {
        &mut self.draft.body
    }

    /// Adds a part to the current message.
    pub fn push_part(&mut self, span: Span, kind: PartKind<'a>) {
        self.open.note_part(&mut self.draft.features, &kind);
        self.draft.parts.push(Part { span, kind });
    }

    /// Notes what made a call. Calls are noted in the order of their positions.
    pub fn push_owned_call(&mut self, call: OwnedCall<'a>) {
        Arc::make_mut(&mut self.draft.body.owned_calls).push(call);
    }

    /// Completes the current message.
    pub fn push_message(
        &mut self,
        role: Role,
        span: Span,
        content: ContentShape,
        flags: MessageFlags,
    ) {
        let last = to_index(self.draft.parts.len());
        let message = Message { role, span, first: self.first, last, content, flags };
        self.complete_message(message);
        self.first = last;
    }

    /// Adds a message whose parts are those of a message of the input, `shared`.
    pub(crate) fn push_shared_message(
        &mut self,
        role: Role,
        shared: &Message,
        content: ContentShape,
        flags: MessageFlags,
    ) {
        for part in self.draft.parts.slice(shared.range()) {
            self.open.note_part(&mut self.draft.features, &part.kind);
        }
        self.complete_message(Message { role, content, flags, ..*shared });
    }

    fn complete_message(&mut self, message: Message) {
        self.note_features(&message);
        self.draft.messages.push(message);
        self.open = OpenMessage::default();
    }

    /// Drops everything after the first `messages` messages, when what followed turned out not to
    /// be messages.
    pub fn truncate(&mut self, messages: usize) {
        self.draft.messages.truncate(messages);
        self.first = self.draft.messages.last().map_or(0, |message| message.last);
        self.draft.parts.truncate(self.first as usize);
        self.open = OpenMessage::default();
    }

    /// The parts of the current message.
    pub fn open_parts(&self) -> &[Part<'a>] {
        self.draft.parts.slice(self.first as usize..self.draft.parts.len())
    }

    /// The number of completed messages.
    pub fn message_count(&self) -> usize {
        self.draft.messages.len()
    }

    /// The finished draft.
    pub fn finish(mut self) -> Draft<'a> {
        if !self.draft.body.surrogates.is_empty() {
            self.draft.features.insert(DraftFeatures::SURROGATE);
        }
        if !self.draft.body.references.is_empty() {
            self.draft.features.insert(DraftFeatures::UNRESOLVED_REFERENCE);
        }
        if !self.draft.body.owned_calls.is_sorted_by_key(|call| call.start) {
            sort_by_key(Arc::make_mut(&mut self.draft.body.owned_calls), |call| call.start);
        }
        // The calls that made them may be gone.
        if !self.draft.body.owned_calls.is_empty() {
            self.draft.features.insert(DraftFeatures::SERVER);
        }
        if !self.draft.body.defects.is_empty() {
            self.draft.features.insert(DraftFeatures::FILE_DEFECT);
        }
        self.draft.parts.share();
        self.draft
    }

    fn note_features(&mut self, message: &Message) {
        let layout = self.draft.format.layout();
        let (calls, answers) = (self.open.call_count > 0, self.open.has_answers);
        let previous = self.draft.messages.last();
        let mut features = DraftFeatures::default();
        match message.role {
            Role::Unknown => features.insert(DraftFeatures::UNKNOWN_ROLE),
            Role::System | Role::Developer => features.insert(DraftFeatures::SYSTEM),
            // Only some providers accept the legacy role of an answer.
            Role::Neutral if layout == MessageLayout::Chat => {
                features.insert(DraftFeatures::UNKNOWN_ROLE)
            }
            Role::User | Role::Assistant | Role::Answer | Role::Neutral => {}
        }
        if message.flags.has(MessageFlags::TRIGGER) {
            features.insert(DraftFeatures::TRIGGER);
        }
        if layout == MessageLayout::Chat && calls && message.content != ContentShape::Text {
            features.insert(DraftFeatures::NULL_BESIDE_CALLS);
        }
        if layout == MessageLayout::Items && message.first == message.last {
            features.insert(DraftFeatures::EMPTY_CONTENT);
        }
        if layout != MessageLayout::Items && message.role != Role::Answer {
            // In a chat message, reasoning is a field beside the content.
            let empty = if layout == MessageLayout::Chat {
                !self.open.has_text
            } else {
                message.first == message.last
            };
            if empty
                || !calls && !matches!(message.content, ContentShape::Text | ContentShape::List)
            {
                features.insert(DraftFeatures::EMPTY_CONTENT);
            }
        }
        if message.flags.has(MessageFlags::EMPTY_CALLS) {
            features.insert(DraftFeatures::EMPTY_CALLS);
        }
        if message.flags.has(MessageFlags::BAD_ITEM_ID) || message.flags.has(MessageFlags::UNSTORED)
        {
            features.insert(DraftFeatures::ITEM_ID);
        }
        if message.flags.has(MessageFlags::STRAY_CALLS) {
            features.insert(DraftFeatures::MISPLACED);
        }
        if layout != MessageLayout::Items && calls && !message.role.is_assistant()
            || layout == MessageLayout::Blocks && answers && !message.role.is_user()
            || layout == MessageLayout::Blocks
                && message.role.is_user()
                && self.open.has_other_parts
        {
            // The last case is common (user text); the rule itself checks more closely.
            if calls || answers && !message.role.is_user() || self.has_reasoning(message) {
                features.insert(DraftFeatures::MISPLACED);
            }
        }
        if self.open.call_count > MAX_CALLS {
            features.insert(DraftFeatures::MANY_CALLS);
        }
        if let Some(previous) = previous {
            let both_users = previous.role.is_user() && message.role.is_user();
            if both_users || previous.role.is_assistant() && message.role.is_assistant() {
                features.insert(DraftFeatures::SAME_SIDE_NEIGHBORS);
            }
            if message.role.is_user() && (previous.role == Role::Answer || both_users) {
                features.insert(DraftFeatures::USER_AFTER_ANSWER);
            }
        }
        self.draft.features.insert(features);
    }

    fn has_reasoning(&self, message: &Message) -> bool {
        self.draft.features.intersects(DraftFeatures::REASONING)
            && self
                .draft
                .parts_of(message)
                .iter()
                .any(|part| matches!(part.kind, PartKind::Reasoning(_)))
    }
}

impl OpenMessage {
    /// Records the features of a part.
    #[inline]
    fn note_part(&mut self, features: &mut DraftFeatures, kind: &PartKind<'_>) {
        match kind {
            PartKind::Text(text) => {
                match text {
                    TextShape::Empty | TextShape::Blank | TextShape::Missing => {
                        features.insert(DraftFeatures::EMPTY_TEXT)
                    }
                    TextShape::Full | TextShape::Trailing | TextShape::Signature => {}
                }
                if self.has_call {
                    features.insert(DraftFeatures::TEXT_AFTER_CALL);
                }
                self.has_other_parts = true;
            }
            PartKind::Call(call) => {
                self.call_count += 1;
                self.has_call = true;
                if call.arguments != ArgumentsShape::Valid {
                    features.insert(DraftFeatures::MALFORMED_ARGUMENTS);
                }
                if call.signed {
                    features.insert(DraftFeatures::SIGNED_CALL);
                }
                if !call.typed {
                    features.insert(DraftFeatures::UNTYPED_CALL);
                }
            }
            PartKind::Answer(answer) => {
                if self.has_other_parts {
                    features.insert(DraftFeatures::ANSWER_AFTER_TEXT);
                }
                self.has_answers = true;
                match answer.output {
                    AnswerShape::Full => {}
                    AnswerShape::Malformed => features.insert(DraftFeatures::MALFORMED_ANSWER),
                    AnswerShape::Empty
                    | AnswerShape::EmptyError
                    | AnswerShape::Null
                    | AnswerShape::Missing => {
                        features.insert(DraftFeatures::EMPTY_ANSWER);
                    }
                }
                if answer.media {
                    features.insert(DraftFeatures::MEDIA_ANSWER);
                }
                if answer.foreign {
                    features.insert(DraftFeatures::UNKNOWN_ROLE);
                }
            }
            PartKind::Reasoning(_) => {
                features.insert(DraftFeatures::REASONING);
                self.has_other_parts = true;
            }
            PartKind::ServerCall(_) | PartKind::ServerAnswer(_) => {
                features.insert(DraftFeatures::SERVER);
                self.has_other_parts = true;
            }
            PartKind::Fallback => {
                features.insert(DraftFeatures::FALLBACK);
                self.has_other_parts = true;
            }
            PartKind::Unknown => {
                features.insert(DraftFeatures::UNKNOWN);
                self.has_other_parts = true;
            }
            PartKind::Media | PartKind::Other => self.has_other_parts = true,
        }
        self.has_text |= !matches!(kind, PartKind::Reasoning(_));
        if self.has_answers && self.has_other_parts {
            features.insert(DraftFeatures::SHARED_ANSWERS);
        }
    }
}

/// Converts an index. An input has at most `u32::MAX` bytes, and so at most as many parts.
fn to_index(index: usize) -> u32 {
    u32::try_from(index).unwrap_or(u32::MAX)
}
