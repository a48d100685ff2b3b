#![doc = include_str!("tools_not_declared.md")]

use super::prelude::*;
use crate::draft::{Format, Part, PartKind};
use crate::{
    check::{Findings, RuleContext},
    draft::DraftFeatures,
    report::{Fix, Strategy},
};

pub(super) const RULE: Rule = Rule {
    code: 405,
    name: "tools-not-declared",
    summary: "tool calls in the history, but no tools in the request",
    explain: page!("tools_not_declared.md"),
    applies: &[(Bedrock, Documented), (Strict, Documented)],
    layouts: &[Blocks],
    features: DraftFeatures::ALWAYS,
    check,
};

fn check(context: &RuleContext<'_, '_>, findings: &mut Findings<'_, '_, '_>) {
    let body = &context.draft.body;
    if context.draft.format != Format::Bedrock || !body.request || body.tools {
        return;
    }
    let is_tool = |part: &Part<'_>| {
        use PartKind::{Answer, Call, ServerAnswer, ServerCall};
        matches!(part.kind, Call(_) | Answer(_) | ServerCall(_) | ServerAnswer(_))
    };
    let first = context.messages().find(|(_, _, parts)| parts.iter().any(is_tool));
    if let Some((at, ..)) = first {
        let text = "the history holds tool blocks, but the request declares no tools".to_owned();
        findings.add(at, context.draft.messages[at].span, text, Fix::safe(Strategy::Insert));
    }
}
