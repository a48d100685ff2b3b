#![doc = include_str!("media_in_result.md")]

use super::prelude::*;
use crate::{check::display_id, draft::PartKind};
use crate::{
    check::{Findings, RuleContext},
    draft::DraftFeatures,
    report::{Fix, Strategy},
};

pub(super) const RULE: Rule = Rule {
    code: 307,
    name: "media-in-result",
    summary: "a tool result with media where only text is allowed",
    explain: page!("media_in_result.md"),
    applies: &[
        (OpenaiChat, Documented),
        (Mistral, Documented),
        (Deepseek, Inferred),
        (Strict, Documented),
    ],
    layouts: &[Chat],
    features: DraftFeatures::MEDIA_ANSWER,
    check,
};

fn check(context: &RuleContext<'_, '_>, findings: &mut Findings<'_, '_, '_>) {
    // A turn whose calls are still running is not sent yet, and nothing can follow it now.
    let running = context.running_calls();
    let has_open = running.clone().any(|call| context.pairing.calls[call].answer().is_none());
    for paired in &context.pairing.answers {
        if has_open && paired.result_match().call().is_some_and(|call| running.contains(&call)) {
            continue;
        }
        let part = &context.draft.parts[paired.part()];
        let PartKind::Answer(answer) = &part.kind else { continue };
        if answer.media {
            let text = format!(
                "result {} holds media; only text is allowed",
                display_id(answer.id.as_deref())
            );
            let finding =
                findings.add(paired.message(), part.span, text, Fix::safe(Strategy::Reorder));
            finding.ids.extend(answer.id.as_deref().map(str::to_owned));
        }
    }
}
