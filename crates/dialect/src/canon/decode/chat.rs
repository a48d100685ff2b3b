//! What a chat message says.

use std::borrow::Cow;

use foxwedge_core::{Family, Wire};

use super::{arguments, at_url, body, free_text, held, reasoning, speaker, strangers, words};
use crate::{
    canon::{
        Answer, Bit, Call, Form, Media, MediaKind, Notes, Part, Said, Seal, Source, Speaker, Words,
        media::type_of,
    },
    json::{Object, Value},
};

const WIRE: Wire = Wire::OpenaiChat;

pub(super) fn message<'a>(message: &Object<'_, 'a>) -> Option<Said<'a>> {
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
fn answer<'a>(message: &Object<'_, 'a>, id: Option<Cow<'a, str>>) -> Said<'a> {
    let parts = body(message.get("content"), WIRE, block);
    let answer =
        Answer { id, name: message.word("name"), family: Family::Function, parts, error: false };
    let notes = strangers(message, &["role", "content", "tool_call_id", "name"]);
    let part = Part::read(Bit::Answer(answer), WIRE, Form::Message, message.raw()).with(notes);
    Said::read(Speaker::User, vec![part], WIRE, Vec::new())
}

pub(crate) fn assistant<'a>(message: &Object<'_, 'a>) -> Said<'a> {
    let mut parts = Vec::new();
    // What was read from a field of its own is not told twice.
    let mut told = vec!["role", "content", "tool_calls"];
    let mut field = |parts: &mut Vec<Part<'a>>, key: &'static str, bit: Option<Bit<'a>>| {
        if let (Some(bit), Some(json)) = (bit, message.member(key)) {
            let notes = Notes { refusal: key == "refusal", ..Notes::default() };
            parts.push(Part::read(bit, WIRE, Form::Field, json).with(notes));
            told.push(key);
        }
    };
    for key in ["reasoning_content", "reasoning"] {
        let bit = words(message.get(key)).map(|text| reasoning(text, Seal::Open));
        field(&mut parts, key, bit);
    }
    parts.extend(body(message.get("content"), WIRE, block));
    field(
        &mut parts,
        "refusal",
        words(message.get("refusal")).filter(|text| !text.is_empty()).map(Bit::Text),
    );
    for value in message.get("tool_calls").into_iter().flat_map(Value::list) {
        if let Some(object) = value.object() {
            parts.push(Part::read(Bit::Call(call(&object)), WIRE, Form::Block, value.raw()));
        }
    }
    // The older form of a call has no id.
    let older = message.object("function_call");
    let older =
        older.map(|function| Bit::Call(named(None, Some(function), Family::Function, None)));
    field(&mut parts, "function_call", older);
    Said::read(Speaker::Assistant, parts, WIRE, message.others(&told))
}

fn call<'a>(call: &Object<'_, 'a>) -> Call<'a> {
    let id = call.word("id");
    // Google's own spelling of its signatures in this format.
    let google = call.object("extra_content").and_then(|extra| extra.object("google"));
    let signature = words(google.and_then(|google| google.get("thought_signature")));
    match call.text("type").as_deref() {
        Some("custom") => named(id, call.object("custom"), Family::Custom, signature),
        _ => named(id, call.object("function"), Family::Function, signature),
    }
}

fn named<'a>(
    id: Option<Cow<'a, str>>,
    tool: Option<Object<'_, 'a>>,
    family: Family,
    signature: Option<Words<'a>>,
) -> Call<'a> {
    let get = |key| tool.as_ref().and_then(|tool| tool.get(key));
    let name = get("name").and_then(Value::text).unwrap_or_default();
    let arguments = match family {
        Family::Custom => free_text(get("input")),
        _ => arguments(get("arguments")),
    };
    Call { id, name, family, arguments, signature }
}

pub(super) fn block<'a>(block: &Object<'_, 'a>) -> Option<Bit<'a>> {
    Some(match &*block.text("type")? {
        "text" => Bit::Text(words(block.get("text"))?),
        // Mistral's reasoning stands among the texts.
        "thinking" => {
            let thought = block.get("thinking")?;
            let texts = || thought.list().filter_map(|part| part.object()?.text("text"));
            let text = words(Some(thought)).unwrap_or_else(|| texts().collect::<String>().into());
            reasoning(text, Seal::Open)
        }
        "refusal" => Bit::Text(words(block.get("refusal"))?),
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
fn address<'a>(block: &Object<'_, 'a>, key: &str) -> Option<Cow<'a, str>> {
    let value = block.get(key)?;
    value.text().or_else(|| value.object()?.text("url"))
}
