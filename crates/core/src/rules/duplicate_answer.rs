#![doc = include_str!("duplicate_answer.md")]

use super::paired_answers;
use super::prelude::*;
use crate::{
    check::{Findings, RuleContext},
    draft::DraftFeatures,
    report::{Fix, Strategy},
};
use crate::{
    pairing::{ResultMatch, adds_nothing, replaces},
    policy::OrphanPolicy,
};

pub(super) const RULE: Rule = Rule {
    code: 104,
    name: "duplicate-answer",
    summary: "a second answer to one call",
    explain: include_str!("duplicate_answer.md"),
    applies: &[
        (OpenaiChat, Documented),
        (OpenaiResponses, Inferred),
        (Anthropic, Documented),
        (Gemini, Inferred),
        (Bedrock, Documented),
        (Mistral, Documented),
        (Deepseek, Inferred),
        (Strict, Documented),
    ],
    layouts: &[Chat, Blocks, Items],
    features: DraftFeatures::ALWAYS,
    check,
};

fn check(view: &RuleContext<'_, '_>, notes: &mut Findings<'_, '_, '_>) {
    for paired in &view.pairing.answers {
        let ResultMatch::Duplicate(call) = paired.result_match() else { continue };
        let kept = view.options.policy.orphans == OrphanPolicy::Quote
            && !adds_nothing(view.draft, view.pairing, paired.part(), call);
        let first =
            view.pairing.calls[call].answer().map(|first| view.pairing.answers[first].part());
        let replaces = first.is_some_and(|first| replaces(view.draft, first, paired.part()));
        let fix = Fix::safe(match (replaces, kept) {
            (true, _) => Strategy::Recover,
            (false, true) => Strategy::Quote,
            (false, false) => Strategy::Drop,
        });
        paired_answers::report_answer(
            view,
            notes,
            paired,
            call,
            "is not the first for its call",
            fix,
        );
    }
}
