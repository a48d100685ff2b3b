#![doc = include_str!("split_turn.md")]

use super::prelude::*;
use crate::pairing::{CallPairing, Turn, call_at};
use crate::{
    check::{Findings, RuleContext},
    draft::{Draft, DraftFeatures, MessageLayout, PartKind},
    profile::Profile,
    report::{Fix, Strategy},
};

pub(super) const RULE: Rule = Rule {
    code: 106,
    name: "split-turn",
    summary: "parallel calls spread over several assistant messages",
    explain: include_str!("split_turn.md"),
    applies: &[
        (Bedrock, Documented),
        (Deepseek, Documented),
        (Mistral, Documented),
        (Strict, Documented),
    ],
    layouts: &[Chat, Blocks, Items],
    features: DraftFeatures::SAME_SIDE_NEIGHBORS,
    check,
};

fn check(view: &RuleContext<'_, '_>, notes: &mut Findings<'_, '_, '_>) {
    if view.layout() == MessageLayout::Items {
        return check_items(view, notes);
    }
    for group in view.pairing.turns.iter().filter(|group| group.messages().len() > 1) {
        let count = group.messages().len();
        let text = format!("parallel calls are spread over {count} assistant messages");
        let strategy = match view.layout() {
            MessageLayout::Chat => Strategy::Reorder,
            MessageLayout::Blocks | MessageLayout::Items => Strategy::Merge,
        };
        report_split(view, notes, group, group.messages().start + 1, text, strategy);
    }
}

/// A text behind a call ends the turn of that call.
fn check_items(view: &RuleContext<'_, '_>, notes: &mut Findings<'_, '_, '_>) {
    if !matches!(view.profile(), Profile::Deepseek | Profile::Strict) {
        return;
    }
    for group in &view.pairing.turns {
        if let Some(&at) = answer_positions(view.draft, view.pairing, group).first() {
            let text = "a text stands between a call and its answer".to_owned();
            report_split(view, notes, group, at, text, Strategy::Reorder);
        }
    }
}

fn report_split(
    view: &RuleContext<'_, '_>,
    notes: &mut Findings<'_, '_, '_>,
    group: &Turn,
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
pub(crate) fn answer_positions(
    draft: &Draft<'_>,
    pairing: &CallPairing,
    group: &Turn,
) -> Vec<usize> {
    let mut cuts = Vec::new();
    let mut calls = pairing.calls[group.calls()].iter().peekable();
    let mut answered = false;
    for at in group.messages() {
        let parts = draft.parts_of(&draft.messages[at]);
        if answered && parts.iter().any(|part| matches!(part.kind, PartKind::Text(_))) {
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
