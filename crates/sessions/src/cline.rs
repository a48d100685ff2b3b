//! Cline, Roo Code and Kilo Code: `tasks/<id>/api_conversation_history.json`, one list of Anthropic
//! messages. Newer versions of Cline write `sessions/<id>/<id>.messages.json`, an object around such a
//! list.
//!
//! Roo and Kilo keep the messages that a summary or a truncation replaced, and mark them.

use foxwedge_core::{ContentShape, MessageFlags, Role, Span, binds_thinking};

use super::{
    message_list,
    metadata::SessionMetadata,
    records::{HistoryControl, ParsedRecord, is_true, plain_string, string_value},
};
use foxwedge_formats::{
    anthropic,
    outline::{OutlineReader, UniqueFields, read_role},
};
use foxwedge_json::{JsonScanner, ScanResult, field_value};

/// Where the list of messages begins.
pub(super) fn list_start(source: &str) -> Option<usize> {
    match source.trim_start().starts_with('{') {
        true => message_list::list_start(source),
        false => source.find('['),
    }
}

/// Whether an object is a message, not an object inside one.
pub(super) fn is_record(source: &str, object: Span) -> bool {
    let has = |key: &str| field_value(source, object, key).is_some();
    has("role") && has("content")
}

/// Reads one message.
pub(super) fn read_record<'a>(
    scan: &mut JsonScanner<'a>,
    reader: &mut OutlineReader<'a>,
    record: &mut ParsedRecord<'a>,
    metadata: &mut SessionMetadata<'a>,
) -> ScanResult<()> {
    let source = reader.source;
    let mut role = None;
    let mut content = None;
    let mut summary = false;
    let mut model = None;
    let mut marker = ClineHideMarker::default();
    let mut once = UniqueFields::default();
    let span = scan.object(|scan, key, _| {
        once.check_known(scan, &[b"role", b"content"], key)?;
        match key {
            b"role" => role = Some(read_role(scan, source, anthropic::known_role)?.0),
            b"content" => {
                content = Some(anthropic::read_content(scan, reader, anthropic::read_block)?)
            }
            b"type" => record.kind = plain_string(scan, source)?.unwrap_or_default(),
            b"ts" => record.time = Some(scan.skip()?.of(source)),
            b"isSummary" => summary = is_true(scan, source)?,
            b"isTruncationMarker" => marker.marker = is_true(scan, source)?,
            b"truncationId" => marker.truncation = plain_string(scan, source)?,
            b"truncationParent" => record.link.parent = plain_string(scan, source)?,
            b"condenseId" => marker.summary = plain_string(scan, source)?,
            b"condenseParent" => record.link.source = plain_string(scan, source)?,
            b"model" => model = string_value(scan, source)?,
            _ => {
                scan.skip()?;
            }
        }
        Ok(())
    })?;
    let unbound = model.as_deref().is_some_and(|model| !binds_thinking(Some(model)));
    let flags = if unbound { MessageFlags::UNBOUND } else { MessageFlags::default() };
    metadata.model = model.or(metadata.model.take());
    // Reasoning items of other providers are stored between the messages.
    let (Some(role), Some(content)) = (role, content) else { return Ok(()) };
    if role == Role::Unknown {
        return scan.fail("a message without a known role");
    }
    // A message that names a marker or a summary is hidden as long as that exists.
    record.link.id = match (marker.marker, summary) {
        (true, _) => marker.truncation,
        (false, true) => marker.summary,
        (false, false) => None,
    };
    // A summary with the user role restarts the history. Older versions keep the summary among the
    // remaining messages.
    if summary && role == Role::User {
        record.control = Some(HistoryControl::Summary);
    }
    let content = if content == ContentShape::Absent { ContentShape::Null } else { content };
    record.message = Some((role, span, content, flags));
    Ok(())
}

/// The ids by which hidden messages refer to a marker or a summary.
#[derive(Default)]
struct ClineHideMarker<'a> {
    marker: bool,
    truncation: Option<&'a str>,
    summary: Option<&'a str>,
}
