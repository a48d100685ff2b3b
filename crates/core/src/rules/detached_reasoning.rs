#![doc = include_str!("detached_reasoning.md")]

use super::prelude::*;
use crate::draft::{ContentShape, PartKind, TextShape};
use crate::{
    check::{Findings, RuleContext},
    draft::{DraftFeatures, MessageLayout},
    profile::Profile,
    report::{Fix, Strategy},
};

pub(super) const RULE: Rule = Rule {
    code: 501,
    name: "detached-reasoning",
    summary: "reasoning without the content it led to",
    explain: page!("detached_reasoning.md"),
    applies: &[
        (Anthropic, Documented),
        (Bedrock, Documented),
        (OpenaiResponses, Documented),
        (Strict, Documented),
    ],
    layouts: &[Blocks, Items],
    features: DraftFeatures::REASONING,
    check,
};

fn check(context: &RuleContext<'_, '_>, findings: &mut Findings<'_, '_, '_>) {
    if context.layout() == MessageLayout::Items {
        if !matches!(context.profile(), Profile::OpenaiResponses | Profile::Strict) {
            return;
        }
        let mut followed = false;
        for (at, message, parts) in context.messages().collect::<Vec<_>>().into_iter().rev() {
            let reasoning = message.role.is_assistant()
                && parts.iter().any(|part| matches!(part.kind, PartKind::Reasoning(_)));
            if !reasoning {
                followed = message.role.is_assistant();
            } else if !followed {
                let text = "reasoning without the item that must follow it".to_owned();
                findings.add(at, message.span, text, Fix::safe(Strategy::Drop));
            }
        }
        return;
    }
    if context.profile() == Profile::OpenaiResponses {
        return;
    }
    for run in context.assistant_runs() {
        // Ignore empty messages at the end of the run.
        let last = run.rev().find_map(|at| {
            let message = &context.draft.messages[at];
            let part = context.draft.parts_of(message).last()?;
            let empty = message.content == ContentShape::Text
                && matches!(part.kind, PartKind::Text(TextShape::Empty));
            (!empty).then_some((at, part))
        });
        let Some((at, part)) = last else { continue };
        if matches!(part.kind, PartKind::Reasoning(_)) {
            let text = "the assistant turn ends in reasoning".to_owned();
            findings.add(at, part.span, text, Fix::safe(Strategy::Drop));
        }
    }
}
