#![doc = include_str!("user_after_answer.md")]

use super::prelude::*;
use crate::draft::Role;
use crate::{
    check::{Notes, View},
    draft::{Facts, Layout},
    profile::{Profile, answers_alone},
    report::{Fix, Strategy},
};

pub(super) const RULE: Rule = Rule {
    code: 404,
    name: "user-after-answer",
    summary: "a user message directly behind an answer",
    explain: include_str!("user_after_answer.md"),
    applies: &[(Mistral, Sure), (Bedrock, Sure), (Strict, Sure)],
    layouts: &[Chat, Blocks],
    needs: Facts::USER_AFTER_ANSWER,
    check,
};

fn check(view: &View<'_, '_>, notes: &mut Notes<'_, '_, '_>) {
    let draft = view.draft;
    let alone = answers_alone(view.profile(), draft);
    for at in 1..draft.messages.len() {
        let (before, message) = (&draft.messages[at - 1], &draft.messages[at]);
        let refused = message.role.is_user()
            && match view.layout() {
                Layout::Blocks => {
                    alone
                        && before.role.is_user()
                        && draft.answers_in(before)
                        && !draft.answers_in(message)
                }
                Layout::Chat | Layout::Items => {
                    view.profile() != Profile::Bedrock && before.role == Role::Answer
                }
            };
        if refused {
            let text =
                "an assistant message has to stand between an answer and the user".to_owned();
            notes.add(at, message.span, text, Fix::safe(Strategy::Insert));
        }
    }
}
