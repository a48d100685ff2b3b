//! What is told beside a conversation: repairs, compactions, what a format could not hold. Codes,
//! counts and sentences, no content.

use foxwedge_run::{ActivityCard, EventPayload, RawJson};
use serde_json::{Value, json};

use crate::{FindingTally, GuardAction, GuardedRequest, RepairChange};

/// More steps than that are counted, not listed.
const MAX_LISTED_STEPS: usize = 100;

/// The cards of a request. A card of the same request and kind replaces the one before.
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

/// Whether a guard did something that is worth a card at all.
pub(super) fn is_notable(guarded: &GuardedRequest) -> bool {
    let acted = match guarded.action {
        GuardAction::None => false,
        GuardAction::Observed | GuardAction::Fixed | GuardAction::Rejected => true,
    };
    acted || guarded.compacted.is_some()
}

pub(super) fn findings_json(findings: &[FindingTally]) -> Value {
    let list = findings.iter().map(
        |one| json!({ "code": rule_code(one.code), "strategy": one.strategy, "count": one.count }),
    );
    list.collect()
}

pub(super) fn changes_json(changes: &[RepairChange], most: usize) -> Value {
    let list = changes.iter().take(most).map(|one| {
        json!({
            "code": rule_code(one.code),
            "strategy": one.strategy,
            "message": one.message,
            "calls": one.calls,
            "note": one.note,
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
