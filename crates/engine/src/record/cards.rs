//! What is told beside a conversation: repairs, compactions, what a format could not hold. Codes,
//! counts and sentences, no content.

use foxwedge_run::{Activity, Body, Json};
use serde_json::{Value, json};

use crate::{Action, Change, Guarded, Noted};

/// More steps than that are counted, not listed.
const STEPS: usize = 100;

/// The cards of a request. A card of the same request and kind replaces the one before.
pub(super) fn of(guarded: &Guarded, turn: u32) -> Vec<Body> {
    let mut cards = Vec::new();
    if !guarded.findings.is_empty() || !guarded.changes.is_empty() {
        let content = json!({
            "action": guarded.action.name(),
            "findings": findings(&guarded.findings),
            "changes": changes(&guarded.changes, STEPS),
            "steps": guarded.changes.len(),
        });
        cards.push(card("repair", turn, &content));
    }
    if let Some((before, after)) = guarded.compacted {
        let content = json!({ "tokens_before": before, "tokens_after": after });
        cards.push(card("compaction", turn, &content));
    }
    if !guarded.losses.is_empty() {
        let losses: Vec<&String> = guarded.losses.iter().take(STEPS).collect();
        let content = json!({ "losses": losses, "count": guarded.losses.len() });
        cards.push(card("conversion", turn, &content));
    }
    cards
}

/// Whether a guard did something that is worth a card at all.
pub(super) fn is_worth(guarded: &Guarded) -> bool {
    let acted = match guarded.action {
        Action::None => false,
        Action::Observed | Action::Fixed | Action::Rejected => true,
    };
    acted || guarded.compacted.is_some()
}

pub(super) fn findings(findings: &[Noted]) -> Value {
    let list = findings.iter().map(
        |one| json!({ "code": label(one.code), "strategy": one.strategy, "count": one.count }),
    );
    list.collect()
}

pub(super) fn changes(changes: &[Change], most: usize) -> Value {
    let list = changes.iter().take(most).map(|one| {
        json!({
            "code": label(one.code),
            "strategy": one.strategy,
            "message": one.message,
            "calls": one.calls,
            "note": one.note,
        })
    });
    list.collect()
}

fn label(code: u16) -> String {
    format!("FW{code}")
}

fn card(kind: &str, turn: u32, content: &Value) -> Body {
    let id = Some(format!("{kind}-{turn}").into());
    Body::Activity(Activity { kind: kind.into(), id, content: Json::from(content) })
}
