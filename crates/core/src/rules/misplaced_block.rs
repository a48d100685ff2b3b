#![doc = include_str!("misplaced_block.md")]

use super::{prelude::*, unknown_role::is_foreign};
use crate::{
    check::{Findings, RuleContext},
    draft::{DraftFeatures, MessageLayout},
    report::{Fix, Strategy},
};
use crate::{
    draft::{MessageFlags, PartKind},
    pairing::PairedAnswer,
    policy::OrphanPolicy,
};

pub(super) const RULE: Rule = Rule {
    code: 304,
    name: "misplaced-block",
    summary: "a tool call, tool result or reasoning in a message of the wrong role",
    explain: page!("misplaced_block.md"),
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
    layouts: &[Chat, Blocks],
    features: DraftFeatures::MISPLACED,
    check,
};

fn check(context: &RuleContext<'_, '_>, findings: &mut Findings<'_, '_, '_>) {
    for (at, message, parts) in context.messages() {
        let (user, assistant) = (message.role.is_user(), message.role.is_assistant());
        if context.layout() == MessageLayout::Chat {
            if message.flags.has(MessageFlags::STRAY_CALLS) {
                let text = "only an assistant message can hold calls".to_owned();
                let fix = match is_foreign(context.draft, message) {
                    true => Fix::requires_unsafe(Strategy::Drop),
                    false => Fix::safe(Strategy::Drop),
                };
                findings.add(at, message.span, text, fix);
            }
            continue;
        }
        for (index, part) in message.range().zip(parts) {
            let (what, strategy) = match part.kind {
                PartKind::Call(_) if !assistant => {
                    ("a call outside an assistant message", Strategy::Drop)
                }
                PartKind::Answer(_) if !user => {
                    ("a result outside a user message", answer_strategy(context, at, index))
                }
                PartKind::Reasoning(_) if user => ("reasoning in a user message", Strategy::Drop),
                _ => continue,
            };
            findings.add(at, part.span, what.to_owned(), Fix::safe(strategy));
        }
    }
}

/// An answer with a call moves to it; any other is quoted as user text.
fn answer_strategy(context: &RuleContext<'_, '_>, message: usize, part: usize) -> Strategy {
    let place = |answer: &PairedAnswer| (answer.message(), answer.part());
    let at = context.pairing.answers.binary_search_by_key(&(message, part), place);
    let has_call = at.is_ok_and(|at| context.pairing.answers[at].result_match().call().is_some());
    match (has_call, context.options.policy.orphans) {
        (true, _) => Strategy::Recover,
        (false, OrphanPolicy::Quote) => Strategy::Quote,
        (false, OrphanPolicy::Drop) => Strategy::Drop,
    }
}
