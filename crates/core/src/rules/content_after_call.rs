#![doc = include_str!("content_after_call.md")]

use super::prelude::*;
use crate::draft::{Part, PartKind};
use crate::{
    check::{Findings, RuleContext},
    draft::DraftFeatures,
    profile::Profile,
    report::{Fix, Strategy},
};

pub(super) const RULE: Rule = Rule {
    code: 306,
    name: "content-after-call",
    summary: "text after a tool call in the same message",
    explain: page!("content_after_call.md"),
    applies: &[(Anthropic, Inferred), (Strict, Documented)],
    layouts: &[Blocks],
    features: DraftFeatures::TEXT_AFTER_CALL,
    check,
};

fn check(context: &RuleContext<'_, '_>, findings: &mut Findings<'_, '_, '_>) {
    for (at, message, parts) in
        context.messages().filter(|(_, message, _)| message.role.is_assistant())
    {
        // Signed reasoning and server tools require the original order of their turn.
        let bound = |part: &Part<'_>| {
            matches!(
                part.kind,
                PartKind::Reasoning(_) | PartKind::ServerCall(_) | PartKind::ServerAnswer(_)
            )
        };
        if context.profile() != Profile::Strict && parts.iter().any(bound) {
            continue;
        }
        // What one model wrote is not moved into the output of another.
        if parts.iter().any(|part| matches!(part.kind, PartKind::Fallback)) {
            continue;
        }
        let call = parts.iter().position(|part| matches!(part.kind, PartKind::Call(_)));
        let late = call.and_then(|call| {
            parts.iter().skip(call).find(|part| matches!(part.kind, PartKind::Text(_)))
        });
        if let Some(part) = late {
            let text = "text follows a call; calls must come last in their message".to_owned();
            findings.add(
                at,
                if part.span.is_empty() { message.span } else { part.span },
                text,
                Fix::safe(Strategy::Reorder),
            );
        }
    }
}
