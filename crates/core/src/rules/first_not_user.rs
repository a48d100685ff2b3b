#![doc = include_str!("first_not_user.md")]

use super::prelude::*;
use crate::draft::{Format, MessageFlags};
use crate::{
    check::{Findings, RuleContext},
    draft::DraftFeatures,
    profile::Profile,
    report::{Fix, Strategy},
};

pub(super) const RULE: Rule = Rule {
    code: 401,
    name: "first-not-user",
    summary: "a history that does not start with a user message",
    explain: page!("first_not_user.md"),
    applies: &[
        (Anthropic, Documented),
        (Gemini, Documented),
        (Bedrock, Inferred),
        (Strict, Documented),
    ],
    layouts: &[Chat, Blocks],
    features: DraftFeatures::ALWAYS,
    check,
};

fn check(context: &RuleContext<'_, '_>, findings: &mut Findings<'_, '_, '_>) {
    if context.draft.body.stateful {
        return;
    }
    let first =
        context.draft.messages.iter().enumerate().find(|(_, message)| !message.role.is_system());
    let Some((at, message)) = first else { return };
    if message.flags.has(MessageFlags::COMPACTION) {
        return; // The provider ignores everything before its own summary.
    }
    let refused = if context.profile() == Profile::Gemini {
        context.draft.format == Format::Gemini
            && message.role.is_assistant()
            && context.draft.has_calls(message)
    } else {
        !message.role.is_user()
    };
    if refused {
        let text = "the first message is not a user message".to_owned();
        findings.add(at, message.span, text, Fix::safe(Strategy::Insert));
    }
}
