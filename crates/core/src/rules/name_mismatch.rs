#![doc = include_str!("name_mismatch.md")]

use super::pairs;
use super::prelude::*;
use crate::{
    check::{Notes, View},
    draft::Facts,
    report::{Fix, Strategy},
};
use crate::{
    draft::{Kind, Wire},
    pair::call_at,
};

pub(super) const RULE: Rule = Rule {
    code: 107,
    name: "name-mismatch",
    summary: "an answer that names another tool than its call",
    explain: include_str!("name_mismatch.md"),
    applies: &[(Gemini, Sure), (Strict, Sure)],
    layouts: &[Blocks],
    needs: Facts::ALWAYS,
    check,
};

fn check(view: &View<'_, '_>, notes: &mut Notes<'_, '_, '_>) {
    if view.draft.wire != Wire::Gemini {
        return;
    }
    for paired in &view.pairing.answers {
        let Some(call) = paired.fate().call() else { continue };
        let Kind::Answer(answer) = &view.draft.parts[paired.part()].kind else { continue };
        let Some(asked) = call_at(view.draft, view.pairing.calls[call].part()) else { continue };
        if answer.tool() == asked.name.as_deref() {
            continue;
        }
        let named = if answer.name.is_some() {
            "names another tool than its call"
        } else {
            "names no tool"
        };
        pairs::note(view, notes, paired, call, named, Fix::safe(Strategy::Rename));
    }
}
