//! Collects the content of a document, in order.

use serde_json::Value;

use super::super::{
    matching::{self, CallMatching, MatchOutcome},
    reading::{
        DocumentReading, OracleBlock, OracleBlockKind, OracleMessage, OracleRole, field, id, text,
    },
};
use super::{
    Beat, DocumentGist, GistCall, GistResult, GistSide, GistThought,
    parts::{self, ContentElement},
    words::{clean, heading},
};
use crate::dialect::TestFormat;

/// The content of a document.
pub(super) fn write(reading: &DocumentReading<'_>, matching: &CallMatching<'_>) -> DocumentGist {
    let (format, gist) = (reading.format, DocumentGist::default());
    let begun = false;
    let mut writer = GistWriter { reading, matching, format, gist, begun, shows: None, turn: 0 };
    writer.instructions(reading.root);
    let flat = matches!(reading.format, TestFormat::Responses | TestFormat::Interactions);
    if let (true, Some(value)) = (flat, text(reading.root, "input")) {
        writer.say(GistSide::User, value.to_owned(), false);
    }
    for (index, message) in reading.messages.iter().enumerate() {
        writer.message(index, message);
    }
    // A list of found tools is not text: without its call it cannot be written as text.
    let orphan = |answer: &&matching::MatchedResult<'_>| {
        !matches!(answer.fate, MatchOutcome::Of(_)) && answer.family != "tool_search_call"
    };
    let orphans = matching.answers.iter().filter(orphan);
    let orphans = orphans.map(|answer| writer.answer(answer)).collect();
    let mut gist = DocumentGist { orphans, ..writer.gist };
    gist.join();
    gist
}

struct GistWriter<'r, 'a> {
    reading: &'r DocumentReading<'a>,
    matching: &'r CallMatching<'a>,
    format: TestFormat,
    gist: DocumentGist,
    /// Whether a user or model message has been read.
    begun: bool,
    /// The call whose result the following media belongs to.
    shows: Option<String>,
    turn: usize,
}

impl<'a> GistWriter<'_, 'a> {
    /// The instructions next to the list of messages.
    fn instructions(&mut self, root: &Value) {
        let content = match self.format {
            TestFormat::Chat => None,
            TestFormat::Responses => field(root, "instructions"),
            TestFormat::Interactions => field(root, "system_instruction"),
            TestFormat::Anthropic | TestFormat::Bedrock => field(root, "system"),
            TestFormat::Gemini => {
                let content = field(root, "systemInstruction");
                content.and_then(|content| field(content, "parts").or(Some(content)))
            }
        };
        self.content(GistSide::Instructions, content);
        let tools = match self.format {
            TestFormat::Anthropic => field(root, "tools"),
            TestFormat::Bedrock => {
                field(root, "toolConfig").and_then(|config| field(config, "tools"))
            }
            TestFormat::Chat
            | TestFormat::Responses
            | TestFormat::Gemini
            | TestFormat::Interactions => None,
        };
        let marked = |tool: &&Value| {
            ["cache_control", "cachePoint"].iter().any(|key| field(tool, key).is_some())
        };
        let tools = tools.and_then(Value::as_array).into_iter().flatten();
        self.gist.cache_marks += tools.filter(marked).count();
    }

    fn content(&mut self, side: GistSide, content: Option<&Value>) {
        for element in parts::pieces(self.format, content) {
            self.piece(side, element);
        }
        for value in content.and_then(Value::as_array).into_iter().flatten() {
            self.notes(value);
        }
    }

    fn message(&mut self, index: usize, message: &OracleMessage<'_>) {
        let side = match message.role {
            OracleRole::User | OracleRole::Answer | OracleRole::Other => GistSide::User,
            OracleRole::Assistant => GistSide::Assistant,
            OracleRole::System => GistSide::Instructions,
        };
        self.shows = None;
        self.begun |=
            matches!(message.role, OracleRole::User | OracleRole::Answer | OracleRole::Assistant);
        if self.format == TestFormat::Chat && side == GistSide::Assistant {
            for thought in parts::thoughts(self.format, message.value) {
                self.piece(side, thought);
            }
        }
        let (calls, others): (Vec<_>, Vec<_>) =
            message.blocks.iter().enumerate().partition(|(_, block)| {
                self.format == TestFormat::Chat && block.kind == OracleBlockKind::Call
            });
        for (at, block) in others {
            self.block(side, (index, at), block);
        }
        let refusal = id(message.value, "refusal").filter(|_| self.format == TestFormat::Chat);
        if let Some(value) = refusal.filter(|_| side == GistSide::Assistant) {
            self.say(side, value.to_owned(), true);
        }
        for (at, block) in calls {
            self.block(side, (index, at), block);
        }
    }

    fn block(&mut self, side: GistSide, position: (usize, usize), block: &OracleBlock<'_>) {
        let flat = matches!(self.format, TestFormat::Responses | TestFormat::Interactions);
        if !flat || block.kind == OracleBlockKind::Text {
            self.notes(block.value);
        }
        match block.kind {
            OracleBlockKind::Text | OracleBlockKind::Unknown
                if block.text().is_none() && speaks(self.format, block.value) =>
            {
                self.content(side, field(block.value, "content"));
            }
            OracleBlockKind::Text => self.say(side, block.text().unwrap_or("").to_owned(), false),
            OracleBlockKind::Call => self.call(position, block),
            OracleBlockKind::Answer => {}
            OracleBlockKind::Reasoning if flat => {
                for thought in parts::thoughts(self.format, block.value) {
                    self.piece(side, thought);
                }
            }
            OracleBlockKind::ServerCall | OracleBlockKind::ServerAnswer => self.other(block.value),
            OracleBlockKind::Other
                if self.format == TestFormat::Interactions
                    && field(block.value, "type").is_some_and(|kind| kind != "function_result") =>
            {
                self.piece(side, parts::piece(self.format, block.value));
            }
            OracleBlockKind::Other | OracleBlockKind::Unknown if flat => self.other(block.value),
            OracleBlockKind::Reasoning
            | OracleBlockKind::Fallback
            | OracleBlockKind::Other
            | OracleBlockKind::Unknown => {
                let element = parts::piece(self.format, block.value);
                self.piece(side, element);
            }
        }
    }

    fn call(&mut self, position: (usize, usize), block: &OracleBlock<'_>) {
        let (id, name, arguments, signature) = parts::call(self.format, block.body, block.value);
        self.gist.seals.extend(signature);
        let number = self.matching.calls.iter().position(|call| call.position == position);
        let found = self.matching.answers.iter().find(|answer| match answer.fate {
            MatchOutcome::Of(call) => Some(call) == number,
            MatchOutcome::Duplicate | MatchOutcome::Orphan => false,
        });
        let answer = found.map(|found| self.answer(found));
        self.gist.beats.push(Beat::Call(GistCall { id, name, arguments, answer }));
    }

    fn answer(&self, answer: &matching::MatchedResult<'a>) -> GistResult {
        let (message, block) = answer.position;
        let body = self.reading.messages[message].blocks[block].body;
        parts::answer(self.format, body, answer.id)
    }

    fn piece(&mut self, side: GistSide, element: ContentElement) {
        match element {
            ContentElement::Text { text, refusal } => self.say(side, text, refusal),
            ContentElement::Media(media) => {
                let call = self.shows.as_deref().and_then(|name| last_call(&mut self.gist, name));
                match call.and_then(|call| call.answer.as_mut()) {
                    Some(answer) => answer.media.push(media),
                    None => self.speak(side, Beat::Media { side, media }),
                }
            }
            ContentElement::Thought { text, seal } => {
                self.gist.seals.extend(seal.clone());
                if !text.is_empty() || seal.is_some() {
                    self.gist.thoughts.push(GistThought { text, seal, stretch: self.turn });
                }
            }
            ContentElement::Mark => self.gist.cache_marks += 1,
            ContentElement::Other(value) if value.as_object().is_some_and(|it| !it.is_empty()) => {
                self.other(&value);
            }
            ContentElement::Other(_) => {}
        }
    }

    fn say(&mut self, side: GistSide, text: String, refusal: bool) {
        if side != GistSide::Assistant {
            self.shows = heading(&text).map(str::to_owned);
        }
        let text = clean(&text);
        if !text.is_empty() {
            self.speak(side, Beat::Text { side, text, refusal });
        }
    }

    fn speak(&mut self, side: GistSide, beat: Beat) {
        // Elements that may be lost do not end a stretch.
        let lasting = |beat: &&Beat| matches!(beat, Beat::Text { .. } | Beat::Call(_));
        let before = self.gist.beats.iter().rfind(lasting).map(Beat::side);
        if side != GistSide::Assistant && before == Some(GistSide::Assistant) {
            self.turn += 1;
        }
        self.gist.leads |= side == GistSide::Instructions && !self.begun;
        self.gist.beats.push(beat);
    }

    fn other(&mut self, value: &Value) {
        self.gist.beats.push(Beat::Other(value.to_string()));
    }

    /// Cache marks, citations and seals of a block.
    fn notes(&mut self, value: &Value) {
        if self.format == TestFormat::Anthropic && field(value, "cache_control").is_some() {
            self.gist.cache_marks += 1;
        }
        let cited = ["citations", "annotations"].iter().any(|key| {
            field(value, key).and_then(Value::as_array).is_some_and(|list| !list.is_empty())
        });
        self.gist.cited += usize::from(cited);
        // In Gemini a text may be signed without being reasoning.
        if let (TestFormat::Gemini, Some(seal)) = (self.format, id(value, "thoughtSignature")) {
            let plain = text(value, "text").is_some_and(|value| !value.is_empty());
            let thought = field(value, "thought") == Some(&Value::Bool(true));
            self.gist.seals.extend((plain && !thought).then(|| seal.to_owned()));
        }
    }
}

/// Whether an item or a step has content of the user or the model.
fn speaks(format: TestFormat, value: &Value) -> bool {
    let kind = text(value, "type");
    match format {
        TestFormat::Responses => matches!(kind, None | Some("message")),
        TestFormat::Interactions => matches!(kind, Some("user_input" | "model_output")),
        _ => false,
    }
}

/// The last call with that id, otherwise with that name.
fn last_call<'g>(gist: &'g mut DocumentGist, name: &str) -> Option<&'g mut GistCall> {
    let by = |call: &GistCall, id: bool| match id {
        true => call.id.as_deref() == Some(name),
        false => call.name == name,
    };
    let at = [true, false].into_iter().find_map(|id| {
        gist.beats.iter().rposition(|beat| matches!(beat, Beat::Call(call) if by(call, id)))
    })?;
    match gist.beats.get_mut(at) {
        Some(Beat::Call(call)) => Some(call),
        _ => None,
    }
}
