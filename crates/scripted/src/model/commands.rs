//! The commands that make the model call tools: `call NAME`, `call NAME with {…}`, `use tools`.

use serde_json::{Deserializer, Value};

use super::{ScriptedCall, generate_call};
use crate::request::{ScriptedTool, ToolInputKind};

/// The requested calls, in order. Undeclared tools are not called.
pub(super) fn parse_calls(text: &str, tools: &[ScriptedTool]) -> Vec<ScriptedCall> {
    if tools.is_empty() {
        return Vec::new();
    }
    if contains_phrase(text, "use tools") || contains_phrase(text, "use the tools") {
        return tools.iter().map(generate_call).collect();
    }
    let mut calls = Vec::new();
    let mut rest = text;
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

/// Whether the text has this phrase as whole words.
pub(super) fn contains_phrase(text: &str, phrase: &str) -> bool {
    after_phrase(text, phrase).is_some()
}

/// The text after the first occurrence of a phrase as whole words.
fn after_phrase<'w>(text: &'w str, phrase: &str) -> Option<&'w str> {
    let is_letter = |letter: char| letter.is_alphanumeric() || letter == '_' || letter == '-';
    let mut from = 0;
    loop {
        let rest = text.get(from..)?;
        let found = rest.char_indices().find(|(at, _)| {
            let here = rest.get(*at..at + phrase.len());
            here.is_some_and(|here| here.eq_ignore_ascii_case(phrase))
        });
        let (at, _) = found?;
        let end = from + at + phrase.len();
        let before = text.get(..from + at)?.chars().next_back();
        let behind = text.get(end..)?;
        if !before.is_some_and(is_letter) && !behind.chars().next().is_some_and(is_letter) {
            return Some(behind);
        }
        from = end;
    }
}

/// A tool name at the beginning, and the text after it.
fn split_name(text: &str) -> (&str, &str) {
    let text = text.trim_start_matches(['`', '"', '\'']);
    let part = |letter: char| letter.is_alphanumeric() || "_-.:/".contains(letter);
    let end = text.find(|letter| !part(letter)).unwrap_or(text.len());
    let (name, behind) = text.split_at_checked(end).unwrap_or((text, ""));
    let name = name.trim_end_matches(['.', ':']);
    (name, behind.trim_start_matches(['`', '"', '\'']))
}

/// `with {…}` at the beginning: the object, and the text after it.
fn parse_with(text: &str) -> Option<(Value, &str)> {
    let text = text.trim_start().strip_prefix("with")?.trim_start();
    if !text.starts_with('{') {
        return None;
    }
    let mut objects = Deserializer::from_str(text).into_iter::<Value>();
    let object = objects.next()?.ok()?;
    Some((object, text.get(objects.byte_offset()..)?))
}

/// The text after an `and` or a comma at the beginning.
fn skip_conjunction(text: &str) -> Option<&str> {
    let text = text.trim_start();
    let behind = text.strip_prefix("and ").or_else(|| text.strip_prefix(','))?.trim_start();
    let behind = behind.strip_prefix("and ").unwrap_or(behind).trim_start();
    Some(behind.strip_prefix("call ").unwrap_or(behind).trim_start())
}
