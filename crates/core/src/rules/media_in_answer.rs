#![doc = include_str!("media_in_answer.md")]

use super::prelude::*;
use crate::{check::display_id, draft::PartKind};
use crate::{
    check::{Findings, RuleContext},
    draft::DraftFeatures,
    report::{Fix, Strategy},
};

pub(super) const RULE: Rule = Rule {
    code: 307,
    name: "media-in-answer",
    summary: "an answer that holds more than text",
    explain: include_str!("media_in_answer.md"),
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

fn check(view: &RuleContext<'_, '_>, notes: &mut Findings<'_, '_, '_>) {
    // A turn whose calls are still running is not sent yet, and nothing can follow it now.
    let running = view.running_calls();
    let live = running.clone().any(|call| view.pairing.calls[call].answer().is_none());
    for paired in &view.pairing.answers {
        if live && paired.result_match().call().is_some_and(|call| running.contains(&call)) {
            continue;
        }
        let part = &view.draft.parts[paired.part()];
        let PartKind::Answer(answer) = &part.kind else { continue };
        if answer.media {
            let text = format!("answer {} holds more than text", display_id(answer.id.as_deref()));
            let finding =
                notes.add(paired.message(), part.span, text, Fix::safe(Strategy::Reorder));
            finding.ids.extend(answer.id.as_deref().map(str::to_owned));
        }
    }
}
