#![doc = include_str!("misplaced_block.md")]

use super::prelude::*;
use crate::draft::{Kind, Marks};
use crate::{
    check::{Notes, View},
    draft::{Facts, Layout},
    report::{Fix, Strategy},
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
        for part in parts {
            let (what, strategy) = match part.kind {
                Kind::Call(_) if !assistant => {
                    ("a call outside an assistant message", Strategy::Drop)
                }
                Kind::Answer(_) if !user => ("an answer outside a user message", Strategy::Recover),
                Kind::Reasoning(_) if user => ("reasoning in a user message", Strategy::Drop),
                _ => continue,
            };
            notes.add(at, part.span, what.to_owned(), Fix::safe(strategy));
        }
    }
}
