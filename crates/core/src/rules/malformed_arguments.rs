#![doc = include_str!("malformed_arguments.md")]

use super::prelude::*;
use crate::{check::shown, draft::Arguments};
use crate::{
    check::{Notes, View},
    draft::{Facts, Layout},
    profile::Profile,
    report::{Fix, Strategy},
};

pub(super) const RULE: Rule = Rule {
    code: 302,
    name: "malformed-arguments",
    summary: "arguments that are not what the format wants",
    explain: include_str!("malformed_arguments.md"),
    applies: &[
        (OpenaiChat, Sure),
        (Deepseek, Likely),
        (OpenaiResponses, Sure),
        (Anthropic, Sure),
        (Gemini, Sure),
        (Bedrock, Sure),
        (Mistral, Sure),
        (Strict, Sure),
    ],
    layouts: &[Chat, Blocks, Items],
    needs: Facts::ODD_ARGUMENTS,
    check,
};

fn check(view: &View<'_, '_>, notes: &mut Notes<'_, '_, '_>) {
    let strict = view.profile() == Profile::Strict;
    let objects = matches!(view.profile(), Profile::Anthropic | Profile::Gemini | Profile::Bedrock);
    let strings = matches!(
        view.profile(),
        Profile::OpenaiChat | Profile::OpenaiResponses | Profile::Deepseek
    );
    let blocks = view.layout() == Layout::Blocks;
    let texts = strict || matches!(view.profile(), Profile::OpenaiChat | Profile::OpenaiResponses);
    for (at, part, call) in view.calls() {
        let what = match call.arguments {
            Arguments::Good => continue,
            Arguments::Broken if !strict => continue,
            Arguments::Missing => "has no arguments",
            Arguments::RawObject => "has arguments as an object, not as a string",
            Arguments::RawString => "has arguments as a string, not as an object",
            Arguments::Broken => "has arguments that are not a JSON object",
            Arguments::WrongType => "has arguments of a wrong type",
            Arguments::NoInput | Arguments::OddInput if !texts => continue,
            Arguments::NoInput => "has no input",
            Arguments::OddInput => "has an input that is no text",
        };
        // Mistral turns an object into a string by itself.
        let none = matches!(call.arguments, Arguments::Missing | Arguments::WrongType);
        let mistral = view.profile() == Profile::Mistral && !blocks && none;
        if strict || blocks && objects || !blocks && strings || mistral {
            let text = format!("call {} {what}", shown(call.id.as_deref()));
            notes.call(at, part, call, text, Fix::safe(Strategy::Recode));
        }
    }
}
