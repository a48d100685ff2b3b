#![doc = include_str!("empty_history.md")]

use super::prelude::*;
use crate::span::Span;
use crate::{
    check::{Notes, View},
    draft::Facts,
    report::Fix,
};

pub(super) const RULE: Rule = Rule {
    code: 314,
    name: "empty-history",
    summary: "a request without messages",
    explain: include_str!("empty_history.md"),
    applies: &[
        (OpenaiChat, Sure),
        (OpenaiResponses, Likely),
        (Anthropic, Sure),
        (Gemini, Sure),
        (Bedrock, Likely),
        (Mistral, Likely),
        (Deepseek, Likely),
        (Strict, Sure),
    ],
    layouts: &[Chat, Blocks, Items],
    needs: Facts::ALWAYS,
    check,
};

fn check(view: &View<'_, '_>, notes: &mut Notes<'_, '_, '_>) {
    if view.draft.body.wrapped && view.draft.messages.is_empty() && !view.draft.body.stateful {
        notes.add(0, Span::NOWHERE, "the request holds no message".to_owned(), Fix::NONE);
    }
}
