//! Splits a conversation into messages, and pairs tool calls with their results as the engine does.
//! The content of a message is decoded only when it is shown.

use std::collections::HashMap;

use foxwedge_core::{Draft, Format, Profile, Role, Span, pair_calls};
use foxwedge_formats::{
    model::{ContentPart, ModelMessage, decode_message},
    outline_options, read,
};

use super::LocalSessionError;
use crate::{
    session_document,
    source::InputDocument,
    tree::{TreeCallState, call_state, stray_state},
};

/// A conversation as the console shows it.
pub(super) struct ConsoleConversation {
    /// The list of messages, in the provider's format.
    text: String,
    format: Format,
    messages: Vec<(Span, Role)>,
    /// The tool calls of each message, in order.
    calls: HashMap<usize, Vec<CallLink>>,
    /// The tool results of each message, in order; with a state if they belong to no open call.
    answers: HashMap<usize, Vec<Option<TreeCallState>>>,
    pub(super) counts: CallCounts,
}

/// A tool call and its result.
#[derive(Clone, Copy, Debug)]
pub(super) struct CallLink {
    pub(super) state: TreeCallState,
    /// The message with its result, and the index among the results of that message.
    pub(super) answer: Option<(usize, usize)>,
}

/// Numbers of tool calls and results.
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
    pub(super) fn of(
        document: &InputDocument<'_>,
    ) -> Result<ConsoleConversation, LocalSessionError> {
        let text = session_document::history(document);
        let format = document.draft().format;
        ConsoleConversation::read(text, format, document.check_options.profile)
    }

    /// Reads a request or a list of messages.
    pub(super) fn read(
        text: String,
        format: Format,
        profile: Profile,
    ) -> Result<ConsoleConversation, LocalSessionError> {
        let mut conversation = ConsoleConversation {
            text: String::new(),
            format,
            messages: Vec::new(),
            calls: HashMap::new(),
            answers: HashMap::new(),
            counts: CallCounts::default(),
        };
        let read_error =
            |error: foxwedge_formats::ReadError| LocalSessionError::Unreadable(error.to_string());
        let reading = read(&text, format, outline_options(profile)).map_err(read_error)?;
        conversation.pair_calls(&reading.draft);
        conversation.messages =
            reading.draft.messages.iter().map(|message| (message.span, message.role)).collect();
        drop(reading);
        conversation.text = text;
        Ok(conversation)
    }

    fn pair_calls(&mut self, draft: &Draft<'_>) {
        let pairing = pair_calls(draft);
        let mut places = Vec::with_capacity(pairing.answers.len());
        for answer in &pairing.answers {
            let stray = stray_state(answer.result_match());
            self.counts.duplicate += usize::from(stray == Some(TreeCallState::DuplicateAnswer));
            self.counts.orphan += usize::from(stray == Some(TreeCallState::OrphanAnswer));
            let list = self.answers.entry(answer.message()).or_default();
            places.push((answer.message(), list.len()));
            list.push(stray);
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

    /// Number of messages.
    pub(super) fn len(&self) -> usize {
        self.messages.len()
    }

    /// Approximate size in bytes.
    pub(super) fn memory_size(&self) -> usize {
        self.text.len() + self.messages.len() * 24 + self.counts.total * 128
    }

    /// The JSON text of a message.
    pub(super) fn raw(&self, message: usize) -> &str {
        self.messages.get(message).map_or("", |(span, _)| span.of(&self.text))
    }

    pub(super) fn role(&self, message: usize) -> Role {
        self.messages.get(message).map_or(Role::Unknown, |(_, role)| *role)
    }

    /// A decoded message; `None` if it cannot be read.
    pub(super) fn message(&self, message: usize) -> Option<ModelMessage<'_>> {
        decode_message(self.raw(message), self.format).ok()
    }

    /// The tool calls of a message.
    pub(super) fn calls(&self, message: usize) -> &[CallLink] {
        self.calls.get(&message).map_or(&[], Vec::as_slice)
    }

    /// The tool results of a message.
    pub(super) fn answers(&self, message: usize) -> &[Option<TreeCallState>] {
        self.answers.get(&message).map_or(&[], Vec::as_slice)
    }

    /// Whether the text, calls or results of a message contain a lower-case text.
    pub(super) fn message_contains(&self, message: usize, words: &str) -> bool {
        self.message(message).is_some_and(|decoded| {
            decoded.parts.iter().any(|part| part_contains(part.content(), words))
        })
    }
}

/// Whether a part contains a lower-case text.
fn part_contains(part: &ContentPart<'_>, words: &str) -> bool {
    let has = |text: &str| text.to_lowercase().contains(words);
    match part {
        ContentPart::Text(text) => has(text),
        ContentPart::Reasoning(reasoning) => has(&reasoning.text),
        ContentPart::ToolCall(call) => {
            has(&call.name) || has(&call.arguments) || call.id.as_deref().is_some_and(has)
        }
        ContentPart::ToolResult(result) => {
            result.parts.iter().any(|part| part_contains(part.content(), words))
        }
        ContentPart::Unknown(other) => has(&other.name) || has(&other.json),
        ContentPart::Media(media) => media.name.as_deref().is_some_and(has),
    }
}

/// The name of a role in JSON.
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
