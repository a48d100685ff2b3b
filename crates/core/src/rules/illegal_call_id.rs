#![doc = include_str!("illegal_call_id.md")]

use super::prelude::*;
use crate::check::shown;
use crate::{
    check::{Notes, View},
    draft::Facts,
    report::{Fix, Strategy},
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
    for (at, part, call) in view.calls() {
        let Some(id) = call.id.as_deref().filter(|id| !rule.allows(id)) else { continue };
        let text = format!("id {} is refused: the provider takes {}", shown(Some(id)), rule.told());
        notes.call(at, part, call, text, Fix::safe(Strategy::Rename));
    }
}
