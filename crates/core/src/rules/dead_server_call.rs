#![doc = include_str!("dead_server_call.md")]

use super::prelude::*;
use super::server_calls;
use crate::{
    check::{Findings, RuleContext},
    draft::{DraftFeatures, MessageLayout},
    report::{Fix, Strategy},
};

pub(super) const RULE: Rule = Rule {
    code: 601,
    name: "dead-server-call",
    summary: "an unfinished call to a tool that the provider runs",
    explain: page!("dead_server_call.md"),
    applies: server_calls::PROVIDERS,
    layouts: &[Blocks, Items],
    features: DraftFeatures::SERVER,
    check,
};

fn check(context: &RuleContext<'_, '_>, findings: &mut Findings<'_, '_, '_>) {
    if !server_calls::are_judged(context) {
        return;
    }
    for (at, part) in server_calls::ownerless_calls(context.draft) {
        let text = "what made this call is not in the history".to_owned();
        findings.add(at, context.draft.parts[part].span, text, Fix::safe(Strategy::Drop));
    }
    if context.layout() == MessageLayout::Items {
        for (at, part) in server_calls::open_items(context.draft) {
            let text = "a call of the provider's own tool has no output".to_owned();
            findings.add(at, context.draft.parts[part].span, text, Fix::NONE);
        }
        return;
    }
    for (at, part) in server_calls::dead_calls(context.draft) {
        let text = "a call of the provider's own tool never finished".to_owned();
        findings.add(at, context.draft.parts[part].span, text, Fix::safe(Strategy::Drop));
    }
}
