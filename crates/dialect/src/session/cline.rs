//! Cline, Roo Code and Kilo Code: `tasks/<id>/api_conversation_history.json`, one list of
//! Anthropic messages.
//!
//! Roo and Kilo keep what a summary or a truncation replaced, and mark it.

use foxwedge_core::{ContentShape, MessageFlags, Role, Span, binds_thinking};

use super::{
    metadata::SessionMetadata,
    records::{HistoryControl, ParsedRecord, is_true, plain_string, string_value},
};
use crate::{
    anthropic,
    json::{JsonScanner, ScanResult, field_value},
    outline::{OutlineReader, UniqueFields, read_role},
};

/// Whether an object is a message and not something inside one.
pub(super) fn is_record(source: &str, object: Span) -> bool {
    let has = |key: &str| field_value(source, object, key).is_some();
    has("role") && has("content")
}

/// Reads one message.
pub(super) fn read_record<'a>(
    scan: &mut JsonScanner<'a>,
    reader: &mut OutlineReader<'a>,
    seen: &mut ParsedRecord<'a>,
    about: &mut SessionMetadata<'a>,
) -> ScanResult<()> {
    let source = reader.source;
    let mut who = None;
    let mut content = None;
    let mut summary = false;
    let mut model = None;
    let mut hides = ClineHideMarker::default();
    let mut once = UniqueFields::default();
    let span = scan.object(|scan, key, _| {
        once.check_known(scan, &[b"role", b"content"], key)?;
        match key {
            b"role" => who = Some(read_role(scan, source, anthropic::known_role)?.0),
            b"content" => {
                content = Some(anthropic::read_content(scan, reader, anthropic::read_block)?)
            }
            b"type" => seen.kind = plain_string(scan, source)?.unwrap_or_default(),
            b"ts" => seen.time = Some(scan.skip()?.of(source)),
            b"isSummary" => summary = is_true(scan, source)?,
            b"isTruncationMarker" => hides.marker = is_true(scan, source)?,
            b"truncationId" => hides.truncation = plain_string(scan, source)?,
            b"truncationParent" => seen.link.parent = plain_string(scan, source)?,
            b"condenseId" => hides.summary = plain_string(scan, source)?,
            b"condenseParent" => seen.link.source = plain_string(scan, source)?,
            b"model" => model = string_value(scan, source)?,
            _ => {
                scan.skip()?;
            }
        }
        Ok(())
    })?;
    let unbound = model.as_deref().is_some_and(|model| !binds_thinking(Some(model)));
    let marks = if unbound { MessageFlags::UNBOUND } else { MessageFlags::default() };
    about.model = model.or(about.model.take());
    // Reasoning items of other providers stand beside the messages.
    let (Some(who), Some(content)) = (who, content) else { return Ok(()) };
    if who == Role::Unknown {
        return scan.fail("a message without a role that we know");
    }
    // What names a marker or a summary is hidden as long as that is there.
    seen.link.id = match (hides.marker, summary) {
        (true, _) => hides.truncation,
        (false, true) => hides.summary,
        (false, false) => None,
    };
    // A summary of the user's begins anew; an older one stands among what it left.
    if summary && who == Role::User {
        seen.control = Some(HistoryControl::Summary);
    }
    let content = if content == ContentShape::Absent { ContentShape::Null } else { content };
    seen.message = Some((who, span, content, marks));
    Ok(())
}

/// What a marker or a summary is called by those it hides.
#[derive(Default)]
struct ClineHideMarker<'a> {
    marker: bool,
    truncation: Option<&'a str>,
    summary: Option<&'a str>,
}
