//! Reads a `ModelMessage`.

use std::collections::HashSet;

use foxwedge_core::{
    ContentShape, Draft, MessageFlags, PartKind, Role, SignatureState, Span, TextShape,
};
use foxwedge_formats::outline::{OutlineReader, UniqueFields, read_string, text_fullness};
use foxwedge_json::{JsonScanner, JsonShape, ScanResult, field_value};

use super::part::{AiSdkPart, read_parts};
use crate::{metadata::SessionMetadata, records::ParsedRecord};

/// Reads one message of a `ModelMessage` list.
pub(crate) fn read_model_message<'a>(
    scan: &mut JsonScanner<'a>,
    reader: &mut OutlineReader<'a>,
    record: &mut ParsedRecord<'a>,
    _: &mut SessionMetadata<'a>,
) -> ScanResult<()> {
    let source = reader.source;
    let mut role = None;
    let mut text: Option<(Span, TextShape)> = None;
    let mut parts = Vec::new();
    let mut once = UniqueFields::default();
    let span = scan.object(|scan, key, _| {
        once.check_known(scan, &[b"role", b"content"], key)?;
        match key {
            b"role" => role = read_string(scan)?.map(|role| role.text(source)),
            b"content" => match scan.shape()? {
                JsonShape::String => {
                    let start = scan.position();
                    let shape = text_fullness(source, scan.string()?);
                    text = Some((Span::new(start, scan.position()), shape));
                }
                JsonShape::Array => parts = read_parts(scan, source)?,
                _ => return scan.fail("`content` is neither text nor a list"),
            },
            _ => drop(scan.skip()?),
        }
        Ok(())
    })?;
    record.kind = "message";
    let (role, flags) = match role.as_deref() {
        Some("user") => (Role::User, MessageFlags::NO_RESULTS),
        Some("tool") => (Role::User, MessageFlags::default()),
        Some("assistant") => (Role::Assistant, MessageFlags::default()),
        Some("system") => (Role::System, MessageFlags::default()),
        _ => return scan.fail("a message without a known role"),
    };
    for part in &parts {
        let kind = match part_kind(part, source) {
            // Most providers accept no files of the model.
            PartKind::Media if role == Role::Assistant => PartKind::Other,
            kind => kind,
        };
        reader.builder.push_part(part.span, kind);
    }
    let content = match text {
        Some((at, shape)) => {
            reader.builder.push_part(at, PartKind::Text(shape));
            ContentShape::Text
        }
        None => ContentShape::List,
    };
    record.message = Some((role, span, content, flags));
    Ok(())
}

fn part_kind<'a>(part: &AiSdkPart<'a>, source: &str) -> PartKind<'a> {
    match &*part.kind {
        "text" => PartKind::Text(part.text),
        "reasoning" => PartKind::Reasoning(SignatureState::Plain),
        "image" | "file" => PartKind::Media,
        "tool-approval-request" | "tool-approval-response" | "custom" | "reasoning-file" => {
            PartKind::Other
        }
        "tool-call" => part.call(part.tool_name.clone()),
        "tool-result" => {
            let value = part.output.map(|output| output_value(source, output));
            part.answer(part.tool_name.clone(), value)
        }
        _ => PartKind::Unknown,
    }
}

/// What the tool returned, inside the output of a result.
fn output_value(source: &str, output: Span) -> Span {
    field_value(source, output, "value").unwrap_or(output)
}

/// The ids of the calls that the client runs.
pub(crate) struct ClientCalls(HashSet<String>);

impl ClientCalls {
    /// Collects the calls of all messages.
    pub(crate) fn of(draft: &Draft<'_>) -> ClientCalls {
        let calls = draft.parts.iter().filter(|part| matches!(part.kind, PartKind::Call(_)));
        ClientCalls(calls.filter_map(|part| part.kind.id().map(str::to_owned)).collect())
    }

    /// Marks a result in an assistant message as the provider's own, unless the client runs its
    /// call. Such results may come later than the call, and also without it.
    pub(crate) fn mark_provider_result(&self, kind: &mut PartKind<'_>) {
        if let PartKind::Answer(answer) = kind
            && !answer.id.as_deref().is_some_and(|id| self.0.contains(id))
        {
            *kind = PartKind::ServerAnswer(answer.id.to_cow().map(Box::new));
        }
    }
}
