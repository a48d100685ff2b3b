//! In numbered files, ordinals rise, and the last record has one.

use foxwedge_sessions::SessionAgent;
use serde_json::Value;

use super::judge::{RepairedSession, SessionVerdict, breach, flaws, shown_bytes};

/// Judges the ordinals of a Codex file, if they were in order before.
pub(super) fn judge(
    agent: SessionAgent,
    bytes: &[u8],
    session: &RepairedSession,
) -> SessionVerdict {
    let whole = agent == SessionAgent::Codex && flaws(&session.report).is_empty();
    if !whole || !in_order(bytes) || in_order(&session.fixed) {
        return Ok(());
    }
    let fixed = shown_bytes(&session.fixed);
    breach("ordinals", format!("edits {:?}\nafter\n{fixed}", session.edits))
}

fn in_order(bytes: &[u8]) -> bool {
    let lines = bytes.split(|byte| *byte == b'\n');
    let records: Vec<Value> = lines.filter_map(|line| serde_json::from_slice(line).ok()).collect();
    let numbers: Vec<u64> =
        records.iter().filter_map(|record| record["ordinal"].as_u64()).collect();
    let last = records.last().is_none_or(|record| record["ordinal"].is_u64());
    numbers.is_sorted_by(|one, two| one < two) && (last || numbers.is_empty())
}
