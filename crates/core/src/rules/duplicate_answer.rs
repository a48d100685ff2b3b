#![doc = include_str!("duplicate_answer.md")]

use super::pairs;
use super::prelude::*;
use crate::{
    check::{Notes, View},
    draft::Facts,
    report::{Fix, Strategy},
};
use crate::{
    pair::{Fate, replaces, says_nothing_new},
    policy::Orphans,
};

pub(super) const RULE: Rule = Rule {
    code: 104,
    name: "duplicate-answer",
    summary: "a second answer to one call",
    explain: include_str!("duplicate_answer.md"),
    applies: &[
        (OpenaiChat, Sure),
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
        let Fate::Duplicate(call) = paired.fate() else { continue };
        let kept = view.question.policy.orphans == Orphans::Quote
            && !says_nothing_new(view.draft, view.pairing, paired.part(), call);
        let first =
            view.pairing.calls[call].answer().map(|first| view.pairing.answers[first].part());
        let replaces = first.is_some_and(|first| replaces(view.draft, first, paired.part()));
        let fix = Fix::safe(match (replaces, kept) {
            (true, _) => Strategy::Recover,
            (false, true) => Strategy::Quote,
            (false, false) => Strategy::Drop,
        });
        pairs::note(view, notes, paired, call, "is not the first for its call", fix);
    }
}
