#![doc = include_str!("malformed_result.md")]

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
    name: "malformed-result",
    summary: "a tool result with content that the format does not allow",
    explain: page!("malformed_result.md"),
    applies: &[
        (OpenaiChat, Documented),
        (OpenaiResponses, Documented),
        (Anthropic, Documented),
        (Gemini, Documented),
        (Bedrock, Documented),
        (GeminiInteractions, Documented),
        (Mistral, Documented),
        (Deepseek, Inferred),
        (Strict, Documented),
    ],
    layouts: &[Chat, Blocks, Items],
    features: DraftFeatures::MALFORMED_ANSWER,
    check,
};

fn check(context: &RuleContext<'_, '_>, findings: &mut Findings<'_, '_, '_>) {
    let format = context.draft.format;
    let applies = match context.profile() {
        Profile::Strict => true,
        Profile::Mistral | Profile::Deepseek => format == Format::OpenaiChat,
        profile => profile == Profile::for_format(format),
    };
    for paired in context.pairing.answers.iter().filter(|_| applies) {
        let PartKind::Answer(answer) = &context.draft.parts[paired.part()].kind else { continue };
        if answer.output != AnswerShape::Malformed {
            continue;
        }
        let text =
            format!("result {} has content of the wrong type", display_id(answer.id.as_deref()));
        let span = context.draft.parts[paired.part()].span;
        let finding = findings.add(paired.message(), span, text, Fix::safe(Strategy::Recode));
        finding.ids.extend(answer.id.as_deref().map(str::to_owned));
    }
}
