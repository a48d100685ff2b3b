#![doc = include_str!("unknown_role.md")]

use super::prelude::*;
use crate::draft::{Layout, Role};
use crate::{
    check::{Notes, View},
    draft::Facts,
    profile::Profile,
    report::{Fix, Strategy},
};

pub(super) const RULE: Rule = Rule {
    code: 407,
    name: "unknown-role",
    summary: "a role the provider does not know",
    explain: include_str!("unknown_role.md"),
    applies: &[
        (OpenaiChat, Sure),
        (OpenaiResponses, Sure),
        (Anthropic, Sure),
        (Gemini, Sure),
        (Bedrock, Sure),
        (Mistral, Sure),
        (Deepseek, Sure),
        (Strict, Sure),
    ],
    layouts: &[Chat, Blocks, Items],
    needs: Facts::UNKNOWN_ROLE.or(Facts::SYSTEM),
    check,
};

fn check(view: &View<'_, '_>, notes: &mut Notes<'_, '_, '_>) {
    let few = matches!(view.profile(), Profile::Mistral | Profile::Deepseek | Profile::Strict);
    for (at, message, _) in view.messages() {
        let what = match message.role {
            Role::Unknown => "the role is missing or unknown",
            Role::Developer if few => "the provider does not know the role `developer`",
            Role::Neutral if few && view.layout() == Layout::Chat => {
                "the provider does not know the role `function`"
            }
            _ => continue,
        };
        notes.add(at, message.span, what.to_owned(), Fix::safe(Strategy::Recode));
    }
}
