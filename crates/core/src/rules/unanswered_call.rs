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
    summary: "a tool call without a result",
    explain: page!("unanswered_call.md"),
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
    features: DraftFeatures::ALWAYS,
    check,
};

fn check(context: &RuleContext<'_, '_>, findings: &mut Findings<'_, '_, '_>) {
    let running = context.running_calls();
    for (index, paired) in context.pairing.calls.iter().enumerate() {
        if running.contains(&index) || !context.pairing.needs_result(context.draft, index) {
            continue;
        }
        let Some(call) = call_at(context.draft, paired.part()) else { continue };
        let text = match call.name.as_deref() {
            Some(name) => {
                format!(
                    "call {} to {} has no result",
                    display_id(call.id.as_deref()),
                    display_id(Some(name))
                )
            }
            None => format!("call {} has no result", display_id(call.id.as_deref())),
        };
        // Another model took over: the call is not sent again, and gets no result.
        let message = &context.draft.messages[paired.message()];
        let abandoned = context.draft.precedes_fallback(message, paired.part());
        let strategy = match context.options.policy.unanswered {
            UnansweredPolicy::Answer if abandoned => Strategy::Drop,
            UnansweredPolicy::Answer if call.family.accepts_text() => Strategy::Synthesize,
            UnansweredPolicy::Answer => Strategy::Drop,
            UnansweredPolicy::DropTurn | UnansweredPolicy::DropCall => Strategy::Drop,
        };
        findings.add_for_call(
            paired.message(),
            &context.draft.parts[paired.part()],
            call,
            text,
            Fix::safe(strategy),
        );
    }
}
