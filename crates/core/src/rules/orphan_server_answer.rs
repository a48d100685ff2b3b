#![doc = include_str!("orphan_server_answer.md")]

use super::prelude::*;
use super::server;
use crate::{
    check::{Notes, View},
    draft::Facts,
    report::{Fix, Strategy},
};

pub(super) const RULE: Rule = Rule {
    code: 602,
    name: "orphan-server-answer",
    summary: "an answer of the provider's own tool without its call",
    explain: include_str!("orphan_server_answer.md"),
    applies: &[(Anthropic, Sure), (Bedrock, Likely), (Strict, Sure)],
    layouts: &[Blocks],
    needs: Facts::SERVER,
    check,
};

fn check(view: &View<'_, '_>, notes: &mut Notes<'_, '_, '_>) {
    for (at, part) in server::orphan_answers(view.draft) {
        let text =
            "an answer of the provider's own tool has no call before it in its turn".to_owned();
        notes.add(at, view.draft.parts[part].span, text, Fix::safe(Strategy::Drop));
    }
}
