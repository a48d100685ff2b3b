#![doc = include_str!("shared_answer_message.md")]

use super::prelude::*;
use crate::{
    check::{Findings, RuleContext},
    draft::DraftFeatures,
    report::{Fix, Strategy},
};
use crate::{draft::PartKind, profile::requires_answers_alone};

pub(super) const RULE: Rule = Rule {
    code: 310,
    name: "shared-answer-message",
    summary: "answers that share their message with other content",
    explain: include_str!("shared_answer_message.md"),
    applies: &[(Bedrock, Documented), (Strict, Documented)],
    layouts: &[Blocks],
    features: DraftFeatures::SHARED_ANSWERS,
    check,
};

fn check(view: &RuleContext<'_, '_>, notes: &mut Findings<'_, '_, '_>) {
    if !requires_answers_alone(view.profile(), view.draft) {
        return;
    }
    for (at, message, parts) in view.messages().filter(|(_, message, _)| message.role.is_user()) {
        let answers = parts.iter().any(|part| matches!(part.kind, PartKind::Answer(_)));
        if answers && parts.iter().any(|part| !matches!(part.kind, PartKind::Answer(_))) {
            let text = "answers share their message with other content".to_owned();
            notes.add(at, message.span, text, Fix::safe(Strategy::Split));
        }
    }
}
