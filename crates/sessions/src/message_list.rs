//! Finds and recognizes message lists of the AI SDK.

use foxwedge_core::Span;
use foxwedge_json::{JsonScanner, JsonShape, array_elements, field_text, field_value};

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
    let mut count = 0;
    // The result is ignored: a torn list is recognized by its beginning.
    let _ = scan.array(|scan, _| {
        if found.is_some() || count == MAX_MESSAGES || scan.shape()? != JsonShape::Object {
            return scan.fail("enough");
        }
        count += 1;
        found = detect_message(source, scan.skip()?);
        Ok(())
    });
    found.filter(|_| is_single_value(source))
}

fn detect_message(source: &str, message: Span) -> Option<SessionAgent> {
    let role = field_text(source, message, "role")?;
    let list = |key: &str| {
        let list = field_value(source, message, key)?;
        list.of(source).starts_with('[').then(|| array_elements(source, list))
    };
    let kind = |part: &Span| field_text(source, *part, "type");
    if matches!(&*role, "system" | "user" | "assistant")
        && let Some(parts) = list("parts")
    {
        let typed = !parts.is_empty() && parts.iter().all(|part| kind(part).is_some());
        return typed.then_some(SessionAgent::AiSdkUi);
    }
    let is_tool_part = |part: &Span| {
        matches!(kind(part).as_deref(), Some("tool-call" | "tool-result"))
            && field_value(source, *part, "toolCallId").is_some()
    };
    list("content")?.iter().any(is_tool_part).then_some(SessionAgent::AiSdkModel)
}

/// Whether a text is one JSON value, whole or torn. Several values are several conversations.
fn is_single_value(source: &str) -> bool {
    let mut scan = JsonScanner::new(source);
    scan.skip().is_err() || scan.end().is_ok()
}
