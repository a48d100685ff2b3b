#![doc = include_str!("null_content.md")]

use super::prelude::*;
use crate::draft::{Content, Kind};
use crate::{
    check::{Notes, View},
    draft::Facts,
    report::{Fix, Strategy},
};

pub(super) const RULE: Rule = Rule {
    code: 311,
    name: "null-content",
    summary: "no content beside calls",
    explain: include_str!("null_content.md"),
    applies: &[(Strict, Sure)],
    layouts: &[Chat],
    needs: Facts::NULL_BESIDE_CALLS,
    check,
};

fn check(view: &View<'_, '_>, notes: &mut Notes<'_, '_, '_>) {
    for (at, message, parts) in
        view.messages().filter(|(_, message, _)| message.role.is_assistant())
    {
        let calls = parts.iter().any(|part| matches!(part.kind, Kind::Call(_)));
        let body =
            parts.iter().any(|part| !matches!(part.kind, Kind::Call(_) | Kind::Reasoning(_)));
        let empty = message.content == Content::List && !body;
        if calls && (empty || matches!(message.content, Content::Null | Content::Absent)) {
            let text = "beside calls, content is safest as an empty string".to_owned();
            notes.add(at, message.span, text, Fix::safe(Strategy::Recode));
        }
    }
}
