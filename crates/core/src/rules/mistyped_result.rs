#![doc = include_str!("mistyped_result.md")]

use super::paired_answers;
use super::prelude::*;
use crate::{
    check::{Findings, RuleContext},
    draft::{DraftFeatures, PartKind},
    pairing::call_at,
    report::{Fix, Strategy},
};

pub(super) const RULE: Rule = Rule {
    code: 109,
    name: "mistyped-result",
    summary: "a tool result of another type than its call",
    explain: page!("mistyped_result.md"),
    applies: &[(OpenaiResponses, Inferred), (Strict, Inferred)],
    layouts: &[Items],
    features: DraftFeatures::ALWAYS,
    check,
};

fn check(context: &RuleContext<'_, '_>, findings: &mut Findings<'_, '_, '_>) {
    for paired in &context.pairing.answers {
        let Some(call) = paired.result_match().call() else { continue };
        let PartKind::Answer(answer) = &context.draft.parts[paired.part()].kind else { continue };
        let outline = call_at(context.draft, context.pairing.calls[call].part());
        if outline.is_some_and(|call| answer.family.confused_with().contains(&call.family)) {
            paired_answers::report_answer(
                context,
                findings,
                paired,
                call,
                "has another type than its call",
                Fix::safe(Strategy::Recode),
            );
        }
    }
}
