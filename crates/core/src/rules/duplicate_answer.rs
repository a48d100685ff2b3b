#![doc = include_str!("duplicate_answer.md")]

use super::pairs;
use super::prelude::*;
use crate::pair::Fate;
use crate::{
    check::{Notes, View},
    draft::Facts,
    report::{Fix, Strategy},
};

pub(super) const RULE: Rule = Rule {
    code: 104,
    name: "duplicate-answer",
    summary: "a second answer to one call",
    explain: include_str!("duplicate_answer.md"),
    applies: &[
        (OpenaiChat, Likely),
        (OpenaiResponses, Likely),
        (Anthropic, Sure),
        (Gemini, Likely),
        (Bedrock, Sure),
        (Mistral, Sure),
        (Deepseek, Likely),
        (Strict, Sure),
    ],
    layouts: &[Chat, Blocks, Items],
    needs: Facts::ALWAYS,
    check,
};

fn check(view: &View<'_, '_>, notes: &mut Notes<'_, '_, '_>) {
    for paired in &view.pairing.answers {
        if let Fate::Duplicate(call) = paired.fate {
            pairs::note(
                view,
                notes,
                paired,
                call,
                "is not the first for its call",
                Fix::safe(Strategy::Drop),
            );
        }
    }
}
