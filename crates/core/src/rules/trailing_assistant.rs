#![doc = include_str!("trailing_assistant.md")]

use std::collections::HashSet;

use super::prelude::*;
use crate::{
    check::{Findings, RuleContext},
    draft::DraftFeatures,
    profile::Profile,
    report::{Fix, Strategy},
};
use crate::{
    draft::{Message, MessageFlags, Part, PartKind},
    profile::claude_without_prefill,
};

pub(super) const RULE: Rule = Rule {
    code: 403,
    name: "trailing-assistant",
    summary: "a request that ends with an assistant message",
    explain: page!("trailing_assistant.md"),
    applies: &[
        (Anthropic, Documented),
        (Gemini, Documented),
        (Bedrock, Documented),
        (Mistral, Documented),
        (Strict, Documented),
    ],
    layouts: &[Chat, Blocks],
    features: DraftFeatures::ALWAYS,
    check,
};

fn check(context: &RuleContext<'_, '_>, findings: &mut Findings<'_, '_, '_>) {
    let draft = context.draft;
    if !draft.body.request
        || context.pairing.calls.last().is_some_and(|call| {
            call.answer().is_none() && call.message() + 1 == draft.messages.len()
        })
    {
        return;
    }
    let Some(message) = draft.messages.last().filter(|message| message.role.is_assistant()) else {
        return;
    };
    let model = draft.body.model.as_deref().unwrap_or("");
    let allowed = match context.profile() {
        Profile::Anthropic => !claude_without_prefill(model),
        Profile::Bedrock => {
            let is_claude = model.contains("claude");
            model.contains("amazon.") || (is_claude && !claude_without_prefill(model))
        }
        Profile::Mistral => message.flags.has(MessageFlags::PREFIX),
        _ => false,
    };
    if !allowed && !is_paused(message, draft.parts_of(message)) {
        let text = "the request ends with an assistant message".to_owned();
        findings.add(
            draft.messages.len() - 1,
            message.span,
            text,
            Fix::requires_unsafe(Strategy::Insert),
        );
    }
}

/// Whether the provider paused the turn, in or after its own tool or after a compaction: such a turn is
/// sent back unchanged.
fn is_paused(message: &Message, parts: &[Part<'_>]) -> bool {
    let is_compaction = message.flags.has(MessageFlags::COMPACTION)
        && parts.iter().all(|part| matches!(part.kind, PartKind::Other));
    if is_compaction
        || matches!(parts.last().map(|part| &part.kind), Some(PartKind::ServerAnswer(_)))
    {
        return true;
    }
    let answers = parts.iter().filter(|part| matches!(part.kind, PartKind::ServerAnswer(_)));
    let answered: HashSet<&str> = answers.filter_map(|part| part.kind.server_id()).collect();
    parts.iter().any(|part| match &part.kind {
        kind @ PartKind::ServerCall(_) => kind.server_id().is_none_or(|id| !answered.contains(id)),
        _ => false,
    })
}
