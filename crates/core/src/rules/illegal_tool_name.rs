#![doc = include_str!("illegal_tool_name.md")]

use super::prelude::*;
use crate::{check::shown, draft::Family};
use crate::{
    check::{Notes, View},
    draft::Facts,
    report::{Fix, Strategy},
};

pub(super) const RULE: Rule = Rule {
    code: 207,
    name: "illegal-tool-name",
    summary: "a tool name with characters or a length the provider refuses",
    explain: include_str!("illegal_tool_name.md"),
    applies: &[
        (OpenaiChat, Sure),
        (OpenaiResponses, Likely),
        (Anthropic, Likely),
        (Gemini, Likely),
        (Bedrock, Sure),
        (Mistral, Sure),
        (Deepseek, Likely),
        (Strict, Sure),
    ],
    layouts: &[Chat, Blocks, Items],
    needs: Facts::ALWAYS,
    check,
};

fn check(view: &View<'_, '_>, notes: &mut Notes<'_, '_, '_>) {
    for (at, part, call) in view.calls() {
        if !matches!(call.family, Family::Function | Family::Custom) {
            continue; // Built-in tools carry no name.
        }
        if call.name.as_deref().is_some_and(|name| view.profile().takes_name(name)) {
            continue;
        }
        let text = match call.name.as_deref() {
            Some(name) => format!(
                "tool name {} is refused: the provider takes {}",
                shown(Some(name)),
                view.profile().names().told()
            ),
            None => format!("call {} names no tool", shown(call.id.as_deref())),
        };
        notes.call(at, part, call, text, Fix::safe(Strategy::Rename));
    }
}
