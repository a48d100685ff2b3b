//! What flows in: something to send, something that was answered, or an answer on its way; and in
//! whose format. Pure, and able to say so from the first bytes of a stream.

use foxwedge_core::Wire;

use super::fields::Fields;

/// What an input is, as far as its bytes tell.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Look {
    /// More bytes are needed.
    More,
    /// An answer that comes in pieces, in one of these formats; nobody knows in which if there is
    /// none.
    Stream(&'static [Wire]),
    /// An answer in one piece, in one of these formats.
    Response(&'static [Wire]),
    /// Anything else: a conversation, if it is one of ours.
    Request,
}

/// Bytes after which nobody waits for more.
const ENOUGH: usize = 1 << 20;

/// Looks at the beginning of an input, or at all of it.
pub(super) fn look(bytes: &[u8], ended: bool) -> Look {
    let ended = ended || bytes.len() >= ENOUGH;
    let text = readable(bytes).trim_start_matches('\u{feff}').trim_ascii_start();
    let seen = match text.as_bytes().first() {
        // The length of a binary message: four bytes, and none is as long as sixteen megabytes.
        Some(0) => Some(Look::Stream(BEDROCK)),
        Some(b'{') => object(text, ended),
        Some(b'[') => list(text),
        Some(_) => lines(text, ended),
        None => None,
    };
    match seen {
        Some(seen) => seen,
        None if ended => Look::Request,
        None => Look::More,
    }
}

const CHAT: &[Wire] = &[Wire::OpenaiChat];
const RESPONSES: &[Wire] = &[Wire::OpenaiResponses];
const ANTHROPIC: &[Wire] = &[Wire::Anthropic];
const GEMINI: &[Wire] = &[Wire::Gemini];
const BEDROCK: &[Wire] = &[Wire::Bedrock];
/// They spell their failures alike.
const OPENAI: &[Wire] = &[Wire::OpenaiChat, Wire::OpenaiResponses];

/// As much of the bytes as is text.
fn readable(bytes: &[u8]) -> &str {
    match std::str::from_utf8(bytes) {
        Ok(text) => text,
        Err(error) => {
            let text = bytes.get(..error.valid_up_to()).unwrap_or_default();
            std::str::from_utf8(text).unwrap_or_default()
        }
    }
}

/// An object, and maybe others behind it.
fn object(text: &str, ended: bool) -> Option<Look> {
    let fields = Fields::of(text)?;
    match shape(&fields)? {
        Shape::Event(wire) => Some(Look::Stream(wire)),
        // Each of its pieces looks like the whole: one alone is a response, several are a stream.
        Shape::Reply(GEMINI) => match fields.rest.map(str::trim_ascii_start) {
            Some(rest) if rest.starts_with('{') => Some(Look::Stream(GEMINI)),
            _ if ended => Some(Look::Response(GEMINI)),
            _ => None,
        },
        Shape::Reply(wire) | Shape::Failure(wire) => Some(Look::Response(wire)),
    }
}

/// A list: of messages, or of the pieces of an answer.
fn list(text: &str) -> Option<Look> {
    let first = Fields::of_first(text)?;
    match shape(&first) {
        Some(Shape::Event(wire) | Shape::Reply(wire)) => Some(Look::Stream(wire)),
        Some(Shape::Failure(GEMINI)) => Some(Look::Stream(GEMINI)),
        Some(Shape::Failure(_)) => Some(Look::Request),
        None => first.rest.map(|_| Look::Request),
    }
}

/// The lines of an event stream.
fn lines(text: &str, ended: bool) -> Option<Look> {
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
                if let Some(wire) = event(value) {
                    return Some(Look::Stream(wire));
                }
            }
            "data" if value == "[DONE]" => return Some(Look::Stream(CHAT)),
            "data" => {
                if let Some(wire) = Fields::of(value).and_then(|fields| data(&fields)) {
                    return Some(Look::Stream(wire));
                }
            }
            _ if !whole && !ended => {}
            _ if !is_stream => return Some(Look::Request),
            _ => {}
        }
        is_stream |= matches!(name, "" | "id" | "retry" | "event" | "data");
    }
    (ended && is_stream).then_some(Look::Stream(&[]))
}

/// Whose event has this name.
fn event(name: &str) -> Option<&'static [Wire]> {
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
fn data(fields: &Fields<'_>) -> Option<&'static [Wire]> {
    match shape(fields)? {
        Shape::Event(wire) | Shape::Reply(wire) => Some(wire),
        // Responses has an event of its own for that.
        Shape::Failure(OPENAI) => Some(CHAT),
        Shape::Failure(wire) => Some(wire),
    }
}

/// What an object is.
enum Shape {
    /// One event of a stream.
    Event(&'static [Wire]),
    /// A whole answer.
    Reply(&'static [Wire]),
    /// No answer.
    Failure(&'static [Wire]),
}

fn shape(fields: &Fields<'_>) -> Option<Shape> {
    if ["messages", "contents", "input"].iter().any(|key| fields.has(key)) {
        return None;
    }
    let kind = fields.says("type").unwrap_or_default();
    match (kind, fields.says("object").unwrap_or_default()) {
        (_, "chat.completion.chunk") => return Some(Shape::Event(CHAT)),
        (_, "chat.completion") => return Some(Shape::Reply(CHAT)),
        (_, "response") => return Some(Shape::Reply(RESPONSES)),
        ("error", _) => return failure(fields),
        ("message", _) if fields.has("content") && fields.has("stop_reason") => {
            return Some(Shape::Reply(ANTHROPIC));
        }
        (kind, _) => {
            if let Some(wire) = event(kind) {
                return Some(Shape::Event(wire));
            }
        }
    }
    if let Some(choices) = fields.get("choices") {
        return choice(choices);
    }
    if ["candidates", "promptFeedback", "usageMetadata"].iter().any(|key| fields.has(key)) {
        return Some(Shape::Reply(GEMINI));
    }
    if fields.has("stopReason") && fields.object("output").is_some_and(|out| out.has("message")) {
        return Some(Shape::Reply(BEDROCK));
    }
    const EVENTS: [&str; 5] = [
        "messageStart",
        "contentBlockStart",
        "contentBlockDelta",
        "contentBlockStop",
        "messageStop",
    ];
    if EVENTS.iter().any(|key| fields.has(key)) {
        return Some(Shape::Event(BEDROCK));
    }
    failure(fields)
}

/// An answer of Chat whose server does not say what it is.
fn choice(choices: &str) -> Option<Shape> {
    match Fields::of_first(choices) {
        Some(first) if first.has("delta") => Some(Shape::Event(CHAT)),
        Some(first) if first.has("message") => Some(Shape::Reply(CHAT)),
        Some(_) => None,
        None => choices.ends_with(']').then_some(Shape::Event(CHAT)),
    }
}

/// Something that a provider says instead of an answer.
fn failure(fields: &Fields<'_>) -> Option<Shape> {
    let typed = fields.says("type") == Some("error");
    if let Some(error) = fields.object("error") {
        return match error.rest {
            _ if typed => Some(Shape::Failure(ANTHROPIC)),
            _ if error.says("status").is_some() && error.has("code") => {
                Some(Shape::Failure(GEMINI))
            }
            Some(_) if error.has("message") => Some(Shape::Failure(OPENAI)),
            _ => None,
        };
    }
    if typed {
        return fields.has("message").then_some(Shape::Event(RESPONSES));
    }
    const BARE: [&str; 5] = ["message", "Message", "__type", "originalStatusCode", "resourceName"];
    let said = fields.has("message") || fields.has("Message");
    let bare = fields.rest.is_some() && fields.keys().all(|key| BARE.contains(&key));
    (said && bare).then_some(Shape::Failure(BEDROCK))
}

#[cfg(test)]
mod tests;
