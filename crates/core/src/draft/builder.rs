//! Builds a draft message by message and notes on the way what occurs.

use super::{
    AnswerShape, ArgumentsShape, ContentShape, Draft, DraftBody, DraftFeatures, Format, Message,
    MessageFlags, MessageLayout, Part, PartKind, Role, TextShape,
};
use crate::span::Span;

/// The one way to a [`Draft`], for dialects reading bytes and for repair looking at its own work.
#[derive(Debug)]
pub struct DraftBuilder<'a> {
    draft: Draft<'a>,
    first: u32,
    call_count: u32,
    has_answers: bool,
    has_other_parts: bool,
    has_call: bool,
    has_text: bool,
}

/// Most calls OpenAI takes in one message.
const MAX_CALLS: u32 = 128;

impl<'a> DraftBuilder<'a> {
    /// Starts an empty draft.
    pub fn new(source: &'a str, wire: Format) -> DraftBuilder<'a> {
        // A tool-heavy message is about a kilobyte. Asking for more than that at once beats
        // growing ten times, and memory that is never touched costs nothing.
        DraftBuilder::with_capacity(source, wire, source.len() / 400 + 8, source.len() / 300 + 8)
    }

    /// Starts a draft of a known size.
    pub(crate) fn with_capacity(
        source: &'a str,
        wire: Format,
        messages: usize,
        parts: usize,
    ) -> DraftBuilder<'a> {
        DraftBuilder {
            draft: Draft {
                source,
                format: wire,
                body: DraftBody::default(),
                messages: Vec::with_capacity(messages),
                parts: Vec::with_capacity(parts),
                features: DraftFeatures::ALWAYS,
            },
            first: 0,
            call_count: 0,
            has_answers: false,
            has_other_parts: false,
            has_call: false,
            has_text: false,
        }
    }

    /// What stands around the list; may be filled in at any time.
    pub fn body_mut(&mut self) -> &mut DraftBody<'a> {
        &mut self.draft.body
    }

    /// Adds a part to the message that is being read.
    pub fn push_part(&mut self, span: Span, kind: PartKind<'a>) {
        let facts = &mut self.draft.features;
        match &kind {
            PartKind::Text(text) => {
                match text {
                    TextShape::Empty | TextShape::Blank | TextShape::Missing => {
                        facts.insert(DraftFeatures::EMPTY_TEXT)
                    }
                    TextShape::Full | TextShape::Trailing | TextShape::Signature => {}
                }
                if self.has_call {
                    facts.insert(DraftFeatures::TEXT_AFTER_CALL);
                }
                self.has_other_parts = true;
            }
            PartKind::Call(call) => {
                self.call_count += 1;
                self.has_call = true;
                if call.arguments != ArgumentsShape::Valid {
                    facts.insert(DraftFeatures::MALFORMED_ARGUMENTS);
                }
                if call.signed {
                    facts.insert(DraftFeatures::SIGNED_CALL);
                }
                if !call.typed {
                    facts.insert(DraftFeatures::UNTYPED_CALL);
                }
            }
            PartKind::Answer(answer) => {
                if self.has_other_parts {
                    facts.insert(DraftFeatures::ANSWER_AFTER_TEXT);
                }
                self.has_answers = true;
                match answer.output {
                    AnswerShape::Full => {}
                    AnswerShape::Malformed => facts.insert(DraftFeatures::MALFORMED_ANSWER),
                    AnswerShape::Empty
                    | AnswerShape::EmptyError
                    | AnswerShape::Null
                    | AnswerShape::Missing => {
                        facts.insert(DraftFeatures::EMPTY_ANSWER);
                    }
                }
                if answer.media {
                    facts.insert(DraftFeatures::MEDIA_ANSWER);
                }
            }
            PartKind::Reasoning(_) => {
                facts.insert(DraftFeatures::REASONING);
                self.has_other_parts = true;
            }
            PartKind::ServerCall(_) | PartKind::ServerAnswer(_) => {
                facts.insert(DraftFeatures::SERVER);
                self.has_other_parts = true;
            }
            PartKind::Media | PartKind::Other => self.has_other_parts = true,
        }
        self.has_text |= !matches!(kind, PartKind::Reasoning(_));
        if self.has_answers && self.has_other_parts {
            self.draft.features.insert(DraftFeatures::SHARED_ANSWERS);
        }
        self.draft.parts.push(Part { span, kind });
    }

    /// Ends the message that is being read.
    pub fn push_message(
        &mut self,
        role: Role,
        span: Span,
        content: ContentShape,
        marks: MessageFlags,
    ) {
        let last = u32::try_from(self.draft.parts.len()).unwrap_or(u32::MAX);
        let message = Message { role, span, first: self.first, last, content, flags: marks };
        self.note_features(&message);
        self.draft.messages.push(message);
        self.first = last;
        self.reset_message();
    }

    fn reset_message(&mut self) {
        self.call_count = 0;
        self.has_answers = false;
        self.has_other_parts = false;
        self.has_call = false;
        self.has_text = false;
    }

    /// Forgets everything behind so many messages: what was being read turned out to be none.
    pub fn truncate(&mut self, messages: usize) {
        self.draft.messages.truncate(messages);
        self.first = self.draft.messages.last().map_or(0, |message| message.last);
        self.draft.parts.truncate(self.first as usize);
        self.reset_message();
    }

    /// The parts of the message that is being read.
    pub fn open_parts(&self) -> &[Part<'a>] {
        self.draft.parts.get(self.first as usize..).unwrap_or(&[])
    }

    /// How many messages there are so far.
    pub fn message_count(&self) -> usize {
        self.draft.messages.len()
    }

    /// The finished draft.
    pub fn finish(mut self) -> Draft<'a> {
        if !self.draft.body.surrogates.is_empty() {
            self.draft.features.insert(DraftFeatures::SURROGATE);
        }
        if !self.draft.body.defects.is_empty() {
            self.draft.features.insert(DraftFeatures::FILE_DEFECT);
        }
        self.draft
    }

    fn note_features(&mut self, message: &Message) {
        let layout = self.draft.format.layout();
        let (calls, answers) = (self.call_count > 0, self.has_answers);
        let previous = self.draft.messages.last();
        let mut facts = DraftFeatures::default();
        match message.role {
            Role::Unknown => facts.insert(DraftFeatures::UNKNOWN_ROLE),
            Role::System | Role::Developer => facts.insert(DraftFeatures::SYSTEM),
            // Only some know the legacy role of an answer.
            Role::Neutral if layout == MessageLayout::Chat => {
                facts.insert(DraftFeatures::UNKNOWN_ROLE)
            }
            Role::User | Role::Assistant | Role::Answer | Role::Neutral => {}
        }
        if layout == MessageLayout::Chat && calls && message.content != ContentShape::Text {
            facts.insert(DraftFeatures::NULL_BESIDE_CALLS);
        }
        if layout == MessageLayout::Items && message.first == message.last {
            facts.insert(DraftFeatures::EMPTY_CONTENT);
        }
        if layout != MessageLayout::Items && message.role != Role::Answer {
            // In a chat message reasoning is a field beside the content.
            let empty = if layout == MessageLayout::Chat {
                !self.has_text
            } else {
                message.first == message.last
            };
            if empty
                || !calls && !matches!(message.content, ContentShape::Text | ContentShape::List)
            {
                facts.insert(DraftFeatures::EMPTY_CONTENT);
            }
        }
        if message.flags.has(MessageFlags::EMPTY_CALLS) {
            facts.insert(DraftFeatures::EMPTY_CALLS);
        }
        if message.flags.has(MessageFlags::BAD_ITEM_ID) || message.flags.has(MessageFlags::UNSTORED)
        {
            facts.insert(DraftFeatures::ITEM_ID);
        }
        if message.flags.has(MessageFlags::STRAY_CALLS) {
            facts.insert(DraftFeatures::MISPLACED);
        }
        if layout != MessageLayout::Items && calls && !message.role.is_assistant()
            || layout == MessageLayout::Blocks && answers && !message.role.is_user()
            || layout == MessageLayout::Blocks && message.role.is_user() && self.has_other_parts
        {
            // The last case is common (user text); the rule itself looks closer.
            if calls || answers && !message.role.is_user() || self.has_reasoning() {
                facts.insert(DraftFeatures::MISPLACED);
            }
        }
        if self.call_count > MAX_CALLS {
            facts.insert(DraftFeatures::MANY_CALLS);
        }
        if let Some(previous) = previous {
            let both_users = previous.role.is_user() && message.role.is_user();
            if both_users || previous.role.is_assistant() && message.role.is_assistant() {
                facts.insert(DraftFeatures::SAME_SIDE_NEIGHBORS);
            }
            if message.role.is_user() && (previous.role == Role::Answer || both_users) {
                facts.insert(DraftFeatures::USER_AFTER_ANSWER);
            }
        }
        self.draft.features.insert(facts);
    }

    fn has_reasoning(&self) -> bool {
        self.draft.features.intersects(DraftFeatures::REASONING)
            && self.draft.parts[self.first as usize..]
                .iter()
                .any(|part| matches!(part.kind, PartKind::Reasoning(_)))
    }
}
