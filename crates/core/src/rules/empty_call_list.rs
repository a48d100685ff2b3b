#![doc = include_str!("empty_call_list.md")]

use super::prelude::*;
use crate::draft::Marks;
use crate::{
    check::{Notes, View},
    draft::Facts,
    report::{Fix, Strategy},
};

pub(super) const RULE: Rule = Rule {
    code: 309,
    name: "empty-call-list",
    summary: "an empty list of calls",
    explain: include_str!("empty_call_list.md"),
    applies: &[(OpenaiChat, Sure), (Strict, Sure)],
    layouts: &[Chat],
    needs: Facts::EMPTY_CALLS,
    check,
};

fn check(view: &View<'_, '_>, notes: &mut Notes<'_, '_, '_>) {
    for (at, message, _) in
        view.messages().filter(|(_, message, _)| message.marks.has(Marks::EMPTY_CALLS))
    {
        let text = "the list of calls is empty; leave it out".to_owned();
        notes.add(at, message.span, text, Fix::safe(Strategy::Drop));
    }
}
