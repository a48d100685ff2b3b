#![doc = include_str!("malformed_arguments.md")]

use super::prelude::*;
use crate::{check::display_id, draft::ArgumentsShape};
use crate::{
    check::{Findings, RuleContext},
    draft::DraftFeatures,
    profile::Profile,
    report::{Fix, Strategy},
};

pub(super) const RULE: Rule = Rule {
    code: 302,
    name: "malformed-arguments",
    summary: "tool call arguments that the format does not allow",
    explain: page!("malformed_arguments.md"),
    applies: &[
        (OpenaiChat, Documented),
        (Deepseek, Inferred),
        (OpenaiResponses, Documented),
        (Anthropic, Documented),
        (Gemini, Documented),
        (Bedrock, Documented),
        (GeminiInteractions, Documented),
        (Mistral, Documented),
        (Strict, Documented),
    ],
    layouts: &[Chat, Blocks, Items],
    features: DraftFeatures::MALFORMED_ARGUMENTS,
    check,
};

fn check(context: &RuleContext<'_, '_>, findings: &mut Findings<'_, '_, '_>) {
    let strict = context.profile() == Profile::Strict;
    let objects = matches!(
        context.profile(),
        Profile::Anthropic | Profile::Gemini | Profile::Bedrock | Profile::GeminiInteractions
    );
    let strings = matches!(
        context.profile(),
        Profile::OpenaiChat | Profile::OpenaiResponses | Profile::Deepseek
    );
    let takes_objects = context.draft.format.has_object_arguments();
    let texts =
        strict || matches!(context.profile(), Profile::OpenaiChat | Profile::OpenaiResponses);
    for (at, part, call) in context.calls() {
        let what = match call.arguments {
            ArgumentsShape::Valid => continue,
            ArgumentsShape::Broken if !strict => continue,
            ArgumentsShape::Missing => "has no arguments",
            ArgumentsShape::RawObject => "has arguments as an object, not as a string",
            ArgumentsShape::RawString => "has arguments as a string, not as an object",
            ArgumentsShape::Broken => "has arguments that are not a JSON object",
            ArgumentsShape::WrongType => "has arguments of a wrong type",
            ArgumentsShape::NoInput | ArgumentsShape::MalformedInput if !texts => continue,
            ArgumentsShape::NoInput => "has no input",
            ArgumentsShape::MalformedInput => "has an input that is not a string",
        };
        // Mistral converts an object to a string by itself.
        let absent = matches!(call.arguments, ArgumentsShape::Missing | ArgumentsShape::WrongType);
        let mistral = context.profile() == Profile::Mistral && !takes_objects && absent;
        if strict || takes_objects && objects || !takes_objects && strings || mistral {
            let text = format!("call {} {what}", display_id(call.id.as_deref()));
            findings.add_for_call(at, part, call, text, Fix::safe(Strategy::Recode));
        }
    }
}
