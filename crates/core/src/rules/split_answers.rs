#![doc = include_str!("split_answers.md")]

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
    name: "split-answers",
    summary: "answers of one turn spread over several messages",
    explain: include_str!("split_answers.md"),
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

fn check(view: &RuleContext<'_, '_>, notes: &mut Findings<'_, '_, '_>) {
    for paired in &view.pairing.answers {
        if let ResultMatch::Split(call) = paired.result_match() {
            paired_answers::report_answer(
                view,
                notes,
                paired,
                call,
                "is not in the message right after its call",
                Fix::safe(Strategy::Merge),
            );
        }
    }
}
