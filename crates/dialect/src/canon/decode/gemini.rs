//! What a Gemini content says. Both spellings of every key are in use.

use foxwedge_core::{Family, Wire};

use super::{arguments, body, reasoning, speaker, words};
use crate::{
    canon::{Answer, Bit, Call, Media, MediaKind, Part, Said, Seal, Source, Speaker, Words},
    json::{Object, Value},
};

const WIRE: Wire = Wire::Gemini;

pub(super) fn message<'a>(content: &Object<'_, 'a>) -> Option<Said<'a>> {
    let role = match content.get("role") {
        // The role may be left out, and is the user's then.
        Some(role) if !role.is_null() => match &*role.text()? {
            "function" | "tool" => Speaker::User,
            role => speaker(role)?,
        },
        _ => Speaker::User,
    };
    let parts = content.get("parts");
    // Other formats take a text here.
    if let Some(text) = parts.filter(|parts| parts.text().is_some()) {
        text.mark_strange();
    }
    let parts = body(parts, WIRE, part);
    Some(Said::read(role, parts, WIRE, content.others(&["role", "parts"])))
}

pub(crate) fn part<'a>(part: &Object<'_, 'a>) -> Option<Bit<'a>> {
    if let Some(call) = part.any(&["functionCall", "function_call"]) {
        let call = call.object()?;
        return Some(Bit::Call(Call {
            id: call.word("id"),
            name: call.text("name").unwrap_or_default(),
            family: Family::Function,
            arguments: arguments(call.get("args")),
            signature: signature(part),
        }));
    }
    if let Some(answer) = part.any(&["functionResponse", "function_response"]) {
        return self::answer(&answer.object()?).map(Bit::Answer);
    }
    if let Some(media) = media(part) {
        return Some(Bit::Media(media));
    }
    let text = words(part.get("text"))?;
    let signature = signature(part);
    // An empty text may be there for its signature only.
    let thought = part.is_true("thought") || signature.is_some() && text.is_empty();
    Some(match thought {
        true => reasoning(text, signature.map_or(Seal::Open, Seal::Signed)),
        false => Bit::Text(text),
    })
}

fn signature<'a>(part: &Object<'_, 'a>) -> Option<Words<'a>> {
    let signature = words(part.any(&["thoughtSignature", "thought_signature"]));
    signature.filter(|signature| !signature.is_empty())
}

fn media<'a>(part: &Object<'_, 'a>) -> Option<Media<'a>> {
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

fn answer<'a>(answer: &Object<'_, 'a>) -> Option<Answer<'a>> {
    let mut parts: Vec<Part<'a>> = Vec::new();
    let mut error = false;
    if let Some(response) = answer.get("response").filter(|response| !response.is_null()) {
        let (text, failed) = told(response);
        parts.push(Bit::Text(text).into());
        error = failed;
    }
    // Newer answers carry images and files as parts of their own.
    parts.extend(body(answer.get("parts"), WIRE, part));
    let (id, name) = (answer.word("id"), answer.word("name"));
    Some(Answer { id, name, family: Family::Function, parts, error })
}

/// What the response of an answer says, and whether it is a failure.
fn told<'a>(response: Value<'_, 'a>) -> (Words<'a>, bool) {
    let only = || {
        let object = response.object()?;
        let key = object.tag();
        if !object.others(&[&key]).is_empty() {
            return None;
        }
        let known = matches!(&*key, "output" | "result" | "content" | "error");
        let text = words(object.get(&key)).filter(|_| known)?;
        Some((text, key == "error"))
    };
    only().unwrap_or_else(|| {
        let text = words(Some(response)).unwrap_or_else(|| response.raw().into());
        let failed = response.object().is_some_and(|object| {
            object.get("error").is_some_and(|error| !error.is_null())
                && object.get("output").is_none()
        });
        (text, failed)
    })
}
