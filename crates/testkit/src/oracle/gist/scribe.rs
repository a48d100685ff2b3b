//! Writes down what a document says, in order.

use serde_json::Value;

use super::super::{
    matching::{self, Fate, Matching},
    reading::{Block, Kind, Message, Reading, Role, field, id, text},
};
use super::{
    Answer, Beat, Call, Gist, Side, Thought,
    parts::{self, Piece},
    words::{clean, heading},
};
use crate::dialect::Dialect;

/// Everything that a document says.
pub(super) fn write(reading: &Reading<'_>, matching: &Matching<'_>) -> Gist {
    let (dialect, gist) = (reading.dialect, Gist::default());
    let begun = false;
    let mut scribe = Scribe { reading, matching, dialect, gist, begun, shows: None, turn: 0 };
    scribe.instructions(reading.root);
    if let (Dialect::Responses, Some(words)) = (reading.dialect, text(reading.root, "input")) {
        scribe.say(Side::User, words.to_owned(), false);
    }
    for (index, message) in reading.messages.iter().enumerate() {
        scribe.message(index, message);
    }
    // A list of tools that were found is no text: it cannot be told without its call.
    let orphan = |answer: &&matching::Answer<'_>| {
        !matches!(answer.fate, Fate::Of(_)) && answer.family != "tool_search_call"
    };
    let orphans = matching.answers.iter().filter(orphan);
    let orphans = orphans.map(|answer| scribe.answer(answer)).collect();
    let mut gist = Gist { orphans, ..scribe.gist };
    gist.join();
    gist
}

struct Scribe<'r, 'a> {
    reading: &'r Reading<'a>,
    matching: &'r Matching<'a>,
    dialect: Dialect,
    gist: Gist,
    /// The user or the model had the word.
    begun: bool,
    /// The call whose answer shows what follows.
    shows: Option<String>,
    turn: usize,
}

impl<'a> Scribe<'_, 'a> {
    /// What stands beside the list of messages.
    fn instructions(&mut self, root: &Value) {
        let content = match self.dialect {
            Dialect::Chat => None,
            Dialect::Responses => field(root, "instructions"),
            Dialect::Anthropic | Dialect::Bedrock => field(root, "system"),
            Dialect::Gemini => {
                let content = field(root, "systemInstruction");
                content.and_then(|content| field(content, "parts").or(Some(content)))
            }
        };
        self.content(Side::Instructions, content);
        let tools = match self.dialect {
            Dialect::Anthropic => field(root, "tools"),
            Dialect::Bedrock => field(root, "toolConfig").and_then(|config| field(config, "tools")),
            Dialect::Chat | Dialect::Responses | Dialect::Gemini => None,
        };
        let marked = |tool: &&Value| {
            ["cache_control", "cachePoint"].iter().any(|key| field(tool, key).is_some())
        };
        let tools = tools.and_then(Value::as_array).into_iter().flatten();
        self.gist.cache_marks += tools.filter(marked).count();
    }

    fn content(&mut self, side: Side, content: Option<&Value>) {
        for piece in parts::pieces(self.dialect, content) {
            self.piece(side, piece);
        }
        for value in content.and_then(Value::as_array).into_iter().flatten() {
            self.notes(value);
        }
    }

    fn message(&mut self, index: usize, message: &Message<'_>) {
        let side = match message.role {
            Role::User | Role::Answer | Role::Other => Side::User,
            Role::Assistant => Side::Assistant,
            Role::System => Side::Instructions,
        };
        self.shows = None;
        self.begun |= matches!(message.role, Role::User | Role::Answer | Role::Assistant);
        if self.dialect == Dialect::Chat && side == Side::Assistant {
            for thought in parts::thoughts(self.dialect, message.value) {
                self.piece(side, thought);
            }
        }
        let (calls, others): (Vec<_>, Vec<_>) = message
            .blocks
            .iter()
            .enumerate()
            .partition(|(_, block)| self.dialect == Dialect::Chat && block.kind == Kind::Call);
        for (at, block) in others {
            self.block(side, (index, at), block);
        }
        let refusal = id(message.value, "refusal").filter(|_| self.dialect == Dialect::Chat);
        if let Some(words) = refusal.filter(|_| side == Side::Assistant) {
            self.say(side, words.to_owned(), true);
        }
        for (at, block) in calls {
            self.block(side, (index, at), block);
        }
    }

    fn block(&mut self, side: Side, position: (usize, usize), block: &Block<'_>) {
        if self.dialect != Dialect::Responses || block.kind == Kind::Text {
            self.notes(block.value);
        }
        match block.kind {
            Kind::Text if self.dialect == Dialect::Responses => {
                self.content(side, field(block.value, "content"));
            }
            Kind::Text => self.say(side, block.text().unwrap_or("").to_owned(), false),
            Kind::Call => self.call(position, block),
            Kind::Answer => {}
            Kind::Reasoning if self.dialect == Dialect::Responses => {
                for thought in parts::thoughts(self.dialect, block.value) {
                    self.piece(side, thought);
                }
            }
            Kind::ServerCall | Kind::ServerAnswer => self.other(block.value),
            Kind::Other if self.dialect == Dialect::Responses => self.other(block.value),
            Kind::Reasoning | Kind::Other => {
                let piece = parts::piece(self.dialect, block.value);
                self.piece(side, piece);
            }
        }
    }

    fn call(&mut self, position: (usize, usize), block: &Block<'_>) {
        let (id, name, arguments, signature) = parts::call(self.dialect, block.body, block.value);
        self.gist.seals.extend(signature);
        let number = self.matching.calls.iter().position(|call| call.position == position);
        let found = self.matching.answers.iter().find(|answer| match answer.fate {
            Fate::Of(call) => Some(call) == number,
            Fate::Duplicate | Fate::Orphan => false,
        });
        let answer = found.map(|found| self.answer(found));
        self.gist.beats.push(Beat::Call(Call { id, name, arguments, answer }));
    }

    fn answer(&self, answer: &matching::Answer<'a>) -> Answer {
        let (message, block) = answer.position;
        let body = self.reading.messages[message].blocks[block].body;
        parts::answer(self.dialect, body, answer.id)
    }

    fn piece(&mut self, side: Side, piece: Piece) {
        match piece {
            Piece::Text { text, refusal } => self.say(side, text, refusal),
            Piece::Media(media) => {
                let call = self.shows.as_deref().and_then(|name| last_call(&mut self.gist, name));
                match call.and_then(|call| call.answer.as_mut()) {
                    Some(answer) => answer.media.push(media),
                    None => self.speak(side, Beat::Media { side, media }),
                }
            }
            Piece::Thought { text, seal } => {
                self.gist.seals.extend(seal.clone());
                if !text.is_empty() || seal.is_some() {
                    self.gist.thoughts.push(Thought { text, seal, stretch: self.turn });
                }
            }
            Piece::Mark => self.gist.cache_marks += 1,
            Piece::Other(value) if value.as_object().is_some_and(|it| !it.is_empty()) => {
                self.other(&value);
            }
            Piece::Other(_) => {}
        }
    }

    fn say(&mut self, side: Side, text: String, refusal: bool) {
        if side != Side::Assistant {
            self.shows = heading(&text).map(str::to_owned);
        }
        let text = clean(&text);
        if !text.is_empty() {
            self.speak(side, Beat::Text { side, text, refusal });
        }
    }

    fn speak(&mut self, side: Side, beat: Beat) {
        // What may be lost takes nobody's word away.
        let lasting = |beat: &&Beat| matches!(beat, Beat::Text { .. } | Beat::Call(_));
        let before = self.gist.beats.iter().rfind(lasting).map(Beat::side);
        if side != Side::Assistant && before == Some(Side::Assistant) {
            self.turn += 1;
        }
        self.gist.leads |= side == Side::Instructions && !self.begun;
        self.gist.beats.push(beat);
    }

    fn other(&mut self, value: &Value) {
        self.gist.beats.push(Beat::Other(value.to_string()));
    }

    /// What stands in a block beside what it says.
    fn notes(&mut self, value: &Value) {
        if self.dialect == Dialect::Anthropic && field(value, "cache_control").is_some() {
            self.gist.cache_marks += 1;
        }
        let cited = ["citations", "annotations"].iter().any(|key| {
            field(value, key).and_then(Value::as_array).is_some_and(|list| !list.is_empty())
        });
        self.gist.cited += usize::from(cited);
        // A text of Gemini may be signed without being a thought.
        if let (Dialect::Gemini, Some(seal)) = (self.dialect, id(value, "thoughtSignature")) {
            let plain = text(value, "text").is_some_and(|words| !words.is_empty());
            let thought = field(value, "thought") == Some(&Value::Bool(true));
            self.gist.seals.extend((plain && !thought).then(|| seal.to_owned()));
        }
    }
}

/// The last call of that id, or else of that name.
fn last_call<'g>(gist: &'g mut Gist, name: &str) -> Option<&'g mut Call> {
    let by = |call: &Call, id: bool| match id {
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
