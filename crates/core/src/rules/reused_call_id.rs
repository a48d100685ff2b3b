#![doc = include_str!("reused_call_id.md")]

use super::prelude::*;
use crate::{
    check::{Notes, View},
    draft::Facts,
    report::{Fix, Strategy},
};
use std::collections::HashMap;

use crate::{check::shown, pair::call_at};

pub(super) const RULE: Rule = Rule {
    code: 202,
    name: "reused-call-id",
    summary: "an id that an earlier turn used already",
    explain: include_str!("reused_call_id.md"),
    applies: &[(Strict, Sure)],
    layouts: &[Chat, Blocks, Items],
    needs: Facts::ALWAYS,
    check,
};

fn check(view: &View<'_, '_>, notes: &mut Notes<'_, '_, '_>) {
    let mut used: HashMap<&str, u32> = HashMap::with_capacity(view.pairing.calls.len());
    for paired in &view.pairing.calls {
        let Some(call) = call_at(view.draft, paired.part()) else { continue };
        let Some(id) = call.id.as_deref() else { continue };
        let turn = u32::try_from(paired.group()).unwrap_or(u32::MAX);
        if *used.entry(id).or_insert(turn) != turn {
            let text = format!("id {} was used by an earlier turn", shown(Some(id)));
            notes.call(
                paired.message(),
                &view.draft.parts[paired.part()],
                call,
                text,
                Fix::safe(Strategy::Rename),
            );
        }
    }
}
