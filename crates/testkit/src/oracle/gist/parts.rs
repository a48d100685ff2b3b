//! The elements of messages in each format.

use serde_json::{Value, json};

use super::super::{
    chat_call, items,
    reading::{field, id, text},
    steps,
};
use super::{GistResult, media, words::clean};
use crate::dialect::TestFormat;

/// An element of a content list.
pub(super) enum ContentElement {
    /// Text.
    Text { text: String, refusal: bool },
    /// An image, a file or audio.
    Media(media::GistMedia),
    /// Reasoning with its seal.
    Thought { text: String, seal: Option<String> },
    /// A cache mark.
    Mark,
    /// An unknown element.
    Other(Value),
}

/// The elements of a content, which is a string or a list.
pub(super) fn pieces(format: TestFormat, content: Option<&Value>) -> Vec<ContentElement> {
    match content {
        Some(Value::String(text)) => vec![plain(text)],
        Some(Value::Array(list)) => list.iter().map(|value| piece(format, value)).collect(),
        Some(value @ Value::Object(_)) => vec![piece(format, value)],
        _ => Vec::new(),
    }
}

/// One element.
pub(super) fn piece(format: TestFormat, value: &Value) -> ContentElement {
    if let Some(media) = media::of(format, value) {
        return ContentElement::Media(media);
    }
    match format {
        TestFormat::Chat
        | TestFormat::Responses
        | TestFormat::Anthropic
        | TestFormat::Interactions => typed(value),
        TestFormat::Gemini | TestFormat::Bedrock => keyed(value),
    }
}

fn plain(text: &str) -> ContentElement {
    ContentElement::Text { text: text.to_owned(), refusal: false }
}

/// Elements with a `type` field.
fn typed(value: &Value) -> ContentElement {
    let owned = |key: &str| text(value, key).unwrap_or("").to_owned();
    match text(value, "type") {
        Some("text" | "input_text" | "output_text") if text(value, "text").is_some() => {
            plain(&owned("text"))
        }
        Some("refusal") => ContentElement::Text { text: owned("refusal"), refusal: true },
        Some("thinking") => ContentElement::Thought {
            text: owned("thinking"),
            seal: id(value, "signature").map(Into::into),
        },
        Some("redacted_thinking") => {
            ContentElement::Thought { text: String::new(), seal: id(value, "data").map(Into::into) }
        }
        Some("document") => document(value, "title"),
        _ => ContentElement::Other(value.clone()),
    }
}

/// Elements that are identified by their key.
fn keyed(value: &Value) -> ContentElement {
    if let Some(plain_text) = text(value, "text") {
        let seal = id(value, "thoughtSignature");
        let thought = field(value, "thought") == Some(&Value::Bool(true));
        return match thought || plain_text.is_empty() && seal.is_some() {
            true => {
                ContentElement::Thought { text: plain_text.to_owned(), seal: seal.map(Into::into) }
            }
            false => plain(plain_text),
        };
    }
    if let Some(thought) = field(value, "reasoningContent") {
        let readable = field(thought, "reasoningText");
        let plain_text = readable.and_then(|it| text(it, "text")).unwrap_or("").to_owned();
        let signature = readable.and_then(|it| id(it, "signature"));
        let seal = signature.or_else(|| id(thought, "redactedContent"));
        return ContentElement::Thought { text: plain_text, seal: seal.map(Into::into) };
    }
    if let Some(json) = field(value, "json") {
        return plain(&json.to_string());
    }
    if field(value, "cachePoint").is_some() {
        return ContentElement::Mark;
    }
    match field(value, "document") {
        Some(body) => document(body, "name"),
        None => ContentElement::Other(value.clone()),
    }
}

/// A plain-text document with its name.
fn document(value: &Value, name: &str) -> ContentElement {
    let source = field(value, "source");
    let plain_text = source.and_then(|source| {
        let key = if text(source, "type") == Some("text") { "data" } else { "text" };
        text(source, key)
    });
    match (plain_text, id(value, name)) {
        (Some(plain_text), Some(name)) => plain(&format!("{name}:\n\n{plain_text}")),
        (Some(plain_text), None) => plain(plain_text),
        (None, _) => ContentElement::Other(value.clone()),
    }
}

/// The reasoning of an item, or of a field next to the content of a chat message.
pub(super) fn thoughts(format: TestFormat, value: &Value) -> Vec<ContentElement> {
    let thought = |text: String, seal: Option<String>| ContentElement::Thought { text, seal };
    match format {
        TestFormat::Chat => ["reasoning_content", "reasoning"]
            .iter()
            .filter_map(|key| text(value, key))
            .map(|text| thought(text.to_owned(), None))
            .collect(),
        TestFormat::Responses => {
            let lists = ["summary", "content"].into_iter().filter_map(|key| field(value, key));
            let parts = lists.filter_map(Value::as_array).flatten();
            let texts: Vec<&str> = parts.filter_map(|part| text(part, "text")).collect();
            vec![thought(texts.join("\n\n"), id(value, "encrypted_content").map(Into::into))]
        }
        TestFormat::Interactions => {
            let parts = field(value, "summary").and_then(Value::as_array).into_iter().flatten();
            let texts: Vec<&str> = parts.filter_map(|part| text(part, "text")).collect();
            vec![thought(texts.join("\n\n"), id(value, "signature").map(Into::into))]
        }
        TestFormat::Anthropic | TestFormat::Gemini | TestFormat::Bedrock => Vec::new(),
    }
}

/// A call: id, name, arguments, signature.
pub(super) fn call(
    format: TestFormat,
    body: &Value,
    value: &Value,
) -> (Option<String>, String, Value, Option<String>) {
    let (id, name, arguments) = match format {
        TestFormat::Chat => {
            let (custom, tool) = chat_call(body);
            let key = if custom { "input" } else { "arguments" };
            let input = tool.and_then(|tool| field(tool, key));
            (id(body, "id"), tool.and_then(|tool| text(tool, "name")), given(custom, input))
        }
        TestFormat::Anthropic => {
            (id(body, "id"), text(body, "name"), given(false, field(body, "input")))
        }
        TestFormat::Gemini => {
            (id(body, "id"), text(body, "name"), given(false, field(body, "args")))
        }
        TestFormat::Interactions => {
            let arguments = given(false, field(body, "arguments"));
            (steps::call_id(body), text(body, "name"), arguments)
        }
        TestFormat::Bedrock => {
            (id(body, "toolUseId"), text(body, "name"), given(false, field(body, "input")))
        }
        TestFormat::Responses => {
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
    let signature = match format {
        TestFormat::Gemini => super::super::reading::id(value, "thoughtSignature"),
        TestFormat::Chat => value
            .pointer("/extra_content/google/thought_signature")
            .and_then(Value::as_str)
            .filter(|signature| !signature.is_empty()),
        TestFormat::Anthropic
        | TestFormat::Bedrock
        | TestFormat::Responses
        | TestFormat::Interactions => None,
    };
    let (id, signature) = (id.map(Into::into), signature.map(Into::into));
    (id, name.unwrap_or("").to_owned(), arguments, signature)
}

/// Arguments as a JSON value. Text is parsed, and missing arguments are an empty object.
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

/// The text and the media of a result.
pub(super) fn answer(format: TestFormat, body: &Value, named: Option<&str>) -> GistResult {
    let mut answer = GistResult { id: named.map(Into::into), ..GistResult::default() };
    let mut texts = Vec::new();
    let content = match format {
        TestFormat::Chat | TestFormat::Anthropic | TestFormat::Bedrock => field(body, "content"),
        TestFormat::Responses => outcome(body, &mut texts),
        TestFormat::Interactions => match field(body, "result") {
            Some(object @ Value::Object(_)) => {
                texts.push(object.to_string());
                None
            }
            result => result,
        },
        TestFormat::Gemini => {
            let (text, error) = response(field(body, "response"));
            texts.extend(text);
            answer.error = error;
            field(body, "parts")
        }
    };
    for element in pieces(format, content) {
        match element {
            ContentElement::Text { text, .. } => texts.push(text),
            ContentElement::Media(media) => answer.media.push(media),
            ContentElement::Other(Value::Object(fields)) if says_nothing(&fields) => {}
            ContentElement::Other(value) => texts.push(value.to_string()),
            ContentElement::Thought { .. } | ContentElement::Mark => {}
        }
    }
    answer.error |= match format {
        TestFormat::Anthropic | TestFormat::Interactions => {
            field(body, "is_error") == Some(&Value::Bool(true))
        }
        TestFormat::Bedrock => text(body, "status") == Some("error"),
        TestFormat::Responses => text(body, "status") == Some("failed"),
        TestFormat::Chat | TestFormat::Gemini => false,
    };
    let text = clean(&texts.join("\n"));
    // The order of keys does not matter, and an empty object equals an empty text.
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

/// Whether a text element has no text.
fn says_nothing(fields: &serde_json::Map<String, Value>) -> bool {
    let hole = |(key, value): (&String, &Value)| match key.as_str() {
        "type" => matches!(value.as_str(), Some("text" | "input_text" | "output_text")),
        "text" => value.is_null(),
        _ => false,
    };
    fields.iter().all(hole)
}

/// The content of a result item; a value that is not a content counts as JSON text.
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

/// The content of a Gemini response, and whether it is an error.
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
