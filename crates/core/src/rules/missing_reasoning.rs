#![doc = include_str!("missing_reasoning.md")]

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
    summary: "a call without the reasoning the provider wants back",
    explain: include_str!("missing_reasoning.md"),
    applies: &[(Deepseek, Documented), (Gemini, Documented), (Anthropic, Documented)],
    layouts: &[Chat, Blocks],
    features: DraftFeatures::ALWAYS,
    check,
};

fn check(view: &RuleContext<'_, '_>, notes: &mut Findings<'_, '_, '_>) {
    match (view.draft.format, view.profile()) {
        (Format::OpenaiChat, Profile::Deepseek) => check_deepseek(view, notes),
        (Format::Gemini, Profile::Gemini) => check_gemini(view, notes),
        (Format::Anthropic, Profile::Anthropic) => check_anthropic(view, notes),
        _ => {}
    }
}

/// In thinking mode every assistant message with calls carries its reasoning, even empty.
fn check_deepseek(view: &RuleContext<'_, '_>, notes: &mut Findings<'_, '_, '_>) {
    let body = &view.draft.body;
    let reasoner = body.model.as_deref().is_some_and(|model| model.contains("reasoner"));
    if !reasoner && !body.thinking && !view.draft.features.intersects(DraftFeatures::REASONING) {
        return;
    }
    for (at, message, parts) in
        view.messages().filter(|(_, message, _)| message.role.is_assistant())
    {
        let calls = parts.iter().any(|part| matches!(part.kind, PartKind::Call(_)));
        if calls && !parts.iter().any(|part| matches!(part.kind, PartKind::Reasoning(_))) {
            let text =
                "in thinking mode a message with calls carries `reasoning_content`".to_owned();
            notes.add(at, message.span, text, Fix::safe(Strategy::Recode));
        }
    }
}

/// In the running turn the first call of each step carries its thought signature.
fn check_gemini(view: &RuleContext<'_, '_>, notes: &mut Findings<'_, '_, '_>) {
    for at in gemini_unsigned(view.draft) {
        let text =
            "the first call of a step in the running turn lacks its thought signature".to_owned();
        notes.add(at, view.draft.messages[at].span, text, Fix::safe(Strategy::Recode));
    }
}

/// Model messages whose first call has to be signed and is not.
pub(crate) fn gemini_unsigned(draft: &Draft<'_>) -> Vec<usize> {
    let third = draft.body.model.as_deref().is_some_and(|model| model.contains("gemini-3"));
    if !third && !draft.features.intersects(DraftFeatures::SIGNED_CALL) {
        return Vec::new();
    }
    let asked = |message: &Message| {
        let parts = draft.parts_of(message);
        message.role.is_user()
            && parts.iter().any(|part| matches!(part.kind, PartKind::Text(_)))
            && !draft.has_answers(message)
    };
    let start = draft.messages.iter().rposition(asked).map_or(0, |at| at + 1);
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

/// With manual thinking on, the turn of the running tool loop starts with its thinking.
fn check_anthropic(view: &RuleContext<'_, '_>, notes: &mut Findings<'_, '_, '_>) {
    let draft = view.draft;
    if !draft.body.thinking {
        return;
    }
    if !draft.messages.last().is_some_and(|last| last.role.is_user() && draft.has_answers(last)) {
        return;
    }
    let Some(run) = view.assistant_runs().last() else { return };
    let first =
        draft.messages[run.clone()].iter().find_map(|message| draft.parts_of(message).first());
    if first.is_some_and(|part| !matches!(part.kind, PartKind::Reasoning(_))) {
        let text = "thinking is on, but the turn of the running tool loop does not start with it"
            .to_owned();
        notes.add(run.start, draft.messages[run.start].span, text, Fix::safe(Strategy::Recode));
    }
}
