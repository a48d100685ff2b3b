//! What a repair may not make of a history, by looking at the two documents alone.

use serde_json::Value;

use super::{
    Matching,
    inventory::inventory,
    reading::{Kind, Layout, Reading, Role, text},
};
use crate::dialect::Dialect;

/// Whether somebody asks something: a message of the user is there.
pub fn has_user(dialect: &str, document: &Value) -> bool {
    let Some(dialect) = Dialect::named(dialect) else { return false };
    Reading::new(dialect, document).messages.iter().any(|message| message.role == Role::User)
}

/// How many calling messages are directly followed by another message of the assistant.
pub fn calls_before_assistant(dialect: &str, document: &Value) -> usize {
    let Some(dialect) = Dialect::named(dialect) else { return 0 };
    let reading = Reading::new(dialect, document);
    let calls =
        |at: usize| reading.messages[at].calls() && reading.role(at + 1) == Some(Role::Assistant);
    (0..reading.messages.len()).filter(|at| calls(*at)).count()
}

/// How many chat messages with calls are not directly followed by an answer to each of them, as
/// the error text of OpenAI asks for.
pub fn loose_calls(document: &Value) -> usize {
    let reading = Reading::new(Dialect::Chat, document);
    let loose = |at: &usize| {
        let message = &reading.messages[*at];
        let behind = reading.messages[at + 1..].iter();
        let answers: Vec<Option<&str>> = behind
            .take_while(|message| message.role == Role::Answer)
            .map(|message| text(message.value, "tool_call_id"))
            .collect();
        let calls = message.blocks.iter().filter(|block| block.kind == Kind::Call);
        let mut calls = calls.map(|block| text(block.body, "id"));
        message.calls() && calls.any(|id| !answers.contains(&id))
    };
    (0..reading.messages.len()).filter(loose).count()
}

/// Texts of real answers, one list for each id: at least so many of each list have to stay answers,
/// as they stand behind a call of that id that no other answer can claim.
pub fn owed(dialect: &str, document: &Value) -> Vec<(usize, Vec<String>)> {
    let Some(named) = Dialect::named(dialect).filter(|it| *it != Dialect::Gemini) else {
        return Vec::new();
    };
    let reading = Reading::new(named, document);
    let matching = Matching::new(&reading);
    let mut keys: Vec<(&str, &str)> =
        matching.calls.iter().filter_map(|call| Some((call.family, call.id?))).collect();
    keys.sort_unstable();
    keys.dedup();
    let mut owed = Vec::new();
    for key in keys {
        let calls = matching.calls.iter().filter(|it| Some(key) == it.id.map(|id| (it.family, id)));
        let mut events: Vec<((usize, usize), Event)> =
            calls.map(|call| (call.position, Event::Call)).collect();
        for answer in &matching.answers {
            let (at, part) = answer.position;
            let block = &reading.messages[at].blocks[part];
            if Some(key) != answer.id.map(|id| (answer.family, id)) {
                continue;
            }
            let list = match reading.layout {
                Layout::Blocks => serde_json::json!([{"role": "user", "content": [block.value]}]),
                Layout::Chat | Layout::Items => serde_json::json!([block.value]),
            };
            let told = inventory(dialect, &list).answers;
            let plain = ["content", "output"].iter().any(|key| text(block.body, key).is_some());
            match (told.is_empty(), plain) {
                (true, _) => {}
                (false, true) => events.push((answer.position, Event::Answer(told.concat()))),
                // What has an odd form is told in another one.
                (false, false) => events.push((answer.position, Event::OddAnswer)),
            }
        }
        events.sort();
        let (mut open, mut matched) = (0_usize, 0);
        let mut texts = Vec::new();
        for (_, event) in events {
            match event {
                Event::Call => open += 1,
                Event::OddAnswer => open = open.saturating_sub(1),
                Event::Answer(told) => {
                    matched += usize::from(open > 0);
                    open = open.saturating_sub(1);
                    texts.push(told);
                }
            }
        }
        if matched > 0 {
            owed.push((matched, texts));
        }
    }
    owed
}

/// What happens to one id, in order.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
enum Event {
    Call,
    /// An answer in words that can be found again.
    Answer(String),
    /// An answer that says something in another form.
    OddAnswer,
}
