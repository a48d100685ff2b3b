#![doc = include_str!("unanswered_call.md")]

use super::prelude::*;
use crate::{check::display_id, pairing::call_at, policy::UnansweredPolicy};
use crate::{
    check::{Findings, RuleContext},
    draft::DraftFeatures,
    report::{Fix, Strategy},
};

pub(super) const RULE: Rule = Rule {
    code: 101,
    name: "unanswered-call",
    summary: "a call that nobody answers",
    explain: include_str!("unanswered_call.md"),
    applies: &[
        (OpenaiChat, Documented),
        (OpenaiResponses, Documented),
        (Anthropic, Documented),
        (Gemini, Documented),
        (Bedrock, Documented),
        (Mistral, Documented),
        (Deepseek, Documented),
        (Strict, Documented),
    ],
    layouts: &[Chat, Blocks, Items],
    features: DraftFeatures::ALWAYS,
    check,
};

fn check(view: &RuleContext<'_, '_>, notes: &mut Findings<'_, '_, '_>) {
    let running = view.running_calls();
    for (index, paired) in view.pairing.calls.iter().enumerate() {
        if paired.answer().is_some() || running.contains(&index) {
            continue;
        }
        let Some(call) = call_at(view.draft, paired.part()) else { continue };
        let text = match call.name.as_deref() {
            Some(name) => {
                format!(
                    "call {} to {} is never answered",
                    display_id(call.id.as_deref()),
                    display_id(Some(name))
                )
            }
            None => format!("call {} is never answered", display_id(call.id.as_deref())),
        };
        let strategy = match view.options.policy.unanswered {
            UnansweredPolicy::Answer if call.family.accepts_text() => Strategy::Synthesize,
            UnansweredPolicy::Answer => Strategy::Drop,
            UnansweredPolicy::DropTurn | UnansweredPolicy::DropCall => Strategy::Drop,
        };
        notes.add_for_call(
            paired.message(),
            &view.draft.parts[paired.part()],
            call,
            text,
            Fix::safe(strategy),
        );
    }
}
