#![doc = include_str!("shared_result_message.md")]

use super::prelude::*;
use crate::{
    check::{Findings, RuleContext},
    draft::DraftFeatures,
    report::{Fix, Strategy},
};
use crate::{draft::PartKind, profile::requires_answers_alone};

pub(super) const RULE: Rule = Rule {
    code: 310,
    name: "shared-result-message",
    summary: "tool results that share their message with other content",
    explain: page!("shared_result_message.md"),
    applies: &[(Bedrock, Documented), (Strict, Documented)],
    layouts: &[Blocks],
    features: DraftFeatures::SHARED_ANSWERS,
    check,
};

fn check(context: &RuleContext<'_, '_>, findings: &mut Findings<'_, '_, '_>) {
    if !requires_answers_alone(context.profile(), context.draft) {
        return;
    }
    for (at, message, parts) in context.messages().filter(|(_, message, _)| message.role.is_user())
    {
        let answers = parts.iter().any(|part| matches!(part.kind, PartKind::Answer(_)));
        if answers && parts.iter().any(|part| !matches!(part.kind, PartKind::Answer(_))) {
            let text = "results share their message with other content".to_owned();
            findings.add(at, message.span, text, Fix::safe(Strategy::Split));
        }
    }
}
