//! Detects whether an input is a request, a response or a stream, and its format. Pure; a stream is
//! detected from its first bytes.

use foxwedge_core::Format;

use super::partial_object::PartialObject;

/// Kind of an input, detected from its bytes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum DetectedInput {
    /// More bytes are needed.
    NeedMoreBytes,
    /// A streamed response in one of these formats. Empty if the format is not known.
    Stream(&'static [Format]),
    /// A complete response in one of these formats.
    Response(&'static [Format]),
    /// Anything else, perhaps a conversation.
    Request,
}

/// Detection gives up waiting after this many bytes.
const MAX_DETECTION_BYTES: usize = 1 << 20;

/// Detects the kind of an input from its beginning, or from all of it if `ended`.
pub(super) fn detect_input(bytes: &[u8], ended: bool) -> DetectedInput {
    let ended = ended || bytes.len() >= MAX_DETECTION_BYTES;
    let text = valid_text_prefix(bytes).trim_start_matches('\u{feff}').trim_ascii_start();
    let detected = match text.as_bytes().first() {
        // A binary message starts with its length in four bytes; none reaches sixteen megabytes.
        Some(0) => Some(DetectedInput::Stream(BEDROCK)),
        Some(b'{') => detect_object(text, ended),
        Some(b'[') => detect_list(text),
        Some(_) => detect_lines(text, ended),
        None => None,
    };
    match detected {
        Some(detected) => detected,
        None if ended => DetectedInput::Request,
        None => DetectedInput::NeedMoreBytes,
    }
}

const CHAT: &[Format] = &[Format::OpenaiChat];
const RESPONSES: &[Format] = &[Format::OpenaiResponses];
const ANTHROPIC: &[Format] = &[Format::Anthropic];
const GEMINI: &[Format] = &[Format::Gemini];
const BEDROCK: &[Format] = &[Format::Bedrock];
const INTERACTIONS: &[Format] = &[Format::GeminiInteractions];
/// Both formats have the same error body.
const OPENAI: &[Format] = &[Format::OpenaiChat, Format::OpenaiResponses];

/// The longest prefix that is valid UTF-8.
fn valid_text_prefix(bytes: &[u8]) -> &str {
    match std::str::from_utf8(bytes) {
        Ok(text) => text,
        Err(error) => {
            let text = bytes.get(..error.valid_up_to()).unwrap_or_default();
            std::str::from_utf8(text).unwrap_or_default()
        }
    }
}

/// Detects an object, which others may follow.
fn detect_object(text: &str, ended: bool) -> Option<DetectedInput> {
    let fields = PartialObject::of(text)?;
    match object_shape(&fields)? {
        ObjectShape::Event(formats) => Some(DetectedInput::Stream(formats)),
        // A Gemini chunk looks like a response: one is a response, several are a stream.
        ObjectShape::Reply(GEMINI) => match fields.rest.map(str::trim_ascii_start) {
            Some(rest) if rest.starts_with('{') => Some(DetectedInput::Stream(GEMINI)),
            _ if ended => Some(DetectedInput::Response(GEMINI)),
            _ => None,
        },
        ObjectShape::Reply(formats) | ObjectShape::Failure(formats) => {
            Some(DetectedInput::Response(formats))
        }
    }
}

/// Detects a list: of messages, or of the chunks of a stream.
fn detect_list(text: &str) -> Option<DetectedInput> {
    let first = PartialObject::of_first(text)?;
    match object_shape(&first) {
        Some(ObjectShape::Event(formats) | ObjectShape::Reply(formats)) => {
            Some(DetectedInput::Stream(formats))
        }
        Some(ObjectShape::Failure(GEMINI)) => Some(DetectedInput::Stream(GEMINI)),
        Some(ObjectShape::Failure(_)) => Some(DetectedInput::Request),
        None => first.rest.map(|_| DetectedInput::Request),
    }
}

/// Detects the lines of an event stream.
fn detect_lines(text: &str, ended: bool) -> Option<DetectedInput> {
    let mut is_stream = false;
    for line in text.split_inclusive('\n') {
        let whole = line.ends_with('\n');
        let line = line.trim_end();
        let (name, value) = line.split_once(':').unwrap_or((line, ""));
        let value = value.strip_prefix(' ').unwrap_or(value);
        match name {
            // Some servers send comments first to keep the connection open.
            "" | "id" | "retry" => {}
            "event" if whole => {
                if let Some(formats) = event_formats(value) {
                    return Some(DetectedInput::Stream(formats));
                }
            }
            "data" if value == "[DONE]" => return Some(DetectedInput::Stream(CHAT)),
            "data" => {
                if let Some(formats) =
                    PartialObject::of(value).and_then(|fields| event_data_formats(&fields))
                {
                    return Some(DetectedInput::Stream(formats));
                }
            }
            _ if !whole && !ended => {}
            _ if !is_stream => return Some(DetectedInput::Request),
            _ => {}
        }
        is_stream |= matches!(name, "" | "id" | "retry" | "event" | "data");
    }
    (ended && is_stream).then_some(DetectedInput::Stream(&[]))
}

/// The formats that have an event of this name.
fn event_formats(name: &str) -> Option<&'static [Format]> {
    match name {
        "message_start"
        | "content_block_start"
        | "content_block_delta"
        | "content_block_stop"
        | "message_delta"
        | "message_stop"
        | "ping" => Some(ANTHROPIC),
        _ if name.starts_with("response.") => Some(RESPONSES),
        "step.start" | "step.delta" | "step.stop" => Some(INTERACTIONS),
        _ if name.starts_with("interaction.") => Some(INTERACTIONS),
        _ => None,
    }
}

/// The formats that have an event with this data.
fn event_data_formats(fields: &PartialObject<'_>) -> Option<&'static [Format]> {
    match object_shape(fields)? {
        ObjectShape::Event(formats) | ObjectShape::Reply(formats) => Some(formats),
        // Responses has a separate error event.
        ObjectShape::Failure(OPENAI) => Some(CHAT),
        ObjectShape::Failure(formats) => Some(formats),
    }
}

/// Kind of an object, with its possible formats.
enum ObjectShape {
    /// One event of a stream.
    Event(&'static [Format]),
    /// A complete response.
    Reply(&'static [Format]),
    /// An error body.
    Failure(&'static [Format]),
}

fn object_shape(fields: &PartialObject<'_>) -> Option<ObjectShape> {
    // A stored interaction also has an `input`.
    if fields.string_value("object") == Some("interaction")
        || fields.has("steps") && fields.has("status")
    {
        return Some(ObjectShape::Reply(INTERACTIONS));
    }
    if fields.has("event_type") {
        return Some(ObjectShape::Event(INTERACTIONS));
    }
    if ["messages", "contents", "input"].iter().any(|key| fields.has(key)) {
        return None;
    }
    let kind = fields.string_value("type").unwrap_or_default();
    match (kind, fields.string_value("object").unwrap_or_default()) {
        (_, "chat.completion.chunk") => return Some(ObjectShape::Event(CHAT)),
        (_, "chat.completion") => return Some(ObjectShape::Reply(CHAT)),
        (_, "response") => return Some(ObjectShape::Reply(RESPONSES)),
        ("error", _) => return failure_shape(fields),
        ("message", _) if fields.has("content") && fields.has("stop_reason") => {
            return Some(ObjectShape::Reply(ANTHROPIC));
        }
        (kind, _) => {
            if let Some(formats) = event_formats(kind) {
                return Some(ObjectShape::Event(formats));
            }
        }
    }
    if let Some(choices) = fields.get("choices") {
        return choice_shape(choices);
    }
    if ["candidates", "promptFeedback", "usageMetadata"].iter().any(|key| fields.has(key)) {
        return Some(ObjectShape::Reply(GEMINI));
    }
    if fields.has("stopReason")
        && fields.object_value("output").is_some_and(|out| out.has("message"))
    {
        return Some(ObjectShape::Reply(BEDROCK));
    }
    const EVENTS: [&str; 5] = [
        "messageStart",
        "contentBlockStart",
        "contentBlockDelta",
        "contentBlockStop",
        "messageStop",
    ];
    if EVENTS.iter().any(|key| fields.has(key)) {
        return Some(ObjectShape::Event(BEDROCK));
    }
    failure_shape(fields)
}

/// A Chat response without an `object` field.
fn choice_shape(choices: &str) -> Option<ObjectShape> {
    match PartialObject::of_first(choices) {
        Some(first) if first.has("delta") => Some(ObjectShape::Event(CHAT)),
        Some(first) if first.has("message") => Some(ObjectShape::Reply(CHAT)),
        Some(_) => None,
        None => choices.ends_with(']').then_some(ObjectShape::Event(CHAT)),
    }
}

/// An error body of a provider.
fn failure_shape(fields: &PartialObject<'_>) -> Option<ObjectShape> {
    let typed = fields.string_value("type") == Some("error");
    if let Some(error) = fields.object_value("error") {
        return match error.rest {
            _ if typed => Some(ObjectShape::Failure(ANTHROPIC)),
            _ if error.string_value("status").is_some() && error.has("code") => {
                Some(ObjectShape::Failure(GEMINI))
            }
            Some(_) if error.has("message") => Some(ObjectShape::Failure(OPENAI)),
            _ => None,
        };
    }
    if typed {
        return fields.has("message").then_some(ObjectShape::Event(RESPONSES));
    }
    const BARE: [&str; 5] = ["message", "Message", "__type", "originalStatusCode", "resourceName"];
    let has_message = fields.has("message") || fields.has("Message");
    let only_known_keys = fields.rest.is_some() && fields.keys().all(|key| BARE.contains(&key));
    (has_message && only_known_keys).then_some(ObjectShape::Failure(BEDROCK))
}

#[cfg(test)]
mod tests;
