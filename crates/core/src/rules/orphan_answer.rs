#![doc = include_str!("orphan_answer.md")]

use super::prelude::*;
use crate::{check::shown, draft::Kind, pair::Fate, policy::Orphans};
use crate::{
    check::{Notes, View},
    draft::Facts,
    report::{Fix, Strategy},
};

pub(super) const RULE: Rule = Rule {
    code: 102,
    name: "orphan-answer",
    summary: "an answer to a call that is not there",
    explain: include_str!("orphan_answer.md"),
    applies: &[
        (OpenaiChat, Sure),
        (OpenaiResponses, Sure),
        (Anthropic, Sure),
        (Gemini, Sure),
        (Bedrock, Sure),
        (Mistral, Sure),
        (Deepseek, Sure),
        (Strict, Sure),
    ],
    layouts: &[Chat, Blocks, Items],
    needs: Facts::ALWAYS,
    check,
};

fn check(view: &View<'_, '_>, notes: &mut Notes<'_, '_, '_>) {
    if view.draft.body.stateful {
        return; // The call may lie on the server.
    }
    for paired in view.pairing.answers.iter().filter(|paired| paired.fate() == Fate::Orphan) {
        let Kind::Answer(answer) = &view.draft.parts[paired.part()].kind else { continue };
        let text = format!("answer {} has no call", shown(answer.id.as_deref()));
        let strategy = match view.question.policy.orphans {
            Orphans::Quote => Strategy::Quote,
            Orphans::Drop => Strategy::Drop,
        };
        let span = view.draft.parts[paired.part()].span;
        let finding = notes.add(paired.message(), span, text, Fix::safe(strategy));
        finding.ids.extend(answer.id.as_deref().map(str::to_owned));
    }
}
