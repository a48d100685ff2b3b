#![doc = include_str!("orphan_server_result.md")]

use super::prelude::*;
use super::server_calls;
use crate::{
    check::{Findings, RuleContext},
    draft::{DraftFeatures, MessageLayout},
    report::{Fix, Strategy},
};

pub(super) const RULE: Rule = Rule {
    code: 602,
    name: "orphan-server-result",
    summary: "a result of the provider's own tool without its call",
    explain: page!("orphan_server_result.md"),
    applies: server_calls::PROVIDERS,
    layouts: &[Blocks, Items],
    features: DraftFeatures::SERVER,
    check,
};

fn check(context: &RuleContext<'_, '_>, findings: &mut Findings<'_, '_, '_>) {
    if !server_calls::are_judged(context) {
        return;
    }
    let strays = server_calls::stray_answers(context.draft);
    for (at, part) in server_calls::orphan_answers(context.draft) {
        let text =
            "a result of the provider's own tool has no call before it in its turn".to_owned();
        // The output of a program is the only record of what it did.
        let fix = match context.layout() {
            MessageLayout::Items => Fix::requires_unsafe(Strategy::Drop),
            MessageLayout::Chat | MessageLayout::Blocks => {
                let is_stray = strays.binary_search_by_key(&(at, part), |stray| stray.answer);
                Fix::safe(if is_stray.is_ok() { Strategy::Recover } else { Strategy::Drop })
            }
        };
        findings.add(at, context.draft.parts[part].span, text, fix);
    }
}
