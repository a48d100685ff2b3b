#![doc = include_str!("dead_server_call.md")]

use super::prelude::*;
use super::server;
use crate::{
    check::{Notes, View},
    draft::Facts,
    report::{Fix, Strategy},
};

pub(super) const RULE: Rule = Rule {
    code: 601,
    name: "dead-server-call",
    summary: "a call the provider runs itself, never finished",
    explain: include_str!("dead_server_call.md"),
    applies: &[(Anthropic, Sure), (Bedrock, Likely), (Strict, Sure)],
    layouts: &[Blocks],
    needs: Facts::SERVER,
    check,
};

fn check(view: &View<'_, '_>, notes: &mut Notes<'_, '_, '_>) {
    for (at, part) in server::dead_calls(view.draft) {
        let text = "a call of the provider's own tool was never finished".to_owned();
        notes.add(at, view.draft.parts[part].span, text, Fix::safe(Strategy::Drop));
    }
}
