#![doc = include_str!("missing_call_id.md")]

use super::paired_answers;
use super::prelude::*;
use crate::{
    check::display_id,
    draft::{Format, PartKind},
    pairing::call_at,
};
use crate::{
    check::{Findings, RuleContext},
    draft::DraftFeatures,
    report::{Fix, Strategy},
};

pub(super) const RULE: Rule = Rule {
    code: 204,
    name: "missing-call-id",
    summary: "a tool call without an id",
    explain: page!("missing_call_id.md"),
    applies: &[
        (OpenaiChat, Documented),
        (OpenaiResponses, Documented),
        (Anthropic, Documented),
        (Bedrock, Documented),
        (GeminiInteractions, Documented),
        (Mistral, Documented),
        (Deepseek, Inferred),
        (Strict, Documented),
        (Gemini, Inferred),
    ],
    layouts: &[Chat, Blocks, Items],
    features: DraftFeatures::ALWAYS,
    check,
};

fn check(context: &RuleContext<'_, '_>, findings: &mut Findings<'_, '_, '_>) {
    if context.draft.format == Format::Gemini {
        return; // Ids are optional there.
    }
    for (at, part, call) in context.calls().filter(|(_, _, call)| call.id.is_none()) {
        let text = format!("call to {} has no id", display_id(call.name.as_deref()));
        findings.add_for_call(at, part, call, text, Fix::safe(Strategy::Rename));
    }
    for paired in &context.pairing.answers {
        let Some(call) = paired.result_match().call() else { continue };
        let PartKind::Answer(answer) = &context.draft.parts[paired.part()].kind else { continue };
        let outline = call_at(context.draft, context.pairing.calls[call].part());
        if answer.id.is_none() && outline.is_some_and(|call| call.id.is_some()) {
            paired_answers::report_answer(
                context,
                findings,
                paired,
                call,
                "does not name its call",
                Fix::safe(Strategy::Rename),
            );
        }
    }
}
