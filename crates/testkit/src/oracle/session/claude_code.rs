//! What is particular about Claude Code.

use serde_json::Value;

use super::linked::{Carried, Manner};

pub(super) const MANNER: Manner =
    Manner { is_linked: |_| true, message, key, carried, leaves_hollow: true, leaves_blank };

/// Versions 1 and 2.0 send white space; whoever does not name a version is a newer one.
fn leaves_blank(version: Option<&str>) -> bool {
    let old = |version: &str| version.starts_with("1.") || version.starts_with("2.0.");
    !version.is_some_and(old)
}

/// The message in a record.
fn message(record: &Value) -> Option<Value> {
    let spoken = record["type"] == "user" || record["type"] == "assistant";
    record.get("message").filter(|message| spoken && message.is_object()).cloned()
}

/// Which reply a record is a piece of.
fn key(record: &Value) -> Option<String> {
    let id = record["message"]["id"].as_str().filter(|id| !id.is_empty())?;
    Some(format!("{id} {}", record["requestId"].as_str().unwrap_or("")))
}

/// What a compaction carried over, if the record is one.
fn carried(record: &Value) -> Option<Carried> {
    let metadata = record.get("compactMetadata").filter(|_| record["type"] == "system")?;
    let text = |value: &Value| value.as_str().unwrap_or("").to_owned();
    if let Some(kept) = metadata.get("preservedMessages") {
        let ids = kept.get("allUuids").or_else(|| kept.get("uuids"))?.as_array()?;
        return Some(Carried::Named {
            anchor: text(&kept["anchorUuid"]),
            ids: ids.iter().map(text).collect(),
        });
    }
    let kept = metadata.get("preservedSegment")?;
    Some(Carried::Segment {
        anchor: text(&kept["anchorUuid"]),
        head: text(&kept["headUuid"]),
        tail: text(&kept["tailUuid"]),
    })
}
