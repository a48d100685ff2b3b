//! What a chat message says.

use std::borrow::Cow;

use foxwedge_core::{Family, Wire};

use super::{arguments, at_url, body, held, reasoning, speaker};
use crate::canon::{
    Answer, Bit, Call, Form, Media, MediaKind, Part, Said, Source, Speaker,
    media::type_of,
    view::{Object, Value},
};

const WIRE: Wire = Wire::OpenaiChat;

pub(super) fn message<'a>(message: &Object<'a>) -> Option<Said<'a>> {
    match &*message.text("role")? {
        "tool" => Some(answer(message, message.word("tool_call_id"))),
        // The older form: an answer goes by its tool's name.
        "function" => Some(answer(message, None)),
        "assistant" => Some(assistant(message)),
        role => {
            let parts = body(message.get("content"), WIRE, block);
            Some(Said::read(speaker(role)?, parts, WIRE, message.others(&["role", "content"])))
        }
    }
}

/// A message that is an answer as a whole.
fn answer<'a>(message: &Object<'a>, id: Option<Cow<'a, str>>) -> Said<'a> {
    let parts = body(message.get("content"), WIRE, block);
    let answer = Answer { id, name: message.word("name"), parts, error: false };
    let part = Part::read(Bit::Answer(answer), WIRE, Form::Message, message.raw());
    Said::read(Speaker::User, vec![part], WIRE, Vec::new())
}

fn assistant<'a>(message: &Object<'a>) -> Said<'a> {
    let mut parts = Vec::new();
    // What was read from a field of its own is not told twice.
    let mut told = vec!["role", "content", "tool_calls"];
    let mut field = |parts: &mut Vec<Part<'a>>, key: &'static str, bit: Option<Bit<'a>>| {
        if let (Some(bit), Some(json)) = (bit, message.member(key)) {
            parts.push(Part::read(bit, WIRE, Form::Field, json));
            told.push(key);
        }
    };
    for key in ["reasoning_content", "reasoning"] {
        let bit = message.text(key).map(|text| reasoning(text, false));
        field(&mut parts, key, bit);
    }
    parts.extend(body(message.get("content"), WIRE, block));
    field(&mut parts, "refusal", message.word("refusal").map(Bit::Text));
    for value in message.get("tool_calls").into_iter().flat_map(Value::list) {
        if let Some(object) = value.object() {
            parts.push(Part::read(Bit::Call(call(&object)), WIRE, Form::Block, value.raw()));
        }
    }
    // The older form of a call has no id.
    let older = message.object("function_call");
    let older = older.map(|function| Bit::Call(named(None, Some(function), Family::Function)));
    field(&mut parts, "function_call", older);
    Said::read(Speaker::Assistant, parts, WIRE, message.others(&told))
}

fn call<'a>(call: &Object<'a>) -> Call<'a> {
    let id = call.word("id");
    match call.text("type").as_deref() {
        Some("custom") => named(id, call.object("custom"), Family::Custom),
        _ => named(id, call.object("function"), Family::Function),
    }
}

fn named<'a>(id: Option<Cow<'a, str>>, tool: Option<Object<'a>>, family: Family) -> Call<'a> {
    let get = |key| tool.as_ref().and_then(|tool| tool.get(key));
    let name = get("name").and_then(Value::text).unwrap_or_default();
    let arguments = match family {
        Family::Custom => get("input").and_then(Value::text).unwrap_or_default(),
        _ => arguments(get("arguments")),
    };
    Call { id, name, family, arguments }
}

fn block<'a>(block: &Object<'a>) -> Option<Bit<'a>> {
    Some(match &*block.text("type")? {
        "text" => Bit::Text(block.text("text")?),
        "refusal" => Bit::Text(block.text("refusal")?),
        "image_url" => at_url(MediaKind::Image, address(block, "image_url")?, None),
        "video_url" => at_url(MediaKind::Video, address(block, "video_url")?, None),
        "input_audio" => {
            let audio = block.object("input_audio")?;
            let format = audio.text("format").unwrap_or_default();
            let media_type = type_of(MediaKind::Audio, &format).map(Into::into);
            let source = Source::Data(audio.text("data")?);
            Bit::Media(Media { kind: MediaKind::Audio, media_type, source, name: None })
        }
        "file" => {
            let file = block.object("file")?;
            let name = file.word("filename");
            match (file.text("file_data"), file.text("file_id")) {
                (Some(data), _) => held(MediaKind::File, data, name),
                (None, Some(id)) => Bit::Media(Media {
                    kind: MediaKind::File,
                    media_type: None,
                    source: Source::Stored { id, wire: WIRE },
                    name,
                }),
                (None, None) => return None,
            }
        }
        _ => return None,
    })
}

/// An address, as a string or in an object.
fn address<'a>(block: &Object<'a>, key: &str) -> Option<Cow<'a, str>> {
    let value = block.get(key)?;
    value.text().or_else(|| value.object()?.text("url"))
}
