//! What a Gemini content says. Both spellings of every key are in use.

use std::borrow::Cow;

use foxwedge_core::{Family, Wire};

use super::{arguments, body, reasoning, speaker};
use crate::canon::{
    Answer, Bit, Call, Media, MediaKind, Part, Said, Source, Speaker,
    view::{Object, Value},
};

const WIRE: Wire = Wire::Gemini;

pub(super) fn message<'a>(content: &Object<'a>) -> Option<Said<'a>> {
    let role = match content.get("role") {
        // The role may be left out, and is the user's then.
        Some(role) if !role.is_null() => match &*role.text()? {
            "function" | "tool" => Speaker::User,
            role => speaker(role)?,
        },
        _ => Speaker::User,
    };
    let parts = body(content.get("parts"), WIRE, part);
    Some(Said::read(role, parts, WIRE, content.others(&["role", "parts"])))
}

pub(super) fn part<'a>(part: &Object<'a>) -> Option<Bit<'a>> {
    if let Some(call) = part.any(&["functionCall", "function_call"]) {
        let call = call.object()?;
        return Some(Bit::Call(Call {
            id: call.word("id"),
            name: call.text("name").unwrap_or_default(),
            family: Family::Function,
            arguments: arguments(call.get("args")),
        }));
    }
    if let Some(answer) = part.any(&["functionResponse", "function_response"]) {
        return self::answer(&answer.object()?).map(Bit::Answer);
    }
    if let Some(media) = media(part) {
        return Some(Bit::Media(media));
    }
    let text = part.text("text")?;
    let signature = part.any(&["thoughtSignature", "thought_signature"]);
    let signed = signature.and_then(Value::text).is_some_and(|text| !text.is_empty());
    // An empty text may be there for its signature only.
    let thought = part.is_true("thought") || signed && text.is_empty();
    Some(if thought { reasoning(text, signed) } else { Bit::Text(text) })
}

fn media<'a>(part: &Object<'a>) -> Option<Media<'a>> {
    let data = part.any(&["inlineData", "inline_data"]);
    let file = part.any(&["fileData", "file_data"]);
    let object = data.or(file)?.object()?;
    let text = |keys| object.any(keys).and_then(Value::text);
    let source = match (data, text(&["fileUri", "file_uri"])) {
        (Some(_), _) => Source::Data(object.text("data")?),
        (None, Some(uri)) if is_stored(&uri) => Source::Stored { id: uri, wire: WIRE },
        (None, Some(uri)) => Source::Url(uri),
        (None, None) => return None,
    };
    let media_type = text(&["mimeType", "mime_type"]);
    let name = text(&["displayName", "display_name"]);
    Some(Media { kind: MediaKind::of(media_type.as_deref()), media_type, source, name })
}

/// Addresses that only this provider can open.
fn is_stored(uri: &str) -> bool {
    uri.starts_with("gs://") || uri.starts_with("https://generativelanguage.googleapis.com/")
}

fn answer<'a>(answer: &Object<'a>) -> Option<Answer<'a>> {
    let mut parts: Vec<Part<'a>> = Vec::new();
    let mut error = false;
    if let Some(response) = answer.get("response") {
        let (text, failed) = told(response);
        parts.push(Bit::Text(text).into());
        error = failed;
    }
    // Newer answers carry images and files as parts of their own.
    parts.extend(body(answer.get("parts"), WIRE, part));
    Some(Answer { id: answer.word("id"), name: answer.word("name"), parts, error })
}

/// What the response of an answer says, and whether it is a failure.
fn told(response: Value<'_>) -> (Cow<'_, str>, bool) {
    let only = || {
        let object = response.object()?;
        let key = object.tag();
        if !object.others(&[&key]).is_empty() {
            return None;
        }
        let known = matches!(&*key, "output" | "result" | "content" | "error");
        let text = object.text(&key).filter(|_| known)?;
        Some((text, key == "error"))
    };
    only().unwrap_or_else(|| {
        let text = response.text().unwrap_or(Cow::Borrowed(response.raw()));
        let failed = response.object().is_some_and(|object| {
            object.get("error").is_some_and(|error| !error.is_null())
                && object.get("output").is_none()
        });
        (text, failed)
    })
}
