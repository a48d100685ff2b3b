#![doc = include_str!("name_mismatch.md")]

use super::paired_answers;
use super::prelude::*;
use crate::{
    check::{Findings, RuleContext},
    draft::DraftFeatures,
    report::{Fix, Strategy},
};
use crate::{
    draft::{Format, PartKind},
    pairing::call_at,
};

pub(super) const RULE: Rule = Rule {
    code: 107,
    name: "name-mismatch",
    summary: "a tool result with another tool name than its call",
    explain: page!("name_mismatch.md"),
    applies: &[(Gemini, Documented), (GeminiInteractions, Inferred), (Strict, Documented)],
    layouts: &[Blocks, Items],
    features: DraftFeatures::ALWAYS,
    check,
};

fn check(context: &RuleContext<'_, '_>, findings: &mut Findings<'_, '_, '_>) {
    let is_optional = match context.draft.format {
        Format::Gemini if context.profile() != GeminiInteractions => false,
        Format::GeminiInteractions if context.profile() != Gemini => true,
        _ => return,
    };
    for paired in &context.pairing.answers {
        let Some(call) = paired.result_match().call() else { continue };
        let PartKind::Answer(answer) = &context.draft.parts[paired.part()].kind else { continue };
        let Some(outline) = call_at(context.draft, context.pairing.calls[call].part()) else {
            continue;
        };
        let unnamed = is_optional && answer.name.is_none();
        if unnamed || answer.tool() == outline.name.as_deref() {
            continue;
        }
        let problem = if answer.name.is_some() {
            "has another tool name than its call"
        } else {
            "has no tool name"
        };
        paired_answers::report_answer(
            context,
            findings,
            paired,
            call,
            problem,
            Fix::safe(Strategy::Rename),
        );
    }
}
