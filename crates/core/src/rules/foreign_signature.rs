#![doc = include_str!("foreign_signature.md")]

use super::prelude::*;
use crate::draft::{Format, PartKind, SignatureState};
use crate::{
    check::{Findings, RuleContext},
    draft::DraftFeatures,
    report::{Fix, Strategy},
};

pub(super) const RULE: Rule = Rule {
    code: 503,
    name: "foreign-signature",
    summary: "reasoning without the signature that the provider requires",
    explain: page!("foreign_signature.md"),
    applies: &[(Anthropic, Documented), (Strict, Documented)],
    layouts: &[Blocks],
    features: DraftFeatures::REASONING,
    check,
};

fn check(context: &RuleContext<'_, '_>, findings: &mut Findings<'_, '_, '_>) {
    if context.draft.format != Format::Anthropic {
        return;
    }
    for (at, _, parts) in context.messages() {
        for part in parts
            .iter()
            .filter(|part| matches!(part.kind, PartKind::Reasoning(SignatureState::Unsigned)))
        {
            let text =
                "reasoning without a signature: it comes from another provider or was cut off"
                    .to_owned();
            findings.add(at, part.span, text, Fix::safe(Strategy::Drop));
        }
    }
}
