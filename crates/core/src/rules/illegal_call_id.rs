#![doc = include_str!("illegal_call_id.md")]

use super::prelude::*;
use crate::check::display_id;
use crate::{
    check::{Findings, RuleContext},
    draft::DraftFeatures,
    profile::may_take_any_id,
    report::{Fix, Severity, Strategy},
};

pub(super) const RULE: Rule = Rule {
    code: 203,
    name: "illegal-call-id",
    summary: "an id with characters or a length the provider refuses",
    explain: include_str!("illegal_call_id.md"),
    applies: &[
        (OpenaiChat, Documented),
        (OpenaiResponses, Documented),
        (Anthropic, Documented),
        (Bedrock, Documented),
        (Mistral, Documented),
        (Strict, Documented),
    ],
    layouts: &[Chat, Blocks, Items],
    features: DraftFeatures::ALWAYS,
    check,
};

fn check(view: &RuleContext<'_, '_>, notes: &mut Findings<'_, '_, '_>) {
    let rule = view.profile().id_rule();
    let unsure = may_take_any_id(view.profile(), view.draft);
    for (at, part, call) in view.calls() {
        let Some(id) = call.id.as_deref().filter(|id| !rule.allows(id)) else { continue };
        let text = format!(
            "id {} is refused: the provider takes {}",
            display_id(Some(id)),
            rule.describe()
        );
        let fix = if unsure {
            Fix::requires_unsafe(Strategy::Rename)
        } else {
            Fix::safe(Strategy::Rename)
        };
        let finding = notes.add_for_call(at, part, call, text, fix);
        if unsure {
            finding.severity = Severity::Warning;
        }
    }
}
