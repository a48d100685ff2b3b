#![doc = include_str!("malformed_answer.md")]

use super::prelude::*;
use crate::draft::{Kind, Output, Wire};
use crate::{
    check::{Notes, View, shown},
    draft::Facts,
    profile::Profile,
    report::{Fix, Strategy},
};

pub(super) const RULE: Rule = Rule {
    code: 315,
    name: "malformed-answer",
    summary: "an answer in a form that the format does not take",
    explain: include_str!("malformed_answer.md"),
    applies: &[
        (OpenaiChat, Sure),
        (OpenaiResponses, Sure),
        (Anthropic, Sure),
        (Gemini, Sure),
        (Bedrock, Sure),
        (Mistral, Sure),
        (Deepseek, Likely),
        (Strict, Sure),
    ],
    layouts: &[Chat, Blocks, Items],
    needs: Facts::ODD_ANSWER,
    check,
};

fn check(view: &View<'_, '_>, notes: &mut Notes<'_, '_, '_>) {
    let wire = view.draft.wire;
    let owner = match view.profile() {
        Profile::Strict => true,
        Profile::Mistral | Profile::Deepseek => wire == Wire::OpenaiChat,
        profile => profile == Profile::of(wire),
    };
    for paired in view.pairing.answers.iter().filter(|_| owner) {
        let Kind::Answer(answer) = &view.draft.parts[paired.part()].kind else { continue };
        if answer.output != Output::Odd {
            continue;
        }
        let text = format!("answer {} has content of a wrong type", shown(answer.id.as_deref()));
        let span = view.draft.parts[paired.part()].span;
        let finding = notes.add(paired.message(), span, text, Fix::safe(Strategy::Recode));
        finding.ids.extend(answer.id.as_deref().map(str::to_owned));
    }
}
