#![doc = include_str!("unknown_role.md")]

use foxwedge_json::field_value;

use super::prelude::*;
use crate::draft::{Draft, Message, MessageLayout, Role};
use crate::{
    check::{Findings, RuleContext},
    draft::DraftFeatures,
    profile::Profile,
    report::{Fix, Strategy},
};

pub(super) const RULE: Rule = Rule {
    code: 407,
    name: "unknown-role",
    summary: "a role that the provider does not know",
    explain: page!("unknown_role.md"),
    applies: &[
        (OpenaiChat, Documented),
        (OpenaiResponses, Documented),
        (Anthropic, Documented),
        (Gemini, Documented),
        (Bedrock, Documented),
        (GeminiInteractions, Inferred),
        (Mistral, Documented),
        (Deepseek, Documented),
        (Strict, Documented),
    ],
    layouts: &[Chat, Blocks, Items],
    features: DraftFeatures::UNKNOWN_ROLE.union(DraftFeatures::SYSTEM),
    check,
};

fn check(context: &RuleContext<'_, '_>, findings: &mut Findings<'_, '_, '_>) {
    let few_roles =
        matches!(context.profile(), Profile::Mistral | Profile::Deepseek | Profile::Strict);
    for (at, message, parts) in context.messages() {
        let what = match message.role {
            _ if parts.iter().any(|part| part.kind.is_foreign_answer()) => {
                "a tool result is written as in another format"
            }
            Role::Unknown => "the role is missing or unknown",
            Role::Developer if few_roles => "the provider does not know the role `developer`",
            Role::Neutral if few_roles && context.layout() == MessageLayout::Chat => {
                "the provider does not know the role `function`"
            }
            _ => continue,
        };
        let fix = match is_foreign(context.draft, message) {
            true => Fix::requires_unsafe(Strategy::Recode),
            false => Fix::safe(Strategy::Recode),
        };
        findings.add(at, message.span, what.to_owned(), fix);
    }
}

/// Whether a chat message without a role is one of another format, which names its side in `type`.
/// Then it is not simply the user's.
pub(super) fn is_foreign(draft: &Draft<'_>, message: &Message) -> bool {
    let has = |key: &str| {
        let value = field_value(draft.source, message.span, key);
        value.is_some_and(|value| value.of(draft.source) != "null")
    };
    message.role == Role::Unknown
        && draft.layout() == MessageLayout::Chat
        && !has("role")
        && has("type")
}
