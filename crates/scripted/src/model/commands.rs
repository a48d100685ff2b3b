//! The words that make the model call: `call NAME`, `call NAME with {…}`, `use tools`.

use serde_json::{Deserializer, Value};

use super::{ScriptedCall, generate_call};
use crate::request::{ScriptedTool, ToolInputKind};

/// The calls that somebody asks for, in order. Tools that were not declared are not called.
pub(super) fn parse_calls(words: &str, tools: &[ScriptedTool]) -> Vec<ScriptedCall> {
    if tools.is_empty() {
        return Vec::new();
    }
    if contains_phrase(words, "use tools") || contains_phrase(words, "use the tools") {
        return tools.iter().map(generate_call).collect();
    }
    let mut calls = Vec::new();
    let mut rest = words;
    while let Some(behind) = after_phrase(rest, "call") {
        rest = behind;
        let (name, behind) = split_name(rest.trim_start());
        let Some(tool) = tools.iter().find(|tool| tool.name == name) else { continue };
        rest = behind;
        let mut call = generate_call(tool);
        if let Some((arguments, behind)) = parse_with(rest) {
            rest = behind;
            call.arguments = match tool.input_kind {
                ToolInputKind::Function => arguments,
                ToolInputKind::Custom => Value::String(arguments.to_string()),
            };
        }
        calls.push(call);
        // `call a and b` calls both.
        while let Some(behind) = skip_conjunction(rest) {
            let (name, behind) = self::split_name(behind);
            let Some(tool) = tools.iter().find(|tool| tool.name == name) else { break };
            rest = behind;
            let mut call = generate_call(tool);
            if let Some((arguments, behind)) = parse_with(rest) {
                rest = behind;
                call.arguments = arguments;
            }
            calls.push(call);
        }
    }
    calls
}

/// Whether a word or phrase is said, as a whole.
pub(super) fn contains_phrase(words: &str, phrase: &str) -> bool {
    after_phrase(words, phrase).is_some()
}

/// What stands behind the first time that a phrase is said as a whole.
fn after_phrase<'w>(words: &'w str, phrase: &str) -> Option<&'w str> {
    let is_letter = |letter: char| letter.is_alphanumeric() || letter == '_' || letter == '-';
    let mut from = 0;
    loop {
        let rest = words.get(from..)?;
        let found = rest.char_indices().find(|(at, _)| {
            let here = rest.get(*at..at + phrase.len());
            here.is_some_and(|here| here.eq_ignore_ascii_case(phrase))
        });
        let (at, _) = found?;
        let end = from + at + phrase.len();
        let before = words.get(..from + at)?.chars().next_back();
        let behind = words.get(end..)?;
        if !before.is_some_and(is_letter) && !behind.chars().next().is_some_and(is_letter) {
            return Some(behind);
        }
        from = end;
    }
}

/// A tool's name at the beginning, and what stands behind it.
fn split_name(words: &str) -> (&str, &str) {
    let words = words.trim_start_matches(['`', '"', '\'']);
    let part = |letter: char| letter.is_alphanumeric() || "_-.:/".contains(letter);
    let end = words.find(|letter| !part(letter)).unwrap_or(words.len());
    let (name, behind) = words.split_at_checked(end).unwrap_or((words, ""));
    let name = name.trim_end_matches(['.', ':']);
    (name, behind.trim_start_matches(['`', '"', '\'']))
}

/// `with {…}` at the beginning: the object, and what stands behind it.
fn parse_with(words: &str) -> Option<(Value, &str)> {
    let words = words.trim_start().strip_prefix("with")?.trim_start();
    if !words.starts_with('{') {
        return None;
    }
    let mut objects = Deserializer::from_str(words).into_iter::<Value>();
    let object = objects.next()?.ok()?;
    Some((object, words.get(objects.byte_offset()..)?))
}

/// What stands behind an `and` or a comma at the beginning.
fn skip_conjunction(words: &str) -> Option<&str> {
    let words = words.trim_start();
    let behind = words.strip_prefix("and ").or_else(|| words.strip_prefix(','))?.trim_start();
    let behind = behind.strip_prefix("and ").unwrap_or(behind).trim_start();
    Some(behind.strip_prefix("call ").unwrap_or(behind).trim_start())
}
