#![doc = include_str!("displaced_result.md")]

use super::paired_answers;
use super::prelude::*;
use crate::pairing::ResultMatch;
use crate::{
    check::{Findings, RuleContext},
    draft::{DraftFeatures, MessageLayout},
    report::{Fix, Strategy},
};

pub(super) const RULE: Rule = Rule {
    code: 103,
    name: "displaced-result",
    summary: "a tool result in the wrong place",
    explain: page!("displaced_result.md"),
    applies: &[
        (OpenaiChat, Inferred),
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
    let anywhere =
        context.layout() == MessageLayout::Items && context.profile().allows_late_results();
    for paired in &context.pairing.answers {
        let (call, problem) = match paired.result_match() {
            ResultMatch::Early(call) => (call, "is before its call"),
            ResultMatch::Displaced(call) if !anywhere => {
                (call, "does not directly follow its call")
            }
            _ => continue,
        };
        paired_answers::report_answer(
            context,
            findings,
            paired,
            call,
            problem,
            Fix::safe(Strategy::Recover),
        );
    }
}
