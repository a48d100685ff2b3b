#![doc = include_str!("displaced_answer.md")]

use super::pairs;
use super::prelude::*;
use crate::pair::Fate;
use crate::{
    check::{Notes, View},
    draft::{Facts, Layout},
    profile::Profile,
    report::{Fix, Strategy},
};

pub(super) const RULE: Rule = Rule {
    code: 103,
    name: "displaced-answer",
    summary: "an answer apart from its call, or before it",
    explain: include_str!("displaced_answer.md"),
    applies: &[
        (OpenaiChat, Likely),
        (OpenaiResponses, Sure),
        (Anthropic, Sure),
        (Gemini, Sure),
        (Bedrock, Sure),
        (Mistral, Sure),
        (Deepseek, Sure),
        (Strict, Sure),
    ],
    layouts: &[Chat, Blocks, Items],
    needs: Facts::ALWAYS,
    check,
};

fn check(view: &View<'_, '_>, notes: &mut Notes<'_, '_, '_>) {
    let anywhere = view.layout() == Layout::Items
        && !matches!(view.profile(), Profile::Deepseek | Profile::Strict);
    for paired in &view.pairing.answers {
        let (call, where_) = match paired.fate() {
            Fate::Early(call) => (call, "stands before its call"),
            Fate::Apart(call) if !anywhere => (call, "stands apart from its call"),
            _ => continue,
        };
        pairs::note(view, notes, paired, call, where_, Fix::safe(Strategy::Recover));
    }
}
