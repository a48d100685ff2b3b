//! Outlines an Anthropic message.

use foxwedge_core::{
    Answer, Arguments, Call, Content, Family, Kind, Marks, Output, Role, Seal, Span, Text,
};

use crate::{
    json::{Scan, Scanner, Shape},
    outline::{
        Once, Reader, fullness, object_arguments, output, role, string, text, unknown, word, words,
    },
};

pub(crate) fn known(role: &str) -> Option<Role> {
    Some(match role {
        "user" => Role::User,
        "assistant" => Role::Assistant,
        "system" => Role::System,
        _ => return None,
    })
}

/// Reads one message.
pub(crate) fn message<'a>(scan: &mut Scanner<'a>, reader: &mut Reader<'a>) -> Scan<()> {
    let source = reader.source;
    let mut once = Once::default();
    let mut who = Role::Unknown;
    let mut content = Content::Absent;
    let mut marks = Marks::default();
    let mut other = Marks::default();
    let span = scan.object(|scan, key, _| {
        match key {
            b"role" => {
                once.field(scan, 0, key)?;
                (who, marks) = role(scan, source, known)?;
            }
            b"content" => {
                once.field(scan, 1, key)?;
                reader.compaction = false;
                content = body(scan, reader, block)?;
            }
            _ => unknown(scan, key, &mut other)?,
        }
        Ok(())
    })?;
    if std::mem::take(&mut reader.compaction) {
        marks = marks.with(Marks::COMPACTION);
    }
    reader.builder.message(who, span, content, marks.with(other));
    Ok(())
}

/// Reads a content field that is a string or a list of blocks.
pub(crate) fn body<'a>(
    scan: &mut Scanner<'a>,
    reader: &mut Reader<'a>,
    block: fn(&mut Scanner<'a>, &mut Reader<'a>) -> Scan<()>,
) -> Scan<Content> {
    Ok(match scan.shape()? {
        Shape::String => {
            let start = scan.position();
            let text = scan.string()?;
            let says = fullness(reader.source, text);
            reader.builder.part(Span::new(start, scan.position()), Kind::Text(says));
            Content::Text
        }
        Shape::Array => {
            scan.array(|scan, _| match scan.shape()? {
                Shape::Object => block(scan, reader),
                _ => scan.trouble("a block is not an object"),
            })?;
            Content::List
        }
        Shape::Null => scan.skip().map(|_| Content::Null)?,
        Shape::Object | Shape::Number | Shape::Bool => {
            return scan.trouble("`content` is neither text nor a list");
        }
    })
}

/// Reads one block.
pub(crate) fn block<'a>(scan: &mut Scanner<'a>, reader: &mut Reader<'a>) -> Scan<()> {
    let source = reader.source;
    let mut once = Once::default();
    let mut kind = None;
    let (mut id, mut tool_use_id, mut name) = (None, None, None);
    let mut arguments = Arguments::Missing;
    let mut content = (Output::Missing, Span::NOWHERE);
    let mut says = None;
    let mut sealed = false;
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
            b"id" => {
                once.field(scan, 2, key)?;
                id = word(scan, source)?;
            }
            b"tool_use_id" => {
                once.field(scan, 3, key)?;
                tool_use_id = word(scan, source)?;
            }
            b"name" => {
                once.field(scan, 4, key)?;
                name = word(scan, source)?;
            }
            b"input" => {
                once.field(scan, 5, key)?;
                arguments = object_arguments(scan)?;
            }
            b"content" => {
                once.field(scan, 6, key)?;
                content = output(scan)?;
            }
            b"signature" | b"data" => {
                sealed |= string(scan)?.is_some_and(|text| !text.span.is_empty());
            }
            _ => {
                scan.skip()?;
            }
        }
        Ok(())
    })?;
    let Some(kind) = kind else { return scan.trouble("a block has no `type`") };
    let seal = if sealed { Seal::Signed } else { Seal::Unsigned };
    let kind = match &*kind.text(source) {
        "text" => Kind::Text(says.unwrap_or(Text::Missing)),
        "tool_use" => Kind::call(Call {
            id: id.into(),
            name: name.into(),
            family: Family::Function,
            arguments,
            signed: false,
            typed: true,
        }),
        "tool_result" => Kind::answer(Answer {
            id: tool_use_id.into(),
            name: None,
            family: Family::Function,
            output: content.0,
            content: content.1,
            media: false,
        }),
        "thinking" | "redacted_thinking" => Kind::Reasoning(seal),
        "image" | "document" => Kind::Media,
        "server_tool_use" | "mcp_tool_use" => Kind::ServerCall(id.map(Box::new)),
        "compaction" => {
            reader.compaction = true;
            Kind::Other
        }
        other if other.ends_with("_tool_result") => Kind::ServerAnswer(tool_use_id.map(Box::new)),
        _ => Kind::Other,
    };
    reader.builder.part(span, kind);
    Ok(())
}
