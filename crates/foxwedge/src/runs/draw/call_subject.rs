//! What a call works on, on one line.

use foxwedge_run::RawJson;
use serde_json::{Map, Value};

use crate::{cli_output::clean, preview};

/// Arguments that say more than others, the best first.
const TELLING_ARGUMENTS: [&str; 17] = [
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
const MAX_CHARACTERS: usize = 200;

/// What a call works on: its title, or the argument that says most.
pub(crate) fn call_subject(title: Option<&str>, input: Option<&RawJson>) -> String {
    if let Some(title) = title.filter(|title| !title.trim().is_empty()) {
        return first_line(title);
    }
    let Some(input) = input else { return String::new() };
    let value = input.value();
    let Value::Object(fields) = &value else { return first_line(&input.plain()) };
    if fields.is_empty() {
        return String::new();
    }
    // One argument alone is what it is about, whatever its name.
    let only = || fields.values().next().filter(|_| fields.len() == 1).and_then(value_text);
    telling_argument(fields).or_else(only).unwrap_or_else(|| first_line(input.raw()))
}

/// What a card says; nothing if it says nothing to people.
pub(crate) fn activity_text(content: &RawJson) -> String {
    match content.value() {
        Value::String(text) => first_line(&text),
        Value::Object(fields) => {
            telling_argument(&fields).or_else(|| format_pairs(&fields)).unwrap_or_default()
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::Array(_) => String::new(),
    }
}

fn telling_argument(fields: &Map<String, Value>) -> Option<String> {
    let first = || {
        let questions = fields.get("questions")?.as_array()?;
        value_text(questions.first()?.get("question")?)
    };
    first().or_else(|| TELLING_ARGUMENTS.iter().find_map(|name| value_text(fields.get(*name)?)))
}

/// A few plain values with their names; nothing if there is more to it.
fn format_pairs(fields: &Map<String, Value>) -> Option<String> {
    const FEW: usize = 4;
    let pair = |(name, value): (&String, &Value)| match value {
        Value::String(text) => Some(format!("{name} {text}")),
        Value::Number(number) => Some(format!("{name} {number}")),
        Value::Bool(is) => Some(format!("{name} {is}")),
        Value::Null | Value::Array(_) | Value::Object(_) => None,
    };
    let pairs: Option<Vec<String>> = fields.iter().map(pair).collect();
    pairs.filter(|pairs| pairs.len() <= FEW).map(|pairs| first_line(&pairs.join(", ")))
}

fn value_text(value: &Value) -> Option<String> {
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
    Some(first_line(&text)).filter(|line| !line.is_empty())
}

/// The beginning of a text, without anything that breaks the line.
fn first_line(text: &str) -> String {
    let words: String = text.chars().take(MAX_CHARACTERS).collect();
    clean(&words.split_whitespace().collect::<Vec<_>>().join(" "))
}

/// The first words of what a call answered.
pub(super) fn answer_text(content: &RawJson) -> String {
    let plain = preview::output(content.raw(), MAX_CHARACTERS);
    if plain.is_empty() { String::new() } else { first_line(&plain) }
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
            assert_eq!(call_subject(title, RawJson::parse(input).as_ref()), expected, "{input}");
        }
        assert_eq!(call_subject(None, None), "");
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
            let found = RawJson::parse(content).map(|content| activity_text(&content));
            assert_eq!(found.as_deref(), Some(expected), "{content}");
        }
    }
}
