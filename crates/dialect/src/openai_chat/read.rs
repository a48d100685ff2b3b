//! Outlines a chat message.

use std::borrow::Cow;

use foxwedge_core::{
    Answer, Arguments, Call, Content, Family, Kind, Marks, Output, Part, Role, Seal, Span, Text,
};

use crate::{
    json::{Scan, Scanner, Shape, Trouble},
    outline::{
        Once, Reader, Want, free_text, fullness, role, string, string_arguments, text, unknown,
        word, words,
    },
};

fn known(role: &str) -> Option<Role> {
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
struct Body {
    content: Content,
    span: Span,
    empty: bool,
    /// A block of text has no text.
    holes: bool,
    media: bool,
    parts: usize,
}

/// Reads one message.
pub(crate) fn message<'a>(scan: &mut Scanner<'a>, reader: &mut Reader<'a>) -> Scan<()> {
    let source = reader.source;
    let mut once = Once::default();
    let mut who = Role::Unknown;
    let mut body = Body::default();
    let mut answers = None;
    let mut reasoning = None;
    let mut marks = Marks::default();
    reader.waiting.clear();
    let span = scan.object(|scan, key, _| {
        match key {
            b"role" => {
                once.field(scan, 0, key)?;
                let (role, mark) = role(scan, source, known)?;
                (who, marks) = (role, marks.with(mark));
            }
            b"content" => {
                once.field(scan, 1, key)?;
                // Content parts stand before the calls, whatever the order of the fields.
                let calls = reader.waiting.len();
                body = content(scan, reader)?;
                reader.waiting.rotate_left(calls);
            }
            b"tool_calls" => {
                once.field(scan, 2, key)?;
                if calls(scan, reader)? {
                    marks = marks.with(Marks::EMPTY_CALLS);
                }
            }
            b"tool_call_id" => {
                once.field(scan, 3, key)?;
                answers = word(scan, source)?;
            }
            b"reasoning_content" => {
                once.field(scan, 4, key)?;
                let shape = scan.shape()?;
                let value = scan.skip()?;
                reasoning = (shape == Shape::String).then_some(value);
            }
            b"refusal" | b"audio" | b"function_call" => {
                let shape = scan.shape()?;
                scan.skip()?;
                if shape != Shape::Null {
                    marks = marks.with(Marks::OTHER_BODY);
                }
            }
            b"prefix" => {
                let value = scan.skip()?;
                if value.of(source) == "true" {
                    marks = marks.with(Marks::PREFIX);
                }
            }
            _ => unknown(scan, key, &mut marks)?,
        }
        Ok(())
    })?;
    if body.content == Content::Other && who != Role::Answer {
        let at = body.span.start as usize;
        return Err(Trouble::new(at, "`content` is neither text nor a list"));
    }
    let calls = reader.waiting.len() > body.parts;
    if let Some(value) = reasoning.filter(|_| who == Role::Assistant) {
        reader.builder.part(value, Kind::Reasoning(Seal::Plain));
    }
    if who == Role::Answer {
        let output = match body.content {
            Content::Absent => Output::Missing,
            Content::Null => Output::Null,
            Content::Text | Content::List if body.empty && body.holes => Output::Missing,
            Content::Text | Content::List if body.empty => Output::Empty,
            Content::Text | Content::List if !body.holes => Output::Full,
            // An object where text belongs, or a list with a hole in it.
            Content::Text | Content::List | Content::Other => Output::Odd,
        };
        let answer = Answer {
            id: answers.into(),
            name: None,
            family: Family::Function,
            output,
            content: body.span,
            media: body.media,
        };
        reader.builder.part(span, Kind::answer(answer));
        reader.waiting.drain(..body.parts);
    }
    if calls && who != Role::Assistant {
        marks = marks.with(Marks::STRAY_CALLS);
    }
    for part in reader.waiting.drain(..) {
        reader.builder.part(part.span, part.kind);
    }
    reader.builder.message(who, span, body.content, marks);
    Ok(())
}

fn content<'a>(scan: &mut Scanner<'a>, reader: &mut Reader<'a>) -> Scan<Body> {
    let before = reader.waiting.len();
    let mut body = Body::default();
    match scan.shape()? {
        Shape::String => {
            let start = scan.position();
            let text = scan.string()?;
            body.span = Span::new(start, scan.position());
            body.content = Content::Text;
            let says = fullness(reader.source, text);
            body.empty = says == Text::Empty;
            reader.waiting.push(Part { span: body.span, kind: Kind::Text(says) });
        }
        Shape::Array => {
            body.content = Content::List;
            body.span = scan.array(|scan, _| part(scan, reader))?;
            let parts = &reader.waiting[before..];
            let empty =
                |part: &Part<'_>| matches!(part.kind, Kind::Text(Text::Empty | Text::Missing));
            body.empty = parts.iter().all(empty);
            body.holes = parts.iter().any(|part| matches!(part.kind, Kind::Text(Text::Missing)));
            body.media = parts.iter().any(|part| matches!(part.kind, Kind::Media));
        }
        Shape::Null => {
            body.content = Content::Null;
            body.span = scan.skip()?;
        }
        Shape::Object | Shape::Number | Shape::Bool => {
            body.content = Content::Other;
            body.span = scan.skip()?;
        }
    }
    body.parts = reader.waiting.len() - before;
    Ok(body)
}

fn part<'a>(scan: &mut Scanner<'a>, reader: &mut Reader<'a>) -> Scan<()> {
    let mut once = Once::default();
    let mut kind = None;
    let mut says = None;
    if scan.shape()? != Shape::Object {
        return scan.trouble("a content part is not an object");
    }
    let source = reader.source;
    let span = scan.object(|scan, key, _| {
        match key {
            b"type" => {
                once.field(scan, 0, key)?;
                kind = Some(text(scan, key)?);
            }
            b"text" => {
                once.field(scan, 1, key)?;
                says = words(scan, source, key)?;
            }
            _ => {
                scan.skip()?;
            }
        }
        Ok(())
    })?;
    let Some(kind) = kind else { return scan.trouble("a content part has no `type`") };
    let kind = match &*kind.text(source) {
        "text" => Kind::Text(says.unwrap_or(Text::Missing)),
        "refusal" => Kind::Text(Text::Full),
        kind if is_media(kind) => Kind::Media,
        _ => Kind::Other,
    };
    reader.waiting.push(Part { span, kind });
    Ok(())
}

/// Reads `tool_calls`; tells whether it is an empty list.
fn calls<'a>(scan: &mut Scanner<'a>, reader: &mut Reader<'a>) -> Scan<bool> {
    match scan.shape()? {
        Shape::Null => scan.skip().map(|_| false),
        Shape::Array => {
            let mut empty = true;
            scan.array(|scan, _| {
                empty = false;
                call(scan, reader)
            })?;
            Ok(empty)
        }
        _ => scan.trouble("`tool_calls` is not a list"),
    }
}

fn call<'a>(scan: &mut Scanner<'a>, reader: &mut Reader<'a>) -> Scan<()> {
    if scan.shape()? != Shape::Object {
        return scan.trouble("a call is not an object");
    }
    let (source, want) = (reader.source, reader.want);
    let mut once = Once::default();
    let mut id = None;
    let mut function = None;
    let mut custom = None;
    let mut says_custom = None;
    let span = scan.object(|scan, key, _| {
        match key {
            b"id" => {
                once.field(scan, 0, key)?;
                id = word(scan, source)?;
            }
            b"function" => {
                once.field(scan, 1, key)?;
                if scan.shape()? == Shape::Object {
                    function = Some(named(scan, source, want)?);
                } else {
                    scan.skip()?;
                }
            }
            b"custom" => {
                once.field(scan, 2, key)?;
                if scan.shape()? == Shape::Object {
                    custom = Some(free(scan, source)?);
                } else {
                    scan.skip()?;
                }
            }
            b"type" => {
                once.field(scan, 3, key)?;
                says_custom = string(scan)?.and_then(|kind| custom_type(&kind.text(source)));
            }
            _ => {
                scan.skip()?;
            }
        }
        Ok(())
    })?;
    let is_custom = says_custom.unwrap_or(custom.is_some() && function.is_none());
    let (name, arguments) = if is_custom {
        custom.unwrap_or((None, Arguments::NoInput))
    } else {
        function.unwrap_or((None, Arguments::Missing))
    };
    let (family, typed) = (Family::Function, says_custom.is_some());
    let (id, name) = (id.into(), name.into());
    let call = Call { id, name, family, arguments, signed: false, typed };
    reader.waiting.push(Part { span, kind: Kind::call(call) });
    Ok(())
}

/// Whether parts of this type hold media.
pub(super) fn is_media(kind: &str) -> bool {
    const MEDIA: [&str; 7] =
        ["image_url", "input_audio", "file", "image", "video_url", "audio_url", "document_url"];
    MEDIA.contains(&kind)
}

/// Whether a type of call is the custom one; none that is known if it is neither.
pub(super) fn custom_type(kind: &str) -> Option<bool> {
    match kind {
        "function" => Some(false),
        "custom" => Some(true),
        _ => None,
    }
}

/// The name of a custom tool, and what became of its free text.
fn free<'a>(scan: &mut Scanner<'a>, source: &'a str) -> Scan<(Option<Cow<'a, str>>, Arguments)> {
    let mut once = Once::default();
    let mut found = (None, Arguments::NoInput);
    scan.object(|scan, key, _| {
        match key {
            b"name" => {
                once.field(scan, 0, key)?;
                found.0 = word(scan, source)?;
            }
            b"input" => {
                once.field(scan, 1, key)?;
                found.1 = free_text(scan)?;
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
fn named<'a>(
    scan: &mut Scanner<'a>,
    source: &'a str,
    want: Want,
) -> Scan<(Option<Cow<'a, str>>, Arguments)> {
    let mut once = Once::default();
    let mut found = (None, Arguments::Missing);
    scan.object(|scan, key, _| {
        match key {
            b"name" => {
                once.field(scan, 0, key)?;
                found.0 = word(scan, source)?;
            }
            b"arguments" => {
                once.field(scan, 1, key)?;
                found.1 = string_arguments(scan, source, want)?;
            }
            _ => {
                scan.skip()?;
            }
        }
        Ok(())
    })?;
    Ok(found)
}
