//! A conversation as coding agents have them: a few words of a user, many calls, long answers. The
//! same bytes each time.

use serde_json::{Value, json};

use crate::Format;

/// What is wrong with it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Damage {
    /// Nothing.
    None,
    /// A call nobody answered, and an answer that stands behind what was said next.
    Broken,
}

/// The messages of a conversation of about so many messages of about a kilobyte, in the form of a
/// provider. Anthropic's form puts answers that belong together into one message, so it has fewer.
pub fn history(messages: usize, format: Format, damage: Damage) -> Value {
    let mut told = told(messages);
    match damage {
        Damage::None => {}
        Damage::Broken => hurt(&mut told),
    }
    match format {
        Format::Chat => told.iter().map(chat).collect(),
        Format::Anthropic => anthropic(&told),
    }
}

/// The tools that the calls name.
pub(crate) fn tools(format: Format) -> Value {
    let tool = |(name, arguments): (&str, [&str; 3])| {
        let properties: serde_json::Map<String, Value> =
            arguments.iter().map(|key| ((*key).to_owned(), json!({"type": "string"}))).collect();
        let schema = json!({"type": "object", "properties": properties});
        match format {
            Format::Chat => json!({"type": "function", "function":
                {"name": name, "description": name, "parameters": schema}}),
            Format::Anthropic => {
                json!({"name": name, "description": name, "input_schema": schema})
            }
        }
    };
    TOOLS.into_iter().map(tool).collect()
}

const TOOLS: [(&str, [&str; 3]); 4] = [
    ("read", ["path", "from", "lines"]),
    ("search", ["pattern", "folder", "files"]),
    ("shell", ["command", "folder", "patience"]),
    ("replace", ["path", "before", "after"]),
];

/// One message, whatever its form.
enum Told {
    User(String),
    Words(String),
    Calls { words: Option<String>, calls: Vec<Call> },
    Answer { id: String, text: String },
}

struct Call {
    id: String,
    name: &'static str,
    arguments: Value,
}

/// How many messages lie between two of the user.
const TURN: usize = 40;

fn told(messages: usize) -> Vec<Told> {
    let mut dice = Dice(0x5eed);
    let mut told = Vec::with_capacity(messages);
    let mut number = 0_u32;
    while told.len() < messages {
        let left = messages - told.len();
        if told.len() % TURN == 0 {
            told.push(Told::User(dice.text(420)));
            continue;
        }
        let calls = if dice.below(10) < 7 { 1 } else { 2 + dice.below(2) as usize };
        // The next words of the user stand at a round number, and no answer may be cut off.
        if calls + 1 > left.min(TURN - told.len() % TURN) {
            told.push(Told::Words(dice.text(520)));
            continue;
        }
        let calls: Vec<Call> = (0..calls)
            .map(|_| {
                number += 1;
                dice.call(number)
            })
            .collect();
        let ids: Vec<String> = calls.iter().map(|call| call.id.clone()).collect();
        let words = (dice.below(2) == 0).then(|| dice.text(70));
        told.push(Told::Calls { words, calls });
        told.extend(ids.into_iter().map(|id| Told::Answer { id, text: dice.text(1_170) }));
    }
    told
}

/// One answer is lost in the middle, another stands behind the words that came next.
fn hurt(told: &mut Vec<Told>) {
    let is_answer = |told: &Told| matches!(told, Told::Answer { .. });
    let middle = told.len() / 2;
    if let Some(at) = told.iter().skip(middle).position(is_answer) {
        told.remove(middle + at);
    }
    let Some(at) = told.iter().position(is_answer) else { return };
    let answer = told.remove(at);
    let later = told.iter().skip(at).position(|told| matches!(told, Told::User(_)));
    let to = later.map_or(told.len(), |found| at + found + 1);
    told.insert(to, answer);
}

fn chat(told: &Told) -> Value {
    match told {
        Told::User(text) => json!({"role": "user", "content": text}),
        Told::Words(text) => json!({"role": "assistant", "content": text}),
        Told::Calls { words, calls } => {
            let call = |call: &Call| {
                let arguments = call.arguments.to_string();
                json!({"id": call.id, "type": "function",
                    "function": {"name": call.name, "arguments": arguments}})
            };
            let calls: Value = calls.iter().map(call).collect();
            json!({"role": "assistant", "content": words, "tool_calls": calls})
        }
        Told::Answer { id, text } => json!({"role": "tool", "tool_call_id": id, "content": text}),
    }
}

fn anthropic(told: &[Told]) -> Value {
    let mut messages: Vec<(&str, Vec<Value>)> = Vec::new();
    for told in told {
        let (role, blocks) = blocks(told);
        match messages.last_mut() {
            // Who speaks twice in a row speaks once.
            Some((before, all)) if *before == role => all.extend(blocks),
            Some(_) | None => messages.push((role, blocks)),
        }
    }
    let message = |(role, content): (&str, Vec<Value>)| json!({"role": role, "content": content});
    messages.into_iter().map(message).collect()
}

fn blocks(told: &Told) -> (&'static str, Vec<Value>) {
    let text = |text: &String| json!({"type": "text", "text": text});
    match told {
        Told::User(words) => ("user", vec![text(words)]),
        Told::Words(words) => ("assistant", vec![text(words)]),
        Told::Calls { words, calls } => {
            let call = |call: &Call| {
                json!({"type": "tool_use", "id": call.id, "name": call.name,
                    "input": call.arguments})
            };
            let blocks = words.iter().map(text).chain(calls.iter().map(call));
            ("assistant", blocks.collect())
        }
        Told::Answer { id, text } => {
            ("user", vec![json!({"type": "tool_result", "tool_use_id": id, "content": text})])
        }
    }
}

/// Chance that is the same each time.
struct Dice(u64);

const VOCABULARY: [&str; 40] = [
    "the",
    "of",
    "a",
    "is",
    "not",
    "in",
    "to",
    "for",
    "with",
    "file",
    "line",
    "error",
    "test",
    "value",
    "function",
    "return",
    "module",
    "index",
    "cache",
    "message",
    "session",
    "agent",
    "call",
    "answer",
    "state",
    "parse",
    "write",
    "read",
    "queue",
    "thread",
    "fn main() {",
    "}",
    "\"quoted\"",
    "a\\b",
    "\n",
    "\n\t",
    "会话",
    "工具",
    "naïve",
    "café",
];

impl Dice {
    fn below(&mut self, most: u64) -> u64 {
        self.0 = self.0.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(0x1405_7b7e_f767_814f);
        (self.0 >> 33) % most
    }

    fn text(&mut self, bytes: usize) -> String {
        let mut text = String::with_capacity(bytes + 16);
        while text.len() < bytes {
            let word = VOCABULARY.get(self.below(VOCABULARY.len() as u64) as usize);
            text.push_str(word.copied().unwrap_or_default());
            text.push(' ');
        }
        text
    }

    fn call(&mut self, number: u32) -> Call {
        let (name, keys) = TOOLS[self.below(TOOLS.len() as u64) as usize];
        let chance = self.below(1 << 30);
        let id = format!("call_{number:06}_{chance:010x}");
        let arguments: serde_json::Map<String, Value> =
            keys.iter().map(|key| ((*key).to_owned(), self.text(34).into())).collect();
        Call { id, name, arguments: arguments.into() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn count(messages: &Value, what: &str) -> usize {
        messages.to_string().matches(what).count()
    }

    #[test]
    fn two_hundred_messages_are_like_those_of_an_agent() {
        let sound = history(200, Format::Chat, Damage::None);
        let bytes = sound.to_string().len();
        assert_eq!(sound.as_array().map(Vec::len), Some(200));
        assert!((180_000..200_000).contains(&bytes), "{bytes} bytes");
        let answers = count(&sound, "\"role\":\"tool\"");
        assert!((105..125).contains(&answers), "{answers} answers");
        assert_eq!(answers, count(&sound, "\"type\":\"function\""));
        assert_eq!(sound, history(200, Format::Chat, Damage::None));
    }

    #[test]
    fn every_call_is_answered_at_once_unless_it_is_broken() {
        let open = |damage| {
            let messages = history(200, Format::Chat, damage);
            let (mut open, mut wrong): (Vec<String>, usize) = (Vec::new(), 0);
            for message in messages.as_array().into_iter().flatten() {
                if let Some(id) = message["tool_call_id"].as_str() {
                    let before = open.len();
                    open.retain(|known| known != id);
                    wrong += usize::from(open.len() == before);
                } else {
                    wrong += open.len();
                    open.clear();
                }
                let calls = message["tool_calls"].as_array().into_iter().flatten();
                open.extend(calls.filter_map(|call| call["id"].as_str().map(str::to_owned)));
            }
            wrong + open.len()
        };
        assert_eq!(open(Damage::None), 0);
        // A lost answer, a displaced one, and the call that it left.
        assert_eq!(open(Damage::Broken), 3);
    }

    #[test]
    fn both_forms_tell_the_same() {
        let chat = history(200, Format::Chat, Damage::None);
        let anthropic = history(200, Format::Anthropic, Damage::None);
        assert_eq!(
            count(&chat, "\"role\":\"tool\""),
            count(&anthropic, "\"type\":\"tool_result\"")
        );
    }
}
