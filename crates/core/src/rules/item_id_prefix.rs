#![doc = include_str!("item_id_prefix.md")]

use super::prelude::*;
use crate::draft::MessageFlags;
use crate::{
    check::{Findings, RuleContext},
    draft::DraftFeatures,
    report::{Fix, Strategy},
};

pub(super) const RULE: Rule = Rule {
    code: 205,
    name: "item-id-prefix",
    summary: "an item id with the prefix of another type",
    explain: page!("item_id_prefix.md"),
    applies: &[(OpenaiResponses, Documented), (Strict, Documented)],
    layouts: &[Items],
    features: DraftFeatures::ITEM_ID,
    check,
};

fn check(context: &RuleContext<'_, '_>, findings: &mut Findings<'_, '_, '_>) {
    for (at, message, _) in
        context.messages().filter(|(_, message, _)| message.flags.has(MessageFlags::BAD_ITEM_ID))
    {
        let text = "the item id does not begin with the prefix of its type".to_owned();
        findings.add(at, message.span, text, Fix::safe(Strategy::Drop));
    }
}
