#![doc = include_str!("illegal_tool_name.md")]

use super::prelude::*;
use crate::{check::display_id, draft::CallFamily};
use crate::{
    check::{Findings, RuleContext},
    draft::DraftFeatures,
    report::{Fix, Strategy},
};

pub(super) const RULE: Rule = Rule {
    code: 207,
    name: "illegal-tool-name",
    summary: "a tool name with characters or a length that the provider rejects",
    explain: page!("illegal_tool_name.md"),
    applies: &[
        (OpenaiChat, Documented),
        (OpenaiResponses, Inferred),
        (Anthropic, Inferred),
        (Gemini, Inferred),
        (Bedrock, Documented),
        (GeminiInteractions, Inferred),
        (Mistral, Documented),
        (Deepseek, Inferred),
        (Strict, Documented),
    ],
    layouts: &[Chat, Blocks, Items],
    features: DraftFeatures::ALWAYS,
    check,
};

fn check(context: &RuleContext<'_, '_>, findings: &mut Findings<'_, '_, '_>) {
    for (at, part, call) in context.calls() {
        if !matches!(call.family, CallFamily::Function | CallFamily::Custom) {
            continue; // Built-in tools carry no name.
        }
        if call.name.as_deref().is_some_and(|name| context.profile().accepts_name(name)) {
            continue;
        }
        let text = match call.name.as_deref() {
            Some(name) => format!(
                "tool name {} is invalid: the provider accepts {}",
                display_id(Some(name)),
                context.profile().name_rule().describe()
            ),
            None => format!("call {} has no tool name", display_id(call.id.as_deref())),
        };
        findings.add_for_call(at, part, call, text, Fix::safe(Strategy::Rename));
    }
}
