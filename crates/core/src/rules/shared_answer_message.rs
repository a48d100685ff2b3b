#![doc = include_str!("shared_answer_message.md")]

use super::prelude::*;
use crate::{
    check::{Notes, View},
    draft::Facts,
    report::{Fix, Strategy},
};
use crate::{draft::Kind, profile::answers_alone};

pub(super) const RULE: Rule = Rule {
    code: 310,
    name: "shared-answer-message",
    summary: "answers that share their message with other content",
    explain: include_str!("shared_answer_message.md"),
    applies: &[(Bedrock, Sure), (Strict, Sure)],
    layouts: &[Blocks],
    needs: Facts::SHARED_ANSWERS,
    check,
};

fn check(view: &View<'_, '_>, notes: &mut Notes<'_, '_, '_>) {
    if !answers_alone(view.profile(), view.draft) {
        return;
    }
    for (at, message, parts) in view.messages().filter(|(_, message, _)| message.role.is_user()) {
        let answers = parts.iter().any(|part| matches!(part.kind, Kind::Answer(_)));
        if answers && parts.iter().any(|part| !matches!(part.kind, Kind::Answer(_))) {
            let text = "answers share their message with other content".to_owned();
            notes.add(at, message.span, text, Fix::safe(Strategy::Split));
        }
    }
}
