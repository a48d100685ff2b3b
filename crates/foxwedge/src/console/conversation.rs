//! A conversation, message by message: where each lies in the text of the history, and which answer
//! belongs to which call, as the engine pairs them. Nothing is read deeper before it is shown.

use std::collections::HashMap;

use foxwedge_core::{Draft, Format, ResultMatch, Role, Span, pair_calls};
use foxwedge_formats::{
    model::{ContentPart, ModelMessage, decode_message},
    outline_options, read,
};
use foxwedge_gateway::console::LocalSessionError;

use crate::{
    sessions,
    source::InputDocument,
    tree::{TreeCallState, call_state},
};

/// A conversation.
pub(super) struct ConsoleConversation {
    /// The list of messages, as a provider takes it.
    text: String,
    wire: Format,
    messages: Vec<(Span, Role)>,
    /// The calls of each message, in order.
    calls: HashMap<usize, Vec<CallLink>>,
    /// The answers of each message, in order.
    answers: HashMap<usize, Vec<AnswerPlacement>>,
    pub(super) counts: CallCounts,
}

/// A call and its answer.
#[derive(Clone, Copy, Debug)]
pub(super) struct CallLink {
    pub(super) state: TreeCallState,
    /// The message of its answer, and which of its answers it is.
    pub(super) answer: Option<(usize, usize)>,
}

/// What became of an answer.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum AnswerPlacement {
    /// It stands at its call.
    Paired,
    Duplicate,
    Orphan,
}

/// Calls and answers in numbers.
#[derive(Clone, Copy, Default, Debug)]
pub(super) struct CallCounts {
    pub(super) total: usize,
    pub(super) answered: usize,
    pub(super) elsewhere: usize,
    pub(super) placeholder: usize,
    pub(super) open: usize,
    pub(super) duplicate: usize,
    pub(super) orphan: usize,
}

impl ConsoleConversation {
    /// The conversation of a document.
    pub(super) fn of(
        document: &InputDocument<'_>,
    ) -> Result<ConsoleConversation, LocalSessionError> {
        let (text, wire) = (sessions::history(document), document.draft().format);
        let mut view = ConsoleConversation {
            text: String::new(),
            wire,
            messages: Vec::new(),
            calls: HashMap::new(),
            answers: HashMap::new(),
            counts: CallCounts::default(),
        };
        let unread =
            |error: foxwedge_formats::ReadError| LocalSessionError::Unreadable(error.to_string());
        let reading =
            read(&text, wire, outline_options(document.check_options.profile)).map_err(unread)?;
        view.pair_calls(&reading.draft);
        view.messages =
            reading.draft.messages.iter().map(|message| (message.span, message.role)).collect();
        drop(reading);
        view.text = text;
        Ok(view)
    }

    fn pair_calls(&mut self, draft: &Draft<'_>) {
        let pairing = pair_calls(draft);
        let mut places = Vec::with_capacity(pairing.answers.len());
        for answer in &pairing.answers {
            let given = match answer.result_match() {
                ResultMatch::Duplicate(_) => AnswerPlacement::Duplicate,
                ResultMatch::Orphan => AnswerPlacement::Orphan,
                ResultMatch::InPlace(_)
                | ResultMatch::Split(_)
                | ResultMatch::Misplaced(_)
                | ResultMatch::Displaced(_)
                | ResultMatch::Early(_) => AnswerPlacement::Paired,
            };
            match given {
                AnswerPlacement::Paired => {}
                AnswerPlacement::Duplicate => self.counts.duplicate += 1,
                AnswerPlacement::Orphan => self.counts.orphan += 1,
            }
            let list = self.answers.entry(answer.message()).or_default();
            places.push((answer.message(), list.len()));
            list.push(given);
        }
        for call in &pairing.calls {
            let state = call_state(draft, &pairing, call.answer());
            self.counts.total += 1;
            match state {
                TreeCallState::Answered => self.counts.answered += 1,
                TreeCallState::AnsweredElsewhere(_) => self.counts.elsewhere += 1,
                TreeCallState::Placeholder => self.counts.placeholder += 1,
                TreeCallState::Open
                | TreeCallState::DuplicateAnswer
                | TreeCallState::OrphanAnswer => self.counts.open += 1,
            }
            let answer = call.answer().and_then(|answer| places.get(answer).copied());
            self.calls.entry(call.message()).or_default().push(CallLink { state, answer });
        }
    }

    /// How many messages there are.
    pub(super) fn len(&self) -> usize {
        self.messages.len()
    }

    /// Bytes that it holds.
    pub(super) fn memory_size(&self) -> usize {
        self.text.len() + self.messages.len() * 24 + self.counts.total * 128
    }

    /// The text of a message.
    pub(super) fn raw(&self, message: usize) -> &str {
        self.messages.get(message).map_or("", |(span, _)| span.of(&self.text))
    }

    /// Who speaks.
    pub(super) fn role(&self, message: usize) -> Role {
        self.messages.get(message).map_or(Role::Unknown, |(_, role)| *role)
    }

    /// What is said in a message; `None` if it cannot be read.
    pub(super) fn message(&self, message: usize) -> Option<ModelMessage<'_>> {
        decode_message(self.raw(message), self.wire).ok()
    }

    /// The calls of a message.
    pub(super) fn calls(&self, message: usize) -> &[CallLink] {
        self.calls.get(&message).map_or(&[], Vec::as_slice)
    }

    /// The answers of a message.
    pub(super) fn answers(&self, message: usize) -> &[AnswerPlacement] {
        self.answers.get(&message).map_or(&[], Vec::as_slice)
    }

    /// Whether a text stands in what a message says, calls or answers.
    pub(super) fn message_contains(&self, message: usize, words: &str) -> bool {
        self.message(message)
            .is_some_and(|said| said.parts.iter().any(|part| part_contains(part.content(), words)))
    }
}

/// Whether small letters stand in something that was said.
fn part_contains(bit: &ContentPart<'_>, words: &str) -> bool {
    let has = |text: &str| text.to_lowercase().contains(words);
    match bit {
        ContentPart::Text(text) => has(text),
        ContentPart::Reasoning(reasoning) => has(&reasoning.text),
        ContentPart::ToolCall(call) => {
            has(&call.name) || has(&call.arguments) || call.id.as_deref().is_some_and(has)
        }
        ContentPart::ToolResult(answer) => {
            answer.parts.iter().any(|part| part_contains(part.content(), words))
        }
        ContentPart::Unknown(other) => has(&other.name) || has(&other.json),
        ContentPart::Media(media) => media.name.as_deref().is_some_and(has),
    }
}

/// The word for who speaks.
pub(super) fn role_name(role: Role) -> &'static str {
    match role {
        Role::User | Role::Unknown => "user",
        Role::Assistant => "assistant",
        Role::System => "system",
        Role::Developer => "developer",
        Role::Answer => "tool",
        Role::Neutral => "other",
    }
}
