#![doc = include_str!("reused_call_id.md")]

use super::prelude::*;
use crate::{
    check::{Findings, RuleContext},
    draft::DraftFeatures,
    report::{Fix, Strategy},
};
use std::collections::HashMap;

use crate::{check::display_id, pairing::call_at};

pub(super) const RULE: Rule = Rule {
    code: 202,
    name: "reused-call-id",
    summary: "a call id that an earlier turn already used",
    explain: page!("reused_call_id.md"),
    applies: &[(Strict, Documented)],
    layouts: &[Chat, Blocks, Items],
    features: DraftFeatures::ALWAYS,
    check,
};

fn check(context: &RuleContext<'_, '_>, findings: &mut Findings<'_, '_, '_>) {
    let mut used: HashMap<&str, u32> = HashMap::with_capacity(context.pairing.calls.len());
    for paired in &context.pairing.calls {
        let Some(call) = call_at(context.draft, paired.part()) else { continue };
        let Some(id) = call.id.as_deref() else { continue };
        let turn = u32::try_from(paired.turn()).unwrap_or(u32::MAX);
        if *used.entry(id).or_insert(turn) != turn {
            let text = format!("id {} was used by an earlier turn", display_id(Some(id)));
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
