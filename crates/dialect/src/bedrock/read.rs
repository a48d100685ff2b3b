//! Outlines a Converse message.

use foxwedge_core::{
    Answer, Arguments, Call, Content, Family, Kind, Marks, OptionalText, Output, Role, Seal, Span,
};

use crate::{
    anthropic,
    json::{Scan, Scanner, Shape},
    outline::{
        Once, Reader, fullness, is_null, object_arguments, output, role, string, text, unknown,
        word,
    },
};

fn known(role: &str) -> Option<Role> {
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
                content = anthropic::body(scan, reader, block)?;
            }
            _ => unknown(scan, key, &mut other)?,
        }
        Ok(())
    })?;
    reader.builder.message(who, span, content, marks.with(other));
    Ok(())
}

fn block<'a>(scan: &mut Scanner<'a>, reader: &mut Reader<'a>) -> Scan<()> {
    let source = reader.source;
    let mut once = Once::default();
    let mut kind = None;
    let span = scan.object(|scan, key, _| {
        if is_null(scan)? {
            return Ok(());
        }
        let found = match key {
            b"text" => {
                once.field(scan, 0, key)?;
                Kind::Text(fullness(source, text(scan, key)?))
            }
            b"toolUse" => {
                once.field(scan, 1, key)?;
                tool_use(scan, source)?
            }
            b"toolResult" => {
                once.field(scan, 2, key)?;
                tool_result(scan, source)?
            }
            b"reasoningContent" => {
                once.field(scan, 3, key)?;
                let value = scan.skip()?;
                let signed = ["\"signature\"", "\"redactedContent\""];
                let sealed = signed.iter().any(|mark| value.of(source).contains(mark));
                Kind::Reasoning(if sealed { Seal::Signed } else { Seal::Plain })
            }
            b"image" | b"document" | b"video" | b"audio" => scan.skip().map(|_| Kind::Media)?,
            _ => scan.skip().map(|_| Kind::Other)?,
        };
        if !matches!(found, Kind::Other) || kind.is_none() {
            kind = Some(found);
        }
        Ok(())
    })?;
    reader.builder.part(span, kind.unwrap_or(Kind::Other));
    Ok(())
}

fn object<'a>(
    scan: &mut Scanner<'a>,
    what: &str,
    each: impl FnMut(&mut Scanner<'a>, &[u8], Span) -> Scan<()>,
) -> Scan<()> {
    match scan.shape()? {
        Shape::Object => scan.object(each).map(drop),
        _ => scan.trouble(format!("`{what}` is not an object")),
    }
}

fn tool_use<'a>(scan: &mut Scanner<'a>, source: &'a str) -> Scan<Kind<'a>> {
    let mut once = Once::default();
    let mut call = Call {
        id: OptionalText::NONE,
        name: OptionalText::NONE,
        family: Family::Function,
        arguments: Arguments::Missing,
        signed: false,
        typed: true,
    };
    let mut server = false;
    object(scan, "toolUse", |scan, key, _| {
        match key {
            b"toolUseId" => {
                once.field(scan, 0, key)?;
                call.id = word(scan, source)?.into();
            }
            b"name" => {
                once.field(scan, 1, key)?;
                call.name = word(scan, source)?.into();
            }
            b"input" => {
                once.field(scan, 2, key)?;
                call.arguments = object_arguments(scan)?;
            }
            b"type" => {
                server = string(scan)?.is_some_and(|kind| kind.text(source) == "server_tool_use")
            }
            _ => drop(scan.skip()?),
        }
        Ok(())
    })?;
    Ok(if server { Kind::ServerCall(call.id.to_cow().map(Box::new)) } else { Kind::call(call) })
}

fn tool_result<'a>(scan: &mut Scanner<'a>, source: &'a str) -> Scan<Kind<'a>> {
    let mut once = Once::default();
    let mut id = None;
    let mut content = (Output::Missing, Span::NOWHERE);
    let (mut failed, mut server) = (false, false);
    object(scan, "toolResult", |scan, key, _| {
        match key {
            b"toolUseId" => {
                once.field(scan, 0, key)?;
                id = word(scan, source)?;
            }
            b"content" => {
                once.field(scan, 1, key)?;
                let shape = scan.shape()?;
                content = output(scan)?;
                // Here only a list is taken.
                if shape == Shape::String {
                    content.0 = match content.0 {
                        Output::Empty => Output::Missing,
                        _ => Output::Odd,
                    };
                }
            }
            b"status" => {
                failed = string(scan)?.is_some_and(|status| status.text(source) == "error")
            }
            // The answer of a tool that the provider ran itself names that tool's type.
            b"type" => {
                server = string(scan)?.is_some_and(|kind| kind.text(source) != "tool_result")
            }
            _ => drop(scan.skip()?),
        }
        Ok(())
    })?;
    if server {
        return Ok(Kind::ServerAnswer(id.map(Box::new)));
    }
    let output = match content.0 {
        Output::Empty if failed => Output::EmptyError,
        other => other,
    };
    Ok(Kind::answer(Answer {
        id: id.into(),
        name: None,
        family: Family::Function,
        output,
        content: content.1,
        media: false,
    }))
}
