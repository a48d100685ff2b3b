//! The subject of a tool call on one line: the command, path or query that it works on.

use foxwedge_run::RawJson;
use serde_json::{Map, Value};

use crate::{output::clean, preview};

/// The most informative arguments, best first.
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

/// Characters of a text that are used.
const MAX_CHARACTERS: usize = 200;

/// The subject of a call: its title, or its most informative argument.
pub fn call_subject(title: Option<&str>, input: Option<&RawJson>) -> String {
    if let Some(title) = title.filter(|title| !title.trim().is_empty()) {
        return first_line(title);
    }
    let Some(input) = input else { return String::new() };
    let value = input.value();
    let Value::Object(fields) = &value else { return first_line(&input.plain()) };
    if fields.is_empty() {
        return String::new();
    }
    // A single argument is the subject, whatever its name.
    let only = || fields.values().next().filter(|_| fields.len() == 1).and_then(value_text);
    telling_argument(fields).or_else(only).unwrap_or_else(|| first_line(input.raw()))
}

/// The text of an activity; empty if it has nothing readable.
pub fn activity_text(content: &RawJson) -> String {
    match content.value() {
        Value::String(text) => first_line(&text),
        Value::Object(fields) => {
            telling_argument(&fields).or_else(|| format_pairs(&fields)).unwrap_or_default()
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::Array(_) => String::new(),
    }
}

fn telling_argument(fields: &Map<String, Value>) -> Option<String> {
    let first_question = || {
        let questions = fields.get("questions")?.as_array()?;
        value_text(questions.first()?.get("question")?)
    };
    let by_name = || TELLING_ARGUMENTS.iter().find_map(|name| value_text(fields.get(*name)?));
    first_question().or_else(by_name)
}

/// A few plain values with their names; `None` if there are more or nested ones.
fn format_pairs(fields: &Map<String, Value>) -> Option<String> {
    const MAX_PAIRS: usize = 4;
    let pair = |(name, value): (&String, &Value)| match value {
        Value::String(text) => Some(format!("{name} {text}")),
        Value::Number(number) => Some(format!("{name} {number}")),
        Value::Bool(is) => Some(format!("{name} {is}")),
        Value::Null | Value::Array(_) | Value::Object(_) => None,
    };
    let pairs: Option<Vec<String>> = fields.iter().map(pair).collect();
    pairs.filter(|pairs| pairs.len() <= MAX_PAIRS).map(|pairs| first_line(&pairs.join(", ")))
}

fn value_text(value: &Value) -> Option<String> {
    let text = match value {
        Value::String(text) => text.clone(),
        // `["bash", "-lc", "ls"]`
        Value::Array(items) => {
            let items: Option<Vec<&str>> = items.iter().map(Value::as_str).collect();
            items?.join(" ")
        }
        Value::Number(number) => number.to_string(),
        Value::Null | Value::Bool(_) | Value::Object(_) => return None,
    };
    Some(first_line(&text)).filter(|line| !line.is_empty())
}

/// The beginning of a text on one line.
fn first_line(text: &str) -> String {
    let head: String = text.chars().take(MAX_CHARACTERS).collect();
    clean(&head.split_whitespace().collect::<Vec<_>>().join(" "))
}

/// The beginning of a tool result.
pub(super) fn answer_text(content: &RawJson) -> String {
    let plain = preview::output(content.raw(), MAX_CHARACTERS);
    if plain.is_empty() { String::new() } else { first_line(&plain) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn subject_is_the_most_informative_argument() {
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
    fn activity_text_has_only_readable_values() {
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
