#![doc = include_str!("empty_result.md")]

use super::prelude::*;
use crate::{
    check::display_id,
    draft::{AnswerShape, CallFamily, DraftAnswer, Format, PartKind},
};
use crate::{
    check::{Findings, RuleContext},
    draft::DraftFeatures,
    profile::Profile,
    report::{Fix, Strategy},
};

pub(super) const RULE: Rule = Rule {
    code: 303,
    name: "empty-result",
    summary: "a tool result without content",
    explain: page!("empty_result.md"),
    applies: &[
        (OpenaiChat, Documented),
        (OpenaiResponses, Documented),
        (Bedrock, Documented),
        (GeminiInteractions, Documented),
        (Mistral, Documented),
        (Strict, Documented),
    ],
    layouts: &[Chat, Blocks, Items],
    features: DraftFeatures::EMPTY_ANSWER,
    check,
};

fn check(context: &RuleContext<'_, '_>, findings: &mut Findings<'_, '_, '_>) {
    for paired in &context.pairing.answers {
        let PartKind::Answer(answer) = &context.draft.parts[paired.part()].kind else { continue };
        if !is_refused(context, answer) {
            continue;
        }
        let text = format!("result {} has no content", display_id(answer.id.as_deref()));
        let span = context.draft.parts[paired.part()].span;
        let finding = findings.add(paired.message(), span, text, Fix::safe(Strategy::Recode));
        finding.ids.extend(answer.id.as_deref().map(str::to_owned));
    }
}

fn is_refused(context: &RuleContext<'_, '_>, answer: &DraftAnswer<'_>) -> bool {
    let profile = context.profile();
    let strict = profile == Profile::Strict;
    let absent = matches!(answer.output, AnswerShape::Null | AnswerShape::Missing);
    let empty = !matches!(answer.output, AnswerShape::Full | AnswerShape::Malformed);
    match context.draft.format {
        Format::Gemini => false,
        Format::OpenaiChat => {
            absent && matches!(profile, Profile::OpenaiChat | Profile::Mistral) || strict && empty
        }
        Format::OpenaiResponses => {
            matches!(answer.family, CallFamily::Function | CallFamily::Custom)
                && (absent && profile == Profile::OpenaiResponses || strict && empty)
        }
        Format::GeminiInteractions => {
            absent && profile == Profile::GeminiInteractions || strict && empty
        }
        Format::Anthropic => strict && empty,
        Format::Bedrock => {
            matches!(profile, Profile::Bedrock | Profile::Strict)
                && (absent || answer.output == AnswerShape::EmptyError)
        }
    }
}
