#![doc = include_str!("dead_server_call.md")]

use super::prelude::*;
use super::server_calls;
use crate::{
    check::{Findings, RuleContext},
    draft::DraftFeatures,
    report::{Fix, Strategy},
};

pub(super) const RULE: Rule = Rule {
    code: 601,
    name: "dead-server-call",
    summary: "a call the provider runs itself, never finished",
    explain: include_str!("dead_server_call.md"),
    applies: &[(Anthropic, Documented), (Bedrock, Inferred), (Strict, Documented)],
    layouts: &[Blocks],
    features: DraftFeatures::SERVER,
    check,
};

fn check(view: &RuleContext<'_, '_>, notes: &mut Findings<'_, '_, '_>) {
    for (at, part) in server_calls::dead_calls(view.draft) {
        let text = "a call of the provider's own tool was never finished".to_owned();
        notes.add(at, view.draft.parts[part].span, text, Fix::safe(Strategy::Drop));
    }
}
