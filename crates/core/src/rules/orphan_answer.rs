#![doc = include_str!("orphan_answer.md")]

use super::prelude::*;
use crate::{check::display_id, draft::PartKind, pairing::ResultMatch, policy::OrphanPolicy};
use crate::{
    check::{Findings, RuleContext},
    draft::DraftFeatures,
    report::{Fix, Strategy},
};

pub(super) const RULE: Rule = Rule {
    code: 102,
    name: "orphan-answer",
    summary: "an answer to a call that is not there",
    explain: include_str!("orphan_answer.md"),
    applies: &[
        (OpenaiChat, Documented),
        (OpenaiResponses, Documented),
        (Anthropic, Documented),
        (Gemini, Documented),
        (Bedrock, Documented),
        (Mistral, Documented),
        (Deepseek, Documented),
        (Strict, Documented),
    ],
    layouts: &[Chat, Blocks, Items],
    features: DraftFeatures::ALWAYS,
    check,
};

fn check(view: &RuleContext<'_, '_>, notes: &mut Findings<'_, '_, '_>) {
    if view.draft.body.stateful {
        return; // The call may lie on the server.
    }
    for paired in
        view.pairing.answers.iter().filter(|paired| paired.result_match() == ResultMatch::Orphan)
    {
        let PartKind::Answer(answer) = &view.draft.parts[paired.part()].kind else { continue };
        let text = format!("answer {} has no call", display_id(answer.id.as_deref()));
        let strategy = match view.options.policy.orphans {
            OrphanPolicy::Quote => Strategy::Quote,
            OrphanPolicy::Drop => Strategy::Drop,
        };
        let span = view.draft.parts[paired.part()].span;
        let finding = notes.add(paired.message(), span, text, Fix::safe(strategy));
        finding.ids.extend(answer.id.as_deref().map(str::to_owned));
    }
}
