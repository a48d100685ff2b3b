//! A conversation, message by message: where each lies in the text of the history, and which answer
//! belongs to which call, as the engine pairs them. Nothing is read deeper before it is shown.

use std::collections::HashMap;

use foxwedge_core::{Draft, Fate, Role, Span, Wire, pair};
use foxwedge_dialect::{
    canon::{Bit, Said, decode_message},
    read, want,
};
use foxwedge_gateway::console::Refusal;

use crate::{
    sessions,
    source::Document,
    tree::{State, state},
};

/// A conversation.
pub(super) struct View {
    /// The list of messages, as a provider takes it.
    text: String,
    wire: Wire,
    messages: Vec<(Span, Role)>,
    /// The calls of each message, in order.
    calls: HashMap<usize, Vec<Link>>,
    /// The answers of each message, in order.
    answers: HashMap<usize, Vec<Given>>,
    pub(super) counts: Counts,
}

/// A call and its answer.
#[derive(Clone, Copy, Debug)]
pub(super) struct Link {
    pub(super) state: State,
    /// The message of its answer, and which of its answers it is.
    pub(super) answer: Option<(usize, usize)>,
}

/// What became of an answer.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Given {
    /// It stands at its call.
    Joined,
    Duplicate,
    Orphan,
}

/// Calls and answers in numbers.
#[derive(Clone, Copy, Default, Debug)]
pub(super) struct Counts {
    pub(super) total: usize,
    pub(super) answered: usize,
    pub(super) elsewhere: usize,
    pub(super) placeholder: usize,
    pub(super) open: usize,
    pub(super) duplicate: usize,
    pub(super) orphan: usize,
}

impl View {
    /// The conversation of a document.
    pub(super) fn of(document: &Document<'_>) -> Result<View, Refusal> {
        let (text, wire) = (sessions::history(document), document.draft().wire);
        let mut view = View {
            text: String::new(),
            wire,
            messages: Vec::new(),
            calls: HashMap::new(),
            answers: HashMap::new(),
            counts: Counts::default(),
        };
        let unread = |error: foxwedge_dialect::ReadError| Refusal::Unreadable(error.to_string());
        let reading = read(&text, wire, want(document.question.profile)).map_err(unread)?;
        view.pair(&reading.draft);
        view.messages =
            reading.draft.messages.iter().map(|message| (message.span, message.role)).collect();
        drop(reading);
        view.text = text;
        Ok(view)
    }

    fn pair(&mut self, draft: &Draft<'_>) {
        let pairing = pair(draft);
        let mut places = Vec::with_capacity(pairing.answers.len());
        for answer in &pairing.answers {
            let given = match answer.fate() {
                Fate::Duplicate(_) => Given::Duplicate,
                Fate::Orphan => Given::Orphan,
                Fate::Home(_)
                | Fate::Split(_)
                | Fate::Misplaced(_)
                | Fate::Apart(_)
                | Fate::Early(_) => Given::Joined,
            };
            match given {
                Given::Joined => {}
                Given::Duplicate => self.counts.duplicate += 1,
                Given::Orphan => self.counts.orphan += 1,
            }
            let list = self.answers.entry(answer.message()).or_default();
            places.push((answer.message(), list.len()));
            list.push(given);
        }
        for call in &pairing.calls {
            let state = state(draft, &pairing, call.answer());
            self.counts.total += 1;
            match state {
                State::Answered => self.counts.answered += 1,
                State::Elsewhere(_) => self.counts.elsewhere += 1,
                State::Placeholder => self.counts.placeholder += 1,
                State::Open | State::Again | State::Orphan => self.counts.open += 1,
            }
            let answer = call.answer().and_then(|answer| places.get(answer).copied());
            self.calls.entry(call.message()).or_default().push(Link { state, answer });
        }
    }

    /// How many messages there are.
    pub(super) fn len(&self) -> usize {
        self.messages.len()
    }

    /// Bytes that it holds.
    pub(super) fn weight(&self) -> usize {
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
    pub(super) fn said(&self, message: usize) -> Option<Said<'_>> {
        decode_message(self.raw(message), self.wire).ok()
    }

    /// The calls of a message.
    pub(super) fn calls(&self, message: usize) -> &[Link] {
        self.calls.get(&message).map_or(&[], Vec::as_slice)
    }

    /// The answers of a message.
    pub(super) fn answers(&self, message: usize) -> &[Given] {
        self.answers.get(&message).map_or(&[], Vec::as_slice)
    }

    /// Whether a text stands in what a message says, calls or answers.
    pub(super) fn holds(&self, message: usize, words: &str) -> bool {
        self.said(message)
            .is_some_and(|said| said.parts.iter().any(|part| holds(part.bit(), words)))
    }
}

/// Whether small letters stand in something that was said.
fn holds(bit: &Bit<'_>, words: &str) -> bool {
    let has = |text: &str| text.to_lowercase().contains(words);
    match bit {
        Bit::Text(text) => has(text),
        Bit::Reasoning(reasoning) => has(&reasoning.text),
        Bit::Call(call) => {
            has(&call.name) || has(&call.arguments) || call.id.as_deref().is_some_and(has)
        }
        Bit::Answer(answer) => answer.parts.iter().any(|part| holds(part.bit(), words)),
        Bit::Other(other) => has(&other.name) || has(&other.json),
        Bit::Media(media) => media.name.as_deref().is_some_and(has),
    }
}

/// The word for who speaks.
pub(super) fn role(role: Role) -> &'static str {
    match role {
        Role::User | Role::Unknown => "user",
        Role::Assistant => "assistant",
        Role::System => "system",
        Role::Developer => "developer",
        Role::Answer => "tool",
        Role::Neutral => "other",
    }
}
