#![doc = include_str!("untyped_call.md")]

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
    summary: "a call that does not say of which type it is",
    explain: include_str!("untyped_call.md"),
    applies: &[(OpenaiChat, Documented), (Mistral, Documented), (Strict, Documented)],
    layouts: &[Chat],
    features: DraftFeatures::UNTYPED_CALL,
    check,
};

fn check(view: &RuleContext<'_, '_>, notes: &mut Findings<'_, '_, '_>) {
    for (at, part, call) in view.calls().filter(|(_, _, call)| !call.typed) {
        // Mistral takes a call for a function unless it says something else.
        let silent = !part.span.of(view.draft.source).contains("\"type\"");
        if silent && view.profile() == Profile::Mistral {
            continue;
        }
        let text =
            format!("call {} does not say of which type it is", display_id(call.id.as_deref()));
        notes.add_for_call(at, part, call, text, Fix::safe(Strategy::Recode));
    }
}
