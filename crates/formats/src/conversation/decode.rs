//! What the decoders of all formats share.

use std::borrow::Cow;

use foxwedge_core::Format;

use super::{
    ContentPart, JsonText, MediaKind, MediaPart, MediaSource, ModelPart, ModelRole, PartNotes,
    PartPlacement, ReasoningPart, ReasoningSignature, UnknownPart,
};
use foxwedge_json::{JsonObject, JsonValue};

/// How the blocks of a format are decoded.
pub(crate) struct BlockDecodeFormat {
    /// The format.
    pub(crate) wire: Format,
    /// Reads the content of a block; `None` if its type is unknown.
    pub(crate) block: for<'a> fn(&JsonObject<'_, 'a>) -> Option<ContentPart<'a>>,
    /// Whether a field of a block is so common that it is never annotated.
    pub(crate) is_usual: fn(&[u8]) -> bool,
    /// Reads the annotations of a block besides its unknown fields.
    pub(crate) notes: for<'a> fn(&JsonObject<'_, 'a>) -> PartNotes<'a>,
    /// The fields of blocks that are known, or that mean nothing in other formats.
    pub(crate) known_fields: &'static [&'static str],
    /// The known fields of objects inside blocks.
    pub(crate) known_inner_fields: &'static [(&'static str, &'static [&'static str])],
    /// The type of a block that only marks the end of the cached prompt.
    pub(crate) cache_block: Option<&'static str>,
}

/// Reads content that is a string or a list of blocks.
pub(crate) fn read_content<'a>(
    value: Option<JsonValue<'_, 'a>>,
    format: &BlockDecodeFormat,
) -> Vec<ModelPart<'a>> {
    let Some(value) = value else { return Vec::new() };
    if let Some(text) = read_text(Some(value)) {
        return vec![ContentPart::Text(text).into()];
    }
    let mut parts: Vec<ModelPart<'a>> = Vec::new();
    for value in value.list() {
        // The marker applies to the block before it.
        if let Some(marker) = format.cache_block
            && let (Some(last), Some(object)) = (parts.last_mut(), value.object())
            && object.tag() == marker
            && object.others(&[marker]).is_empty()
        {
            last.notes_mut().cache_mark = Some(object.raw());
            continue;
        }
        parts.push(read_element(value, format));
    }
    parts
}

/// Reads one element of a list of blocks.
pub(crate) fn read_element<'a>(
    value: JsonValue<'_, 'a>,
    format: &BlockDecodeFormat,
) -> ModelPart<'a> {
    let json = value.raw();
    let Some(object) = value.object() else {
        value.mark_odd();
        return unknown_part(Cow::Borrowed(""), format.wire, PartPlacement::Block, json);
    };
    read_object(&object, format)
}

/// Reads one block.
pub(crate) fn read_object<'a>(
    object: &JsonObject<'_, 'a>,
    format: &BlockDecodeFormat,
) -> ModelPart<'a> {
    let json = object.raw();
    match (format.block)(object) {
        Some(content) => {
            let part = ModelPart::read(content, format.wire, PartPlacement::Block, json);
            match read_notes(object, format) {
                Some(notes) => part.with_notes(notes),
                None => part,
            }
        }
        None => {
            let name = object.text("type").unwrap_or_else(|| object.tag());
            unknown_part(name, format.wire, PartPlacement::Block, json)
        }
    }
}

/// Reads the annotations of a block; `None` if there are certainly none.
pub(crate) fn read_notes<'a>(
    block: &JsonObject<'_, 'a>,
    format: &BlockDecodeFormat,
) -> Option<PartNotes<'a>> {
    if block.keys().all(format.is_usual) {
        return None;
    }
    let mut notes = (format.notes)(block);
    // The default of every provider.
    notes.detail = notes.detail.filter(|detail| *detail != "auto");
    let mut unknown = unknown_fields(block, format.known_fields).unknown_fields;
    for (key, inside) in format.known_inner_fields {
        if let Some(object) = block.object(key) {
            unknown.extend(unknown_fields(&object, inside).unknown_fields);
        }
    }
    unknown.append(&mut notes.unknown_fields);
    notes.unknown_fields = unknown;
    Some(notes)
}

/// Notes the fields that are not known, unless they are empty or `false`.
pub(crate) fn unknown_fields<'a>(object: &JsonObject<'_, 'a>, known: &[&str]) -> PartNotes<'a> {
    let unknown = object.fields().filter(|(key, value)| {
        let is_default = matches!(value.raw(), "null" | "false" | "[]" | "{}" | "\"\"");
        !known.contains(&key.as_ref()) && !is_default
    });
    PartNotes { unknown_fields: unknown.map(|(key, _)| key).collect(), ..PartNotes::default() }
}

/// A part of a type that is not known.
pub(crate) fn unknown_part<'a>(
    name: Cow<'a, str>,
    format: Format,
    form: PartPlacement,
    json: &'a str,
) -> ModelPart<'a> {
    ModelPart::read(
        ContentPart::Unknown(UnknownPart { name, json: Cow::Borrowed(json) }),
        format,
        form,
        json,
    )
}

/// Parses a role of any format.
pub(crate) fn parse_role(role: &str) -> Option<ModelRole> {
    Some(match role {
        "user" => ModelRole::User,
        // These names always mean the model, in every format.
        "assistant" | "model" | "ai" => ModelRole::Assistant,
        "system" => ModelRole::System,
        "developer" => ModelRole::Developer,
        _ => return None,
    })
}

/// Reads the role of a message. Content with a missing or unknown role is the user's: repairs leave
/// such a role only beside something unknown, which a conversion removes.
pub(crate) fn read_role(message: &JsonObject<'_, '_>, content: &str) -> Option<ModelRole> {
    let role = message.text("role").and_then(|role| parse_role(&role));
    role.or_else(|| {
        message.get(content)?.mark_odd();
        Some(ModelRole::User)
    })
}

/// Reads arguments that are an object in some formats and a string in others.
pub(crate) fn read_arguments<'a>(value: Option<JsonValue<'_, 'a>>) -> JsonText<'a> {
    match value {
        Some(value) if !value.is_null() => {
            read_text(Some(value)).unwrap_or_else(|| value.raw().into())
        }
        _ => "{}".into(),
    }
}

/// Reads the free text of a custom call; a value that is not a string is kept as JSON.
pub(crate) fn read_free_text<'a>(value: Option<JsonValue<'_, 'a>>) -> JsonText<'a> {
    match value.filter(|value| !value.is_null()) {
        Some(value) => read_text(Some(value)).unwrap_or_else(|| value.raw().into()),
        None => JsonText::default(),
    }
}

/// The text of a string value.
pub(crate) fn read_text<'a>(value: Option<JsonValue<'_, 'a>>) -> Option<JsonText<'a>> {
    value?.raw_string().map(JsonText::from_json)
}

/// Media at a URL.
pub(crate) fn url_media<'a>(
    kind: MediaKind,
    url: Cow<'a, str>,
    name: Option<Cow<'a, str>>,
) -> ContentPart<'a> {
    let (source, media_type) = MediaSource::from_url(url);
    ContentPart::Media(MediaPart { kind, media_type, source, name })
}

/// Inline media, either plain base64 or a `data:` URL.
pub(crate) fn inline_media<'a>(
    kind: MediaKind,
    data: Cow<'a, str>,
    name: Option<Cow<'a, str>>,
) -> ContentPart<'a> {
    let (source, media_type) = match MediaSource::from_url(data) {
        (MediaSource::Url(data), _) => (MediaSource::Data(data), None),
        found => found,
    };
    ContentPart::Media(MediaPart { kind, media_type, source, name })
}

pub(crate) fn reasoning_part<'a>(
    text: JsonText<'a>,
    signature: ReasoningSignature<'a>,
) -> ContentPart<'a> {
    ContentPart::Reasoning(ReasoningPart { text, signature })
}

/// Joins texts with line breaks.
pub(crate) fn join_texts<'a>(mut texts: impl Iterator<Item = Cow<'a, str>>) -> Cow<'a, str> {
    let first = texts.next().unwrap_or_default();
    texts.fold(first, |mut all, text| {
        all.to_mut().push_str("\n\n");
        all.to_mut().push_str(&text);
        all
    })
}
