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
    summary: "a call id with characters or a length that the provider rejects",
    explain: page!("illegal_call_id.md"),
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

fn check(context: &RuleContext<'_, '_>, findings: &mut Findings<'_, '_, '_>) {
    let rule = context.profile().id_rule();
    let may_accept = may_take_any_id(context.profile(), context.draft);
    for (at, part, call) in context.calls() {
        let Some(id) = call.id.as_deref().filter(|id| !rule.allows(id)) else { continue };
        let text = format!(
            "id {} is invalid: the provider accepts {}",
            display_id(Some(id)),
            rule.describe()
        );
        let fix = if may_accept {
            Fix::requires_unsafe(Strategy::Rename)
        } else {
            Fix::safe(Strategy::Rename)
        };
        let finding = findings.add_for_call(at, part, call, text, fix);
        if may_accept {
            finding.severity = Severity::Warning;
        }
    }
}
