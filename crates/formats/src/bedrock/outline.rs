//! Reads the outline of a Converse message.

use foxwedge_core::{
    AnswerShape, ArgumentsShape, CallFamily, ContentShape, DraftAnswer, DraftCall, MessageFlags,
    OptionalText, PartKind, Role, SignatureState, Span,
};

use crate::{
    anthropic,
    outline::{
        OutlineReader, UniqueFields, read_non_empty, read_object_arguments, read_output, read_role,
        read_string, read_unknown_field, require_string, skip_null, text_fullness,
    },
};
use foxwedge_json::{JsonScanner, JsonShape, ScanResult};

fn known_role(role: &str) -> Option<Role> {
    Some(match role {
        "user" => Role::User,
        "assistant" => Role::Assistant,
        "system" => Role::System,
        _ => return None,
    })
}

/// Reads one message.
pub(crate) fn read_message<'a>(
    scan: &mut JsonScanner<'a>,
    reader: &mut OutlineReader<'a>,
) -> ScanResult<()> {
    let source = reader.source;
    let mut unique = UniqueFields::default();
    let mut role = Role::Unknown;
    let mut content = ContentShape::Absent;
    let mut flags = MessageFlags::default();
    let mut other_flags = MessageFlags::default();
    let span = scan.object(|scan, key, _| {
        match key {
            b"role" => {
                unique.check(scan, 0, key)?;
                (role, flags) = read_role(scan, source, known_role)?;
            }
            b"content" => {
                unique.check(scan, 1, key)?;
                content = anthropic::read_content(scan, reader, read_block)?;
            }
            _ => read_unknown_field(scan, key, &mut other_flags)?,
        }
        Ok(())
    })?;
    reader.builder.push_message(role, span, content, flags.with(other_flags));
    Ok(())
}

fn read_block<'a>(scan: &mut JsonScanner<'a>, reader: &mut OutlineReader<'a>) -> ScanResult<()> {
    let source = reader.source;
    let mut unique = UniqueFields::default();
    let mut kind = None;
    let span = scan.object(|scan, key, _| {
        unique.check_known(
            scan,
            &[b"text", b"toolUse", b"toolResult", b"reasoningContent"],
            key,
        )?;
        if skip_null(scan)? {
            return Ok(());
        }
        let part = match key {
            b"text" => PartKind::Text(text_fullness(source, require_string(scan, key)?)),
            b"toolUse" => read_tool_use(scan, source)?,
            b"toolResult" => read_tool_result(scan, source)?,
            b"reasoningContent" => {
                let value = scan.skip()?;
                let signed = ["\"signature\"", "\"redactedContent\""];
                let is_signed = signed.iter().any(|field| value.of(source).contains(field));
                PartKind::Reasoning(if is_signed {
                    SignatureState::Signed
                } else {
                    SignatureState::Plain
                })
            }
            b"image" | b"document" | b"video" | b"audio" => scan.skip().map(|_| PartKind::Media)?,
            b"guardContent" | b"cachePoint" | b"citationsContent" | b"searchResult" => {
                scan.skip().map(|_| PartKind::Other)?
            }
            _ => scan.skip().map(|_| PartKind::Unknown)?,
        };
        // A block may be several things at once: a tool result comes first, then a tool call.
        if kind.as_ref().is_none_or(|known| precedence(known) < precedence(&part)) {
            kind = Some(part);
        }
        Ok(())
    })?;
    reader.builder.push_part(span, kind.unwrap_or(PartKind::Other));
    Ok(())
}

fn precedence(kind: &PartKind<'_>) -> u8 {
    match kind {
        PartKind::Unknown => 0,
        PartKind::Other | PartKind::Fallback => 1,
        PartKind::Text(_) => 2,
        PartKind::Media => 3,
        PartKind::Reasoning(_) => 4,
        PartKind::Call(_) | PartKind::ServerCall(_) => 5,
        PartKind::Answer(_) | PartKind::ServerAnswer(_) => 6,
    }
}

fn read_object<'a>(
    scan: &mut JsonScanner<'a>,
    name: &str,
    each: impl FnMut(&mut JsonScanner<'a>, &[u8], Span) -> ScanResult<()>,
) -> ScanResult<()> {
    match scan.shape()? {
        JsonShape::Object => scan.object(each).map(drop),
        _ => scan.fail(format!("`{name}` is not an object")),
    }
}

fn read_tool_use<'a>(scan: &mut JsonScanner<'a>, source: &'a str) -> ScanResult<PartKind<'a>> {
    let mut unique = UniqueFields::default();
    let mut call = DraftCall {
        id: OptionalText::NONE,
        name: OptionalText::NONE,
        family: CallFamily::Function,
        arguments: ArgumentsShape::Missing,
        signed: false,
        typed: true,
    };
    let mut server = false;
    read_object(scan, "toolUse", |scan, key, _| {
        match key {
            b"toolUseId" => {
                unique.check(scan, 0, key)?;
                call.id = read_non_empty(scan, source)?.into();
            }
            b"name" => {
                unique.check(scan, 1, key)?;
                call.name = read_non_empty(scan, source)?.into();
            }
            b"input" => {
                unique.check(scan, 2, key)?;
                call.arguments = read_object_arguments(scan)?;
            }
            b"type" => {
                server =
                    read_string(scan)?.is_some_and(|kind| kind.text(source) == "server_tool_use")
            }
            _ => drop(scan.skip()?),
        }
        Ok(())
    })?;
    Ok(if server {
        PartKind::ServerCall(call.id.to_cow().map(Box::new))
    } else {
        PartKind::call(call)
    })
}

fn read_tool_result<'a>(scan: &mut JsonScanner<'a>, source: &'a str) -> ScanResult<PartKind<'a>> {
    let mut unique = UniqueFields::default();
    let mut id = None;
    let mut content = (AnswerShape::Missing, Span::NOWHERE);
    let (mut failed, mut server) = (false, false);
    read_object(scan, "toolResult", |scan, key, _| {
        match key {
            b"toolUseId" => {
                unique.check(scan, 0, key)?;
                id = read_non_empty(scan, source)?;
            }
            b"content" => {
                unique.check(scan, 1, key)?;
                let shape = scan.shape()?;
                content = read_output(scan)?;
                // Converse accepts only a list.
                if shape == JsonShape::String {
                    content.0 = match content.0 {
                        AnswerShape::Empty => AnswerShape::Missing,
                        _ => AnswerShape::Malformed,
                    };
                }
            }
            b"status" => {
                failed = read_string(scan)?.is_some_and(|status| status.text(source) == "error")
            }
            // The result of a tool that the provider ran has the type of that tool.
            b"type" => {
                server = read_string(scan)?.is_some_and(|kind| kind.text(source) != "tool_result")
            }
            _ => drop(scan.skip()?),
        }
        Ok(())
    })?;
    if server {
        return Ok(PartKind::ServerAnswer(id.map(Box::new)));
    }
    let output = match content.0 {
        AnswerShape::Empty if failed => AnswerShape::EmptyError,
        other => other,
    };
    Ok(PartKind::answer(DraftAnswer {
        id: id.into(),
        name: None,
        family: CallFamily::Function,
        output,
        content: content.1,
        media: false,
        foreign: false,
    }))
}
