#![doc = include_str!("too_many_calls.md")]

use super::prelude::*;
use crate::draft::PartKind;
use crate::{
    check::{Findings, RuleContext},
    draft::DraftFeatures,
    report::{Fix, Strategy},
};

/// The maximum number of calls OpenAI accepts in one message.
pub(crate) const MAX_CALLS: usize = 128;

pub(super) const RULE: Rule = Rule {
    code: 108,
    name: "too-many-calls",
    summary: "more than 128 tool calls in one message",
    explain: page!("too_many_calls.md"),
    applies: &[(OpenaiChat, Documented), (Strict, Documented)],
    layouts: &[Chat, Blocks],
    features: DraftFeatures::MANY_CALLS,
    check,
};

fn check(context: &RuleContext<'_, '_>, findings: &mut Findings<'_, '_, '_>) {
    // A turn whose calls are still running is not sent yet, and is not split.
    let running = context.running_calls();
    let has_open = running.clone().any(|call| context.pairing.calls[call].answer().is_none());
    let turn = context.pairing.turns.last().filter(|_| has_open).map(|turn| turn.messages());
    for (at, message, parts) in
        context.messages().filter(|(_, message, _)| message.role.is_assistant())
    {
        let count = parts.iter().filter(|part| matches!(part.kind, PartKind::Call(_))).count();
        if count > MAX_CALLS && !turn.as_ref().is_some_and(|turn| turn.contains(&at)) {
            let text = format!("{count} calls in one message; the provider accepts {MAX_CALLS}");
            findings.add(at, message.span, text, Fix::safe(Strategy::Split));
        }
    }
}
