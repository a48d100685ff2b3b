#![doc = include_str!("result_after_text.md")]

use super::prelude::*;
use crate::draft::PartKind;
use crate::{
    check::{Findings, RuleContext},
    draft::DraftFeatures,
    report::{Fix, Strategy},
};

pub(super) const RULE: Rule = Rule {
    code: 305,
    name: "result-after-text",
    summary: "a tool result after other content of its message",
    explain: page!("result_after_text.md"),
    applies: &[
        (Anthropic, Documented),
        (Gemini, Inferred),
        (Bedrock, Documented),
        (Strict, Documented),
    ],
    layouts: &[Blocks],
    features: DraftFeatures::ANSWER_AFTER_TEXT,
    check,
};

fn check(context: &RuleContext<'_, '_>, findings: &mut Findings<'_, '_, '_>) {
    for (at, message, parts) in context.messages().filter(|(_, message, _)| message.role.is_user())
    {
        let others = parts.iter().position(|part| !matches!(part.kind, PartKind::Answer(_)));
        let late = others.and_then(|first| {
            parts.iter().skip(first).find(|part| matches!(part.kind, PartKind::Answer(_)))
        });
        if let Some(part) = late {
            let text = "a result follows other content of its message".to_owned();
            findings.add(
                at,
                if part.span.is_empty() { message.span } else { part.span },
                text,
                Fix::safe(Strategy::Reorder),
            );
        }
    }
}
