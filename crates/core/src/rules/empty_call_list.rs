#![doc = include_str!("empty_call_list.md")]

use super::prelude::*;
use crate::draft::MessageFlags;
use crate::{
    check::{Findings, RuleContext},
    draft::DraftFeatures,
    report::{Fix, Strategy},
};

pub(super) const RULE: Rule = Rule {
    code: 309,
    name: "empty-call-list",
    summary: "an empty list of tool calls",
    explain: page!("empty_call_list.md"),
    applies: &[(OpenaiChat, Documented), (Strict, Documented)],
    layouts: &[Chat],
    features: DraftFeatures::EMPTY_CALLS,
    check,
};

fn check(context: &RuleContext<'_, '_>, findings: &mut Findings<'_, '_, '_>) {
    for (at, message, _) in
        context.messages().filter(|(_, message, _)| message.flags.has(MessageFlags::EMPTY_CALLS))
    {
        let text = "the list of calls is empty and must be left out".to_owned();
        findings.add(at, message.span, text, Fix::safe(Strategy::Drop));
    }
}
