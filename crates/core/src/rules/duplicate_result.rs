#![doc = include_str!("duplicate_result.md")]

use super::paired_answers;
use super::prelude::*;
use crate::{
    check::{Findings, RuleContext},
    draft::DraftFeatures,
    report::{Fix, Strategy},
};
use crate::{
    pairing::{ResultMatch, adds_nothing, replaces},
    policy::OrphanPolicy,
};

pub(super) const RULE: Rule = Rule {
    code: 104,
    name: "duplicate-result",
    summary: "a second result for one tool call",
    explain: page!("duplicate_result.md"),
    applies: &[
        (OpenaiChat, Documented),
        (OpenaiResponses, Inferred),
        (Anthropic, Documented),
        (Gemini, Inferred),
        (Bedrock, Documented),
        (GeminiInteractions, Inferred),
        (Mistral, Documented),
        (Deepseek, Inferred),
        (Strict, Documented),
    ],
    layouts: &[Chat, Blocks, Items],
    features: DraftFeatures::ALWAYS,
    check,
};

fn check(context: &RuleContext<'_, '_>, findings: &mut Findings<'_, '_, '_>) {
    for paired in &context.pairing.answers {
        let ResultMatch::Duplicate(call) = paired.result_match() else { continue };
        let quoted = context.options.policy.orphans == OrphanPolicy::Quote
            && !adds_nothing(context.draft, context.pairing, paired.part(), call);
        let first =
            context.pairing.calls[call].answer().map(|first| context.pairing.answers[first].part());
        let replaces = first.is_some_and(|first| replaces(context.draft, first, paired.part()));
        let fix = Fix::safe(match (replaces, quoted) {
            (true, _) => Strategy::Recover,
            (false, true) => Strategy::Quote,
            (false, false) => Strategy::Drop,
        });
        paired_answers::report_answer(
            context,
            findings,
            paired,
            call,
            "is not the first result of its call",
            fix,
        );
    }
}
