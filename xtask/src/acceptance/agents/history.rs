//! Reads a history of any format: who said what, which calls, which answers.

use foxwedge_core::Format;
use serde_json::Value;

/// One entry of a history.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum HistoryEntry {
    User(String),
    Assistant(String),
    Call(String),
    /// The id of the call, and what came back.
    Answer(String, String),
}

/// The entries of a request, or of a bare list of messages. What agents add for themselves
/// (reminders, developer messages) is left out.
pub(super) fn read(wire: Format, document: &Value) -> Vec<HistoryEntry> {
    let list = match wire {
        Format::OpenaiResponses => document.get("input"),
        Format::Gemini => document.get("contents"),
        _ => document.get("messages"),
    };
    let messages = list.unwrap_or(document).as_array().into_iter().flatten();
    messages.flat_map(entries).collect()
}

/// The entries of one message or item.
fn entries(message: &Value) -> Vec<HistoryEntry> {
    let kind = text_of(message, "type");
    let id = || text_of(message, "call_id").to_owned();
    match (kind, text_of(message, "role")) {
        ("function_call", _) => vec![HistoryEntry::Call(id())],
        ("function_call_output", _) => {
            vec![HistoryEntry::Answer(id(), content(message.get("output")))]
        }
        (_, "model") => parts(message, HistoryEntry::Assistant),
        (_, "user") if message.get("parts").is_some() => parts(message, HistoryEntry::User),
        (_, "user") => blocks(message, HistoryEntry::User),
        (_, "assistant") => {
            let calls = message["tool_calls"].as_array().into_iter().flatten();
            let calls = calls.map(|call| HistoryEntry::Call(text_of(call, "id").to_owned()));
            blocks(message, HistoryEntry::Assistant).into_iter().chain(calls).collect()
        }
        (_, "tool") => {
            let id = text_of(message, "tool_call_id").to_owned();
            vec![HistoryEntry::Answer(id, content(message.get("content")))]
        }
        _ => Vec::new(),
    }
}

/// Text of a message; agents put their own into tags.
fn said(text: &str, entry: fn(String) -> HistoryEntry) -> Option<HistoryEntry> {
    // Copilot CLI puts the time before the words of the user.
    let text = text.split_once("</current_datetime>").map_or(text, |(_, words)| words).trim();
    (!text.is_empty() && !text.starts_with('<')).then(|| entry(text.to_owned()))
}

/// The parts of a message of Gemini, whose agent puts the name of the tool before the id.
fn parts(message: &Value, entry: fn(String) -> HistoryEntry) -> Vec<HistoryEntry> {
    let id = |value: &Value| {
        let id = text_of(value, "id");
        id.rsplit_once("__").map_or(id, |(_, own)| own).to_owned()
    };
    let entry_of = |part: &Value| match (part.get("functionCall"), part.get("functionResponse")) {
        (Some(call), _) => Some(HistoryEntry::Call(id(call))),
        (_, Some(answer)) => {
            let response = answer.get("response");
            let output = response.and_then(|it| it.get("output").or_else(|| it.get("error")));
            Some(HistoryEntry::Answer(id(answer), content(output)))
        }
        (None, None) => said(text_of(part, "text"), entry),
    };
    message["parts"].as_array().into_iter().flatten().filter_map(entry_of).collect()
}

fn blocks(message: &Value, entry: fn(String) -> HistoryEntry) -> Vec<HistoryEntry> {
    let said = |text: &str| said(text, entry);
    let blocks = match message.get("content") {
        Some(Value::String(text)) => return said(text).into_iter().collect(),
        Some(Value::Array(blocks)) => blocks,
        _ => return Vec::new(),
    };
    let entry_of = |block: &Value| match text_of(block, "type") {
        "tool_use" => Some(HistoryEntry::Call(text_of(block, "id").to_owned())),
        "tool_result" => {
            let id = text_of(block, "tool_use_id").to_owned();
            Some(HistoryEntry::Answer(id, content(block.get("content"))))
        }
        _ => said(text_of(block, "text")),
    };
    blocks.iter().filter_map(entry_of).collect()
}

/// The text of an answer, whether it stands alone or in blocks.
fn content(value: Option<&Value>) -> String {
    let text = match value {
        Some(Value::String(text)) => text.clone(),
        Some(Value::Array(blocks)) => {
            blocks.iter().map(|block| text_of(block, "text")).collect::<Vec<_>>().join("\n")
        }
        _ => String::new(),
    };
    without_notes(text.trim()).trim().to_owned()
}

/// An answer without the notes that Kimi Code puts around it.
fn without_notes(text: &str) -> String {
    let rest = text.strip_prefix("Wall time: ").and_then(|rest| rest.split_once('\n'));
    let mut text = rest.map_or(text, |(_, rest)| rest);
    let mut kept = String::new();
    while let Some((before, rest)) = text.split_once("<system>") {
        kept.push_str(before);
        text = rest.split_once("</system>").map_or("", |(_, after)| after);
    }
    kept + text
}

/// A field that is text.
pub(super) fn text_of<'v>(value: &'v Value, key: &str) -> &'v str {
    value.get(key).and_then(Value::as_str).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn all_formats_are_read_alike() {
        let anthropic = json!({"messages": [
            {"role": "user", "content": "go"},
            {"role": "system", "content": "be kind"},
            {"role": "assistant", "content": [
                {"type": "text", "text": "on it"},
                {"type": "tool_use", "id": "x", "name": "Read", "input": {}},
            ]},
            {"role": "user", "content": [
                {"type": "tool_result", "tool_use_id": "x",
                 "content": [{"type": "text", "text": "Wall time: 1 seconds\nalpha\n<system>1 line</system>"}]},
                {"type": "text", "text": "<system-reminder>no</system-reminder>"},
            ]},
        ]});
        let responses = json!({"input": [
            {"type": "message", "role": "developer", "content": "be kind"},
            {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "go"}]},
            {"type": "message", "role": "assistant",
             "content": [{"type": "output_text", "text": "on it"}]},
            {"type": "function_call", "call_id": "x", "name": "exec", "arguments": "{}"},
            {"type": "function_call_output", "call_id": "x", "output": "alpha"},
        ]});
        let gemini = json!([
            {"role": "user", "parts": [{"text": "go"}]},
            {"role": "model", "parts": [
                {"text": "on it"}, {"functionCall": {"id": "read_file__x", "name": "read_file"}},
            ]},
            {"role": "user", "parts": [
                {"functionResponse": {"id": "read_file__x", "response": {"output": "alpha"}}},
            ]},
        ]);
        let expected = vec![
            HistoryEntry::User("go".to_owned()),
            HistoryEntry::Assistant("on it".to_owned()),
            HistoryEntry::Call("x".to_owned()),
            HistoryEntry::Answer("x".to_owned(), "alpha".to_owned()),
        ];
        assert_eq!(read(Format::Anthropic, &anthropic), expected);
        assert_eq!(read(Format::OpenaiResponses, &responses), expected);
        assert_eq!(read(Format::Anthropic, &anthropic["messages"]), expected);
        assert_eq!(read(Format::Gemini, &gemini), expected);
    }
}
