//! Builds a draft message by message and notes on the way what occurs.

use super::{
    Arguments, Body, Content, Draft, Facts, Kind, Layout, Marks, Message, Output, Part, Role, Text,
    Wire,
};
use crate::span::Span;

/// The one way to a [`Draft`], for dialects reading bytes and for repair looking at its own work.
#[derive(Debug)]
pub struct Builder<'a> {
    draft: Draft<'a>,
    first: u32,
    calls: u32,
    answers: bool,
    others: bool,
    call_seen: bool,
    speaks: bool,
}

/// Most calls OpenAI takes in one message.
const MANY: u32 = 128;

impl<'a> Builder<'a> {
    /// Starts an empty draft.
    pub fn new(source: &'a str, wire: Wire) -> Builder<'a> {
        // A tool-heavy message is about a kilobyte. Asking for more than that at once beats
        // growing ten times, and memory that is never touched costs nothing.
        Builder::sized(source, wire, source.len() / 400 + 8, source.len() / 300 + 8)
    }

    /// Starts a draft of a known size.
    pub(crate) fn sized(source: &'a str, wire: Wire, messages: usize, parts: usize) -> Builder<'a> {
        Builder {
            draft: Draft {
                source,
                wire,
                body: Body::default(),
                messages: Vec::with_capacity(messages),
                parts: Vec::with_capacity(parts),
                facts: Facts::ALWAYS,
            },
            first: 0,
            calls: 0,
            answers: false,
            others: false,
            call_seen: false,
            speaks: false,
        }
    }

    /// What stands around the list; may be filled in at any time.
    pub fn body(&mut self) -> &mut Body<'a> {
        &mut self.draft.body
    }

    /// Adds a part to the message that is being read.
    pub fn part(&mut self, span: Span, kind: Kind<'a>) {
        let facts = &mut self.draft.facts;
        match &kind {
            Kind::Text(text) => {
                match text {
                    Text::Empty | Text::Blank | Text::Missing => facts.note(Facts::HOLLOW_TEXT),
                    Text::Full | Text::Trailing | Text::Signature => {}
                }
                if self.call_seen {
                    facts.note(Facts::TEXT_AFTER_CALL);
                }
                self.others = true;
            }
            Kind::Call(call) => {
                self.calls += 1;
                self.call_seen = true;
                if call.arguments != Arguments::Good {
                    facts.note(Facts::ODD_ARGUMENTS);
                }
                if call.signed {
                    facts.note(Facts::SIGNED_CALL);
                }
                if !call.typed {
                    facts.note(Facts::UNTYPED_CALL);
                }
            }
            Kind::Answer(answer) => {
                if self.others {
                    facts.note(Facts::ANSWER_AFTER_TEXT);
                }
                self.answers = true;
                match answer.output {
                    Output::Full => {}
                    Output::Odd => facts.note(Facts::ODD_ANSWER),
                    Output::Empty | Output::EmptyError | Output::Null | Output::Missing => {
                        facts.note(Facts::HOLLOW_ANSWER);
                    }
                }
                if answer.media {
                    facts.note(Facts::MEDIA_ANSWER);
                }
            }
            Kind::Reasoning(_) => {
                facts.note(Facts::REASONING);
                self.others = true;
            }
            Kind::ServerCall(_) | Kind::ServerAnswer(_) => {
                facts.note(Facts::SERVER);
                self.others = true;
            }
            Kind::Media | Kind::Other => self.others = true,
        }
        self.speaks |= !matches!(kind, Kind::Reasoning(_));
        if self.answers && self.others {
            self.draft.facts.note(Facts::SHARED_ANSWERS);
        }
        self.draft.parts.push(Part { span, kind });
    }

    /// Ends the message that is being read.
    pub fn message(&mut self, role: Role, span: Span, content: Content, marks: Marks) {
        let last = u32::try_from(self.draft.parts.len()).unwrap_or(u32::MAX);
        let message = Message { role, span, first: self.first, last, content, marks };
        self.note(&message);
        self.draft.messages.push(message);
        self.first = last;
        self.rest();
    }

    fn rest(&mut self) {
        self.calls = 0;
        self.answers = false;
        self.others = false;
        self.call_seen = false;
        self.speaks = false;
    }

    /// Forgets everything behind so many messages: what was being read turned out to be none.
    pub fn abandon(&mut self, messages: usize) {
        self.draft.messages.truncate(messages);
        self.first = self.draft.messages.last().map_or(0, |message| message.last);
        self.draft.parts.truncate(self.first as usize);
        self.rest();
    }

    /// The parts of the message that is being read.
    pub fn open(&self) -> &[Part<'a>] {
        self.draft.parts.get(self.first as usize..).unwrap_or(&[])
    }

    /// How many messages there are so far.
    pub fn messages(&self) -> usize {
        self.draft.messages.len()
    }

    /// The finished draft.
    pub fn finish(mut self) -> Draft<'a> {
        if !self.draft.body.surrogates.is_empty() {
            self.draft.facts.note(Facts::SURROGATE);
        }
        if !self.draft.body.flaws.is_empty() {
            self.draft.facts.note(Facts::FLAWED);
        }
        self.draft
    }

    fn note(&mut self, message: &Message) {
        let layout = self.draft.wire.layout();
        let (calls, answers) = (self.calls > 0, self.answers);
        let previous = self.draft.messages.last();
        let mut facts = Facts::default();
        match message.role {
            Role::Unknown => facts.note(Facts::UNKNOWN_ROLE),
            Role::System | Role::Developer => facts.note(Facts::SYSTEM),
            // Only some know the legacy role of an answer.
            Role::Neutral if layout == Layout::Chat => facts.note(Facts::UNKNOWN_ROLE),
            Role::User | Role::Assistant | Role::Answer | Role::Neutral => {}
        }
        if layout == Layout::Chat && calls && message.content != Content::Text {
            facts.note(Facts::NULL_BESIDE_CALLS);
        }
        if layout == Layout::Items && message.first == message.last {
            facts.note(Facts::HOLLOW_MESSAGE);
        }
        if layout != Layout::Items && message.role != Role::Answer {
            // In a chat message reasoning is a field beside the content.
            let empty =
                if layout == Layout::Chat { !self.speaks } else { message.first == message.last };
            if empty || !calls && !matches!(message.content, Content::Text | Content::List) {
                facts.note(Facts::HOLLOW_MESSAGE);
            }
        }
        if message.marks.has(Marks::EMPTY_CALLS) {
            facts.note(Facts::EMPTY_CALLS);
        }
        if message.marks.has(Marks::BAD_ITEM_ID) || message.marks.has(Marks::UNSTORED) {
            facts.note(Facts::ITEM_ID);
        }
        if message.marks.has(Marks::STRAY_CALLS) {
            facts.note(Facts::MISPLACED);
        }
        if layout != Layout::Items && calls && !message.role.is_assistant()
            || layout == Layout::Blocks && answers && !message.role.is_user()
            || layout == Layout::Blocks && message.role.is_user() && self.others
        {
            // The last case is common (user text); the rule itself looks closer.
            if calls || answers && !message.role.is_user() || self.reasoning_here() {
                facts.note(Facts::MISPLACED);
            }
        }
        if self.calls > MANY {
            facts.note(Facts::MANY_CALLS);
        }
        if let Some(previous) = previous {
            let both_users = previous.role.is_user() && message.role.is_user();
            if both_users || previous.role.is_assistant() && message.role.is_assistant() {
                facts.note(Facts::NEIGHBOURS);
            }
            if message.role.is_user() && (previous.role == Role::Answer || both_users) {
                facts.note(Facts::USER_AFTER_ANSWER);
            }
        }
        self.draft.facts.note(facts);
    }

    fn reasoning_here(&self) -> bool {
        self.draft.facts.any(Facts::REASONING)
            && self.draft.parts[self.first as usize..]
                .iter()
                .any(|part| matches!(part.kind, Kind::Reasoning(_)))
    }
}
