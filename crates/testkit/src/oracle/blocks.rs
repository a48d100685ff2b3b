//! The blocks of a message in each format.

use serde_json::Value;

use super::reading::{BlockPlace, OracleBlock, OracleBlockKind, OracleRole, field, text};
use super::{foreign, items, steps};
use crate::dialect::TestFormat;

/// The blocks of one message in order; in Chat the text first, then the calls.
pub(super) fn of_message<'a>(
    format: TestFormat,
    value: &'a Value,
    role: OracleRole,
) -> Vec<OracleBlock<'a>> {
    let whole = |kind| {
        vec![OracleBlock { kind, body: value, value, place: BlockPlace::Whole, paired: true }]
    };
    match format {
        TestFormat::Chat if role == OracleRole::Answer => whole(OracleBlockKind::Answer),
        TestFormat::Responses => whole(items::kind(value)),
        TestFormat::Interactions => whole(steps::kind(value)),
        TestFormat::Chat => {
            let mut blocks = content(field(value, "content"), chat);
            let is_model = matches!(text(value, "role"), Some("model" | "ai"));
            if role == OracleRole::User && !is_model {
                let foreign = blocks.iter_mut().filter(|it| foreign::block(it.value).is_some());
                foreign.for_each(|block| block.kind = OracleBlockKind::Answer);
            }
            blocks.extend(tool_calls(value));
            blocks
        }
        TestFormat::Anthropic => content(field(value, "content"), anthropic),
        TestFormat::Bedrock => content(field(value, "content"), bedrock),
        TestFormat::Gemini => match field(value, "parts") {
            // One part in place of the list.
            Some(part @ Value::Object(_)) => {
                let (kind, body) = gemini(part);
                let place = BlockPlace::Content(0);
                vec![OracleBlock { kind, body, value: part, place, paired: true }]
            }
            parts => content(parts, gemini),
        },
    }
}

/// The elements of a content array. A non-empty string is one text block.
fn content(
    content: Option<&Value>,
    read: fn(&Value) -> (OracleBlockKind, &Value),
) -> Vec<OracleBlock<'_>> {
    match content {
        Some(value @ Value::String(text)) if !text.is_empty() => {
            vec![OracleBlock {
                kind: OracleBlockKind::Text,
                body: value,
                value,
                place: BlockPlace::Whole,
                paired: true,
            }]
        }
        Some(Value::Array(elements)) => elements
            .iter()
            .enumerate()
            .map(|(index, value)| {
                let (kind, body) = read(value);
                OracleBlock { kind, body, value, place: BlockPlace::Content(index), paired: true }
            })
            .collect(),
        _ => Vec::new(),
    }
}

fn tool_calls(message: &Value) -> Vec<OracleBlock<'_>> {
    let elements = field(message, "tool_calls").and_then(Value::as_array);
    elements
        .into_iter()
        .flatten()
        .enumerate()
        .filter(|(_, value)| value.is_object())
        .map(|(index, value)| OracleBlock {
            kind: OracleBlockKind::Call,
            body: value,
            value,
            place: BlockPlace::ToolCalls(index),
            paired: true,
        })
        .collect()
}

fn chat(value: &Value) -> (OracleBlockKind, &Value) {
    match text(value, "type") {
        Some("text") => (OracleBlockKind::Text, value),
        _ => (OracleBlockKind::Other, value),
    }
}

fn anthropic(value: &Value) -> (OracleBlockKind, &Value) {
    let kind = match text(value, "type") {
        Some("text") => OracleBlockKind::Text,
        Some("tool_use") => OracleBlockKind::Call,
        Some("tool_result") => OracleBlockKind::Answer,
        Some("server_tool_use" | "mcp_tool_use") => OracleBlockKind::ServerCall,
        Some("thinking" | "redacted_thinking") => OracleBlockKind::Reasoning,
        Some(kind) if kind.ends_with("_tool_result") => OracleBlockKind::ServerAnswer,
        Some("fallback") => OracleBlockKind::Fallback,
        Some(
            "image" | "document" | "compaction" | "container_upload" | "search_result"
            | "mcp_tool_listing" | "tool_addition" | "tool_removal" | "tool_reference"
            | "browser_state",
        ) => OracleBlockKind::Other,
        _ => OracleBlockKind::Unknown,
    };
    (kind, value)
}

fn gemini(value: &Value) -> (OracleBlockKind, &Value) {
    let thought = field(value, "thought") == Some(&Value::Bool(true));
    let media = field(value, "inlineData").or_else(|| field(value, "fileData"));
    let is_media = media.is_some_and(|media| !media.is_null());
    if let Some(body) = object(value, "functionCall") {
        (OracleBlockKind::Call, body)
    } else if let Some(body) = object(value, "functionResponse") {
        (OracleBlockKind::Answer, body)
    } else if thought && !is_media {
        (OracleBlockKind::Reasoning, value)
    } else if text(value, "text").is_some() && !is_media {
        (OracleBlockKind::Text, value)
    } else {
        const KNOWN: [&str; 13] = [
            "text",
            "thought",
            "thoughtSignature",
            "functionCall",
            "functionResponse",
            "inlineData",
            "fileData",
            "executableCode",
            "codeExecutionResult",
            "toolCall",
            "toolResponse",
            "videoMetadata",
            "audioTranscription",
        ];
        const MORE: [&str; 2] = ["mediaResolution", "partMetadata"];
        let strange = |(key, value): (&String, &Value)| {
            let key = camel(key);
            !KNOWN.contains(&&*key) && !MORE.contains(&&*key) && !value.is_null()
        };
        let strange = media.is_none() && value.as_object().is_some_and(|it| it.iter().any(strange));
        (if strange { OracleBlockKind::Unknown } else { OracleBlockKind::Other }, value)
    }
}

/// `file_data` as `fileData`.
fn camel(key: &str) -> String {
    let mut words = key.split('_');
    let first = words.next().unwrap_or("").to_owned();
    words.fold(first, |name, word| {
        let (head, tail) = word.split_at(word.chars().next().map_or(0, char::len_utf8));
        name + &head.to_uppercase() + tail
    })
}

fn bedrock(value: &Value) -> (OracleBlockKind, &Value) {
    if let Some(body) = object(value, "toolUse") {
        let server = text(body, "type") == Some("server_tool_use");
        (if server { OracleBlockKind::ServerCall } else { OracleBlockKind::Call }, body)
    } else if let Some(body) = object(value, "toolResult") {
        let server = text(body, "type").is_some_and(|kind| kind != "tool_result");
        (if server { OracleBlockKind::ServerAnswer } else { OracleBlockKind::Answer }, body)
    } else if field(value, "reasoningContent").is_some() {
        (OracleBlockKind::Reasoning, value)
    } else if text(value, "text").is_some() && !holds_media(value) {
        (OracleBlockKind::Text, value)
    } else {
        const KNOWN: [&str; 8] = [
            "image",
            "document",
            "video",
            "audio",
            "guardContent",
            "cachePoint",
            "citationsContent",
            "searchResult",
        ];
        let fields = value.as_object();
        let mut fields = fields.into_iter().flatten().filter(|(_, value)| !value.is_null());
        let media = KNOWN.iter().any(|key| field(value, key).is_some_and(|it| !it.is_null()));
        let strange = !media && fields.any(|(key, _)| !KNOWN.contains(&key.as_str()));
        (if strange { OracleBlockKind::Unknown } else { OracleBlockKind::Other }, value)
    }
}

/// Whether a block holds media; beside a text, the block as a whole is not judged as a text.
fn holds_media(value: &Value) -> bool {
    let media = ["image", "document", "video", "audio"];
    media.iter().any(|key| field(value, key).is_some_and(|it| !it.is_null()))
}

fn object<'a>(value: &'a Value, key: &str) -> Option<&'a Value> {
    field(value, key).filter(|body| body.is_object())
}
