#![doc = include_str!("null_content.md")]

use super::prelude::*;
use crate::draft::{ContentShape, PartKind};
use crate::{
    check::{Findings, RuleContext},
    draft::DraftFeatures,
    report::{Fix, Strategy},
};

pub(super) const RULE: Rule = Rule {
    code: 311,
    name: "null-content",
    summary: "null content in a message with tool calls",
    explain: page!("null_content.md"),
    applies: &[(Strict, Documented)],
    layouts: &[Chat],
    features: DraftFeatures::NULL_BESIDE_CALLS,
    check,
};

fn check(context: &RuleContext<'_, '_>, findings: &mut Findings<'_, '_, '_>) {
    for (at, message, parts) in
        context.messages().filter(|(_, message, _)| message.role.is_assistant())
    {
        let calls = parts.iter().any(|part| matches!(part.kind, PartKind::Call(_)));
        let body = parts
            .iter()
            .any(|part| !matches!(part.kind, PartKind::Call(_) | PartKind::Reasoning(_)));
        let empty = message.content == ContentShape::List && !body;
        if calls && (empty || matches!(message.content, ContentShape::Null | ContentShape::Absent))
        {
            let text =
                "content is null; in a message with calls an empty string is safer".to_owned();
            findings.add(at, message.span, text, Fix::safe(Strategy::Recode));
        }
    }
}
