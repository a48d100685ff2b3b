//! Reads the outline of a chat message.

use std::borrow::Cow;

use foxwedge_core::{
    AnswerShape, ArgumentsShape, CallFamily, ContentShape, DraftAnswer, DraftCall, MessageFlags,
    Part, PartKind, Role, SignatureState, Span, TextShape,
};

use crate::outline::{
    OutlineOptions, OutlineReader, UniqueFields, foreign_answer, push_foreign_answer,
    read_free_text, read_non_empty, read_role, read_string, read_string_arguments, read_text,
    read_unknown_field, require_string, text_fullness,
};
use foxwedge_json::{JsonScanner, JsonShape, ScanError, ScanResult};

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

/// The content field of a message.
#[derive(Default)]
struct ChatContent {
    content: ContentShape,
    span: Span,
    empty: bool,
    /// A text part has no text.
    has_empty_text: bool,
    media: bool,
    parts: usize,
    /// Where a list has an element that is not an object.
    stray: Option<usize>,
}

/// The fields of an output of the Responses format.
#[derive(Default)]
struct ForeignOutput<'a> {
    /// Its type is that of an output with text.
    is_output: bool,
    call_id: Option<Cow<'a, str>>,
    content: Span,
}

fn is_output_type(scan: &mut JsonScanner<'_>, source: &str) -> ScanResult<bool> {
    let kind = read_string(scan)?.map(|kind| kind.text(source));
    Ok(matches!(kind.as_deref(), Some("function_call_output" | "custom_tool_call_output")))
}

/// Reads one message.
pub(crate) fn read_message<'a>(
    scan: &mut JsonScanner<'a>,
    reader: &mut OutlineReader<'a>,
) -> ScanResult<()> {
    let source = reader.source;
    let mut unique = UniqueFields::default();
    let mut role = Role::Unknown;
    let mut body = ChatContent::default();
    let mut call_id = None;
    let mut reasoning = None;
    let mut flags = MessageFlags::default();
    let mut output = ForeignOutput::default();
    reader.pending_parts.clear();
    let span = scan.object(|scan, key, _| {
        match key {
            b"role" => {
                unique.check(scan, 0, key)?;
                let (parsed_role, flag) = read_role(scan, source, known_role)?;
                (role, flags) = (parsed_role, flags.with(flag));
            }
            b"content" => {
                unique.check(scan, 1, key)?;
                // Content parts come before the calls, in any order of the fields.
                let calls = reader.pending_parts.len();
                body = read_content(scan, reader)?;
                reader.pending_parts.rotate_left(calls);
            }
            b"tool_calls" => {
                unique.check(scan, 2, key)?;
                if read_calls(scan, reader)? {
                    flags = flags.with(MessageFlags::EMPTY_CALLS);
                }
            }
            b"tool_call_id" => {
                unique.check(scan, 3, key)?;
                call_id = read_non_empty(scan, source)?;
            }
            b"type" => output.is_output = is_output_type(scan, source)?,
            b"call_id" => output.call_id = read_non_empty(scan, source)?,
            b"output" => output.content = scan.skip()?,
            b"reasoning_content" => {
                unique.check(scan, 4, key)?;
                let shape = scan.shape()?;
                let value = scan.skip()?;
                reasoning = (shape == JsonShape::String).then_some(value);
            }
            b"refusal" | b"audio" | b"function_call" => {
                let shape = scan.shape()?;
                scan.skip()?;
                if shape != JsonShape::Null {
                    flags = flags.with(MessageFlags::OTHER_BODY);
                }
            }
            b"prefix" => {
                let value = scan.skip()?;
                if value.of(source) == "true" {
                    flags = flags.with(MessageFlags::PREFIX);
                }
            }
            _ => read_unknown_field(scan, key, &mut flags)?,
        }
        Ok(())
    })?;
    if role == Role::Unknown
        && !flags.has(MessageFlags::MODEL)
        && body.content == ContentShape::Absent
        && let Some(id) = output.call_id.take_if(|_| output.is_output)
    {
        reader.pending_parts.clear();
        push_foreign_answer(reader, span, id, output.content);
        return Ok(());
    }
    let is_filled = match output.content.of(source).as_bytes() {
        [b'"', rest @ ..] => rest.len() > 1,
        [b'[' | b'{', ..] => !scan.is_blank_inside(output.content),
        _ => false,
    };
    if is_filled || output.call_id.is_some() {
        flags = flags.with(MessageFlags::UNKNOWN_BODY);
    }
    // Only the user's messages take results of other formats.
    if !role.is_user() || flags.has(MessageFlags::MODEL) {
        let foreign = reader.pending_parts.iter_mut().filter(|it| it.kind.is_foreign_answer());
        foreign.for_each(|part| part.kind = PartKind::Other);
    }
    if body.content == ContentShape::Other && role != Role::Answer {
        let at = body.span.start as usize;
        return Err(ScanError::new(at, "`content` is neither text nor a list"));
    }
    if let Some(at) = body.stray.filter(|_| role != Role::Answer) {
        return Err(ScanError::new(at, "a content part is not an object"));
    }
    let calls = reader.pending_parts.len() > body.parts;
    if let Some(value) = reasoning.filter(|_| role == Role::Assistant) {
        reader.builder.push_part(value, PartKind::Reasoning(SignatureState::Plain));
    }
    if role == Role::Answer {
        let output = match body.content {
            _ if body.stray.is_some() => AnswerShape::Malformed,
            ContentShape::Absent => AnswerShape::Missing,
            ContentShape::Null => AnswerShape::Null,
            ContentShape::Text | ContentShape::List if body.empty && body.has_empty_text => {
                AnswerShape::Missing
            }
            ContentShape::Text | ContentShape::List if body.empty => AnswerShape::Empty,
            ContentShape::Text | ContentShape::List if !body.has_empty_text => AnswerShape::Full,
            // An object in place of text, or a list with a text part without text.
            ContentShape::Text | ContentShape::List | ContentShape::Other => AnswerShape::Malformed,
        };
        let answer = DraftAnswer {
            id: call_id.into(),
            name: None,
            family: CallFamily::Function,
            output,
            content: body.span,
            media: body.media,
            foreign: false,
        };
        reader.builder.push_part(span, PartKind::answer(answer));
        reader.pending_parts.drain(..body.parts);
    }
    if calls && role != Role::Assistant {
        flags = flags.with(MessageFlags::STRAY_CALLS);
    }
    for part in reader.pending_parts.drain(..) {
        reader.builder.push_part(part.span, part.kind);
    }
    reader.builder.push_message(role, span, body.content, flags);
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
            let shape = text_fullness(reader.source, text);
            body.empty = shape == TextShape::Empty;
            reader.pending_parts.push(Part { span: body.span, kind: PartKind::Text(shape) });
        }
        JsonShape::Array => {
            body.content = ContentShape::List;
            body.span = scan.array(|scan, _| match scan.shape()? {
                JsonShape::Object => read_part(scan, reader),
                _ => {
                    body.stray.get_or_insert(scan.position());
                    scan.skip().map(drop)
                }
            })?;
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
    let mut unique = UniqueFields::default();
    let mut kind = None;
    let mut shape = None;
    let (mut tool_use_id, mut content) = (None, Span::NOWHERE);
    let source = reader.source;
    let span = scan.object(|scan, key, _| {
        match key {
            b"type" => {
                unique.check(scan, 0, key)?;
                kind = Some(require_string(scan, key)?);
            }
            b"text" => {
                unique.check(scan, 1, key)?;
                shape = read_text(scan, source, key)?;
            }
            b"tool_use_id" => tool_use_id = read_non_empty(scan, source)?,
            b"content" => content = scan.skip()?,
            _ => {
                scan.skip()?;
            }
        }
        Ok(())
    })?;
    let Some(kind) = kind else { return scan.fail("a content part has no `type`") };
    let kind = match (&*kind.text(source), tool_use_id) {
        // A result as in Anthropic messages.
        ("tool_result", Some(id)) => foreign_answer(id, source, content),
        (kind, _) => part_kind(kind, shape),
    };
    reader.pending_parts.push(Part { span, kind });
    Ok(())
}

fn part_kind<'a>(kind: &str, shape: Option<TextShape>) -> PartKind<'a> {
    match kind {
        "text" => PartKind::Text(shape.unwrap_or(TextShape::Missing)),
        "refusal" => PartKind::Text(TextShape::Full),
        kind if is_media(kind) => PartKind::Media,
        _ => PartKind::Other,
    }
}

/// Reads `tool_calls`. Returns whether it is an empty list.
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
    let (source, options) = (reader.source, reader.options);
    let mut unique = UniqueFields::default();
    let mut id = None;
    let mut function = None;
    let mut custom = None;
    let mut declared_custom = None;
    let (mut has_other_type, mut has_tool) = (false, false);
    let (mut has_flat_type, mut has_flat_name) = (false, false);
    let span = scan.object(|scan, key, _| {
        match key {
            b"id" => {
                unique.check(scan, 0, key)?;
                id = read_non_empty(scan, source)?;
            }
            b"function" => {
                unique.check(scan, 1, key)?;
                has_tool = true;
                if scan.shape()? == JsonShape::Object {
                    function = Some(read_function(scan, source, options)?);
                } else {
                    scan.skip()?;
                }
            }
            b"custom" => {
                unique.check(scan, 2, key)?;
                has_tool = true;
                if scan.shape()? == JsonShape::Object {
                    custom = Some(read_custom_tool(scan, source)?);
                } else {
                    scan.skip()?;
                }
            }
            b"type" => {
                unique.check(scan, 3, key)?;
                let kind = read_string(scan)?.map(|kind| kind.text(source));
                declared_custom = kind.as_deref().and_then(is_custom_type);
                has_flat_type = kind.as_deref() == Some(FLAT_CALL_TYPE);
                has_other_type = declared_custom.is_none() && kind.is_some_and(|it| !it.is_empty());
            }
            b"name" => has_flat_name = read_non_empty(scan, source)?.is_some(),
            _ => {
                scan.skip()?;
            }
        }
        Ok(())
    })?;
    let is_custom = declared_custom.unwrap_or(custom.is_some() && function.is_none());
    // A call of an unknown type has its tool in a field of its own. It is paired, but not changed.
    let is_unknown = has_other_type && !has_tool && !(has_flat_type && has_flat_name);
    let (name, arguments) = if is_unknown {
        (Some(Cow::Borrowed("unknown")), ArgumentsShape::Valid)
    } else if is_custom {
        custom.unwrap_or((None, ArgumentsShape::NoInput))
    } else {
        function.unwrap_or((None, ArgumentsShape::Missing))
    };
    let (family, typed) = (CallFamily::Function, declared_custom.is_some() || is_unknown);
    let (id, name) = (id.into(), name.into());
    let call = DraftCall { id, name, family, arguments, signed: false, typed };
    reader.pending_parts.push(Part { span, kind: PartKind::call(call) });
    Ok(())
}

/// The type that LangChain gives its calls, which have their name and arguments as fields.
const FLAT_CALL_TYPE: &str = "tool_call";

/// Whether content parts of this type hold media.
pub(super) fn is_media(kind: &str) -> bool {
    const MEDIA: [&str; 7] =
        ["image_url", "input_audio", "file", "image", "video_url", "audio_url", "document_url"];
    MEDIA.contains(&kind)
}

/// Whether a call type is `custom`. `None` if the type is unknown.
pub(super) fn is_custom_type(kind: &str) -> Option<bool> {
    match kind {
        "function" => Some(false),
        "custom" => Some(true),
        _ => None,
    }
}

/// Reads the name of a custom tool and the shape of its input.
fn read_custom_tool<'a>(
    scan: &mut JsonScanner<'a>,
    source: &'a str,
) -> ScanResult<(Option<Cow<'a, str>>, ArgumentsShape)> {
    let mut unique = UniqueFields::default();
    let mut tool = (None, ArgumentsShape::NoInput);
    scan.object(|scan, key, _| {
        match key {
            b"name" => {
                unique.check(scan, 0, key)?;
                tool.0 = read_non_empty(scan, source)?;
            }
            b"input" => {
                unique.check(scan, 1, key)?;
                tool.1 = read_free_text(scan)?;
            }
            _ => {
                scan.skip()?;
            }
        }
        Ok(())
    })?;
    Ok(tool)
}

/// Reads the name of a function and the shape of its arguments.
fn read_function<'a>(
    scan: &mut JsonScanner<'a>,
    source: &'a str,
    options: OutlineOptions,
) -> ScanResult<(Option<Cow<'a, str>>, ArgumentsShape)> {
    let mut unique = UniqueFields::default();
    let mut function = (None, ArgumentsShape::Missing);
    scan.object(|scan, key, _| {
        match key {
            b"name" => {
                unique.check(scan, 0, key)?;
                function.0 = read_non_empty(scan, source)?;
            }
            b"arguments" => {
                unique.check(scan, 1, key)?;
                function.1 = read_string_arguments(scan, source, options)?;
            }
            _ => {
                scan.skip()?;
            }
        }
        Ok(())
    })?;
    Ok(function)
}
