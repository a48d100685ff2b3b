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
    summary: "parallel tool calls spread over several assistant messages",
    explain: page!("split_turn.md"),
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

fn check(context: &RuleContext<'_, '_>, findings: &mut Findings<'_, '_, '_>) {
    if context.layout() == MessageLayout::Items {
        return check_items(context, findings);
    }
    for turn in context.pairing.turns.iter().filter(|turn| turn.messages().len() > 1) {
        let count = turn.messages().len();
        let text = format!("parallel calls are spread over {count} assistant messages");
        let strategy = match context.layout() {
            MessageLayout::Chat => Strategy::Reorder,
            MessageLayout::Blocks | MessageLayout::Items => Strategy::Merge,
        };
        report_split(context, findings, turn, turn.messages().start + 1, text, strategy);
    }
}

/// A text after a call ends the turn of that call.
fn check_items(context: &RuleContext<'_, '_>, findings: &mut Findings<'_, '_, '_>) {
    if !matches!(context.profile(), Profile::Deepseek | Profile::Strict) {
        return;
    }
    for turn in &context.pairing.turns {
        if let Some(&at) = answer_positions(context.draft, context.pairing, turn).first() {
            let text = "text between a call and its result".to_owned();
            report_split(context, findings, turn, at, text, Strategy::Reorder);
        }
    }
}

fn report_split(
    context: &RuleContext<'_, '_>,
    findings: &mut Findings<'_, '_, '_>,
    turn: &Turn,
    at: usize,
    text: String,
    strategy: Strategy,
) {
    let span = context.draft.messages[at].span;
    let finding = findings.add(at, span, text, Fix::safe(strategy));
    let ids = context.pairing.calls[turn.calls()].iter();
    let ids = ids
        .filter_map(|call| call_at(context.draft, call.part())?.id.as_deref().map(str::to_owned));
    finding.ids.extend(ids.take(16));
}

/// The items of a turn before which the answers of the preceding calls belong: texts after a call
/// whose answer comes later.
pub(crate) fn answer_positions(
    draft: &Draft<'_>,
    pairing: &CallPairing,
    turn: &Turn,
) -> Vec<usize> {
    let mut positions = Vec::new();
    let mut calls = pairing.calls[turn.calls()].iter().peekable();
    let mut answered = false;
    for at in turn.messages() {
        let parts = draft.parts_of(&draft.messages[at]);
        if answered && parts.iter().any(|part| matches!(part.kind, PartKind::Text(_))) {
            positions.push(at);
            answered = false;
        }
        while let Some(call) = calls.next_if(|call| call.message() == at) {
            let in_home = |answer: usize| turn.home().contains(&pairing.answers[answer].message());
            answered |= call.answer().is_some_and(in_home);
        }
    }
    positions
}
