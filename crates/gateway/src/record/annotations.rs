//! Activity cards beside a conversation: repairs, compactions, conversion losses. Codes, counts and
//! sentences, no content.

use foxwedge_run::{ActivityCard, EventPayload, RawJson};
use serde_json::{Value, json};

use crate::{FindingTally, GuardAction, GuardedRequest};
use foxwedge_upstream::RepairChange;

/// How many steps are listed; further ones are only counted.
const MAX_LISTED_STEPS: usize = 100;

/// The cards of a request. A card of the same request and kind replaces the previous one.
pub(super) fn annotations_for(guarded: &GuardedRequest, turn: u32) -> Vec<EventPayload> {
    let mut cards = Vec::new();
    if !guarded.findings.is_empty() || !guarded.changes.is_empty() {
        let content = json!({
            "action": guarded.action.name(),
            "findings": findings_json(&guarded.findings),
            "changes": changes_json(&guarded.changes, MAX_LISTED_STEPS),
            "steps": guarded.changes.len(),
        });
        cards.push(activity("repair", turn, &content));
    }
    if let Some((before, after)) = guarded.compacted {
        let content = json!({ "tokens_before": before, "tokens_after": after });
        cards.push(activity("compaction", turn, &content));
    }
    if !guarded.losses.is_empty() {
        let losses: Vec<&String> = guarded.losses.iter().take(MAX_LISTED_STEPS).collect();
        let content = json!({ "losses": losses, "count": guarded.losses.len() });
        cards.push(activity("conversion", turn, &content));
    }
    cards
}

/// Whether the guard did anything that deserves a card.
pub(super) fn is_notable(guarded: &GuardedRequest) -> bool {
    let acted = match guarded.action {
        GuardAction::None => false,
        GuardAction::Observed | GuardAction::Fixed | GuardAction::Rejected => true,
    };
    acted || guarded.compacted.is_some()
}

pub(super) fn findings_json(findings: &[FindingTally]) -> Value {
    let list = findings.iter().map(
        |finding| json!({ "code": rule_code(finding.code), "strategy": finding.strategy, "count": finding.count }),
    );
    list.collect()
}

pub(super) fn changes_json(changes: &[RepairChange], limit: usize) -> Value {
    let list = changes.iter().take(limit).map(|change| {
        json!({
            "code": rule_code(change.code),
            "strategy": change.strategy,
            "message": change.message,
            "calls": change.calls,
            "note": change.note,
        })
    });
    list.collect()
}

fn rule_code(code: u16) -> String {
    format!("FW{code}")
}

fn activity(kind: &str, turn: u32, content: &Value) -> EventPayload {
    let id = Some(format!("{kind}-{turn}").into());
    EventPayload::Activity(ActivityCard { kind: kind.into(), id, content: RawJson::from(content) })
}
