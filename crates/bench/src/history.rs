//! A conversation as coding agents have them: a few words of a user, many calls, long answers. The
//! same bytes each time.

use serde_json::{Value, json};

use crate::RequestFormat;

/// What is wrong with it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum HistoryDamage {
    /// Nothing.
    None,
    /// A call nobody answered, and an answer that stands behind what was said next.
    Broken,
}

/// The messages of a conversation of about so many messages of about a kilobyte, in the form of a
/// provider. Anthropic's form puts answers that belong together into one message, so it has fewer.
pub(crate) fn history(messages: usize, format: RequestFormat, damage: HistoryDamage) -> Value {
    let mut history = messages_of(messages);
    match damage {
        HistoryDamage::None => {}
        HistoryDamage::Broken => damage_history(&mut history),
    }
    match format {
        RequestFormat::Chat => history.iter().map(chat).collect(),
        RequestFormat::Anthropic => anthropic(&history),
    }
}

/// The tools that the calls name.
pub(crate) fn tools(format: RequestFormat) -> Value {
    let tool = |(name, arguments): (&str, [&str; 3])| {
        let properties: serde_json::Map<String, Value> =
            arguments.iter().map(|key| ((*key).to_owned(), json!({"type": "string"}))).collect();
        let schema = json!({"type": "object", "properties": properties});
        match format {
            RequestFormat::Chat => json!({"type": "function", "function":
                {"name": name, "description": name, "parameters": schema}}),
            RequestFormat::Anthropic => {
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
enum HistoryMessage {
    User(String),
    Text(String),
    Calls { text: Option<String>, calls: Vec<HistoryCall> },
    Answer { id: String, text: String },
}

struct HistoryCall {
    id: String,
    name: &'static str,
    arguments: Value,
}

/// How many messages lie between two of the user.
const TURN: usize = 40;

fn messages_of(messages: usize) -> Vec<HistoryMessage> {
    let mut random = SeededRandom(0x5eed);
    let mut history = Vec::with_capacity(messages);
    let mut number = 0_u32;
    while history.len() < messages {
        let left = messages - history.len();
        if history.len() % TURN == 0 {
            history.push(HistoryMessage::User(random.text(420)));
            continue;
        }
        let calls = if random.below(10) < 7 { 1 } else { 2 + random.below(2) as usize };
        // The next message of the user is at a round number, and no answer may be cut off.
        if calls + 1 > left.min(TURN - history.len() % TURN) {
            history.push(HistoryMessage::Text(random.text(520)));
            continue;
        }
        let calls: Vec<HistoryCall> = (0..calls)
            .map(|_| {
                number += 1;
                random.call(number)
            })
            .collect();
        let ids: Vec<String> = calls.iter().map(|call| call.id.clone()).collect();
        let text = (random.below(2) == 0).then(|| random.text(70));
        history.push(HistoryMessage::Calls { text, calls });
        history.extend(
            ids.into_iter().map(|id| HistoryMessage::Answer { id, text: random.text(1_170) }),
        );
    }
    history
}

/// One answer is lost in the middle, another comes after the message that follows.
fn damage_history(history: &mut Vec<HistoryMessage>) {
    let is_answer = |message: &HistoryMessage| matches!(message, HistoryMessage::Answer { .. });
    let middle = history.len() / 2;
    if let Some(at) = history.iter().skip(middle).position(is_answer) {
        history.remove(middle + at);
    }
    let Some(at) = history.iter().position(is_answer) else { return };
    let answer = history.remove(at);
    let later =
        history.iter().skip(at).position(|message| matches!(message, HistoryMessage::User(_)));
    let to = later.map_or(history.len(), |found| at + found + 1);
    history.insert(to, answer);
}

fn chat(message: &HistoryMessage) -> Value {
    match message {
        HistoryMessage::User(text) => json!({"role": "user", "content": text}),
        HistoryMessage::Text(text) => json!({"role": "assistant", "content": text}),
        HistoryMessage::Calls { text, calls } => {
            let call = |call: &HistoryCall| {
                let arguments = call.arguments.to_string();
                json!({"id": call.id, "type": "function",
                    "function": {"name": call.name, "arguments": arguments}})
            };
            let calls: Value = calls.iter().map(call).collect();
            json!({"role": "assistant", "content": text, "tool_calls": calls})
        }
        HistoryMessage::Answer { id, text } => {
            json!({"role": "tool", "tool_call_id": id, "content": text})
        }
    }
}

fn anthropic(history: &[HistoryMessage]) -> Value {
    let mut messages: Vec<(&str, Vec<Value>)> = Vec::new();
    for message in history {
        let (role, blocks) = blocks(message);
        match messages.last_mut() {
            // Two messages of one role in a row become one.
            Some((before, all)) if *before == role => all.extend(blocks),
            Some(_) | None => messages.push((role, blocks)),
        }
    }
    let message = |(role, content): (&str, Vec<Value>)| json!({"role": role, "content": content});
    messages.into_iter().map(message).collect()
}

fn blocks(message: &HistoryMessage) -> (&'static str, Vec<Value>) {
    let text_block = |text: &String| json!({"type": "text", "text": text});
    match message {
        HistoryMessage::User(text) => ("user", vec![text_block(text)]),
        HistoryMessage::Text(text) => ("assistant", vec![text_block(text)]),
        HistoryMessage::Calls { text, calls } => {
            let call = |call: &HistoryCall| {
                json!({"type": "tool_use", "id": call.id, "name": call.name,
                    "input": call.arguments})
            };
            let blocks = text.iter().map(text_block).chain(calls.iter().map(call));
            ("assistant", blocks.collect())
        }
        HistoryMessage::Answer { id, text } => {
            ("user", vec![json!({"type": "tool_result", "tool_use_id": id, "content": text})])
        }
    }
}

/// Random numbers that are the same each time.
struct SeededRandom(u64);

/// Separated by `|`.
const VOCABULARY: &str = "\
    the|of|a|is|not|in|to|for|with|file|line|error|test|value|function|return|module|\
    index|cache|message|session|agent|call|answer|state|parse|write|read|queue|thread|\
    fn main() {|}|\"quoted\"|a\\b|\n|\n\t|会话|工具|naïve|café";

impl SeededRandom {
    fn below(&mut self, most: u64) -> u64 {
        self.0 = self.0.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(0x1405_7b7e_f767_814f);
        (self.0 >> 33) % most
    }

    fn text(&mut self, bytes: usize) -> String {
        let mut text = String::with_capacity(bytes + 16);
        while text.len() < bytes {
            let word = VOCABULARY.split('|').nth(self.below(40) as usize);
            text.push_str(word.unwrap_or_default());
            text.push(' ');
        }
        text
    }

    fn call(&mut self, number: u32) -> HistoryCall {
        let (name, keys) = TOOLS[self.below(TOOLS.len() as u64) as usize];
        let chance = self.below(1 << 30);
        let id = format!("call_{number:06}_{chance:010x}");
        let arguments: serde_json::Map<String, Value> =
            keys.iter().map(|key| ((*key).to_owned(), self.text(34).into())).collect();
        HistoryCall { id, name, arguments: arguments.into() }
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
        let sound = history(200, RequestFormat::Chat, HistoryDamage::None);
        let bytes = sound.to_string().len();
        assert_eq!(sound.as_array().map(Vec::len), Some(200));
        assert!((180_000..200_000).contains(&bytes), "{bytes} bytes");
        let answers = count(&sound, "\"role\":\"tool\"");
        assert!((105..125).contains(&answers), "{answers} answers");
        assert_eq!(answers, count(&sound, "\"type\":\"function\""));
        assert_eq!(sound, history(200, RequestFormat::Chat, HistoryDamage::None));
    }

    #[test]
    fn every_call_is_answered_at_once_unless_it_is_broken() {
        let open = |damage| {
            let messages = history(200, RequestFormat::Chat, damage);
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
        assert_eq!(open(HistoryDamage::None), 0);
        // A lost answer, a displaced one, and the call that it left.
        assert_eq!(open(HistoryDamage::Broken), 3);
    }

    #[test]
    fn both_forms_tell_the_same() {
        let chat = history(200, RequestFormat::Chat, HistoryDamage::None);
        let anthropic = history(200, RequestFormat::Anthropic, HistoryDamage::None);
        assert_eq!(
            count(&chat, "\"role\":\"tool\""),
            count(&anthropic, "\"type\":\"tool_result\"")
        );
    }
}
