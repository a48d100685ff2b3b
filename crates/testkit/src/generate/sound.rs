//! Conversations that nothing is wrong with, under the profile of their own dialect.

use serde_json::{Value, json};

use super::draft::{Answer, Call, Draft, FAMILIES, Part, Speaker, Thinking, Turn};
use crate::dialect::Dialect;
use crate::random::Random;

/// The choices that hold for a whole document.
pub(crate) struct Style {
    pub(crate) dialect: Dialect,
    /// Will be sent as it is, so it must end with the user or with answers.
    pub(crate) request: bool,
    /// Assistant messages that call start with reasoning.
    pub(crate) thinks: bool,
    /// First calls carry thought signatures (Gemini).
    pub(crate) signed: bool,
    ids: usize,
}

const TOOLS: [&str; 6] = ["read_file", "get_weather", "bash", "search-docs", "_edit", "Task"];
const TOPICS: [&str; 5] =
    ["question", "naïve question", "質問", "\"quoted\" line\nand \\ line", "🦊 asks"];

impl Style {
    /// Decides how a document is written.
    pub(crate) fn new(random: &mut Random, dialect: Dialect, request: bool) -> Self {
        let (thinks, signed) = (random.chance(30), random.chance(40));
        Self { dialect, request, thinks, signed, ids: random.below(5) }
    }

    /// Gemini histories may leave ids out.
    pub(crate) fn has_ids(&self) -> bool {
        self.dialect != Dialect::Gemini || self.ids != 0
    }

    fn id(&self, number: usize) -> Option<Value> {
        let id = match (self.ids, self.dialect) {
            (0 | 1, _) => format!("call{number:05}"),
            (2, Dialect::Anthropic) => format!("toolu_01{number:018}"),
            (2, Dialect::Bedrock) => format!("tooluse_{number}.a:b"),
            (3, Dialect::Chat | Dialect::Responses) => format!("functions.get:{number}"),
            _ => format!("call_{number}"),
        };
        self.has_ids().then(|| json!(id))
    }
}

/// A conversation of up to `size` messages, at least one.
pub(crate) fn conversation(random: &mut Random, style: &Style, size: usize) -> Draft {
    let mut draft = Draft::new();
    draft.hollow = random.pick(&[Some(Value::Null), Some(json!("")), None]).clone();
    let size = 1 + random.below(size.max(1));
    if matches!(style.dialect, Dialect::Chat | Dialect::Responses) && random.chance(30) {
        let text = draft.sentence("system text");
        draft.turns.push(turn(random, Speaker::System, vec![Part::Text(text)]));
    }
    while draft.turns.len() < size {
        round(random, style, &mut draft, size);
    }
    let last = draft.turns.last().map(|turn| turn.speaker);
    if style.request && last != Some(Speaker::User) {
        ask(random, style, &mut draft);
    }
    draft
}

/// A message of `parts`, in the plain or in the long form.
pub(crate) fn turn(random: &mut Random, speaker: Speaker, parts: Vec<Part>) -> Turn {
    let plain = random.chance(60);
    Turn { speaker, parts, plain }
}

/// A new call with a fresh id, and its answer.
pub(crate) fn pair(random: &mut Random, style: &Style, draft: &mut Draft) -> (Call, Answer) {
    let number = draft.number();
    let family = match style.dialect {
        Dialect::Responses if random.chance(40) => *random.pick(&FAMILIES),
        Dialect::Chat if random.chance(10) => "custom_tool_call",
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
    let answer =
        Answer { id: id.clone(), name: name.clone(), text, parts: random.chance(30), family };
    (Call { id, name, arguments, family, item, signature: None }, answer)
}

/// A reasoning part that its maker would take back.
pub(crate) fn thinking(random: &mut Random, draft: &mut Draft) -> Thinking {
    let number = draft.number();
    let item = random.chance(80).then(|| format!("rs_{number}"));
    Thinking { text: format!("thought {number}."), seal: Some(format!("c2VhbA{number}==")), item }
}

fn round(random: &mut Random, style: &Style, draft: &mut Draft, size: usize) {
    ask(random, style, draft);
    while draft.turns.len() + 2 <= size && random.chance(65) {
        step(random, style, draft);
    }
    if draft.turns.len() < size {
        say(random, style, draft);
    }
}

fn ask(random: &mut Random, style: &Style, draft: &mut Draft) {
    let count = if random.chance(20) { 2 } else { 1 };
    let texts =
        (0..count).map(|_| Part::Text(draft.sentence(random.pick::<&str>(&TOPICS)))).collect();
    draft.turns.push(turn(random, Speaker::User, texts));
    if style.dialect == Dialect::Anthropic && random.chance(5) {
        let text = draft.sentence("system note");
        draft.turns.push(turn(random, Speaker::System, vec![Part::Text(text)]));
    }
    if style.dialect != Dialect::Bedrock && random.chance(6) {
        let text = draft.sentence("and another");
        draft.turns.push(turn(random, Speaker::User, vec![Part::Text(text)]));
    }
}

fn say(random: &mut Random, style: &Style, draft: &mut Draft) {
    let mut parts = Vec::new();
    if style.thinks && random.chance(50) {
        parts.push(Part::Thinking(thinking(random, draft)));
    }
    if style.dialect != Dialect::Chat && random.chance(15) {
        let id = format!("srvtoolu_{}", draft.number());
        parts.extend([Part::ServerCall(id.clone()), Part::ServerAnswer(id)]);
    }
    parts.push(Part::Text(draft.sentence("assistant text")));
    draft.turns.push(turn(random, Speaker::Assistant, parts));
}

fn step(random: &mut Random, style: &Style, draft: &mut Draft) {
    let mut parts = Vec::new();
    if style.thinks {
        parts.push(Part::Thinking(thinking(random, draft)));
    }
    if random.chance(40) {
        parts.push(Part::Text(draft.sentence("assistant plan")));
    }
    let mut answers = Vec::new();
    for first in 0..1 + random.below(3) {
        let (mut call, answer) = pair(random, style, draft);
        if first == 0 && style.signed {
            call.signature = Some(format!("c2lnbg{}==", draft.number()));
        }
        parts.push(Part::Call(call));
        answers.push(Part::Answer(answer));
    }
    // Answers without ids are told apart by their order alone.
    if style.has_ids() {
        random.shuffle(&mut answers);
    }
    draft.turns.push(turn(random, Speaker::Assistant, parts));
    if style.dialect == Dialect::Anthropic && random.chance(10) {
        answers.push(Part::Text(draft.sentence("by the way")));
    }
    draft.turns.push(turn(random, Speaker::User, answers));
}
