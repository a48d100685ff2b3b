#![doc = include_str!("missing_reasoning.md")]

use std::ops::Range;

use super::prelude::*;
use crate::draft::{Draft, Format, Message, PartKind};
use crate::{
    check::{Findings, RuleContext},
    draft::DraftFeatures,
    profile::Profile,
    report::{Fix, Strategy},
};

pub(super) const RULE: Rule = Rule {
    code: 502,
    name: "missing-reasoning",
    summary: "a tool call without the reasoning that the provider requires",
    explain: page!("missing_reasoning.md"),
    applies: &[
        (Deepseek, Documented),
        (Gemini, Documented),
        (Anthropic, Documented),
        (Bedrock, Documented),
    ],
    layouts: &[Chat, Blocks],
    features: DraftFeatures::ALWAYS,
    check,
};

fn check(context: &RuleContext<'_, '_>, findings: &mut Findings<'_, '_, '_>) {
    match (context.draft.format, context.profile()) {
        (Format::OpenaiChat, Profile::Deepseek) => check_deepseek(context, findings),
        (Format::Gemini, Profile::Gemini) => check_gemini(context, findings),
        (Format::Anthropic, Profile::Anthropic) | (Format::Bedrock, Profile::Bedrock) => {
            check_claude(context, findings);
        }
        _ => {}
    }
}

/// In thinking mode, every assistant message with calls must carry its reasoning, even if empty.
fn check_deepseek(context: &RuleContext<'_, '_>, findings: &mut Findings<'_, '_, '_>) {
    let body = &context.draft.body;
    let reasoner = body.model.as_deref().is_some_and(|model| model.contains("reasoner"));
    if !reasoner && !body.thinking && !context.draft.features.intersects(DraftFeatures::REASONING) {
        return;
    }
    for (at, message, parts) in
        context.messages().filter(|(_, message, _)| message.role.is_assistant())
    {
        let calls = parts.iter().any(|part| matches!(part.kind, PartKind::Call(_)));
        if calls && !parts.iter().any(|part| matches!(part.kind, PartKind::Reasoning(_))) {
            let text =
                "in thinking mode a message with calls must have `reasoning_content`".to_owned();
            findings.add(at, message.span, text, Fix::safe(Strategy::Recode));
        }
    }
}

/// In the current turn, the first call of each step must carry its thought signature.
fn check_gemini(context: &RuleContext<'_, '_>, findings: &mut Findings<'_, '_, '_>) {
    for at in gemini_unsigned(context.draft) {
        let text =
            "the first call of a message in the current turn has no thought signature".to_owned();
        findings.add(at, context.draft.messages[at].span, text, Fix::safe(Strategy::Recode));
    }
}

/// Model messages whose first call must be signed but is not.
fn gemini_unsigned(draft: &Draft<'_>) -> Vec<usize> {
    let is_gemini_3 = draft.body.model.as_deref().is_some_and(|model| model.contains("gemini-3"));
    if !is_gemini_3 && !draft.features.intersects(DraftFeatures::SIGNED_CALL) {
        return Vec::new();
    }
    let is_user_request = |message: &Message| {
        let parts = draft.parts_of(message);
        message.role.is_user()
            && parts.iter().any(|part| matches!(part.kind, PartKind::Text(_)))
            && !draft.has_answers(message)
    };
    let start = draft.messages.iter().rposition(is_user_request).map_or(0, |at| at + 1);
    let unsigned = |message: &Message| {
        let first = draft.parts_of(message).iter().find_map(|part| match &part.kind {
            PartKind::Call(call) => Some(call.signed),
            _ => None,
        });
        message.role.is_assistant() && first == Some(false)
    };
    let running = draft.messages.iter().enumerate().skip(start);
    running.filter(|(_, message)| unsigned(message)).map(|(at, _)| at).collect()
}

/// With manual thinking of Claude on, the turn of the current tool loop must start with its thinking. The whole
/// loop is one turn: a later step of it may have none.
fn check_claude(context: &RuleContext<'_, '_>, findings: &mut Findings<'_, '_, '_>) {
    let draft = context.draft;
    if !draft.body.thinking {
        return;
    }
    if !draft.messages.last().is_some_and(|last| last.role.is_user() && draft.has_answers(last)) {
        return;
    }
    let asks = |message: &Message| message.role.is_user() && !draft.has_answers(message);
    let start = draft.messages.iter().rposition(asks).map_or(0, |at| at + 1);
    let steps: Vec<_> = context.assistant_runs().filter(|run| run.start >= start).collect();
    let (Some(first), Some(last)) = (steps.first(), steps.last()) else { return };
    let lacks_thinking = |run: &Range<usize>| {
        let mut messages = draft.messages[run.clone()].iter();
        let part = messages.find_map(|message| draft.parts_of(message).first());
        part.is_some_and(|part| !matches!(part.kind, PartKind::Reasoning(_)))
    };
    if lacks_thinking(first) && lacks_thinking(last) {
        let text =
            "thinking is on, but the current turn does not start with a thinking block".to_owned();
        let span = draft.messages[last.start].span;
        findings.add(last.start, span, text, Fix::safe(Strategy::Recode));
    }
}
