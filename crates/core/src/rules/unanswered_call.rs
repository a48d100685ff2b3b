#![doc = include_str!("unanswered_call.md")]

use super::prelude::*;
use crate::{check::shown, pair::call_at, policy::Unanswered};
use crate::{
    check::{Notes, View},
    draft::Facts,
    report::{Fix, Strategy},
};

pub(super) const RULE: Rule = Rule {
    code: 101,
    name: "unanswered-call",
    summary: "a call that nobody answers",
    explain: include_str!("unanswered_call.md"),
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
    let running = view.frontier();
    for (index, paired) in view.pairing.calls.iter().enumerate() {
        if paired.answer().is_some() || running.contains(&index) {
            continue;
        }
        let Some(call) = call_at(view.draft, paired.part()) else { continue };
        let text = match call.name.as_deref() {
            Some(name) => {
                format!(
                    "call {} to {} is never answered",
                    shown(call.id.as_deref()),
                    shown(Some(name))
                )
            }
            None => format!("call {} is never answered", shown(call.id.as_deref())),
        };
        let strategy = match view.question.policy.unanswered {
            Unanswered::Answer if call.family.takes_words() => Strategy::Synthesize,
            Unanswered::Answer => Strategy::Drop,
            Unanswered::DropTurn | Unanswered::DropCall => Strategy::Drop,
        };
        notes.call(
            paired.message(),
            &view.draft.parts[paired.part()],
            call,
            text,
            Fix::safe(strategy),
        );
    }
}
