#![doc = include_str!("duplicate_call_id.md")]

use super::prelude::*;
use crate::{
    check::{Findings, RuleContext},
    draft::DraftFeatures,
    report::{Fix, Strategy},
};
use std::collections::HashSet;

use crate::{check::display_id, pairing::call_at};

pub(super) const RULE: Rule = Rule {
    code: 201,
    name: "duplicate-call-id",
    summary: "two tool calls of one turn with the same id",
    explain: page!("duplicate_call_id.md"),
    applies: &[
        (OpenaiChat, Inferred),
        (OpenaiResponses, Inferred),
        (Anthropic, Documented),
        (Bedrock, Inferred),
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
    for turn in &context.pairing.turns {
        if turn.calls().len() < 2 {
            continue;
        }
        let calls = &context.pairing.calls[turn.calls()];
        // For few calls, comparing each pair is cheaper than a table.
        let small = calls.len() <= 8;
        let mut seen = HashSet::new();
        for (index, paired) in calls.iter().enumerate() {
            let Some(call) = call_at(context.draft, paired.part()) else { continue };
            let Some(id) = call.id.as_deref() else { continue };
            let repeated = if small {
                calls[..index].iter().any(|earlier| {
                    call_at(context.draft, earlier.part()).is_some_and(|other| {
                        other.id.as_deref() == Some(id) && other.family == call.family
                    })
                })
            } else {
                !seen.insert((call.family, id))
            };
            if repeated {
                let text = format!("id {} is used twice in one turn", display_id(Some(id)));
                findings.add_for_call(
                    paired.message(),
                    &context.draft.parts[paired.part()],
                    call,
                    text,
                    Fix::safe(Strategy::Rename),
                );
            }
        }
    }
}
