//! What the elements of messages say, dialect by dialect.

use serde_json::{Value, json};

use super::super::{
    chat_call, items,
    reading::{field, id, text},
};
use super::{Answer, media, words::clean};
use crate::dialect::Dialect;

/// An element of a content list.
pub(super) enum Piece {
    /// Words.
    Text { text: String, refusal: bool },
    /// An image, a file, a sound.
    Media(media::Media),
    /// Reasoning, and what seals it.
    Thought { text: String, seal: Option<String> },
    /// A mark for caching.
    Mark,
    /// What we do not know.
    Other(Value),
}

/// The elements of a content: a string, or a list.
pub(super) fn pieces(dialect: Dialect, content: Option<&Value>) -> Vec<Piece> {
    match content {
        Some(Value::String(text)) => vec![plain(text)],
        Some(Value::Array(list)) => list.iter().map(|value| piece(dialect, value)).collect(),
        Some(value @ Value::Object(_)) => vec![piece(dialect, value)],
        _ => Vec::new(),
    }
}

/// One element.
pub(super) fn piece(dialect: Dialect, value: &Value) -> Piece {
    if let Some(media) = media::of(dialect, value) {
        return Piece::Media(media);
    }
    match dialect {
        Dialect::Chat | Dialect::Responses | Dialect::Anthropic => typed(value),
        Dialect::Gemini | Dialect::Bedrock => keyed(value),
    }
}

fn plain(text: &str) -> Piece {
    Piece::Text { text: text.to_owned(), refusal: false }
}

/// Elements that name their type.
fn typed(value: &Value) -> Piece {
    let owned = |key: &str| text(value, key).unwrap_or("").to_owned();
    match text(value, "type") {
        Some("text" | "input_text" | "output_text") if text(value, "text").is_some() => {
            plain(&owned("text"))
        }
        Some("refusal") => Piece::Text { text: owned("refusal"), refusal: true },
        Some("thinking") => {
            Piece::Thought { text: owned("thinking"), seal: id(value, "signature").map(Into::into) }
        }
        Some("redacted_thinking") => {
            Piece::Thought { text: String::new(), seal: id(value, "data").map(Into::into) }
        }
        Some("document") => document(value, "title"),
        _ => Piece::Other(value.clone()),
    }
}

/// Elements that are what their key says.
fn keyed(value: &Value) -> Piece {
    if let Some(words) = text(value, "text") {
        let seal = id(value, "thoughtSignature");
        let thought = field(value, "thought") == Some(&Value::Bool(true));
        return match thought || words.is_empty() && seal.is_some() {
            true => Piece::Thought { text: words.to_owned(), seal: seal.map(Into::into) },
            false => plain(words),
        };
    }
    if let Some(thought) = field(value, "reasoningContent") {
        let readable = field(thought, "reasoningText");
        let words = readable.and_then(|it| text(it, "text")).unwrap_or("").to_owned();
        let signature = readable.and_then(|it| id(it, "signature"));
        let seal = signature.or_else(|| id(thought, "redactedContent"));
        return Piece::Thought { text: words, seal: seal.map(Into::into) };
    }
    if let Some(json) = field(value, "json") {
        return plain(&json.to_string());
    }
    if field(value, "cachePoint").is_some() {
        return Piece::Mark;
    }
    match field(value, "document") {
        Some(body) => document(body, "name"),
        None => Piece::Other(value.clone()),
    }
}

/// A document of plain text, under its name.
fn document(value: &Value, name: &str) -> Piece {
    let source = field(value, "source");
    let words = source.and_then(|source| {
        let key = if text(source, "type") == Some("text") { "data" } else { "text" };
        text(source, key)
    });
    match (words, id(value, name)) {
        (Some(words), Some(name)) => plain(&format!("{name}:\n\n{words}")),
        (Some(words), None) => plain(words),
        (None, _) => Piece::Other(value.clone()),
    }
}

/// The reasoning that is an item, or stands beside the content of a chat message.
pub(super) fn thoughts(dialect: Dialect, value: &Value) -> Vec<Piece> {
    let thought = |text: String, seal: Option<String>| Piece::Thought { text, seal };
    match dialect {
        Dialect::Chat => ["reasoning_content", "reasoning"]
            .iter()
            .filter_map(|key| text(value, key))
            .map(|text| thought(text.to_owned(), None))
            .collect(),
        Dialect::Responses => {
            let lists = ["summary", "content"].into_iter().filter_map(|key| field(value, key));
            let parts = lists.filter_map(Value::as_array).flatten();
            let texts: Vec<&str> = parts.filter_map(|part| text(part, "text")).collect();
            vec![thought(texts.join("\n\n"), id(value, "encrypted_content").map(Into::into))]
        }
        Dialect::Anthropic | Dialect::Gemini | Dialect::Bedrock => Vec::new(),
    }
}

/// A call: id, name, arguments, signature.
pub(super) fn call(
    dialect: Dialect,
    body: &Value,
    value: &Value,
) -> (Option<String>, String, Value, Option<String>) {
    let (id, name, arguments) = match dialect {
        Dialect::Chat => {
            let (custom, tool) = chat_call(body);
            let key = if custom { "input" } else { "arguments" };
            let input = tool.and_then(|tool| field(tool, key));
            (id(body, "id"), tool.and_then(|tool| text(tool, "name")), given(custom, input))
        }
        Dialect::Anthropic => {
            (id(body, "id"), text(body, "name"), given(false, field(body, "input")))
        }
        Dialect::Gemini => (id(body, "id"), text(body, "name"), given(false, field(body, "args"))),
        Dialect::Bedrock => {
            (id(body, "toolUseId"), text(body, "name"), given(false, field(body, "input")))
        }
        Dialect::Responses => {
            let family = items::family(body);
            let (built_in, key) = match family {
                "function_call" => (None, "arguments"),
                "custom_tool_call" => (None, "input"),
                "apply_patch_call" => (Some("apply_patch"), "operation"),
                "tool_search_call" => (Some("tool_search"), "arguments"),
                family => (family.strip_suffix("_call"), "action"),
            };
            let custom = family == "custom_tool_call";
            let name = built_in.or_else(|| text(body, "name"));
            (items::call_id(body), name, given(custom, field(body, key)))
        }
    };
    let signature = match dialect {
        Dialect::Gemini => super::super::reading::id(value, "thoughtSignature"),
        Dialect::Chat => value
            .pointer("/extra_content/google/thought_signature")
            .and_then(Value::as_str)
            .filter(|signature| !signature.is_empty()),
        Dialect::Anthropic | Dialect::Bedrock | Dialect::Responses => None,
    };
    let (id, signature) = (id.map(Into::into), signature.map(Into::into));
    (id, name.unwrap_or("").to_owned(), arguments, signature)
}

/// Arguments as a value: the text of a value is that value, and nothing is an empty object.
fn given(custom: bool, input: Option<&Value>) -> Value {
    match input {
        Some(Value::String(text)) if custom => json!({"input": text}),
        Some(Value::String(text)) if text.trim().is_empty() => json!({}),
        Some(Value::String(text)) => {
            let parsed = serde_json::from_str::<Value>(text).ok().filter(|it| !it.is_string());
            parsed.unwrap_or_else(|| json!(text))
        }
        Some(value) => value.clone(),
        None if custom => json!({"input": ""}),
        None => json!({}),
    }
}

/// What an answer says and shows.
pub(super) fn answer(dialect: Dialect, body: &Value, named: Option<&str>) -> Answer {
    let mut answer = Answer { id: named.map(Into::into), ..Answer::default() };
    let mut texts = Vec::new();
    let content = match dialect {
        Dialect::Chat | Dialect::Anthropic | Dialect::Bedrock => field(body, "content"),
        Dialect::Responses => outcome(body, &mut texts),
        Dialect::Gemini => {
            let (text, error) = response(field(body, "response"));
            texts.extend(text);
            answer.error = error;
            field(body, "parts")
        }
    };
    for piece in pieces(dialect, content) {
        match piece {
            Piece::Text { text, .. } => texts.push(text),
            Piece::Media(media) => answer.media.push(media),
            Piece::Other(Value::Object(fields)) if says_nothing(&fields) => {}
            Piece::Other(value) => texts.push(value.to_string()),
            Piece::Thought { .. } | Piece::Mark => {}
        }
    }
    answer.error |= match dialect {
        Dialect::Anthropic => field(body, "is_error") == Some(&Value::Bool(true)),
        Dialect::Bedrock => text(body, "status") == Some("error"),
        Dialect::Responses => text(body, "status") == Some("failed"),
        Dialect::Chat | Dialect::Gemini => false,
    };
    let text = clean(&texts.join("\n"));
    // The order of keys says nothing, and an empty object no more than no text.
    let spelled = |text: &str| {
        let parsed = serde_json::from_str::<Value>(text).ok();
        let whole = parsed.filter(|value| value.is_object() || value.is_array());
        whole.map(|value| match value.as_object().is_some_and(says_nothing) {
            true => String::new(),
            false => value.to_string(),
        })
    };
    let line = |line: &str| spelled(line).unwrap_or_else(|| line.to_owned());
    let says = |line: &String| !line.is_empty();
    let by_line = || text.lines().map(line).filter(says).collect::<Vec<_>>().join("\n");
    answer.text = spelled(&text).unwrap_or_else(by_line);
    answer
}

/// A text without its words, or nothing at all.
fn says_nothing(fields: &serde_json::Map<String, Value>) -> bool {
    let hole = |(key, value): (&String, &Value)| match key.as_str() {
        "type" => matches!(value.as_str(), Some("text" | "input_text" | "output_text")),
        "text" => value.is_null(),
        _ => false,
    };
    fields.iter().all(hole)
}

/// What an item that answers holds; what is no content is told as JSON.
fn outcome<'v>(item: &'v Value, texts: &mut Vec<String>) -> Option<&'v Value> {
    let family = items::family(item);
    let output = match family {
        "tool_search_call" => field(item, "tools"),
        _ => field(item, "output"),
    };
    let streams = |output: &Value| {
        let first = output.get(0);
        first.is_some_and(|it| it.get("stdout").is_some() || it.get("stderr").is_some())
    };
    match output {
        Some(shot) if family == "computer_call" && shot.is_object() => Some(shot),
        Some(output) if family == "tool_search_call" || output.is_object() || streams(output) => {
            texts.push(output.to_string());
            None
        }
        output => output,
    }
}

/// What a response of Gemini says, and whether it is a failure.
fn response(response: Option<&Value>) -> (Option<String>, bool) {
    let Some(response) = response else { return (None, false) };
    if let Value::String(text) = response {
        return (Some(text.clone()), false);
    }
    let Some(fields) = response.as_object() else { return (Some(response.to_string()), false) };
    let error = field(response, "error").is_some() && !fields.contains_key("output");
    let mut known = ["output", "result", "content", "error"].into_iter();
    let only = known.find_map(|key| text(response, key)).filter(|_| fields.len() == 1);
    (Some(only.map_or_else(|| response.to_string(), str::to_owned)), error)
}
