#![doc = include_str!("split_answers.md")]

use super::pairs;
use super::prelude::*;
use crate::pair::Fate;
use crate::{
    check::{Notes, View},
    draft::Facts,
    report::{Fix, Strategy},
};

pub(super) const RULE: Rule = Rule {
    code: 105,
    name: "split-answers",
    summary: "answers of one turn spread over several messages",
    explain: include_str!("split_answers.md"),
    applies: &[(Anthropic, Sure), (Gemini, Sure), (Bedrock, Sure), (Strict, Sure)],
    layouts: &[Blocks],
    needs: Facts::ALWAYS,
    check,
};

fn check(view: &View<'_, '_>, notes: &mut Notes<'_, '_, '_>) {
    for paired in &view.pairing.answers {
        if let Fate::Split(call) = paired.fate() {
            pairs::note(
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
