#![doc = include_str!("split_results.md")]

use super::paired_answers;
use super::prelude::*;
use crate::pairing::ResultMatch;
use crate::{
    check::{Findings, RuleContext},
    draft::DraftFeatures,
    report::{Fix, Strategy},
};

pub(super) const RULE: Rule = Rule {
    code: 105,
    name: "split-results",
    summary: "tool results of one turn spread over several messages",
    explain: page!("split_results.md"),
    applies: &[
        (Anthropic, Documented),
        (Gemini, Documented),
        (Bedrock, Documented),
        (Strict, Documented),
    ],
    layouts: &[Blocks],
    features: DraftFeatures::ALWAYS,
    check,
};

fn check(context: &RuleContext<'_, '_>, findings: &mut Findings<'_, '_, '_>) {
    for paired in &context.pairing.answers {
        if let ResultMatch::Split(call) = paired.result_match() {
            paired_answers::report_answer(
                context,
                findings,
                paired,
                call,
                "is not in the message directly after its call",
                Fix::safe(Strategy::Merge),
            );
        }
    }
}
