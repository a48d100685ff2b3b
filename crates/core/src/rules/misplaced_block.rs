#![doc = include_str!("misplaced_block.md")]

use super::prelude::*;
use crate::{
    check::{Notes, View},
    draft::{Facts, Layout},
    report::{Fix, Strategy},
};
use crate::{
    draft::{Kind, Marks},
    policy::Orphans,
};

pub(super) const RULE: Rule = Rule {
    code: 304,
    name: "misplaced-block",
    summary: "a call, answer or reasoning in a message of the wrong role",
    explain: include_str!("misplaced_block.md"),
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
    layouts: &[Chat, Blocks],
    needs: Facts::MISPLACED,
    check,
};

fn check(view: &View<'_, '_>, notes: &mut Notes<'_, '_, '_>) {
    for (at, message, parts) in view.messages() {
        let (user, assistant) = (message.role.is_user(), message.role.is_assistant());
        if view.layout() == Layout::Chat {
            if message.marks.has(Marks::STRAY_CALLS) {
                let text = "only an assistant message can hold calls".to_owned();
                notes.add(at, message.span, text, Fix::safe(Strategy::Drop));
            }
            continue;
        }
        for (index, part) in message.range().zip(parts) {
            let (what, strategy) = match part.kind {
                Kind::Call(_) if !assistant => {
                    ("a call outside an assistant message", Strategy::Drop)
                }
                Kind::Answer(_) if !user => {
                    ("an answer outside a user message", answer(view, index))
                }
                Kind::Reasoning(_) if user => ("reasoning in a user message", Strategy::Drop),
                _ => continue,
            };
            notes.add(at, part.span, what.to_owned(), Fix::safe(strategy));
        }
    }
}

/// An answer with a call goes home; another is told as user text.
fn answer(view: &View<'_, '_>, part: usize) -> Strategy {
    let at = view.pairing.answers.binary_search_by_key(&part, |answer| answer.part());
    let known = at.is_ok_and(|at| view.pairing.answers[at].fate().call().is_some());
    match (known, view.question.policy.orphans) {
        (true, _) => Strategy::Recover,
        (false, Orphans::Quote) => Strategy::Quote,
        (false, Orphans::Drop) => Strategy::Drop,
    }
}
