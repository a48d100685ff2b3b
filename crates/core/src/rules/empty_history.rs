#![doc = include_str!("empty_history.md")]

use super::prelude::*;
use crate::{
    check::{Findings, RuleContext},
    draft::DraftFeatures,
    report::Fix,
};
use foxwedge_json::Span;

pub(super) const RULE: Rule = Rule {
    code: 314,
    name: "empty-history",
    summary: "a request without messages",
    explain: page!("empty_history.md"),
    applies: &[
        (OpenaiChat, Documented),
        (OpenaiResponses, Inferred),
        (Anthropic, Documented),
        (Gemini, Documented),
        (Bedrock, Inferred),
        (GeminiInteractions, Inferred),
        (Mistral, Inferred),
        (Deepseek, Inferred),
        (Strict, Documented),
    ],
    layouts: &[Chat, Blocks, Items],
    features: DraftFeatures::ALWAYS,
    check,
};

fn check(context: &RuleContext<'_, '_>, findings: &mut Findings<'_, '_, '_>) {
    if context.draft.body.wrapped
        && context.draft.messages.is_empty()
        && !context.draft.body.stateful
    {
        findings.add(0, Span::NOWHERE, "the request has no messages".to_owned(), Fix::NONE);
    }
}
