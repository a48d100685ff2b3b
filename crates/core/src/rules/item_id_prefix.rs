#![doc = include_str!("item_id_prefix.md")]

use super::prelude::*;
use crate::draft::Marks;
use crate::{
    check::{Notes, View},
    draft::Facts,
    report::{Fix, Strategy},
};

pub(super) const RULE: Rule = Rule {
    code: 205,
    name: "item-id-prefix",
    summary: "an item id with the prefix of another type",
    explain: include_str!("item_id_prefix.md"),
    applies: &[(OpenaiResponses, Sure), (Strict, Sure)],
    layouts: &[Items],
    needs: Facts::ITEM_ID,
    check,
};

fn check(view: &View<'_, '_>, notes: &mut Notes<'_, '_, '_>) {
    for (at, message, _) in
        view.messages().filter(|(_, message, _)| message.marks.has(Marks::BAD_ITEM_ID))
    {
        let text = "the item's id does not begin with the prefix of its type".to_owned();
        notes.add(at, message.span, text, Fix::safe(Strategy::Drop));
    }
}
