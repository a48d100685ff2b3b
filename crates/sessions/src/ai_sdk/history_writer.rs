//! Writes the parts of a list in the Anthropic format, and lists what that format cannot hold.

use std::borrow::Cow;

use foxwedge_core::{
    ArgumentsFix, Draft, MissingAnswer, Part, PartKind, PlaceholderLanguage, Span, placeholder_text,
};
use foxwedge_formats::model::{Loss, LossKind, LossLocation};
use foxwedge_formats::{
    outline::is_json_object,
    splice::{ArgumentsEncoding, encode_arguments},
};
use foxwedge_json::{array_elements, field_text, field_value, quote, unescape};

use super::part::INVOCATION;

/// A call that never ran, with the result that it gets.
pub(crate) struct ClosedCall<'a> {
    /// The message of the call.
    pub(crate) message: usize,
    /// Whether it waits for the user, or for its tool.
    pub(crate) waits: bool,
    pub(super) id: Cow<'a, str>,
    /// The content of the result, as JSON.
    pub(super) text: String,
}

/// Appends a part to a list of blocks. Returns `false` for a part that has no equivalent.
pub(crate) fn write_block(out: &mut String, source: &str, part: &Part<'_>) -> bool {
    // A tool part of version 4 holds its fields in an object.
    let tool_part = match &part.kind {
        PartKind::Call(_) => field_value(source, part.span, INVOCATION).unwrap_or(part.span),
        _ => part.span,
    };
    let value = |key: &str| field_value(source, part.span, key).map(|value| value.of(source));
    match &part.kind {
        PartKind::Text(_) => {
            let text = part.span.of(source);
            let text = if text.starts_with('"') { text } else { value("text").unwrap_or("\"\"") };
            out.push_str(&format!("{{\"type\":\"text\",\"text\":{text}}}"));
        }
        PartKind::Media => match media_block(source, part.span) {
            Some(block) => out.push_str(&block),
            None => return false,
        },
        PartKind::Reasoning(_) => match thinking_block(source, part.span) {
            Some(block) => out.push_str(&block),
            None => return false,
        },
        PartKind::Answer(answer) => {
            let id = quote(answer.id.as_deref().unwrap_or(""));
            out.push_str(&format!("{{\"type\":\"tool_result\",\"tool_use_id\":{id},\"content\":"));
            let is_error = write_output(out, source, part.span);
            out.push_str(if is_error { ",\"is_error\":true}" } else { "}" });
        }
        // A call that waits for an approval is not paired, but it is a call.
        PartKind::Call(_) | PartKind::Other => {
            let value =
                |key: &str| field_value(source, tool_part, key).map(|value| value.of(source));
            let (Some(id), Some(name)) = (value("toolCallId"), tool_name(source, part.span)) else {
                return false;
            };
            let raw = || {
                let (fix, encoding) = (ArgumentsFix::ToObject, ArgumentsEncoding::Object);
                let raw = raw_input(source, part)?;
                Some(Cow::Owned(encode_arguments(source, Some(raw), fix, encoding)))
            };
            let read = value("input").or_else(|| value("args")).map(Cow::Borrowed);
            let input = read.or_else(raw).unwrap_or(Cow::Borrowed("{}"));
            let name = quote(&name);
            out.push_str(&format!(
                "{{\"type\":\"tool_use\",\"id\":{id},\"name\":{name},\"input\":{input}}}"
            ));
        }
        PartKind::ServerCall(_)
        | PartKind::ServerAnswer(_)
        | PartKind::Fallback
        | PartKind::Unknown => return false,
    }
    true
}

/// Input that the model wrote and the SDK could not read.
fn raw_input(source: &str, part: &Part<'_>) -> Option<Span> {
    let tool_part = field_value(source, part.span, INVOCATION).unwrap_or(part.span);
    let has = |key: &str| field_value(source, tool_part, key).is_some();
    field_value(source, tool_part, "rawInput").filter(|_| !has("input") && !has("args"))
}

/// The loss of input that is not a JSON object and is repaired.
fn input_loss(source: &str, part: &Part<'_>) -> Option<String> {
    let PartKind::Call(_) = part.kind else { return None };
    let raw = raw_input(source, part)?.of(source);
    let string = raw.strip_prefix('"').and_then(|raw| raw.strip_suffix('"')).map(unescape);
    let text = string.as_deref().unwrap_or(raw);
    let name = tool_name(source, part.span).filter(|_| !is_json_object(text))?;
    Some(format!("the arguments of `{name}` are not a JSON object and are repaired"))
}

/// The parts of a list that [`write_block`] leaves out, the calls that are closed, and the input
/// that is repaired.
pub(crate) fn history_losses(draft: &Draft<'_>, closed: &[ClosedCall<'_>]) -> Vec<Loss> {
    let note = "a call that waits for an approval is closed: it never ran";
    let closed = closed.iter().filter(|call| call.waits).map(|call| Loss {
        kind: LossKind::Order,
        location: LossLocation::Message(call.message),
        note: note.to_owned(),
    });
    let mut losses: Vec<Loss> = closed.collect();
    // Call and result of a tool part are two messages of the draft.
    let mut last_start = None;
    for (at, message) in draft.messages.iter().enumerate() {
        let location = LossLocation::Message(at);
        let start = Some(message.span.start);
        if start != last_start && has_value(draft.source, message.span, "metadata") {
            let note = "the field `metadata` of a message is not supported in this format";
            losses.push(Loss { kind: LossKind::Unknown, location, note: note.to_owned() });
        }
        last_start = start;
        for part in draft.parts_of(message) {
            if has_result_options(draft.source, part) {
                let note = "the field `providerOptions` is lost".to_owned();
                losses.push(Loss { kind: LossKind::Unknown, location, note });
            }
            if let Some(note) = input_loss(draft.source, part) {
                let location = LossLocation::Message(at);
                losses.push(Loss { kind: LossKind::Arguments, location, note });
            }
            let name = field_text(draft.source, part.span, "type").unwrap_or_default();
            if name == "step-start" || write_block(&mut String::new(), draft.source, part) {
                continue;
            }
            let (kind, note) = match &part.kind {
                PartKind::Media => (LossKind::Media, "a file of this kind cannot be converted"),
                PartKind::Reasoning(_) => {
                    (LossKind::Reasoning, "reasoning without a signature cannot be converted")
                }
                PartKind::ServerCall(_) | PartKind::ServerAnswer(_) => {
                    (LossKind::ServerCall, "a call that the provider ran is left out")
                }
                _ => (LossKind::Unknown, ""),
            };
            let note = match note {
                "" => format!("`{name}` has no equivalent in other formats"),
                note => note.to_owned(),
            };
            losses.push(Loss { kind, location: LossLocation::Message(at), note });
        }
    }
    losses
}

/// Whether a result has options for a provider, beside its output or in it.
fn has_result_options(source: &str, part: &Part<'_>) -> bool {
    const OPTIONS: &str = "providerOptions";
    let output = || field_value(source, part.span, "output");
    matches!(part.kind, PartKind::Answer(_))
        && (has_value(source, part.span, OPTIONS)
            || output().is_some_and(|output| has_value(source, output, OPTIONS)))
}

/// Whether an object has a field with a value.
fn has_value(source: &str, object: Span, key: &str) -> bool {
    let value = field_value(source, object, key).map(|value| value.of(source));
    value.is_some_and(|value| !matches!(value, "null" | "{}"))
}

/// The tool's name: a field, or the end of the part's type.
fn tool_name(source: &str, part: Span) -> Option<Cow<'_, str>> {
    let kind = field_text(source, part, "type")?;
    match &*kind {
        "tool-call" | "dynamic-tool" => field_text(source, part, "toolName"),
        "tool-invocation" if field_value(source, part, INVOCATION).is_some() => {
            field_text(source, field_value(source, part, INVOCATION)?, "toolName")
        }
        "tool-approval-request" | "tool-approval-response" => None,
        name => name.strip_prefix("tool-").map(|name| Cow::Owned(name.to_owned())),
    }
}

/// Writes the content of a result. Returns whether it is an error.
fn write_output(out: &mut String, source: &str, part: Span) -> bool {
    let text = |text: Span| json_text(source, text);
    let denied = |reason: Option<Span>| denial_text(source, reason);
    let value = |key: &str| field_value(source, part, key);
    // A tool part of version 4.
    if let Some(result) = value(INVOCATION).and_then(|it| field_value(source, it, "result")) {
        out.push_str(&text(result));
        return false;
    }
    // A tool part of a `UIMessage`.
    if let Some(state) = field_text(source, part, "state") {
        let written = match (&*state, value("output"), value("errorText")) {
            ("output-denied", ..) => {
                denied(value("approval").and_then(|it| field_value(source, it, "reason")))
            }
            (_, Some(output), None) => text(output),
            (_, _, Some(error)) => text(error),
            (_, None, None) => "\"\"".to_owned(),
        };
        out.push_str(&written);
        return state != "output-available";
    }
    let Some(output) = value("output") else {
        out.push_str("\"\"");
        return false;
    };
    let kind = field_text(source, output, "type").unwrap_or_default();
    let value = field_value(source, output, "value");
    match (&*kind, value) {
        ("execution-denied", _) => out.push_str(&denied(field_value(source, output, "reason"))),
        ("content", Some(list)) => write_content(out, source, list),
        (_, Some(value)) => out.push_str(&text(value)),
        (_, None) => out.push_str(&text(output)),
    }
    matches!(&*kind, "execution-denied" | "error-text" | "error-json")
}

/// A value as a JSON string.
fn json_text(source: &str, value: Span) -> String {
    match value.of(source) {
        raw if raw.starts_with('"') => raw.to_owned(),
        raw => quote(raw),
    }
}

/// The content of the result of a call that the user denied, as JSON.
pub(super) fn denial_text(source: &str, reason: Option<Span>) -> String {
    match reason {
        Some(reason) => json_text(source, reason),
        None => quote(placeholder_text(MissingAnswer::Denied, PlaceholderLanguage::English)),
    }
}

/// Writes the content of a result that is a list of texts and media.
fn write_content(out: &mut String, source: &str, list: Span) {
    out.push('[');
    for (at, one) in array_elements(source, list).into_iter().enumerate() {
        out.push_str(if at > 0 { "," } else { "" });
        let text = field_value(source, one, "text").map(|text| text.of(source));
        let block = match text {
            Some(text) => Some(format!("{{\"type\":\"text\",\"text\":{text}}}")),
            None => media_block(source, one),
        };
        let as_text = || format!("{{\"type\":\"text\",\"text\":{}}}", quote(one.of(source)));
        out.push_str(&block.unwrap_or_else(as_text));
    }
    out.push(']');
}

/// Reasoning with the signature that Anthropic requires.
fn thinking_block(source: &str, part: Span) -> Option<String> {
    let options = ["providerMetadata", "providerOptions"];
    let options = options.iter().find_map(|key| field_value(source, part, key))?;
    let own = field_value(source, options, "anthropic")?;
    if let Some(data) = field_value(source, own, "redactedData") {
        return Some(format!("{{\"type\":\"redacted_thinking\",\"data\":{}}}", data.of(source)));
    }
    let signature = field_value(source, own, "signature")?.of(source);
    let text = field_value(source, part, "text").map_or("\"\"", |text| text.of(source));
    Some(format!("{{\"type\":\"thinking\",\"thinking\":{text},\"signature\":{signature}}}"))
}

/// An image or a document, by URL or with its data.
fn media_block(source: &str, part: Span) -> Option<String> {
    // Since version 7 it may be an object.
    let holder = field_value(source, part, "data").filter(|it| it.of(source).starts_with('{'));
    let holder = holder.unwrap_or(part);
    let data = ["url", "data", "image"].iter().find_map(|key| field_text(source, holder, key))?;
    let is_image = matches!(
        field_text(source, part, "type").as_deref(),
        Some("image" | "image-data" | "image-url")
    );
    // Version 4 has another name for it.
    let known = ["mediaType", "mimeType"].iter().find_map(|key| field_text(source, part, key));
    let (media_type, data) = match data.strip_prefix("data:").and_then(|url| url.split_once(',')) {
        Some((head, data)) => {
            (head.strip_suffix(";base64").map(str::to_owned)?, Cow::Owned(data.to_owned()))
        }
        None => (known.map_or_else(String::new, Cow::into_owned), data),
    };
    let kind = match media_type.split('/').next() {
        Some("image") => "image",
        Some("audio" | "video") => return None,
        _ if is_image => "image",
        _ => "document",
    };
    let is_url = data.starts_with("http://") || data.starts_with("https://");
    let data = quote(&data);
    let content = match is_url {
        true => format!("{{\"type\":\"url\",\"url\":{data}}}"),
        false => {
            let media_type = if media_type.is_empty() { "image/png" } else { &media_type };
            let media_type = quote(media_type);
            format!("{{\"type\":\"base64\",\"media_type\":{media_type},\"data\":{data}}}")
        }
    };
    // Only documents have titles.
    let name = field_value(source, part, "filename").map(|name| name.of(source));
    let title =
        match name.filter(|name| kind == "document" && name.len() > 2 && name.starts_with('"')) {
            Some(name) => format!(",\"title\":{name}"),
            None => String::new(),
        };
    Some(format!("{{\"type\":\"{kind}\",\"source\":{content}{title}}}"))
}
