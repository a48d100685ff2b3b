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
    summary: "a history that does not start with the user",
    explain: include_str!("first_not_user.md"),
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

fn check(view: &RuleContext<'_, '_>, notes: &mut Findings<'_, '_, '_>) {
    if view.draft.body.stateful {
        return;
    }
    let first =
        view.draft.messages.iter().enumerate().find(|(_, message)| !message.role.is_system());
    let Some((at, message)) = first else { return };
    if message.flags.has(MessageFlags::COMPACTION) {
        return; // The provider drops what stands before its own summary.
    }
    let refused = if view.profile() == Profile::Gemini {
        view.draft.format == Format::Gemini
            && message.role.is_assistant()
            && view.draft.has_calls(message)
    } else {
        !message.role.is_user()
    };
    if refused {
        let text = "the first message is not the user's".to_owned();
        notes.add(at, message.span, text, Fix::safe(Strategy::Insert));
    }
}
