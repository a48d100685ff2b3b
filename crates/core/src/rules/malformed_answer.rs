#![doc = include_str!("malformed_answer.md")]

use super::prelude::*;
use crate::draft::{AnswerShape, Format, PartKind};
use crate::{
    check::{Findings, RuleContext, display_id},
    draft::DraftFeatures,
    profile::Profile,
    report::{Fix, Strategy},
};

pub(super) const RULE: Rule = Rule {
    code: 315,
    name: "malformed-answer",
    summary: "an answer in a form that the format does not take",
    explain: include_str!("malformed_answer.md"),
    applies: &[
        (OpenaiChat, Documented),
        (OpenaiResponses, Documented),
        (Anthropic, Documented),
        (Gemini, Documented),
        (Bedrock, Documented),
        (Mistral, Documented),
        (Deepseek, Inferred),
        (Strict, Documented),
    ],
    layouts: &[Chat, Blocks, Items],
    features: DraftFeatures::MALFORMED_ANSWER,
    check,
};

fn check(view: &RuleContext<'_, '_>, notes: &mut Findings<'_, '_, '_>) {
    let wire = view.draft.format;
    let owner = match view.profile() {
        Profile::Strict => true,
        Profile::Mistral | Profile::Deepseek => wire == Format::OpenaiChat,
        profile => profile == Profile::for_format(wire),
    };
    for paired in view.pairing.answers.iter().filter(|_| owner) {
        let PartKind::Answer(answer) = &view.draft.parts[paired.part()].kind else { continue };
        if answer.output != AnswerShape::Malformed {
            continue;
        }
        let text =
            format!("answer {} has content of a wrong type", display_id(answer.id.as_deref()));
        let span = view.draft.parts[paired.part()].span;
        let finding = notes.add(paired.message(), span, text, Fix::safe(Strategy::Recode));
        finding.ids.extend(answer.id.as_deref().map(str::to_owned));
    }
}
