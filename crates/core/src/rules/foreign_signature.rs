#![doc = include_str!("foreign_signature.md")]

use super::prelude::*;
use crate::draft::{Kind, Seal, Wire};
use crate::{
    check::{Notes, View},
    draft::Facts,
    report::{Fix, Strategy},
};

pub(super) const RULE: Rule = Rule {
    code: 503,
    name: "foreign-signature",
    summary: "reasoning without the signature its provider wants",
    explain: include_str!("foreign_signature.md"),
    applies: &[(Anthropic, Sure), (Strict, Sure)],
    layouts: &[Blocks],
    needs: Facts::REASONING,
    check,
};

fn check(view: &View<'_, '_>, notes: &mut Notes<'_, '_, '_>) {
    if view.draft.wire != Wire::Anthropic {
        return;
    }
    for (at, _, parts) in view.messages() {
        for part in parts.iter().filter(|part| matches!(part.kind, Kind::Reasoning(Seal::Unsigned)))
        {
            let text = "reasoning without a signature: it was made elsewhere or cut off".to_owned();
            notes.add(at, part.span, text, Fix::safe(Strategy::Drop));
        }
    }
}
