//! What a call works on, on one line.

use foxwedge_run::Json;
use serde_json::{Map, Value};

use crate::{preview, say::clean};

/// Arguments that say more than others, the best first.
const TELLING: [&str; 17] = [
    "command",
    "cmd",
    "file_path",
    "filePath",
    "path",
    "notebook_path",
    "pattern",
    "query",
    "url",
    "question",
    "description",
    "summary",
    "message",
    "prompt",
    "text",
    "name",
    "status",
];

/// The most characters that are looked at.
const MOST: usize = 200;

/// What a call works on: its title, or the argument that says most.
pub(crate) fn about(title: Option<&str>, input: Option<&Json>) -> String {
    if let Some(title) = title.filter(|title| !title.trim().is_empty()) {
        return line(title);
    }
    let Some(input) = input else { return String::new() };
    let value = input.value();
    let Value::Object(fields) = &value else { return line(&input.plain()) };
    if fields.is_empty() {
        return String::new();
    }
    // One argument alone is what it is about, whatever its name.
    let only = || fields.values().next().filter(|_| fields.len() == 1).and_then(said);
    telling(fields).or_else(only).unwrap_or_else(|| line(input.raw()))
}

/// What a card says; nothing if it says nothing to people.
pub(crate) fn gist(content: &Json) -> String {
    match content.value() {
        Value::String(text) => line(&text),
        Value::Object(fields) => telling(&fields).or_else(|| pairs(&fields)).unwrap_or_default(),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::Array(_) => String::new(),
    }
}

fn telling(fields: &Map<String, Value>) -> Option<String> {
    let first = || {
        let questions = fields.get("questions")?.as_array()?;
        said(questions.first()?.get("question")?)
    };
    first().or_else(|| TELLING.iter().find_map(|name| said(fields.get(*name)?)))
}

/// A few plain values with their names; nothing if there is more to it.
fn pairs(fields: &Map<String, Value>) -> Option<String> {
    const FEW: usize = 4;
    let pair = |(name, value): (&String, &Value)| match value {
        Value::String(text) => Some(format!("{name} {text}")),
        Value::Number(number) => Some(format!("{name} {number}")),
        Value::Bool(is) => Some(format!("{name} {is}")),
        Value::Null | Value::Array(_) | Value::Object(_) => None,
    };
    let pairs: Option<Vec<String>> = fields.iter().map(pair).collect();
    pairs.filter(|pairs| pairs.len() <= FEW).map(|pairs| line(&pairs.join(", ")))
}

fn said(value: &Value) -> Option<String> {
    let text = match value {
        Value::String(text) => text.clone(),
        // `["bash", "-lc", "ls"]`
        Value::Array(words) => {
            let words: Option<Vec<&str>> = words.iter().map(Value::as_str).collect();
            words?.join(" ")
        }
        Value::Number(number) => number.to_string(),
        Value::Null | Value::Bool(_) | Value::Object(_) => return None,
    };
    Some(line(&text)).filter(|line| !line.is_empty())
}

/// The beginning of a text, without anything that breaks the line.
fn line(text: &str) -> String {
    let words: String = text.chars().take(MOST).collect();
    clean(&words.split_whitespace().collect::<Vec<_>>().join(" "))
}

/// The first words of what a call answered.
pub(super) fn answer(content: &Json) -> String {
    let plain = preview::output(content.raw(), MOST);
    if plain.is_empty() { String::new() } else { line(&plain) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_call_is_about_what_says_most() {
        let table = [
            (None, r#"{"description":"List","command":"ls\n -l"}"#, "ls -l"),
            (None, r#"{"file_path":"/a/b.rs","old_string":"x"}"#, "/a/b.rs"),
            (None, r#"{"command":["bash","-lc","ls"]}"#, "bash -lc ls"),
            (None, r#"{"city":"Ghent"}"#, "Ghent"),
            (None, r#"{"questions":[{"question":"Which?","header":"Colour"}]}"#, "Which?"),
            (None, r#"{"a":1,"b":true}"#, r#"{"a":1,"b":true}"#),
            (None, "{}", ""),
            (None, r#""plain""#, "plain"),
            (Some("Read it"), r#"{"path":"x"}"#, "Read it"),
            (None, r#"{"command":"\u001b[2J"}"#, "\u{fffd}[2J"),
        ];
        for (title, input, expected) in table {
            assert_eq!(about(title, Json::parse(input).as_ref()), expected, "{input}");
        }
        assert_eq!(about(None, None), "");
    }

    #[test]
    fn a_card_says_what_people_can_read() {
        let table = [
            (r#""interrupted""#, "interrupted"),
            (r#"{"description":"job A","id":7}"#, "job A"),
            (r#"{"after":20000,"before":90000}"#, "after 20000, before 90000"),
            (r#"{"patch":{"status":"completed"}}"#, ""),
            ("[1,2]", ""),
            ("null", ""),
        ];
        for (content, expected) in table {
            let found = Json::parse(content).map(|content| gist(&content));
            assert_eq!(found.as_deref(), Some(expected), "{content}");
        }
    }
}
