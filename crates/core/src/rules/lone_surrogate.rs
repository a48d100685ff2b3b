#![doc = include_str!("lone_surrogate.md")]

use super::prelude::*;
use crate::{
    check::{Findings, RuleContext},
    draft::DraftFeatures,
    lone_surrogates,
    report::{Fix, Strategy},
};

pub(super) const RULE: Rule = Rule {
    code: 313,
    name: "lone-surrogate",
    summary: "a lone surrogate: half a character",
    explain: page!("lone_surrogate.md"),
    applies: &[
        (OpenaiChat, Documented),
        (OpenaiResponses, Documented),
        (Anthropic, Documented),
        (Gemini, Documented),
        (Bedrock, Documented),
        (GeminiInteractions, Documented),
        (Mistral, Documented),
        (Deepseek, Documented),
        (Strict, Documented),
    ],
    layouts: &[Chat, Blocks, Items],
    features: DraftFeatures::SURROGATE,
    check,
};

fn check(context: &RuleContext<'_, '_>, findings: &mut Findings<'_, '_, '_>) {
    let spans = &context.draft.body.surrogates;
    for (&span, at) in spans.iter().zip(context.draft.messages_at(spans)) {
        let at = at.unwrap_or(0);
        let text = match lone_surrogates(span.of(context.draft.source)).count() {
            0 | 1 => "a lone surrogate escape (half a character)".to_owned(),
            many => format!("{many} lone surrogate escapes (half characters) in one string"),
        };
        findings.add(at, span, text, Fix::safe(Strategy::Recode));
    }
}
