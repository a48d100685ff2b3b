#![doc = include_str!("untyped_call.md")]

use foxwedge_json::field_value;

use super::prelude::*;
use crate::{
    check::{Findings, RuleContext, display_id},
    draft::DraftFeatures,
    profile::Profile,
    report::{Fix, Strategy},
};

pub(super) const RULE: Rule = Rule {
    code: 316,
    name: "untyped-call",
    summary: "a tool call without a valid type",
    explain: page!("untyped_call.md"),
    applies: &[(OpenaiChat, Documented), (Mistral, Documented), (Strict, Documented)],
    layouts: &[Chat],
    features: DraftFeatures::UNTYPED_CALL,
    check,
};

fn check(context: &RuleContext<'_, '_>, findings: &mut Findings<'_, '_, '_>) {
    for (at, part, call) in context.calls().filter(|(_, _, call)| !call.typed) {
        // Mistral treats a call without a type as a function call.
        let has_type = || field_value(context.draft.source, part.span, "type").is_some();
        if context.profile() == Profile::Mistral && !has_type() {
            continue;
        }
        let text = format!("call {} has no valid type", display_id(call.id.as_deref()));
        findings.add_for_call(at, part, call, text, Fix::safe(Strategy::Recode));
    }
}
