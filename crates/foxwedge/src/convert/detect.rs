//! What flows in: something to send, something that was answered, or an answer on its way; and in
//! whose format. Pure, and able to say so from the first bytes of a stream.

use foxwedge_core::Format;

use super::partial_object::PartialObject;

/// What an input is, as far as its bytes tell.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum DetectedInput {
    /// More bytes are needed.
    NeedMoreBytes,
    /// An answer that comes in pieces, in one of these formats; nobody knows in which if there is
    /// none.
    Stream(&'static [Format]),
    /// An answer in one piece, in one of these formats.
    Response(&'static [Format]),
    /// Anything else: a conversation, if it is one of ours.
    Request,
}

/// Bytes after which nobody waits for more.
const MAX_DETECTION_BYTES: usize = 1 << 20;

/// Looks at the beginning of an input, or at all of it.
pub(super) fn detect_input(bytes: &[u8], ended: bool) -> DetectedInput {
    let ended = ended || bytes.len() >= MAX_DETECTION_BYTES;
    let text = valid_text_prefix(bytes).trim_start_matches('\u{feff}').trim_ascii_start();
    let seen = match text.as_bytes().first() {
        // The length of a binary message: four bytes, and none is as long as sixteen megabytes.
        Some(0) => Some(DetectedInput::Stream(BEDROCK)),
        Some(b'{') => detect_object(text, ended),
        Some(b'[') => detect_list(text),
        Some(_) => detect_lines(text, ended),
        None => None,
    };
    match seen {
        Some(seen) => seen,
        None if ended => DetectedInput::Request,
        None => DetectedInput::NeedMoreBytes,
    }
}

const CHAT: &[Format] = &[Format::OpenaiChat];
const RESPONSES: &[Format] = &[Format::OpenaiResponses];
const ANTHROPIC: &[Format] = &[Format::Anthropic];
const GEMINI: &[Format] = &[Format::Gemini];
const BEDROCK: &[Format] = &[Format::Bedrock];
/// They spell their failures alike.
const OPENAI: &[Format] = &[Format::OpenaiChat, Format::OpenaiResponses];

/// As much of the bytes as is text.
fn valid_text_prefix(bytes: &[u8]) -> &str {
    match std::str::from_utf8(bytes) {
        Ok(text) => text,
        Err(error) => {
            let text = bytes.get(..error.valid_up_to()).unwrap_or_default();
            std::str::from_utf8(text).unwrap_or_default()
        }
    }
}

/// An object, and maybe others behind it.
fn detect_object(text: &str, ended: bool) -> Option<DetectedInput> {
    let fields = PartialObject::of(text)?;
    match object_shape(&fields)? {
        ObjectShape::Event(wire) => Some(DetectedInput::Stream(wire)),
        // Each of its pieces looks like the whole: one alone is a response, several are a stream.
        ObjectShape::Reply(GEMINI) => match fields.rest.map(str::trim_ascii_start) {
            Some(rest) if rest.starts_with('{') => Some(DetectedInput::Stream(GEMINI)),
            _ if ended => Some(DetectedInput::Response(GEMINI)),
            _ => None,
        },
        ObjectShape::Reply(wire) | ObjectShape::Failure(wire) => {
            Some(DetectedInput::Response(wire))
        }
    }
}

/// A list: of messages, or of the pieces of an answer.
fn detect_list(text: &str) -> Option<DetectedInput> {
    let first = PartialObject::of_first(text)?;
    match object_shape(&first) {
        Some(ObjectShape::Event(wire) | ObjectShape::Reply(wire)) => {
            Some(DetectedInput::Stream(wire))
        }
        Some(ObjectShape::Failure(GEMINI)) => Some(DetectedInput::Stream(GEMINI)),
        Some(ObjectShape::Failure(_)) => Some(DetectedInput::Request),
        None => first.rest.map(|_| DetectedInput::Request),
    }
}

/// The lines of an event stream.
fn detect_lines(text: &str, ended: bool) -> Option<DetectedInput> {
    let mut is_stream = false;
    for line in text.split_inclusive('\n') {
        let whole = line.ends_with('\n');
        let line = line.trim_end();
        let (name, value) = line.split_once(':').unwrap_or((line, ""));
        let value = value.strip_prefix(' ').unwrap_or(value);
        match name {
            // Comments come first where a server keeps the line open.
            "" | "id" | "retry" => {}
            "event" if whole => {
                if let Some(wire) = event_formats(value) {
                    return Some(DetectedInput::Stream(wire));
                }
            }
            "data" if value == "[DONE]" => return Some(DetectedInput::Stream(CHAT)),
            "data" => {
                if let Some(wire) =
                    PartialObject::of(value).and_then(|fields| event_data_formats(&fields))
                {
                    return Some(DetectedInput::Stream(wire));
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

/// Whose event has this name.
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
        _ => None,
    }
}

/// Whose event has this data.
fn event_data_formats(fields: &PartialObject<'_>) -> Option<&'static [Format]> {
    match object_shape(fields)? {
        ObjectShape::Event(wire) | ObjectShape::Reply(wire) => Some(wire),
        // Responses has an event of its own for that.
        ObjectShape::Failure(OPENAI) => Some(CHAT),
        ObjectShape::Failure(wire) => Some(wire),
    }
}

/// What an object is.
enum ObjectShape {
    /// One event of a stream.
    Event(&'static [Format]),
    /// A whole answer.
    Reply(&'static [Format]),
    /// No answer.
    Failure(&'static [Format]),
}

fn object_shape(fields: &PartialObject<'_>) -> Option<ObjectShape> {
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
            if let Some(wire) = event_formats(kind) {
                return Some(ObjectShape::Event(wire));
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

/// An answer of Chat whose server does not say what it is.
fn choice_shape(choices: &str) -> Option<ObjectShape> {
    match PartialObject::of_first(choices) {
        Some(first) if first.has("delta") => Some(ObjectShape::Event(CHAT)),
        Some(first) if first.has("message") => Some(ObjectShape::Reply(CHAT)),
        Some(_) => None,
        None => choices.ends_with(']').then_some(ObjectShape::Event(CHAT)),
    }
}

/// Something that a provider says instead of an answer.
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
    let said = fields.has("message") || fields.has("Message");
    let bare = fields.rest.is_some() && fields.keys().all(|key| BARE.contains(&key));
    (said && bare).then_some(ObjectShape::Failure(BEDROCK))
}

#[cfg(test)]
mod tests;
