//! Claude Code's variant of linked files.

use serde_json::Value;

use super::{
    LineRecord,
    linked::{CarriedOver, LinkedAgent},
};

pub(super) const MANNER: LinkedAgent = LinkedAgent {
    is_linked: |_| true,
    message,
    key,
    carried,
    leaves_hollow: true,
    leaves_blank,
    starts_at_notes: false,
};

/// Versions 1 and 2.0 send blank records; a file without a version is from a newer one.
fn leaves_blank(version: Option<&str>) -> bool {
    let old = |version: &str| version.starts_with("1.") || version.starts_with("2.0.");
    !version.is_some_and(old)
}

/// Whether a hook put off calls after the last message of the main conversation.
pub(super) fn is_deferred(records: &[LineRecord]) -> bool {
    let is_message = |record: &Value| record["isSidechain"] != true && message(record).is_some();
    let behind = records.iter().rev().take_while(|record| !is_message(&record.value));
    behind.into_iter().any(|record| {
        record.value["type"] == "attachment"
            && record.value["attachment"]["type"] == "hook_deferred_tool"
    })
}

/// The message in a record.
fn message(record: &Value) -> Option<Value> {
    let is_message = record["type"] == "user" || record["type"] == "assistant";
    record.get("message").filter(|message| is_message && message.is_object()).cloned()
}

/// The reply that a record is a part of.
fn key(record: &Value) -> Option<String> {
    let id = record["message"]["id"].as_str().filter(|id| !id.is_empty())?;
    Some(format!("{id} {}", record["requestId"].as_str().unwrap_or("")))
}

/// The records that a compaction carried over, if this record is a compaction.
fn carried(record: &Value) -> Option<CarriedOver> {
    let is_boundary = record["type"] == "system" && record["subtype"] == "compact_boundary";
    let metadata = record.get("compactMetadata").filter(|_| is_boundary)?;
    let text = |value: &Value| value.as_str().unwrap_or("").to_owned();
    if let Some(preserved) = metadata.get("preservedMessages") {
        let ids = preserved.get("allUuids").or_else(|| preserved.get("uuids"))?.as_array()?;
        return Some(CarriedOver::Named {
            anchor: text(&preserved["anchorUuid"]),
            ids: ids.iter().map(text).collect(),
        });
    }
    let preserved = metadata.get("preservedSegment")?;
    Some(CarriedOver::Segment {
        anchor: text(&preserved["anchorUuid"]),
        head: text(&preserved["headUuid"]),
        tail: text(&preserved["tailUuid"]),
    })
}
