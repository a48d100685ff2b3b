#![doc = include_str!("trailing_whitespace.md")]

use super::prelude::*;
use crate::draft::{Format, PartKind, TextShape};
use crate::{
    check::{Findings, RuleContext},
    draft::DraftFeatures,
    report::{Fix, Strategy},
};

pub(super) const RULE: Rule = Rule {
    code: 312,
    name: "trailing-whitespace",
    summary: "a final assistant message that ends in white space",
    explain: page!("trailing_whitespace.md"),
    applies: &[(Anthropic, Documented)],
    layouts: &[Blocks],
    features: DraftFeatures::ALWAYS,
    check,
};

fn check(context: &RuleContext<'_, '_>, findings: &mut Findings<'_, '_, '_>) {
    if context.draft.format != Format::Anthropic {
        return;
    }
    let Some(message) = context.draft.messages.last().filter(|message| message.role.is_assistant())
    else {
        return;
    };
    let Some(part) = context.draft.parts_of(message).last() else { return };
    if let PartKind::Text(TextShape::Trailing | TextShape::Blank) = part.kind {
        let text = "the final assistant message ends in white space".to_owned();
        let at = context.draft.messages.len() - 1;
        findings.add(at, part.span, text, Fix::safe(Strategy::Recode));
    }
}
