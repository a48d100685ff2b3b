#![doc = include_str!("trailing_whitespace.md")]

use super::prelude::*;
use crate::draft::{Kind, Text, Wire};
use crate::{
    check::{Notes, View},
    draft::Facts,
    report::{Fix, Strategy},
};

pub(super) const RULE: Rule = Rule {
    code: 312,
    name: "trailing-whitespace",
    summary: "a final assistant text that ends in white space",
    explain: include_str!("trailing_whitespace.md"),
    applies: &[(Anthropic, Sure)],
    layouts: &[Blocks],
    needs: Facts::ALWAYS,
    check,
};

fn check(view: &View<'_, '_>, notes: &mut Notes<'_, '_, '_>) {
    if view.draft.wire != Wire::Anthropic {
        return;
    }
    let Some(message) = view.draft.messages.last().filter(|message| message.role.is_assistant())
    else {
        return;
    };
    let Some(part) = view.draft.parts_of(message).last() else { return };
    if let Kind::Text(Text::Trailing | Text::Blank) = part.kind {
        let text = "the final assistant text ends in white space".to_owned();
        let at = view.draft.messages.len() - 1;
        notes.add(at, part.span, text, Fix::safe(Strategy::Recode));
    }
}
