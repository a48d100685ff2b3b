//! Outlines a chat message.

use std::borrow::Cow;

use foxwedge_core::{
    AnswerShape, ArgumentsShape, CallFamily, ContentShape, DraftAnswer, DraftCall, MessageFlags,
    Part, PartKind, Role, SignatureState, Span, TextShape,
};

use crate::{
    json::{JsonScanner, JsonShape, ScanError, ScanResult},
    outline::{
        OutlineOptions, OutlineReader, UniqueFields, read_free_text, read_non_empty, read_role,
        read_string, read_string_arguments, read_text, read_unknown_field, require_string,
        text_fullness,
    },
};

fn known_role(role: &str) -> Option<Role> {
    Some(match role {
        "user" => Role::User,
        "assistant" => Role::Assistant,
        "tool" => Role::Answer,
        "system" => Role::System,
        "developer" => Role::Developer,
        "function" => Role::Neutral,
        _ => return None,
    })
}

/// What the content field turned out to be.
#[derive(Default)]
struct ChatContent {
    content: ContentShape,
    span: Span,
    empty: bool,
    /// A block of text has no text.
    has_empty_text: bool,
    media: bool,
    parts: usize,
}

/// Reads one message.
pub(crate) fn read_message<'a>(
    scan: &mut JsonScanner<'a>,
    reader: &mut OutlineReader<'a>,
) -> ScanResult<()> {
    let source = reader.source;
    let mut once = UniqueFields::default();
    let mut who = Role::Unknown;
    let mut body = ChatContent::default();
    let mut answers = None;
    let mut reasoning = None;
    let mut marks = MessageFlags::default();
    reader.pending_parts.clear();
    let span = scan.object(|scan, key, _| {
        match key {
            b"role" => {
                once.check(scan, 0, key)?;
                let (role, mark) = read_role(scan, source, known_role)?;
                (who, marks) = (role, marks.with(mark));
            }
            b"content" => {
                once.check(scan, 1, key)?;
                // Content parts stand before the calls, whatever the order of the fields.
                let calls = reader.pending_parts.len();
                body = read_content(scan, reader)?;
                reader.pending_parts.rotate_left(calls);
            }
            b"tool_calls" => {
                once.check(scan, 2, key)?;
                if read_calls(scan, reader)? {
                    marks = marks.with(MessageFlags::EMPTY_CALLS);
                }
            }
            b"tool_call_id" => {
                once.check(scan, 3, key)?;
                answers = read_non_empty(scan, source)?;
            }
            b"reasoning_content" => {
                once.check(scan, 4, key)?;
                let shape = scan.shape()?;
                let value = scan.skip()?;
                reasoning = (shape == JsonShape::String).then_some(value);
            }
            b"refusal" | b"audio" | b"function_call" => {
                let shape = scan.shape()?;
                scan.skip()?;
                if shape != JsonShape::Null {
                    marks = marks.with(MessageFlags::OTHER_BODY);
                }
            }
            b"prefix" => {
                let value = scan.skip()?;
                if value.of(source) == "true" {
                    marks = marks.with(MessageFlags::PREFIX);
                }
            }
            _ => read_unknown_field(scan, key, &mut marks)?,
        }
        Ok(())
    })?;
    if body.content == ContentShape::Other && who != Role::Answer {
        let at = body.span.start as usize;
        return Err(ScanError::new(at, "`content` is neither text nor a list"));
    }
    let calls = reader.pending_parts.len() > body.parts;
    if let Some(value) = reasoning.filter(|_| who == Role::Assistant) {
        reader.builder.push_part(value, PartKind::Reasoning(SignatureState::Plain));
    }
    if who == Role::Answer {
        let output = match body.content {
            ContentShape::Absent => AnswerShape::Missing,
            ContentShape::Null => AnswerShape::Null,
            ContentShape::Text | ContentShape::List if body.empty && body.has_empty_text => {
                AnswerShape::Missing
            }
            ContentShape::Text | ContentShape::List if body.empty => AnswerShape::Empty,
            ContentShape::Text | ContentShape::List if !body.has_empty_text => AnswerShape::Full,
            // An object where text belongs, or a list with a hole in it.
            ContentShape::Text | ContentShape::List | ContentShape::Other => AnswerShape::Malformed,
        };
        let answer = DraftAnswer {
            id: answers.into(),
            name: None,
            family: CallFamily::Function,
            output,
            content: body.span,
            media: body.media,
        };
        reader.builder.push_part(span, PartKind::answer(answer));
        reader.pending_parts.drain(..body.parts);
    }
    if calls && who != Role::Assistant {
        marks = marks.with(MessageFlags::STRAY_CALLS);
    }
    for part in reader.pending_parts.drain(..) {
        reader.builder.push_part(part.span, part.kind);
    }
    reader.builder.push_message(who, span, body.content, marks);
    Ok(())
}

fn read_content<'a>(
    scan: &mut JsonScanner<'a>,
    reader: &mut OutlineReader<'a>,
) -> ScanResult<ChatContent> {
    let before = reader.pending_parts.len();
    let mut body = ChatContent::default();
    match scan.shape()? {
        JsonShape::String => {
            let start = scan.position();
            let text = scan.string()?;
            body.span = Span::new(start, scan.position());
            body.content = ContentShape::Text;
            let says = text_fullness(reader.source, text);
            body.empty = says == TextShape::Empty;
            reader.pending_parts.push(Part { span: body.span, kind: PartKind::Text(says) });
        }
        JsonShape::Array => {
            body.content = ContentShape::List;
            body.span = scan.array(|scan, _| read_part(scan, reader))?;
            let parts = &reader.pending_parts[before..];
            let empty = |part: &Part<'_>| {
                matches!(part.kind, PartKind::Text(TextShape::Empty | TextShape::Missing))
            };
            body.empty = parts.iter().all(empty);
            body.has_empty_text =
                parts.iter().any(|part| matches!(part.kind, PartKind::Text(TextShape::Missing)));
            body.media = parts.iter().any(|part| matches!(part.kind, PartKind::Media));
        }
        JsonShape::Null => {
            body.content = ContentShape::Null;
            body.span = scan.skip()?;
        }
        JsonShape::Object | JsonShape::Number | JsonShape::Bool => {
            body.content = ContentShape::Other;
            body.span = scan.skip()?;
        }
    }
    body.parts = reader.pending_parts.len() - before;
    Ok(body)
}

fn read_part<'a>(scan: &mut JsonScanner<'a>, reader: &mut OutlineReader<'a>) -> ScanResult<()> {
    let mut once = UniqueFields::default();
    let mut kind = None;
    let mut says = None;
    if scan.shape()? != JsonShape::Object {
        return scan.fail("a content part is not an object");
    }
    let source = reader.source;
    let span = scan.object(|scan, key, _| {
        match key {
            b"type" => {
                once.check(scan, 0, key)?;
                kind = Some(require_string(scan, key)?);
            }
            b"text" => {
                once.check(scan, 1, key)?;
                says = read_text(scan, source, key)?;
            }
            _ => {
                scan.skip()?;
            }
        }
        Ok(())
    })?;
    let Some(kind) = kind else { return scan.fail("a content part has no `type`") };
    let kind = match &*kind.text(source) {
        "text" => PartKind::Text(says.unwrap_or(TextShape::Missing)),
        "refusal" => PartKind::Text(TextShape::Full),
        kind if is_media(kind) => PartKind::Media,
        _ => PartKind::Other,
    };
    reader.pending_parts.push(Part { span, kind });
    Ok(())
}

/// Reads `tool_calls`; tells whether it is an empty list.
fn read_calls<'a>(scan: &mut JsonScanner<'a>, reader: &mut OutlineReader<'a>) -> ScanResult<bool> {
    match scan.shape()? {
        JsonShape::Null => scan.skip().map(|_| false),
        JsonShape::Array => {
            let mut empty = true;
            scan.array(|scan, _| {
                empty = false;
                read_call(scan, reader)
            })?;
            Ok(empty)
        }
        _ => scan.fail("`tool_calls` is not a list"),
    }
}

fn read_call<'a>(scan: &mut JsonScanner<'a>, reader: &mut OutlineReader<'a>) -> ScanResult<()> {
    if scan.shape()? != JsonShape::Object {
        return scan.fail("a call is not an object");
    }
    let (source, want) = (reader.source, reader.options);
    let mut once = UniqueFields::default();
    let mut id = None;
    let mut function = None;
    let mut custom = None;
    let mut says_custom = None;
    let span = scan.object(|scan, key, _| {
        match key {
            b"id" => {
                once.check(scan, 0, key)?;
                id = read_non_empty(scan, source)?;
            }
            b"function" => {
                once.check(scan, 1, key)?;
                if scan.shape()? == JsonShape::Object {
                    function = Some(read_function(scan, source, want)?);
                } else {
                    scan.skip()?;
                }
            }
            b"custom" => {
                once.check(scan, 2, key)?;
                if scan.shape()? == JsonShape::Object {
                    custom = Some(read_custom_tool(scan, source)?);
                } else {
                    scan.skip()?;
                }
            }
            b"type" => {
                once.check(scan, 3, key)?;
                says_custom =
                    read_string(scan)?.and_then(|kind| is_custom_type(&kind.text(source)));
            }
            _ => {
                scan.skip()?;
            }
        }
        Ok(())
    })?;
    let is_custom = says_custom.unwrap_or(custom.is_some() && function.is_none());
    let (name, arguments) = if is_custom {
        custom.unwrap_or((None, ArgumentsShape::NoInput))
    } else {
        function.unwrap_or((None, ArgumentsShape::Missing))
    };
    let (family, typed) = (CallFamily::Function, says_custom.is_some());
    let (id, name) = (id.into(), name.into());
    let call = DraftCall { id, name, family, arguments, signed: false, typed };
    reader.pending_parts.push(Part { span, kind: PartKind::call(call) });
    Ok(())
}

/// Whether parts of this type hold media.
pub(super) fn is_media(kind: &str) -> bool {
    const MEDIA: [&str; 7] =
        ["image_url", "input_audio", "file", "image", "video_url", "audio_url", "document_url"];
    MEDIA.contains(&kind)
}

/// Whether a type of call is the custom one; none that is known if it is neither.
pub(super) fn is_custom_type(kind: &str) -> Option<bool> {
    match kind {
        "function" => Some(false),
        "custom" => Some(true),
        _ => None,
    }
}

/// The name of a custom tool, and what became of its free text.
fn read_custom_tool<'a>(
    scan: &mut JsonScanner<'a>,
    source: &'a str,
) -> ScanResult<(Option<Cow<'a, str>>, ArgumentsShape)> {
    let mut once = UniqueFields::default();
    let mut found = (None, ArgumentsShape::NoInput);
    scan.object(|scan, key, _| {
        match key {
            b"name" => {
                once.check(scan, 0, key)?;
                found.0 = read_non_empty(scan, source)?;
            }
            b"input" => {
                once.check(scan, 1, key)?;
                found.1 = read_free_text(scan)?;
            }
            _ => {
                scan.skip()?;
            }
        }
        Ok(())
    })?;
    Ok(found)
}

/// The name and the arguments of what is called.
fn read_function<'a>(
    scan: &mut JsonScanner<'a>,
    source: &'a str,
    want: OutlineOptions,
) -> ScanResult<(Option<Cow<'a, str>>, ArgumentsShape)> {
    let mut once = UniqueFields::default();
    let mut found = (None, ArgumentsShape::Missing);
    scan.object(|scan, key, _| {
        match key {
            b"name" => {
                once.check(scan, 0, key)?;
                found.0 = read_non_empty(scan, source)?;
            }
            b"arguments" => {
                once.check(scan, 1, key)?;
                found.1 = read_string_arguments(scan, source, want)?;
            }
            _ => {
                scan.skip()?;
            }
        }
        Ok(())
    })?;
    Ok(found)
}
