//! Codex: `sessions/<date>/rollout-<time>-<id>.jsonl`.
//!
//! A line is `{timestamp, ordinal?, type, payload}`. Lines of the type `response_item` are the
//! items of a Responses request. A compaction replaces everything before it, and a rollback removes
//! the last turns.

use foxwedge_core::{Draft, PartKind, Role, Span};

use super::{
    metadata::SessionMetadata,
    records::{HistoryControl, ParsedRecord, plain_string, string_value},
};
use foxwedge_formats::{
    openai_responses,
    outline::{OutlineReader, UniqueFields},
};
use foxwedge_json::{JsonScanner, JsonShape, ScanResult, array_elements, field_text, field_value};

mod write;

pub(super) use write::{CodexOrdinals, shell_calls, write_envelope, write_item};

/// Whether an object is a record, not an object inside one.
pub(super) fn is_record(source: &str, object: Span) -> bool {
    ["timestamp", "type", "payload"].iter().all(|key| field_value(source, object, key).is_some())
}

/// Reads one record.
pub(super) fn read_record<'a>(
    scan: &mut JsonScanner<'a>,
    reader: &mut OutlineReader<'a>,
    record: &mut ParsedRecord<'a>,
    metadata: &mut SessionMetadata<'a>,
) -> ScanResult<()> {
    let source = reader.source;
    let mut payload = None;
    let mut read = false;
    let mut once = UniqueFields::default();
    scan.object(|scan, key, _| {
        once.check_known(scan, &[b"type", b"payload", b"ordinal"], key)?;
        match key {
            b"type" => record.kind = plain_string(scan, source)?.unwrap_or_default(),
            b"timestamp" => record.time = plain_string(scan, source)?,
            b"payload" if record.kind == "response_item" && scan.shape()? == JsonShape::Object => {
                openai_responses::read_item(scan, reader)?;
                read = true;
            }
            b"payload" => payload = Some(scan.skip()?),
            _ => {
                scan.skip()?;
            }
        }
        Ok(())
    })?;
    metadata.record_time(record.time);
    match (record.kind, payload) {
        ("response_item", Some(payload)) => read_item(payload, reader)?,
        ("response_item", None) if !read => {
            return scan.fail("a `response_item` without a payload");
        }
        ("compacted", Some(payload)) => {
            record.control = Some(HistoryControl::Compacted);
            if let Some(list) = field_value(source, payload, "replacement_history")
                && list.of(source).starts_with('[')
            {
                record.control = Some(HistoryControl::Replaced);
                for one in array_elements(source, list) {
                    read_item(one, reader)?;
                }
            }
        }
        ("event_msg", Some(payload))
            if field_text(source, payload, "type").as_deref() == Some("thread_rolled_back") =>
        {
            let turns = field_value(source, payload, "num_turns");
            let turns = turns.and_then(|turns| turns.of(source).parse().ok()).unwrap_or(0);
            record.control = Some(HistoryControl::RolledBack(turns));
        }
        ("session_meta", Some(payload)) => read_meta(source, payload, metadata)?,
        ("turn_context", Some(payload)) => {
            let mut scan = JsonScanner::within(source, payload);
            scan.object(|scan, key, _| {
                match key {
                    b"model" => {
                        metadata.model = string_value(scan, source)?.or(metadata.model.take())
                    }
                    _ => drop(scan.skip()?),
                }
                Ok(())
            })
            .map(drop)
            .or(Ok(()))?;
        }
        _ => {}
    }
    Ok(())
}

fn read_item<'a>(span: Span, reader: &mut OutlineReader<'a>) -> ScanResult<()> {
    let mut scan = JsonScanner::within(reader.source, span);
    match scan.shape()? {
        JsonShape::Object => openai_responses::read_item(&mut scan, reader),
        _ => scan.fail("an item is not an object"),
    }
}

/// The first `session_meta` names the session. Later ones are copies from the session it was forked
/// from.
fn read_meta<'a>(
    source: &'a str,
    payload: Span,
    metadata: &mut SessionMetadata<'a>,
) -> ScanResult<()> {
    if metadata.id.is_some() || !payload.of(source).starts_with('{') {
        return Ok(());
    }
    let mut scan = JsonScanner::within(source, payload);
    scan.object(|scan, key, _| {
        match key {
            b"id" => metadata.id = string_value(scan, source)?,
            b"cwd" => metadata.folder = string_value(scan, source)?,
            b"cli_version" => metadata.version = string_value(scan, source)?,
            _ => drop(scan.skip()?),
        }
        Ok(())
    })
    .map(drop)
}

/// Whether the agent itself skips an item.
pub(super) fn is_hidden(fragments: &Draft<'_>, message: usize) -> bool {
    let Some(item) = fragments.messages.get(message) else { return true };
    matches!(fragments.parts_of(item), [part] if matches!(part.kind, PartKind::Other))
        && field_text(fragments.source, item.span, "type").as_deref() == Some("ghost_snapshot")
}

/// Removes the last turns: from the nth-last user message on, including the environment messages
/// just before it.
pub(super) fn roll_back(fragments: &Draft<'_>, visible: &mut VisibleMessages, turns: usize) {
    if turns == 0 {
        return;
    }
    let first = visible.users.len().saturating_sub(turns);
    if let Some(&cut) = visible.users.get(first) {
        visible.truncate(cut);
    }
    let message = |at: &(u32, u32)| fragments.messages.get(at.1 as usize);
    while visible.list.last().is_some_and(|at| {
        message(at).is_some_and(|message| message.role.is_system())
            || is_environment_message(fragments, at.1)
    }) && !visible.users.is_empty()
    {
        visible.truncate(visible.list.len() - 1);
    }
}

/// The messages that count so far, each with its record.
#[derive(Default)]
pub(super) struct VisibleMessages {
    pub(super) list: Vec<(u32, u32)>,
    /// The indexes of the user messages in the list.
    users: Vec<usize>,
    /// How many entries of the list are already reduced to user messages by a compaction.
    compacted: usize,
}

impl VisibleMessages {
    pub(super) fn push(&mut self, fragments: &Draft<'_>, record: u32, message: u32) {
        let header = fragments.messages.get(message as usize);
        if header.is_some_and(|header| header.role == Role::User)
            && !is_environment_message(fragments, message)
        {
            self.users.push(self.list.len());
        }
        self.list.push((record, message));
    }

    pub(super) fn clear(&mut self) {
        self.truncate(0);
    }

    /// Keeps only the user messages.
    pub(super) fn compact(&mut self, fragments: &Draft<'_>) {
        let rest = self.list.split_off(self.compacted);
        let earlier = self.users.partition_point(|&at| at < self.list.len());
        self.users.truncate(earlier);
        for (record, message) in rest {
            if fragments.messages[message as usize].role == Role::User {
                self.push(fragments, record, message);
            }
        }
        self.compacted = self.list.len();
    }

    fn truncate(&mut self, length: usize) {
        self.list.truncate(length);
        while self.users.last().is_some_and(|&at| at >= length) {
            self.users.pop();
        }
        self.compacted = self.compacted.min(length);
    }
}

/// Whether the agent wrote a user message to describe its environment.
fn is_environment_message(fragments: &Draft<'_>, message: u32) -> bool {
    const MARKS: [&str; 4] =
        ["<environment_context>", "<user_instructions>", "# AGENTS.md", "<turn_aborted>"];
    let Some(header) = fragments.messages.get(message as usize) else { return false };
    let parts = fragments.parts_of(header);
    !parts.is_empty()
        && parts.iter().all(|part| {
            let text = field_value(fragments.source, part.span, "text").unwrap_or(part.span);
            let text = text.of(fragments.source).trim_start_matches('"');
            MARKS.iter().any(|mark| text.starts_with(mark))
        })
}
