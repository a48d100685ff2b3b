#![doc = include_str!("illegal_call_id.md")]

use super::prelude::*;
use crate::check::shown;
use crate::{
    check::{Notes, View},
    draft::Facts,
    profile::may_take_any_id,
    report::{Fix, Severity, Strategy},
};

pub(super) const RULE: Rule = Rule {
    code: 203,
    name: "illegal-call-id",
    summary: "an id with characters or a length the provider refuses",
    explain: include_str!("illegal_call_id.md"),
    applies: &[
        (OpenaiChat, Sure),
        (OpenaiResponses, Sure),
        (Anthropic, Sure),
        (Bedrock, Sure),
        (Mistral, Sure),
        (Strict, Sure),
    ],
    layouts: &[Chat, Blocks, Items],
    needs: Facts::ALWAYS,
    check,
};

fn check(view: &View<'_, '_>, notes: &mut Notes<'_, '_, '_>) {
    let rule = view.profile().ids();
    let unsure = may_take_any_id(view.profile(), view.draft);
    for (at, part, call) in view.calls() {
        let Some(id) = call.id.as_deref().filter(|id| !rule.allows(id)) else { continue };
        let text = format!("id {} is refused: the provider takes {}", shown(Some(id)), rule.told());
        let fix = if unsure { Fix::bold(Strategy::Rename) } else { Fix::safe(Strategy::Rename) };
        let finding = notes.call(at, part, call, text, fix);
        if unsure {
            finding.severity = Severity::Warning;
        }
    }
}
