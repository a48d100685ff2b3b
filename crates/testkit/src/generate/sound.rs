//! Valid conversations, under the profile of their own format.

use serde_json::{Value, json};

use super::draft::{
    FAMILIES, GeneratedCall, GeneratedDraft, GeneratedPart, GeneratedResult, GeneratedThinking,
    GeneratedTurn, TurnSpeaker,
};
use crate::dialect::TestFormat;
use crate::random::Random;

/// Choices for a whole document.
pub(crate) struct DraftStyle {
    pub(crate) format: TestFormat,
    /// Whether it is a request, which must end with the user or with results.
    pub(crate) request: bool,
    /// Whether assistant messages with calls start with reasoning.
    pub(crate) thinks: bool,
    /// Whether first calls have thought signatures (Gemini).
    pub(crate) signed: bool,
    ids: usize,
}

const TOOLS: [&str; 6] = ["read_file", "get_weather", "bash", "search-docs", "_edit", "Task"];
const TOPICS: [&str; 5] =
    ["question", "naïve question", "質問", "\"quoted\" line\nand \\ line", "🦊 asks"];

impl DraftStyle {
    /// Draws the style of a document.
    pub(crate) fn new(random: &mut Random, format: TestFormat, request: bool) -> Self {
        let (thinks, signed) = (random.chance(30), random.chance(40));
        Self { format, request, thinks, signed, ids: random.below(5) }
    }

    /// Whether calls have ids. Gemini histories may omit them.
    pub(crate) fn has_ids(&self) -> bool {
        self.format != TestFormat::Gemini || self.ids != 0
    }

    fn id(&self, number: usize) -> Option<Value> {
        let id = match (self.ids, self.format) {
            (0 | 1, _) => format!("call{number:05}"),
            (2, TestFormat::Anthropic) => format!("toolu_01{number:018}"),
            (2, TestFormat::Bedrock) => format!("tooluse_{number}.a:b"),
            (3, TestFormat::Chat | TestFormat::Responses) => format!("functions.get:{number}"),
            _ => format!("call_{number}"),
        };
        self.has_ids().then(|| json!(id))
    }
}

/// A conversation of up to `size` messages, at least one.
pub(crate) fn conversation(random: &mut Random, style: &DraftStyle, size: usize) -> GeneratedDraft {
    let mut draft = GeneratedDraft::new();
    draft.hollow = random.pick(&[Some(Value::Null), Some(json!("")), None]).clone();
    let size = 1 + random.below(size.max(1));
    if matches!(style.format, TestFormat::Chat | TestFormat::Responses) && random.chance(30) {
        let text = draft.sentence("system text");
        draft.turns.push(turn(random, TurnSpeaker::System, vec![GeneratedPart::Text(text)]));
    }
    while draft.turns.len() < size {
        round(random, style, &mut draft, size);
    }
    let last = draft.turns.last().map(|turn| turn.speaker);
    if style.request && last != Some(TurnSpeaker::User) {
        ask(random, style, &mut draft);
    }
    draft
}

/// A turn with these parts, in the plain or in the long form.
pub(crate) fn turn(
    random: &mut Random,
    speaker: TurnSpeaker,
    parts: Vec<GeneratedPart>,
) -> GeneratedTurn {
    let plain = random.chance(60);
    GeneratedTurn { speaker, parts, plain }
}

/// A call with a new id, and its result.
pub(crate) fn pair(
    random: &mut Random,
    style: &DraftStyle,
    draft: &mut GeneratedDraft,
) -> (GeneratedCall, GeneratedResult) {
    let number = draft.number();
    let family = match style.format {
        TestFormat::Responses if random.chance(40) => *random.pick(&FAMILIES),
        TestFormat::Chat if random.chance(10) => "custom_tool_call",
        _ => "function_call",
    };
    let item = match family {
        "function_call" if random.chance(40) => Some(format!("fc_{number}")),
        "custom_tool_call" if random.chance(40) => Some(format!("ctc_{number}")),
        _ => None,
    };
    let name = (*random.pick(&TOOLS)).to_owned();
    let arguments =
        json!({"path": format!("src/{number}.rs"), "line": number, "deep": {"list": [1, null]}});
    let id = style.id(number);
    let text = format!("result of {name} {number}.");
    let answer = GeneratedResult {
        id: id.clone(),
        name: name.clone(),
        text,
        parts: random.chance(30),
        family,
    };
    (GeneratedCall { id, name, arguments, family, item, signature: None }, answer)
}

/// A reasoning part that its provider would accept.
pub(crate) fn thinking(random: &mut Random, draft: &mut GeneratedDraft) -> GeneratedThinking {
    let number = draft.number();
    let item = random.chance(80).then(|| format!("rs_{number}"));
    GeneratedThinking {
        text: format!("thought {number}."),
        seal: Some(format!("c2VhbA{number}==")),
        item,
    }
}

fn round(random: &mut Random, style: &DraftStyle, draft: &mut GeneratedDraft, size: usize) {
    ask(random, style, draft);
    while draft.turns.len() + 2 <= size && random.chance(65) {
        step(random, style, draft);
    }
    if draft.turns.len() < size {
        say(random, style, draft);
    }
}

fn ask(random: &mut Random, style: &DraftStyle, draft: &mut GeneratedDraft) {
    // The model has to answer a note before the user speaks again.
    let is_note = |turn: &mut GeneratedTurn| turn.speaker == TurnSpeaker::System;
    if style.format == TestFormat::Anthropic {
        draft.turns.pop_if(is_note);
    }
    let count = if random.chance(20) { 2 } else { 1 };
    let texts = (0..count)
        .map(|_| GeneratedPart::Text(draft.sentence(random.pick::<&str>(&TOPICS))))
        .collect();
    draft.turns.push(turn(random, TurnSpeaker::User, texts));
    if style.format == TestFormat::Anthropic && random.chance(5) {
        let text = draft.sentence("system note");
        draft.turns.push(turn(random, TurnSpeaker::System, vec![GeneratedPart::Text(text)]));
        return;
    }
    if style.format != TestFormat::Bedrock && random.chance(6) {
        let text = draft.sentence("and another");
        draft.turns.push(turn(random, TurnSpeaker::User, vec![GeneratedPart::Text(text)]));
    }
}

fn say(random: &mut Random, style: &DraftStyle, draft: &mut GeneratedDraft) {
    let mut parts = Vec::new();
    if style.thinks && random.chance(50) {
        parts.push(GeneratedPart::Thinking(thinking(random, draft)));
    }
    if style.format != TestFormat::Chat && random.chance(15) {
        let id = format!("srvtoolu_{}", draft.number());
        parts.extend([GeneratedPart::ServerCall(id.clone()), GeneratedPart::ServerAnswer(id)]);
    }
    parts.push(GeneratedPart::Text(draft.sentence("assistant text")));
    draft.turns.push(turn(random, TurnSpeaker::Assistant, parts));
}

fn step(random: &mut Random, style: &DraftStyle, draft: &mut GeneratedDraft) {
    let mut parts = Vec::new();
    if style.thinks {
        parts.push(GeneratedPart::Thinking(thinking(random, draft)));
    }
    if random.chance(40) {
        parts.push(GeneratedPart::Text(draft.sentence("assistant plan")));
    }
    let mut answers = Vec::new();
    for first in 0..1 + random.below(3) {
        let (mut call, answer) = pair(random, style, draft);
        if first == 0 && style.signed {
            call.signature = Some(format!("c2lnbg{}==", draft.number()));
        }
        parts.push(GeneratedPart::Call(call));
        answers.push(GeneratedPart::Answer(answer));
    }
    // Results without ids are only identified by their order.
    if style.has_ids() {
        random.shuffle(&mut answers);
    }
    draft.turns.push(turn(random, TurnSpeaker::Assistant, parts));
    if style.format == TestFormat::Anthropic && random.chance(10) {
        answers.push(GeneratedPart::Text(draft.sentence("by the way")));
    }
    draft.turns.push(turn(random, TurnSpeaker::User, answers));
}
