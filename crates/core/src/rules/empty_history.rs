#![doc = include_str!("empty_history.md")]

use super::prelude::*;
use crate::span::Span;
use crate::{
    check::{Findings, RuleContext},
    draft::DraftFeatures,
    report::Fix,
};

pub(super) const RULE: Rule = Rule {
    code: 314,
    name: "empty-history",
    summary: "a request without messages",
    explain: include_str!("empty_history.md"),
    applies: &[
        (OpenaiChat, Documented),
        (OpenaiResponses, Inferred),
        (Anthropic, Documented),
        (Gemini, Documented),
        (Bedrock, Inferred),
        (Mistral, Inferred),
        (Deepseek, Inferred),
        (Strict, Documented),
    ],
    layouts: &[Chat, Blocks, Items],
    features: DraftFeatures::ALWAYS,
    check,
};

fn check(view: &RuleContext<'_, '_>, notes: &mut Findings<'_, '_, '_>) {
    if view.draft.body.wrapped && view.draft.messages.is_empty() && !view.draft.body.stateful {
        notes.add(0, Span::NOWHERE, "the request holds no message".to_owned(), Fix::NONE);
    }
}
