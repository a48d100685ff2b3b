//! Finds and recognizes message lists of the AI SDK.

use std::borrow::Cow;

use foxwedge_core::Span;
use foxwedge_json::{JsonScanner, JsonShape, ScanResult};

use super::SessionAgent;

/// Where the list of messages begins: at the first bracket, or in the field `messages`.
pub(super) fn list_start(source: &str) -> Option<usize> {
    let mut scan = JsonScanner::new(source);
    match scan.shape().ok()? {
        JsonShape::Array => Some(scan.position()),
        JsonShape::Object => {
            let mut found = None;
            // The result is ignored: the search ends at the list, and a file may be torn behind it.
            let _ = scan.object(|scan, key, _| {
                if key == b"messages" && scan.shape()? == JsonShape::Array {
                    found = Some(scan.position());
                    return scan.fail("found");
                }
                scan.skip().map(drop)
            });
            found
        }
        _ => None,
    }
}

/// How many messages are examined at most.
const MAX_MESSAGES: usize = 64;

/// Recognizes a list by its first messages. A list without tool calls may have any format, unless
/// its messages have parts with types.
pub fn detect(source: &str) -> Option<SessionAgent> {
    let mut scan = JsonScanner::within(source, Span::new(list_start(source)?, source.len()));
    let mut found = None;
    // The result is ignored: a torn list is recognized by its beginning.
    let _ = scan.array(|scan, index| {
        if found.is_some() || index == MAX_MESSAGES || scan.shape()? != JsonShape::Object {
            return scan.fail("enough");
        }
        found = detect_message(scan)?;
        Ok(())
    });
    found.filter(|_| is_single_value(source))
}

/// Reads a message. Fails at one that no list of the AI SDK has, because it has calls as OpenAI writes them.
fn detect_message(scan: &mut JsonScanner<'_>) -> ScanResult<Option<SessionAgent>> {
    // The first of several fields of a name counts.
    let mut role: Option<Option<Cow<'_, str>>> = None;
    let (mut parts, mut content) = (None, None);
    scan.object(|scan, key, _| {
        match key {
            b"role" if role.is_none() => role = Some(read_text(scan)?),
            b"parts" if parts.is_none() => parts = Some(read_list(scan)?),
            b"content" if content.is_none() => content = Some(read_list(scan)?),
            b"tool_calls" | b"tool_call_id" => return scan.fail("a message of another format"),
            _ => return scan.skip().map(drop),
        }
        Ok(())
    })?;
    let Some(role) = role.flatten() else { return Ok(None) };
    if matches!(&*role, "system" | "user" | "assistant")
        && let Some(parts) = parts.flatten()
    {
        return Ok((parts.are_typed && parts.has_ui_part).then_some(SessionAgent::AiSdkUi));
    }
    let has_tool_part = content.flatten().is_some_and(|content| content.has_tool_part);
    Ok(has_tool_part.then_some(SessionAgent::AiSdkModel))
}

/// What is known of the parts of a message.
struct PartList {
    /// Every part has a type.
    are_typed: bool,
    /// One of the parts is one of a `UIMessage`.
    has_ui_part: bool,
    /// One of the parts is a call or a result of the AI SDK.
    has_tool_part: bool,
}

/// Reads a list of parts; `None` if the value is no list.
fn read_list(scan: &mut JsonScanner<'_>) -> ScanResult<Option<PartList>> {
    if scan.shape()? != JsonShape::Array {
        return scan.skip().map(|_| None);
    }
    let mut list = PartList { are_typed: true, has_ui_part: false, has_tool_part: false };
    scan.array(|scan, _| {
        if scan.shape()? != JsonShape::Object {
            list.are_typed = false;
            return scan.skip().map(drop);
        }
        let mut kind: Option<Option<Cow<'_, str>>> = None;
        let (mut has_call_id, mut has_body) = (false, false);
        scan.object(|scan, key, _| {
            has_call_id |= key == b"toolCallId";
            has_body |= matches!(key, b"text" | b"reasoning" | b"url" | b"data");
            if key == b"type" && kind.is_none() {
                kind = Some(read_text(scan)?);
                return Ok(());
            }
            scan.skip().map(drop)
        })?;
        let kind = kind.flatten();
        list.are_typed &= kind.is_some();
        list.has_ui_part |= kind.as_deref().is_some_and(|kind| is_ui_part(kind, has_body));
        list.has_tool_part |=
            has_call_id && matches!(kind.as_deref(), Some("tool-call" | "tool-result"));
        Ok(())
    })?;
    Ok(Some(list))
}

/// Whether a part of this type is one of a `UIMessage`. Traces have parts of other types, and keep
/// texts and files in other fields.
fn is_ui_part(kind: &str, has_body: bool) -> bool {
    match kind {
        "text" | "reasoning" | "file" | "reasoning-file" => has_body,
        "step-start" | "source" | "custom" | "dynamic-tool" => true,
        kind => ["tool-", "data-", "source-"].iter().any(|start| kind.starts_with(start)),
    }
}

/// Reads a text; `None` if the value is no string.
fn read_text<'a>(scan: &mut JsonScanner<'a>) -> ScanResult<Option<Cow<'a, str>>> {
    if scan.shape()? != JsonShape::String {
        return scan.skip().map(|_| None);
    }
    let source = scan.source();
    Ok(Some(scan.string()?.text(source)))
}

/// Whether a text is one JSON value, whole or torn. Several values are several conversations.
fn is_single_value(source: &str) -> bool {
    let mut scan = JsonScanner::new(source);
    scan.skip().is_err() || scan.end().is_ok()
}
