#![doc = include_str!("split_turn.md")]

use super::prelude::*;
use crate::pair::call_at;
use crate::{
    check::{Notes, View},
    draft::{Facts, Layout},
    report::{Fix, Strategy},
};

pub(super) const RULE: Rule = Rule {
    code: 106,
    name: "split-turn",
    summary: "parallel calls spread over several assistant messages",
    explain: include_str!("split_turn.md"),
    applies: &[(Gemini, Sure), (Bedrock, Sure), (Deepseek, Sure), (Mistral, Sure), (Strict, Sure)],
    layouts: &[Chat, Blocks],
    needs: Facts::NEIGHBOURS,
    check,
};

fn check(view: &View<'_, '_>, notes: &mut Notes<'_, '_, '_>) {
    for group in view.pairing.groups.iter().filter(|group| group.messages.len() > 1) {
        let count = group.messages.len();
        let text = format!("parallel calls are spread over {count} assistant messages");
        let at = group.messages.start + 1;
        let span = view.draft.messages[at].span;
        let strategy = match view.layout() {
            Layout::Chat => Strategy::Reorder,
            Layout::Blocks | Layout::Items => Strategy::Merge,
        };
        let finding = notes.add(at, span, text, Fix::safe(strategy));
        let ids = view.pairing.calls[group.calls.clone()].iter();
        let ids =
            ids.filter_map(|call| call_at(view.draft, call.part)?.id.as_deref().map(str::to_owned));
        finding.ids.extend(ids.take(16));
    }
}
