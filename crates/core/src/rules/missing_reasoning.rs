#![doc = include_str!("missing_reasoning.md")]

use super::prelude::*;
use crate::draft::{Draft, Kind, Message, Wire};
use crate::{
    check::{Notes, View},
    draft::Facts,
    profile::Profile,
    report::{Fix, Strategy},
};

pub(super) const RULE: Rule = Rule {
    code: 502,
    name: "missing-reasoning",
    summary: "a call without the reasoning the provider wants back",
    explain: include_str!("missing_reasoning.md"),
    applies: &[(Deepseek, Sure), (Gemini, Sure), (Anthropic, Sure)],
    layouts: &[Chat, Blocks],
    needs: Facts::ALWAYS,
    check,
};

fn check(view: &View<'_, '_>, notes: &mut Notes<'_, '_, '_>) {
    match (view.draft.wire, view.profile()) {
        (Wire::OpenaiChat, Profile::Deepseek) => deepseek(view, notes),
        (Wire::Gemini, Profile::Gemini) => gemini(view, notes),
        (Wire::Anthropic, Profile::Anthropic) => anthropic(view, notes),
        _ => {}
    }
}

/// In thinking mode every assistant message with calls carries its reasoning, even empty.
fn deepseek(view: &View<'_, '_>, notes: &mut Notes<'_, '_, '_>) {
    let body = &view.draft.body;
    let reasoner = body.model.as_deref().is_some_and(|model| model.contains("reasoner"));
    if !reasoner && !body.thinking && !view.draft.facts.any(Facts::REASONING) {
        return;
    }
    for (at, message, parts) in
        view.messages().filter(|(_, message, _)| message.role.is_assistant())
    {
        let calls = parts.iter().any(|part| matches!(part.kind, Kind::Call(_)));
        if calls && !parts.iter().any(|part| matches!(part.kind, Kind::Reasoning(_))) {
            let text =
                "in thinking mode a message with calls carries `reasoning_content`".to_owned();
            notes.add(at, message.span, text, Fix::safe(Strategy::Recode));
        }
    }
}

/// In the running turn the first call of each step carries its thought signature.
fn gemini(view: &View<'_, '_>, notes: &mut Notes<'_, '_, '_>) {
    for at in gemini_unsigned(view.draft) {
        let text =
            "the first call of a step in the running turn lacks its thought signature".to_owned();
        notes.add(at, view.draft.messages[at].span, text, Fix::safe(Strategy::Recode));
    }
}

/// Model messages whose first call has to be signed and is not.
pub(crate) fn gemini_unsigned(draft: &Draft<'_>) -> Vec<usize> {
    let third = draft.body.model.as_deref().is_some_and(|model| model.contains("gemini-3"));
    if !third && !draft.facts.any(Facts::SIGNED_CALL) {
        return Vec::new();
    }
    let asked = |message: &Message| {
        let parts = draft.parts_of(message);
        message.role.is_user()
            && parts.iter().any(|part| matches!(part.kind, Kind::Text(_)))
            && !draft.answers_in(message)
    };
    let start = draft.messages.iter().rposition(asked).map_or(0, |at| at + 1);
    let unsigned = |message: &Message| {
        let first = draft.parts_of(message).iter().find_map(|part| match &part.kind {
            Kind::Call(call) => Some(call.signed),
            _ => None,
        });
        message.role.is_assistant() && first == Some(false)
    };
    let running = draft.messages.iter().enumerate().skip(start);
    running.filter(|(_, message)| unsigned(message)).map(|(at, _)| at).collect()
}

/// With manual thinking on, the turn of the running tool loop starts with its thinking.
fn anthropic(view: &View<'_, '_>, notes: &mut Notes<'_, '_, '_>) {
    let draft = view.draft;
    if !draft.body.thinking {
        return;
    }
    if !draft.messages.last().is_some_and(|last| last.role.is_user() && draft.answers_in(last)) {
        return;
    }
    let Some(run) = view.assistant_runs().last() else { return };
    let first =
        draft.messages[run.clone()].iter().find_map(|message| draft.parts_of(message).first());
    if first.is_some_and(|part| !matches!(part.kind, Kind::Reasoning(_))) {
        let text = "thinking is on, but the turn of the running tool loop does not start with it"
            .to_owned();
        notes.add(run.start, draft.messages[run.start].span, text, Fix::safe(Strategy::Recode));
    }
}
