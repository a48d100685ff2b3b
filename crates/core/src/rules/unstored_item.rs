#![doc = include_str!("unstored_item.md")]

use super::prelude::*;
use crate::draft::MessageFlags;
use crate::{
    check::{Findings, RuleContext},
    draft::DraftFeatures,
    report::{Fix, Strategy},
};

pub(super) const RULE: Rule = Rule {
    code: 206,
    name: "unstored-item",
    summary: "a reasoning item that only exists in the server's storage",
    explain: page!("unstored_item.md"),
    applies: &[(OpenaiResponses, Documented)],
    layouts: &[Items],
    features: DraftFeatures::ITEM_ID,
    check,
};

fn check(context: &RuleContext<'_, '_>, findings: &mut Findings<'_, '_, '_>) {
    if !context.draft.body.unstored {
        return;
    }
    for (at, message, _) in
        context.messages().filter(|(_, message, _)| message.flags.has(MessageFlags::UNSTORED))
    {
        let text = "the request has `store: false`, and this reasoning has no encrypted content"
            .to_owned();
        findings.add(at, message.span, text, Fix::safe(Strategy::Drop));
    }
}
