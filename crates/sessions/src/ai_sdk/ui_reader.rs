//! Reads a `UIMessage`. An assistant message becomes one reply for each of its steps, followed by
//! the results that its tool parts hold.

use std::borrow::Cow;

use foxwedge_core::{ContentShape, MessageFlags, PartKind, Role, SignatureState, Span};
use foxwedge_formats::{
    anthropic,
    outline::{OutlineReader, UniqueFields, read_role, read_string},
};
use foxwedge_json::{JsonScanner, JsonShape, ScanResult};

use super::part::{AiSdkPart, read_parts};
use crate::{metadata::SessionMetadata, records::ParsedRecord};

/// Reads one message of a `UIMessage` list.
pub(crate) fn read_ui_message<'a>(
    scan: &mut JsonScanner<'a>,
    reader: &mut OutlineReader<'a>,
    record: &mut ParsedRecord<'a>,
    _: &mut SessionMetadata<'a>,
) -> ScanResult<()> {
    let source = reader.source;
    let mut role = Role::Unknown;
    let mut parts = None;
    let mut once = UniqueFields::default();
    let span = scan.object(|scan, key, _| {
        once.check_known(scan, &[b"role", b"parts"], key)?;
        match key {
            b"role" => role = read_role(scan, source, anthropic::known_role)?.0,
            b"parts" if scan.shape()? == JsonShape::Array => {
                parts = Some(read_parts(scan, source)?);
            }
            b"id" => {
                let id = read_string(scan)?.filter(|id| !id.escaped);
                record.link.id = id.map(|id| id.span.of(source));
            }
            _ => drop(scan.skip()?),
        }
        Ok(())
    })?;
    record.kind = "message";
    let Some(parts) = parts else { return scan.fail("a message without `parts`") };
    match role {
        Role::Assistant => push_reply(reader, span, &parts),
        Role::User | Role::System => {
            for part in &parts {
                let kind = match part_kind(part) {
                    // Only the model makes calls; the SDK ignores them elsewhere.
                    PartKind::Call(_) | PartKind::ServerCall(_) => PartKind::Other,
                    kind => kind,
                };
                reader.builder.push_part(part.span, kind);
            }
            reader.builder.push_message(role, span, ContentShape::List, MessageFlags::NO_RESULTS);
        }
        _ => return scan.fail("a message without a known role"),
    }
    Ok(())
}

/// Adds the steps of a reply, and the results of each step behind it.
fn push_reply<'a>(reader: &mut OutlineReader<'a>, span: Span, parts: &[AiSdkPart<'a>]) {
    let flags = MessageFlags::default();
    let is_steering = |part: &AiSdkPart<'_>| part.kind == "steering-message";
    // In version 4, a text after a call begins a step.
    let ends_step =
        |part: &AiSdkPart<'_>, next: &AiSdkPart<'_>| part.is_invocation && next.kind == "text";
    let steps = parts.chunk_by(|part, next| {
        !is_steering(part)
            && !is_steering(next)
            && !ends_step(part, next)
            && next.kind != "step-start"
    });
    for step in steps {
        for part in step {
            let kind = match part_kind(part) {
                // Most providers accept no files of the model.
                PartKind::Media => PartKind::Other,
                kind => kind,
            };
            reader.builder.push_part(part.span, kind);
        }
        // A message that the user sent while the model worked.
        if step.iter().any(is_steering) {
            let flags = MessageFlags::NO_RESULTS;
            reader.builder.push_message(Role::User, span, ContentShape::List, flags);
            continue;
        }
        reader.builder.push_message(Role::Assistant, span, ContentShape::List, flags);
        let answered = step.iter().filter(|part| has_result(part));
        let answered: Vec<&AiSdkPart<'a>> = answered.collect();
        if answered.is_empty() {
            continue;
        }
        for part in answered {
            let content = part.output.or(part.error_text);
            reader.builder.push_part(part.span, part.answer(tool_name(part), content));
        }
        reader.builder.push_message(Role::User, span, ContentShape::List, flags);
    }
}

fn part_kind<'a>(part: &AiSdkPart<'a>) -> PartKind<'a> {
    match &*part.kind {
        "text" => PartKind::Text(part.text),
        "reasoning" => PartKind::Reasoning(SignatureState::Plain),
        "file" => PartKind::Media,
        // `source` is of version 4.
        "source-url" | "source-document" | "source" | "step-start" | "steering-message"
        | "custom" | "reasoning-file" => PartKind::Other,
        kind if kind.starts_with("data-") => PartKind::Other,
        _ if is_tool_part(part) => part.call(tool_name(part)),
        _ => PartKind::Unknown,
    }
}

/// Whether a part is a tool part in a known state.
fn is_tool_part(part: &AiSdkPart<'_>) -> bool {
    let named = match part.kind.strip_prefix("tool-") {
        Some(_) if part.is_invocation => part.tool_name.is_some(),
        Some(name) => !name.is_empty(),
        None => part.kind == "dynamic-tool" && part.tool_name.is_some(),
    };
    let known = matches!(
        part.state.as_deref(),
        Some(
            "input-streaming"
                | "input-available"
                | "approval-requested"
                | "approval-responded"
                | "output-available"
                | "output-error"
                | "output-denied"
        )
    );
    named && known && part.call_id.is_some()
}

/// Whether a tool part holds the result of a call that the client runs.
fn has_result(part: &AiSdkPart<'_>) -> bool {
    let done = matches!(
        part.state.as_deref(),
        Some("output-available" | "output-error" | "output-denied")
    );
    done && !part.provider_executed && is_tool_part(part)
}

fn tool_name<'a>(part: &AiSdkPart<'a>) -> Option<Cow<'a, str>> {
    match &part.kind {
        _ if part.is_invocation => part.tool_name.clone(),
        Cow::Borrowed(kind) if kind.starts_with("tool-") => kind.get(5..).map(Cow::Borrowed),
        Cow::Owned(kind) if kind.starts_with("tool-") => {
            kind.get(5..).map(|name| Cow::Owned(name.to_owned()))
        }
        _ => part.tool_name.clone(),
    }
}
