#![doc = include_str!("misplaced_system.md")]

use super::prelude::*;
use crate::draft::{PartKind, Role};
use crate::{
    check::{Findings, RuleContext},
    draft::{DraftFeatures, MessageLayout},
    profile::Profile,
    report::{Fix, Strategy},
};

pub(super) const RULE: Rule = Rule {
    code: 406,
    name: "misplaced-system",
    summary: "a system message where the provider does not accept one",
    explain: page!("misplaced_system.md"),
    applies: &[
        (Anthropic, Documented),
        (Gemini, Documented),
        (Bedrock, Documented),
        (Mistral, Documented),
        (Strict, Documented),
    ],
    layouts: &[Chat, Blocks],
    features: DraftFeatures::SYSTEM,
    check,
};

fn check(context: &RuleContext<'_, '_>, findings: &mut Findings<'_, '_, '_>) {
    let draft = context.draft;
    let leading = draft.messages.iter().take_while(|message| message.role.is_system()).count();
    let precedes_user = followed_by_user(context);
    for (at, message) in
        draft.messages.iter().enumerate().filter(|(_, message)| message.role.is_system())
    {
        let before = at.checked_sub(1).and_then(|before| draft.messages.get(before));
        let refused = match (context.layout(), context.profile()) {
            (MessageLayout::Blocks, Profile::Gemini | Profile::Bedrock | Profile::Strict) => true,
            (MessageLayout::Blocks, Profile::Anthropic) => {
                precedes_user.get(at).is_some_and(|precedes| *precedes)
                    || before.is_none_or(|before| {
                        before.role.is_assistant()
                            && !matches!(
                                draft.parts_of(before).last().map(|part| &part.kind),
                                Some(PartKind::ServerAnswer(_))
                            )
                    })
            }
            (MessageLayout::Chat, Profile::Mistral) => before
                .is_some_and(|before| before.role.is_assistant() || before.role == Role::Answer),
            (MessageLayout::Chat, Profile::Strict) => at >= leading,
            _ => false,
        };
        if refused {
            let text = "the provider does not accept a system message here".to_owned();
            // A change of tools is not allowed in a user message.
            let changes_tools = context.profile() == Profile::Anthropic
                && draft.parts_of(message).iter().any(|part| matches!(part.kind, PartKind::Other));
            let fix = if changes_tools { Fix::NONE } else { Fix::safe(Strategy::Recode) };
            findings.add(at, message.span, text, fix);
        }
    }
}

/// For each message whether the next one that is no system message is the user's.
fn followed_by_user(context: &RuleContext<'_, '_>) -> Vec<bool> {
    let messages = &context.draft.messages;
    let mut precedes = vec![false; messages.len()];
    let mut is_user = false;
    for (message, precedes) in messages.iter().zip(&mut precedes).rev() {
        *precedes = is_user;
        if !message.role.is_system() {
            is_user = message.role.is_user();
        }
    }
    precedes
}
