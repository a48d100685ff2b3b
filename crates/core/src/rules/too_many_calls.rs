#![doc = include_str!("too_many_calls.md")]

use super::prelude::*;
use crate::draft::Kind;
use crate::{
    check::{Notes, View},
    draft::Facts,
    report::{Fix, Strategy},
};

/// Most calls OpenAI takes in one message.
pub(crate) const MOST: usize = 128;

pub(super) const RULE: Rule = Rule {
    code: 108,
    name: "too-many-calls",
    summary: "more than 128 calls in one message",
    explain: include_str!("too_many_calls.md"),
    applies: &[(OpenaiChat, Sure), (Strict, Sure)],
    layouts: &[Chat, Blocks],
    needs: Facts::MANY_CALLS,
    check,
};

fn check(view: &View<'_, '_>, notes: &mut Notes<'_, '_, '_>) {
    // A turn whose calls are still running is not sent yet, and is not torn apart.
    let running = view.frontier();
    let live = running.clone().any(|call| view.pairing.calls[call].answer().is_none());
    let turn = view.pairing.groups.last().filter(|_| live).map(|group| group.messages());
    for (at, message, parts) in
        view.messages().filter(|(_, message, _)| message.role.is_assistant())
    {
        let count = parts.iter().filter(|part| matches!(part.kind, Kind::Call(_))).count();
        if count > MOST && !turn.as_ref().is_some_and(|turn| turn.contains(&at)) {
            let text = format!("{count} calls in one message; the provider takes {MOST}");
            notes.add(at, message.span, text, Fix::safe(Strategy::Split));
        }
    }
}
