#![doc = include_str!("unresolved_reference.md")]

use foxwedge_json::unescape;

use super::prelude::*;
use crate::{
    check::{Findings, RuleContext, display_id},
    draft::{Draft, DraftFeatures, Message, Part, PartKind, UnresolvedReference},
    report::{Fix, Strategy},
};

pub(super) const RULE: Rule = Rule {
    code: 604,
    name: "unresolved-reference",
    summary: "a tool reference to a tool that the request does not declare",
    explain: page!("unresolved_reference.md"),
    applies: &[(Anthropic, Documented), (Strict, Documented)],
    layouts: &[Blocks],
    features: DraftFeatures::UNRESOLVED_REFERENCE,
    check,
};

fn check(context: &RuleContext<'_, '_>, findings: &mut Findings<'_, '_, '_>) {
    for (at, message) in context.draft.messages.iter().enumerate() {
        for (result, references) in references_in(context.draft, message) {
            let tools = display_tools(context.draft.source, references);
            let text = format!("the result refers to {tools}, not declared in the request");
            findings.add(at, result.span, text, Fix::safe(Strategy::Recode));
        }
    }
}

/// The results of a message with unresolved references, and these.
pub(crate) fn references_in<'d, 'a>(
    draft: &'d Draft<'a>,
    message: &Message,
) -> impl Iterator<Item = (&'d Part<'a>, &'d [UnresolvedReference])> {
    let references = draft.body.references.as_slice();
    let parts = draft.parts_of(message).iter();
    parts.filter_map(move |part| {
        let is_result = matches!(part.kind, PartKind::Answer(_) | PartKind::ServerAnswer(_));
        let first = references.partition_point(|it| it.replacement.span.start < part.span.start);
        let end = references.partition_point(|it| it.replacement.span.end <= part.span.end);
        let inside = references.get(first..end)?;
        (is_result && !inside.is_empty()).then_some((part, inside))
    })
}

/// The tools of some references, for people.
pub(crate) fn display_tools(source: &str, references: &[UnresolvedReference]) -> String {
    let name =
        |reference: &UnresolvedReference| display_id(Some(&unescape(reference.tool.of(source))));
    let first = references.first().map(name).unwrap_or_default();
    let tools: u32 = references.iter().map(|reference| reference.more + 1).sum();
    match tools {
        0 | 1 => format!("tool {first}"),
        tools => format!("tool {first} and {} more", tools - 1),
    }
}
