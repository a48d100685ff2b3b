#![doc = include_str!("orphan_result.md")]

use super::prelude::*;
use crate::{check::display_id, draft::PartKind, pairing::ResultMatch, policy::OrphanPolicy};
use crate::{
    check::{Findings, RuleContext},
    draft::DraftFeatures,
    report::{Fix, Strategy},
};

pub(super) const RULE: Rule = Rule {
    code: 102,
    name: "orphan-result",
    summary: "a tool result without a tool call",
    explain: page!("orphan_result.md"),
    applies: &[
        (OpenaiChat, Documented),
        (OpenaiResponses, Documented),
        (Anthropic, Documented),
        (Gemini, Documented),
        (Bedrock, Documented),
        (GeminiInteractions, Inferred),
        (Mistral, Documented),
        (Deepseek, Documented),
        (Strict, Documented),
    ],
    layouts: &[Chat, Blocks, Items],
    features: DraftFeatures::ALWAYS,
    check,
};

fn check(context: &RuleContext<'_, '_>, findings: &mut Findings<'_, '_, '_>) {
    if context.draft.body.stateful {
        return; // The call may be stored on the server.
    }
    for paired in
        context.pairing.answers.iter().filter(|paired| paired.result_match() == ResultMatch::Orphan)
    {
        let PartKind::Answer(answer) = &context.draft.parts[paired.part()].kind else { continue };
        let text = format!("result {} has no call", display_id(answer.id.as_deref()));
        let strategy = match context.options.policy.orphans {
            OrphanPolicy::Quote => Strategy::Quote,
            OrphanPolicy::Drop => Strategy::Drop,
        };
        let span = context.draft.parts[paired.part()].span;
        let finding = findings.add(paired.message(), span, text, Fix::safe(strategy));
        finding.ids.extend(answer.id.as_deref().map(str::to_owned));
    }
}
