#![doc = include_str!("unstored_item.md")]

use super::prelude::*;
use crate::draft::Marks;
use crate::{
    check::{Notes, View},
    draft::Facts,
    report::{Fix, Strategy},
};

pub(super) const RULE: Rule = Rule {
    code: 206,
    name: "unstored-item",
    summary: "a reasoning item that only the server's store could resolve",
    explain: include_str!("unstored_item.md"),
    applies: &[(OpenaiResponses, Sure)],
    layouts: &[Items],
    needs: Facts::ITEM_ID,
    check,
};

fn check(view: &View<'_, '_>, notes: &mut Notes<'_, '_, '_>) {
    if !view.draft.body.unstored {
        return;
    }
    for (at, message, _) in
        view.messages().filter(|(_, message, _)| message.marks.has(Marks::UNSTORED))
    {
        let text =
            "the request stores nothing, and this reasoning has no encrypted content".to_owned();
        notes.add(at, message.span, text, Fix::safe(Strategy::Drop));
    }
}
