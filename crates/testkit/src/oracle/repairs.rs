//! What a repair may not make of a history, by looking at the two documents alone.

use serde_json::Value;

use super::{
    Matching,
    reading::{Block, Kind, Reading, Role, text},
};
use crate::{PLACEHOLDERS, dialect::Dialect};

/// Whether somebody asks something: a message of the user is there.
pub fn has_user(dialect: &str, document: &Value) -> bool {
    let Some(dialect) = Dialect::named(dialect) else { return false };
    let messages = Reading::new(dialect, document).messages;
    messages.iter().any(|message| message.role == Role::User && message.known)
}

/// How many calling messages are directly followed by another message of the assistant.
pub fn calls_before_assistant(dialect: &str, document: &Value) -> usize {
    let Some(dialect) = Dialect::named(dialect) else { return 0 };
    let reading = Reading::new(dialect, document);
    let speaks = |at: usize| reading.role(at) == Some(Role::Assistant);
    // A message that says nothing parts nobody.
    let blank = |block: &Block<'_>| {
        let words = text(block.value, "text").or(block.value.as_str());
        block.kind == Kind::Text && words.is_some_and(|words| words.trim().is_empty())
    };
    let silent =
        |at: &usize| reading.messages.get(*at).is_some_and(|it| it.blocks.iter().all(blank));
    let next = |at: usize| (at + 1..).find(|at| !silent(at)).unwrap_or(at + 1);
    let calls = |at: usize| reading.messages[at].calls() && speaks(next(at));
    // Gemini takes a turn of several messages if all its results stand behind the last of them.
    let together = |at: usize| {
        let first = (0..=at).rev().take_while(|before| speaks(*before)).last().unwrap_or(at);
        let last = (at..reading.messages.len()).take_while(|behind| speaks(*behind)).last();
        let count = |kind: Kind, at: usize| {
            let blocks = reading.messages.get(at).map_or(&[][..], |message| &message.blocks);
            blocks.iter().filter(|block| block.kind == kind).count()
        };
        let last = last.unwrap_or(at);
        let called: usize = (first..=last).map(|at| count(Kind::Call, at)).sum();
        count(Kind::Answer, last + 1) >= called
    };
    let loose = |at: &usize| calls(*at) && !(dialect == Dialect::Gemini && together(*at));
    (0..reading.messages.len()).filter(loose).count()
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
    let Some(named) = Dialect::named(dialect) else { return Vec::new() };
    let reading = Reading::new(named, document);
    let matching = Matching::new(&reading);
    let nameless = matching.calls.iter().any(|call| call.id.is_none())
        || matching.answers.iter().any(|answer| answer.id.is_none());
    // Where ids may be left out, order and names decide as soon as one is.
    if named == Dialect::Gemini && nameless {
        return Vec::new();
    }
    // A part that is two things at once is one to one reader and the other to another.
    let things = ["functionCall", "functionResponse", "inlineData", "fileData"];
    let both = |value: &Value| things.iter().filter(|key| value.get(**key).is_some()).count() > 1;
    let mut blocks = reading.messages.iter().flat_map(|message| &message.blocks);
    if named == Dialect::Gemini && blocks.any(|block| both(block.value)) {
        return Vec::new();
    }
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
            if Some(key) == answer.id.map(|id| (answer.family, id)) {
                let body = reading.messages[at].blocks[part].body;
                events.push((answer.position, event(said(named, body))));
            }
        }
        events.sort();
        let (mut open, mut matched, mut odd) = (0_usize, 0_usize, 0);
        let mut texts = Vec::new();
        for (_, event) in events {
            match event {
                Event::Call => open += 1,
                // Any answer to the call beats these.
                Event::Placeholder | Event::Nothing => {}
                Event::OddAnswer => odd += 1,
                Event::Answer(told) => {
                    matched += usize::from(open > 0);
                    open = open.saturating_sub(1);
                    texts.push(told);
                }
            }
        }
        // Each of these may have the place of another.
        let matched = matched.saturating_sub(odd);
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
    /// Words of somebody who had no answer.
    Placeholder,
    /// An answer that says nothing.
    Nothing,
    /// An answer that says something in another form.
    OddAnswer,
}

fn event(said: Said) -> Event {
    match said {
        Said::Nothing => Event::Nothing,
        Said::Odd => Event::OddAnswer,
        Said::Words(words) if words.trim().is_empty() => Event::Nothing,
        Said::Words(words) if PLACEHOLDERS.contains(&words.as_str()) => Event::Placeholder,
        Said::Words(words) => Event::Answer(words),
    }
}

/// What an answer says.
enum Said {
    Nothing,
    Words(String),
    /// Something else than words, or words that may be told in another way.
    Odd,
}

fn said(dialect: Dialect, body: &Value) -> Said {
    let own: &[&str] = match dialect {
        // Tools that a search found are no words.
        Dialect::Responses => &["output"],
        Dialect::Gemini => &["response"],
        Dialect::Chat | Dialect::Anthropic | Dialect::Bedrock => &["content"],
    };
    let other = ["content", "output", "response", "tools"];
    let content = own.iter().find_map(|key| body.get(*key));
    let shows = body.get("parts").and_then(Value::as_array).is_some_and(|parts| !parts.is_empty());
    if dialect == Dialect::Gemini && shows {
        return Said::Odd;
    }
    match content {
        // It is kept where it is, but no provider looks for it there.
        None if other.iter().any(|key| body.get(*key).is_some()) => Said::Odd,
        None | Some(Value::Null) => Said::Nothing,
        Some(Value::String(words)) => Said::Words(words.clone()),
        Some(Value::Array(parts)) if parts.is_empty() => Said::Nothing,
        Some(Value::Array(parts)) => match parts.as_slice() {
            [part] => text_of(part),
            _ => Said::Odd,
        },
        Some(Value::Object(fields)) => match (fields.len(), fields.get("output")) {
            (1, Some(Value::String(words))) => Said::Words(words.clone()),
            _ => Said::Odd,
        },
        Some(Value::Bool(_) | Value::Number(_)) => Said::Odd,
    }
}

/// The words of a text part with nothing beside them.
fn text_of(part: &Value) -> Said {
    let Some(fields) = part.as_object() else { return Said::Odd };
    let typed = fields.get("type").is_none_or(Value::is_string);
    let plain = typed && fields.keys().all(|key| key == "text" || key == "type");
    match (plain, text(part, "text")) {
        (true, Some(words)) => Said::Words(words.to_owned()),
        _ => Said::Odd,
    }
}
