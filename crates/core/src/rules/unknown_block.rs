#![doc = include_str!("unknown_block.md")]

use std::collections::HashSet;

use super::prelude::*;
use crate::{
    check::{Findings, RuleContext},
    draft::{DraftCall, DraftFeatures, MessageLayout, Part, PartKind},
    report::Fix,
};

pub(super) const RULE: Rule = Rule {
    code: 603,
    name: "unknown-block",
    summary: "a call or result without its counterpart, beside a block of an unknown type",
    explain: page!("unknown_block.md"),
    applies: &[
        (OpenaiResponses, Inferred),
        (Anthropic, Inferred),
        (Gemini, Inferred),
        (Bedrock, Inferred),
        (GeminiInteractions, Inferred),
        (Strict, Inferred),
    ],
    layouts: &[Blocks, Items],
    features: DraftFeatures::UNKNOWN,
    check,
};

fn check(context: &RuleContext<'_, '_>, findings: &mut Findings<'_, '_, '_>) {
    let draft = context.draft;
    let ids = |kind: fn(&PartKind<'_>) -> bool| -> HashSet<&str> {
        draft
            .message_parts()
            .filter(|part| kind(&part.kind))
            .filter_map(|part| part.kind.id())
            .collect()
    };
    let called = ids(|kind| matches!(kind, PartKind::Call(_) | PartKind::ServerCall(_)));
    let answered = ids(|kind| matches!(kind, PartKind::Answer(_) | PartKind::ServerAnswer(_)));
    // An item whose output the model does not wait for may stay open.
    let may_wait = |call: &DraftCall<'_>| draft.layout() == MessageLayout::Items && !call.typed;
    let is_alone = |part: &Part<'_>| match &part.kind {
        PartKind::Call(call) => {
            !may_wait(call) && call.id.as_deref().is_none_or(|id| !answered.contains(id))
        }
        PartKind::Answer(answer) => answer.id.as_deref().is_none_or(|id| !called.contains(id)),
        _ => false,
    };
    for turn in &context.pairing.unknown_turns {
        let messages = || turn.clone().filter_map(|at| Some((at, draft.messages.get(at)?)));
        let parts = || {
            messages().flat_map(|(at, message)| {
                draft.parts_of(message).iter().map(move |part| (at, part))
            })
        };
        let Some(alone) = parts().find(|(_, part)| is_alone(part)) else { continue };
        let unknown = parts().find(|(_, part)| matches!(part.kind, PartKind::Unknown));
        let text = match unknown {
            Some(_) => {
                "this has an unknown type, and a call or result of its turn has no counterpart; \
                 the turn is left as it is"
            }
            None => {
                "this has no counterpart, but something of an unknown type names its id; the turn \
                 is left as it is"
            }
        };
        let (at, part) = unknown.unwrap_or(alone);
        findings.add(at, part.span, text.to_owned(), Fix::NONE);
    }
}
