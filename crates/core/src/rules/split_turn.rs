#![doc = include_str!("split_turn.md")]

use super::prelude::*;
use crate::pair::{Group, Pairing, call_at};
use crate::{
    check::{Notes, View},
    draft::{Draft, Facts, Kind, Layout},
    profile::Profile,
    report::{Fix, Strategy},
};

pub(super) const RULE: Rule = Rule {
    code: 106,
    name: "split-turn",
    summary: "parallel calls spread over several assistant messages",
    explain: include_str!("split_turn.md"),
    applies: &[(Bedrock, Sure), (Deepseek, Sure), (Mistral, Sure), (Strict, Sure)],
    layouts: &[Chat, Blocks, Items],
    needs: Facts::NEIGHBOURS,
    check,
};

fn check(view: &View<'_, '_>, notes: &mut Notes<'_, '_, '_>) {
    if view.layout() == Layout::Items {
        return items(view, notes);
    }
    for group in view.pairing.groups.iter().filter(|group| group.messages().len() > 1) {
        let count = group.messages().len();
        let text = format!("parallel calls are spread over {count} assistant messages");
        let strategy = match view.layout() {
            Layout::Chat => Strategy::Reorder,
            Layout::Blocks | Layout::Items => Strategy::Merge,
        };
        note(view, notes, group, group.messages().start + 1, text, strategy);
    }
}

/// A text behind a call ends the turn of that call.
fn items(view: &View<'_, '_>, notes: &mut Notes<'_, '_, '_>) {
    if !matches!(view.profile(), Profile::Deepseek | Profile::Strict) {
        return;
    }
    for group in &view.pairing.groups {
        if let Some(&at) = cuts(view.draft, view.pairing, group).first() {
            let text = "a text stands between a call and its answer".to_owned();
            note(view, notes, group, at, text, Strategy::Reorder);
        }
    }
}

fn note(
    view: &View<'_, '_>,
    notes: &mut Notes<'_, '_, '_>,
    group: &Group,
    at: usize,
    text: String,
    strategy: Strategy,
) {
    let span = view.draft.messages[at].span;
    let finding = notes.add(at, span, text, Fix::safe(strategy));
    let ids = view.pairing.calls[group.calls()].iter();
    let ids =
        ids.filter_map(|call| call_at(view.draft, call.part())?.id.as_deref().map(str::to_owned));
    finding.ids.extend(ids.take(16));
}

/// The items of a turn before which the answers of the calls so far belong: texts behind a call
/// that is answered behind them.
pub(crate) fn cuts(draft: &Draft<'_>, pairing: &Pairing, group: &Group) -> Vec<usize> {
    let mut cuts = Vec::new();
    let mut calls = pairing.calls[group.calls()].iter().peekable();
    let mut answered = false;
    for at in group.messages() {
        let parts = draft.parts_of(&draft.messages[at]);
        if answered && parts.iter().any(|part| matches!(part.kind, Kind::Text(_))) {
            cuts.push(at);
            answered = false;
        }
        while let Some(call) = calls.next_if(|call| call.message() == at) {
            let home = |answer: usize| group.home().contains(&pairing.answers[answer].message());
            answered |= call.answer().is_some_and(home);
        }
    }
    cuts
}
