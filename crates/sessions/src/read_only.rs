//! Agents whose sessions are read and never written: a repair would have to guess.
//!
//! What reads their files turns each session into a text with one line for the session and one for
//! each message, as the agent would send it, in the format of Anthropic:
//!
//! ```text
//! {"read_only":"zed","id":"0a1b","folder":"/srv/app","title":"Fox","model":"m","version":"0.3.0"}
//! {"role":"user","content":[{"type":"text","text":"Hello."}]}
//! ```

use foxwedge_core::{ContentShape, MessageFlags, Role, Span};
use foxwedge_formats::{
    anthropic,
    outline::{OutlineReader, UniqueFields, read_role},
};
use foxwedge_json::{JsonScanner, ScanResult, field_value};

use super::{
    metadata::SessionMetadata,
    read_only_agent::AGENT_FIELD,
    records::{ParsedRecord, plain_string, string_value},
};

/// Whether an object is a line of such a text, not an object inside one.
pub(super) fn is_record(source: &str, object: Span) -> bool {
    let has = |key: &str| field_value(source, object, key).is_some();
    has(AGENT_FIELD) || has("role") && has("content")
}

/// Reads one line.
pub(super) fn read_record<'a>(
    scan: &mut JsonScanner<'a>,
    reader: &mut OutlineReader<'a>,
    record: &mut ParsedRecord<'a>,
    metadata: &mut SessionMetadata<'a>,
) -> ScanResult<()> {
    let source = reader.source;
    let (mut role, mut content) = (None, None);
    let mut once = UniqueFields::default();
    let span = scan.object(|scan, key, _| {
        once.check_known(scan, &[b"role", b"content"], key)?;
        match key {
            b"role" => role = Some(read_role(scan, source, anthropic::known_role)?.0),
            b"content" => {
                content = Some(anthropic::read_content(scan, reader, anthropic::read_block)?);
            }
            b"read_only" => record.kind = plain_string(scan, source)?.unwrap_or_default(),
            b"id" => metadata.id = string_value(scan, source)?,
            b"folder" => metadata.folder = string_value(scan, source)?,
            b"title" => metadata.title = string_value(scan, source)?,
            b"model" => metadata.model = string_value(scan, source)?,
            b"version" => metadata.version = string_value(scan, source)?,
            b"updated" => metadata.updated = string_value(scan, source)?,
            _ => drop(scan.skip()?),
        }
        Ok(())
    })?;
    let (Some(role), Some(content)) = (role, content) else { return Ok(()) };
    if role == Role::Unknown {
        return scan.fail("a message without a known role");
    }
    let content = if content == ContentShape::Absent { ContentShape::Null } else { content };
    record.message = Some((role, span, content, MessageFlags::default()));
    Ok(())
}
