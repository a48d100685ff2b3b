#![doc = include_str!("user_after_result.md")]

use super::prelude::*;
use crate::draft::Role;
use crate::{
    check::{Findings, RuleContext},
    draft::{DraftFeatures, MessageLayout},
    profile::{Profile, requires_answers_alone},
    report::{Fix, Strategy},
};

pub(super) const RULE: Rule = Rule {
    code: 404,
    name: "user-after-result",
    summary: "a user message directly after a tool result",
    explain: page!("user_after_result.md"),
    applies: &[(Mistral, Documented), (Bedrock, Documented), (Strict, Documented)],
    layouts: &[Chat, Blocks],
    features: DraftFeatures::USER_AFTER_ANSWER,
    check,
};

fn check(context: &RuleContext<'_, '_>, findings: &mut Findings<'_, '_, '_>) {
    let draft = context.draft;
    let alone = requires_answers_alone(context.profile(), draft);
    for at in 1..draft.messages.len() {
        let (before, message) = (&draft.messages[at - 1], &draft.messages[at]);
        let refused = message.role.is_user()
            && match context.layout() {
                MessageLayout::Blocks => {
                    alone
                        && before.role.is_user()
                        && draft.has_answers(before)
                        && !draft.has_answers(message)
                }
                MessageLayout::Chat | MessageLayout::Items => {
                    context.profile() != Profile::Bedrock && before.role == Role::Answer
                }
            };
        if refused {
            let text =
                "an assistant message must come between a result and a user message".to_owned();
            findings.add(at, message.span, text, Fix::safe(Strategy::Insert));
        }
    }
}
