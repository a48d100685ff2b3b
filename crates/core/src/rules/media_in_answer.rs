#![doc = include_str!("media_in_answer.md")]

use super::prelude::*;
use crate::{check::shown, draft::Kind};
use crate::{
    check::{Notes, View},
    draft::Facts,
    report::{Fix, Strategy},
};

pub(super) const RULE: Rule = Rule {
    code: 307,
    name: "media-in-answer",
    summary: "an answer that holds more than text",
    explain: include_str!("media_in_answer.md"),
    applies: &[(OpenaiChat, Sure), (Mistral, Sure), (Deepseek, Likely), (Strict, Sure)],
    layouts: &[Chat],
    needs: Facts::MEDIA_ANSWER,
    check,
};

fn check(view: &View<'_, '_>, notes: &mut Notes<'_, '_, '_>) {
    // A turn whose calls are still running is not sent yet, and nothing can follow it now.
    let running = view.frontier();
    let live = running.clone().any(|call| view.pairing.calls[call].answer().is_none());
    for paired in &view.pairing.answers {
        if live && paired.fate().call().is_some_and(|call| running.contains(&call)) {
            continue;
        }
        let part = &view.draft.parts[paired.part()];
        let Kind::Answer(answer) = &part.kind else { continue };
        if answer.media {
            let text = format!("answer {} holds more than text", shown(answer.id.as_deref()));
            let finding =
                notes.add(paired.message(), part.span, text, Fix::safe(Strategy::Reorder));
            finding.ids.extend(answer.id.as_deref().map(str::to_owned));
        }
    }
}
