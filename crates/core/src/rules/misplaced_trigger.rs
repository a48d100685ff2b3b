#![doc = include_str!("misplaced_trigger.md")]

use super::prelude::*;
use crate::{
    check::{Findings, RuleContext},
    draft::{DraftFeatures, MessageFlags},
    report::Fix,
};

pub(super) const RULE: Rule = Rule {
    code: 605,
    name: "misplaced-trigger",
    summary: "a request for compaction that is not the last item",
    explain: page!("misplaced_trigger.md"),
    applies: &[(OpenaiResponses, Documented), (Strict, Documented)],
    layouts: &[Items],
    features: DraftFeatures::TRIGGER,
    check,
};

fn check(context: &RuleContext<'_, '_>, findings: &mut Findings<'_, '_, '_>) {
    let last = context.draft.messages.len().saturating_sub(1);
    for (at, message) in context.draft.messages.iter().enumerate().take(last) {
        if message.flags.has(MessageFlags::TRIGGER) {
            let text = "other items follow this `compaction_trigger`".to_owned();
            findings.add(at, message.span, text, Fix::NONE);
        }
    }
}
