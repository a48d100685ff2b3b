//! Reads the outline of an Anthropic message.

use foxwedge_core::{
    AnswerShape, ArgumentsShape, CallFamily, ContentShape, DraftAnswer, DraftCall, MessageFlags,
    OwnedCall, Part, PartKind, Role, SignatureState, Span, TextShape,
};

use super::references::note_references;
use crate::outline::{
    OutlineReader, UniqueFields, foreign_answer, read_non_empty, read_object_arguments,
    read_output, read_role, read_string, read_text, read_unknown_field, require_string,
    text_fullness,
};
use foxwedge_json::{JsonScanner, JsonShape, ScanResult, field_text};

/// The role of an Anthropic role name.
pub fn known_role(role: &str) -> Option<Role> {
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
    let (mut tool_call_id, mut body) = (None, Span::NOWHERE);
    let span = scan.object(|scan, key, _| {
        match key {
            b"role" => {
                unique.check(scan, 0, key)?;
                (role, flags) = read_role(scan, source, known_role)?;
            }
            b"content" => {
                unique.check(scan, 1, key)?;
                reader.compaction = false;
                scan.shape()?;
                let start = scan.position();
                content = read_content(scan, reader, read_block)?;
                body = Span::new(start, scan.position());
            }
            // A field of chat messages.
            b"tool_call_id" => {
                tool_call_id = read_non_empty(scan, source)?;
                if tool_call_id.is_some() {
                    other_flags = other_flags.with(MessageFlags::UNKNOWN_BODY);
                }
            }
            _ => read_unknown_field(scan, key, &mut other_flags)?,
        }
        Ok(())
    })?;
    let is_result = role == Role::Unknown && !flags.has(MessageFlags::MODEL);
    let is_content = |part: &Part<'_>| {
        matches!(part.kind, PartKind::Text(_) | PartKind::Media | PartKind::Unknown)
    };
    if let Some(id) = tool_call_id.filter(|_| is_result)
        && reader.builder.open_parts().iter().all(is_content)
    {
        reader.builder.truncate(reader.builder.message_count());
        reader.builder.push_part(span, foreign_answer(id, source, body));
        reader.builder.push_message(role, span, ContentShape::List, MessageFlags::default());
        return Ok(());
    }
    if std::mem::take(&mut reader.compaction) {
        flags = flags.with(MessageFlags::COMPACTION);
    }
    reader.builder.push_message(role, span, content, flags.with(other_flags));
    Ok(())
}

/// Reads a content field: a string, or a list whose blocks `block` reads.
pub fn read_content<'a>(
    scan: &mut JsonScanner<'a>,
    reader: &mut OutlineReader<'a>,
    block: fn(&mut JsonScanner<'a>, &mut OutlineReader<'a>) -> ScanResult<()>,
) -> ScanResult<ContentShape> {
    Ok(match scan.shape()? {
        JsonShape::String => {
            let start = scan.position();
            let text = scan.string()?;
            let shape = text_fullness(reader.source, text);
            reader.builder.push_part(Span::new(start, scan.position()), PartKind::Text(shape));
            ContentShape::Text
        }
        JsonShape::Array => {
            scan.array(|scan, _| match scan.shape()? {
                JsonShape::Object => block(scan, reader),
                _ => scan.fail("a block is not an object"),
            })?;
            ContentShape::List
        }
        JsonShape::Null => scan.skip().map(|_| ContentShape::Null)?,
        JsonShape::Object | JsonShape::Number | JsonShape::Bool => {
            return scan.fail("`content` is neither text nor a list");
        }
    })
}

/// Whether Anthropic has blocks of this type.
pub fn is_known_type(kind: &str) -> bool {
    const TYPES: [&str; 18] = [
        "text",
        "image",
        "document",
        "search_result",
        "thinking",
        "redacted_thinking",
        "tool_use",
        "tool_result",
        "server_tool_use",
        "mcp_tool_use",
        "container_upload",
        "compaction",
        "fallback",
        "mcp_tool_listing",
        "tool_addition",
        "tool_removal",
        "tool_reference",
        "browser_state",
    ];
    TYPES.contains(&kind) || kind.ends_with("_tool_result")
}

/// Reads one block.
pub fn read_block<'a>(
    scan: &mut JsonScanner<'a>,
    reader: &mut OutlineReader<'a>,
) -> ScanResult<()> {
    let source = reader.source;
    let mut unique = UniqueFields::default();
    let mut kind = None;
    let (mut id, mut tool_use_id, mut name) = (None, None, None);
    let mut arguments = ArgumentsShape::Missing;
    let mut content = (AnswerShape::Missing, Span::NOWHERE);
    let mut shape = None;
    let mut signed = false;
    let (mut owner, mut toolset) = (None, Span::NOWHERE);
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
            b"id" => {
                unique.check(scan, 2, key)?;
                id = read_non_empty(scan, source)?;
            }
            b"tool_use_id" => {
                unique.check(scan, 3, key)?;
                tool_use_id = read_non_empty(scan, source)?;
            }
            b"name" => {
                unique.check(scan, 4, key)?;
                name = read_non_empty(scan, source)?;
            }
            b"input" => {
                unique.check(scan, 5, key)?;
                arguments = read_object_arguments(scan)?;
            }
            b"content" => {
                unique.check(scan, 6, key)?;
                content = read_output(scan)?;
            }
            b"signature" | b"data" => {
                signed |= read_string(scan)?.is_some_and(|text| !text.span.is_empty());
            }
            b"caller" => owner = field_text(source, scan.skip()?, "tool_id"),
            b"toolset_name" => {
                let value = scan.skip()?;
                toolset = if value.of(source).starts_with('"') { value } else { Span::NOWHERE };
            }
            _ => {
                scan.skip()?;
            }
        }
        Ok(())
    })?;
    let Some(kind) = kind else { return scan.fail("a block has no `type`") };
    let signature = if signed { SignatureState::Signed } else { SignatureState::Unsigned };
    let kind = match &*kind.text(source) {
        "text" => PartKind::Text(shape.unwrap_or(TextShape::Missing)),
        "tool_use" => {
            if owner.is_some() || !toolset.is_empty() {
                let call = OwnedCall { start: span.start, owner: owner.into(), repeated: toolset };
                reader.builder.push_owned_call(call);
            }
            PartKind::call(DraftCall {
                id: id.into(),
                name: name.into(),
                family: CallFamily::Function,
                arguments,
                signed: false,
                typed: true,
            })
        }
        "tool_result" => {
            note_references(reader, content.1);
            PartKind::answer(DraftAnswer {
                id: tool_use_id.into(),
                name: None,
                family: CallFamily::Function,
                output: content.0,
                content: content.1,
                media: false,
                foreign: false,
            })
        }
        "thinking" | "redacted_thinking" => PartKind::Reasoning(signature),
        "image" | "document" => PartKind::Media,
        "server_tool_use" | "mcp_tool_use" => PartKind::ServerCall(id.map(Box::new)),
        "compaction" => {
            reader.compaction = true;
            PartKind::Other
        }
        other if other.ends_with("_tool_result") => {
            note_references(reader, content.1);
            PartKind::ServerAnswer(tool_use_id.map(Box::new))
        }
        "fallback" => PartKind::Fallback,
        other if is_known_type(other) => PartKind::Other,
        _ => PartKind::Unknown,
    };
    reader.builder.push_part(span, kind);
    Ok(())
}
