#![doc = include_str!("too_many_calls.md")]

use super::prelude::*;
use crate::draft::PartKind;
use crate::{
    check::{Findings, RuleContext},
    draft::DraftFeatures,
    report::{Fix, Strategy},
};

/// Most calls OpenAI takes in one message.
pub(crate) const MAX_CALLS: usize = 128;

pub(super) const RULE: Rule = Rule {
    code: 108,
    name: "too-many-calls",
    summary: "more than 128 calls in one message",
    explain: include_str!("too_many_calls.md"),
    applies: &[(OpenaiChat, Documented), (Strict, Documented)],
    layouts: &[Chat, Blocks],
    features: DraftFeatures::MANY_CALLS,
    check,
};

fn check(view: &RuleContext<'_, '_>, notes: &mut Findings<'_, '_, '_>) {
    // A turn whose calls are still running is not sent yet, and is not torn apart.
    let running = view.running_calls();
    let live = running.clone().any(|call| view.pairing.calls[call].answer().is_none());
    let turn = view.pairing.turns.last().filter(|_| live).map(|group| group.messages());
    for (at, message, parts) in
        view.messages().filter(|(_, message, _)| message.role.is_assistant())
    {
        let count = parts.iter().filter(|part| matches!(part.kind, PartKind::Call(_))).count();
        if count > MAX_CALLS && !turn.as_ref().is_some_and(|turn| turn.contains(&at)) {
            let text = format!("{count} calls in one message; the provider takes {MAX_CALLS}");
            notes.add(at, message.span, text, Fix::safe(Strategy::Split));
        }
    }
}
