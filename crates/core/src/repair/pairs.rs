//! Repairs pairs of calls and answers: decides what is removed, moved or invented.
//!
//! `answers` (answers are messages) and `blocks` (answers are blocks) apply the decisions.

use super::{
    PartPatch, PartSource, QuotedAnswer, RepairedPart, answers, blocks, sources::QuoteReason,
    state::RepairState,
};
use crate::{
    Span,
    check::{display_id, running_calls},
    compact::{split_units, unit_at},
    draft::{
        AnswerShape, Draft, DraftAnswer, DraftCall, DraftFeatures, MessageLayout, Part, PartKind,
        TextShape,
    },
    pairing::{
        CallPairing, PairedAnswer, ResultMatch, adds_nothing, call_at, is_empty_answer,
        is_placeholder_answer, last_turn, prefer_real_answers, to_u32,
    },
    placeholder,
    policy::{OrphanPolicy, UnansweredPolicy},
    report::Strategy,
    rules::RuleSet,
};

/// What happens to an answer.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum AnswerAction {
    /// It stays where it is.
    Stay,
    /// It moves after the turn of this call.
    Move(u32),
    /// It becomes user text.
    Quote,
    /// It is removed.
    Remove,
}

/// What happens to every answer, and which calls get a placeholder.
pub(super) struct PairingDecisions {
    pub(super) actions: Vec<AnswerAction>,
    pub(super) placeholders: Vec<usize>,
    /// The first message of a turn whose calls are still running: nothing may follow it, so quotes
    /// go before it.
    pub(super) running: Option<usize>,
}

/// Joins every call to its answer (FW101 to FW105 and misplaced answers of FW304).
pub(super) fn fix_pairs(state: &mut RepairState<'_, '_>, rules: RuleSet) {
    // Only items have calls that no placeholder can answer; no call before a fallback gets one.
    let dropping = state.policy().unanswered != UnansweredPolicy::Answer
        || state.input.layout() == MessageLayout::Items
        || state.input.features.intersects(DraftFeatures::FALLBACK);
    if rules.has(101) && dropping {
        drop_unanswered(state);
    }
    let (draft, mut pairing) = state.draft_with_pairing();
    // A finding that is not fixed by default stays, also where others are fixed.
    let is_fixed = |answer: &PairedAnswer| match answer.result_match() {
        ResultMatch::Duplicate(_) if rules.has(104) => true,
        ResultMatch::Orphan if rules.has(102) => true,
        _ => rules.has(304) && draft.misplaces_results(answer.message()),
    };
    let replaced = prefer_real_answers(&draft, &mut pairing, is_fixed);
    let decisions = decide_answers(state, rules, &draft, &pairing, &replaced);
    let unchanged = decisions.placeholders.is_empty()
        && decisions.actions.iter().all(|action| *action == AnswerAction::Stay);
    if unchanged {
        return;
    }
    note_edits(state, &draft, &pairing, &decisions);
    match draft.layout() {
        MessageLayout::Chat | MessageLayout::Items => {
            answers::move_answers(state, &draft, &pairing, &decisions)
        }
        MessageLayout::Blocks => blocks::move_answers(state, &draft, &pairing, &decisions),
    }
}

fn decide_answers(
    state: &RepairState<'_, '_>,
    rules: RuleSet,
    draft: &Draft<'_>,
    pairing: &CallPairing,
    replaced: &[usize],
) -> PairingDecisions {
    let anywhere =
        draft.layout() == MessageLayout::Items && state.options.profile.allows_late_results();
    let enabled = |code: u16| state.is_enabled(code) && rules.has(code);
    // A real answer that replaces a placeholder moves to its place.
    let is_replaced = |index: usize| replaced.binary_search(&index).is_ok();
    let moves =
        |code: u16, index: usize| state.is_enabled(code) && (rules.has(code) || is_replaced(index));
    let (misplaced, orphans) = (enabled(304), enabled(102) && !draft.body.stateful);
    let extra = match state.policy().orphans {
        OrphanPolicy::Quote => AnswerAction::Quote,
        OrphanPolicy::Drop => AnswerAction::Remove,
    };
    let action = |(index, answer): (usize, &PairedAnswer)| match answer.result_match() {
        // It first has to become a message of its own.
        _ if draft.parts[answer.part()].kind.is_foreign_answer() => AnswerAction::Stay,
        ResultMatch::Displaced(call) if !anywhere && moves(103, index) => {
            AnswerAction::Move(to_u32(call))
        }
        ResultMatch::Early(call) if moves(103, index) => AnswerAction::Move(to_u32(call)),
        ResultMatch::Split(call) if moves(105, index) => AnswerAction::Move(to_u32(call)),
        ResultMatch::Misplaced(call) if moves(304, index) => AnswerAction::Move(to_u32(call)),
        ResultMatch::Duplicate(call) if enabled(104) || is_replaced(index) => {
            if adds_nothing(draft, pairing, answer.part(), call) {
                AnswerAction::Remove
            } else {
                extra
            }
        }
        ResultMatch::Orphan | ResultMatch::Duplicate(_)
            if misplaced && draft.misplaces_results(answer.message()) =>
        {
            extra
        }
        ResultMatch::Orphan if orphans => {
            // The history must not become empty.
            if is_placeholder_answer(draft, answer.part()) && draft.messages.len() > 1 {
                AnswerAction::Remove
            } else {
                extra
            }
        }
        _ => AnswerAction::Stay,
    };
    let running = running_calls(draft, pairing, state.policy().tail);
    let open = |&call: &usize| pairing.needs_result(draft, call) && !running.contains(&call);
    let placeholders = if enabled(101) && state.policy().unanswered == UnansweredPolicy::Answer {
        (0..pairing.calls.len()).filter(open).collect()
    } else {
        Vec::new()
    };
    let has_open = running.clone().any(|call| pairing.calls[call].answer().is_none());
    let turn = pairing.turns.get(last_turn(pairing).start).filter(|_| has_open);
    let turn = turn.map(|turn| turn.messages().start);
    PairingDecisions {
        actions: pairing.answers.iter().enumerate().map(action).collect(),
        placeholders,
        running: turn,
    }
}

fn note_edits(
    state: &mut RepairState<'_, '_>,
    draft: &Draft<'_>,
    pairing: &CallPairing,
    decisions: &PairingDecisions,
) {
    for (answer, action) in pairing.answers.iter().zip(&decisions.actions) {
        let id = match &draft.parts[answer.part()].kind {
            PartKind::Answer(answer) => answer.id.as_deref(),
            _ => None,
        };
        let name = display_id(id);
        let (strategy, note) = match action {
            AnswerAction::Stay => continue,
            AnswerAction::Move(_) => {
                let strategy = match answer.result_match() {
                    ResultMatch::Split(_) => Strategy::Merge,
                    _ => Strategy::Recover,
                };
                (strategy, format!("result {name} is moved to its call"))
            }
            AnswerAction::Quote => (Strategy::Quote, format!("result {name} is kept as user text")),
            AnswerAction::Remove => (Strategy::Drop, removal_note(draft, answer, &name)),
        };
        let code = match answer.result_match() {
            ResultMatch::Split(_) => 105,
            ResultMatch::Misplaced(_) => 304,
            ResultMatch::Displaced(_) | ResultMatch::Early(_) | ResultMatch::InPlace(_) => 103,
            ResultMatch::Duplicate(_) => 104,
            // The history on the server may have made the call; only the place of the answer is
            // wrong.
            ResultMatch::Orphan if draft.body.stateful => 304,
            ResultMatch::Orphan => 102,
        };
        state.note_edit(
            code,
            strategy,
            answer.message(),
            id.map(str::to_owned).into_iter().collect(),
            note,
        );
    }
    for &call in &decisions.placeholders {
        let paired = pairing.calls[call];
        let Some(outline) = call_at(draft, paired.part()) else { continue };
        let ids = outline.id.as_deref().map(str::to_owned).into_iter().collect();
        let note = format!("call {} gets a placeholder result", display_id(outline.id.as_deref()));
        state.note_edit(101, Strategy::Synthesize, paired.message(), ids, note);
    }
}

fn removal_note(draft: &Draft<'_>, answer: &PairedAnswer, name: &str) -> String {
    match answer.result_match() {
        ResultMatch::Duplicate(_) if is_placeholder_answer(draft, answer.part()) => {
            format!("placeholder result {name} is removed: there is another result")
        }
        ResultMatch::Duplicate(_) if is_empty_answer(draft, answer.part()) => {
            format!("empty result {name} is removed: there is another result")
        }
        ResultMatch::Duplicate(_) => format!("second result {name} is removed"),
        _ => format!("result {name} is removed"),
    }
}

/// Removes unanswered calls under a dropping policy: with their whole message and its answers, or
/// alone. Calls that no placeholder can answer are removed under every policy.
fn drop_unanswered(state: &mut RepairState<'_, '_>) {
    let (draft, pairing) = state.draft_with_pairing();
    let running = running_calls(&draft, &pairing, state.policy().tail);
    let policy = state.policy().unanswered;
    let mut dropped = vec![false; pairing.calls.len()];
    for (index, call) in pairing.calls.iter().enumerate() {
        let Some(outline) = call_at(&draft, call.part()) else { continue };
        let unanswered = pairing.needs_result(&draft, index) && !running.contains(&index);
        let abandoned = draft.precedes_fallback(&draft.messages[call.message()], call.part());
        dropped[index] = unanswered
            && (policy != UnansweredPolicy::Answer || !outline.family.accepts_text() || abandoned);
    }
    if !dropped.contains(&true) {
        return;
    }
    let mut removed_messages = vec![false; state.messages.len()];
    if policy == UnansweredPolicy::DropTurn {
        widen_to_turns(&draft, &pairing, &mut dropped, &mut removed_messages);
    }
    remove_calls(state, &draft, &pairing, &dropped, &mut removed_messages);
    let removed_messages: Vec<usize> =
        (0..removed_messages.len()).filter(|&at| removed_messages[at]).collect();
    state.remove_messages(&removed_messages);
}

/// Extends the dropped calls to all calls of their messages (items: of their turns, with everything
/// that belongs to a program in them), and marks the messages.
fn widen_to_turns(
    draft: &Draft<'_>,
    pairing: &CallPairing,
    dropped: &mut [bool],
    removed_messages: &mut [bool],
) {
    let has_programs = draft.features.intersects(DraftFeatures::SERVER);
    let units = if has_programs { split_units(draft, pairing) } else { Vec::new() };
    for (index, call) in pairing.calls.iter().enumerate() {
        if !dropped[index] || removed_messages[call.message()] {
            continue;
        }
        if draft.layout() == MessageLayout::Items {
            let end = pairing.turns[call.turn()].messages().end;
            let before = draft.messages[..call.message()].iter().rev();
            let start = call.message() - before.take_while(|m| m.role.is_assistant()).count();
            let unit = unit_at(&units, call.message()).map(|unit| units[unit].messages.clone());
            let unit = unit.unwrap_or(start..end);
            let unit = unit.start.min(start)..unit.end.max(end);
            for (removed, message) in
                removed_messages[unit.clone()].iter_mut().zip(&draft.messages[unit])
            {
                *removed |= message.role.is_assistant();
            }
        } else {
            removed_messages[call.message()] = true;
        }
    }
    for (index, call) in pairing.calls.iter().enumerate() {
        dropped[index] |= removed_messages[call.message()];
    }
}

fn remove_calls(
    state: &mut RepairState<'_, '_>,
    draft: &Draft<'_>,
    pairing: &CallPairing,
    dropped: &[bool],
    removed_messages: &mut [bool],
) {
    // Parts to remove: dropped calls and their answers.
    let mut parts = vec![false; draft.parts.len()];
    for (index, call) in pairing.calls.iter().enumerate().filter(|(index, _)| dropped[*index]) {
        parts[call.part()] = true;
        let id = call_at(draft, call.part()).and_then(|call| call.id.as_deref());
        let ids: Vec<String> = id.map(str::to_owned).into_iter().collect();
        let with = if removed_messages[call.message()] { " with its whole message" } else { "" };
        let family = call_at(draft, call.part()).map(|call| call.family);
        let abandoned = draft.precedes_fallback(&draft.messages[call.message()], call.part());
        let why = if abandoned {
            ": another model took over after it"
        } else if family.is_some_and(|family| !family.accepts_text()) {
            ": no text can replace its result"
        } else {
            ""
        };
        let note = format!("call {} is removed{with}{why}", display_id(id));
        state.note_edit(101, Strategy::Drop, call.message(), ids.clone(), note);
        if let Some(answer) = pairing.calls[index].answer().map(|answer| pairing.answers[answer]) {
            parts[answer.part()] = true;
            let note = format!("result {} is removed with its call", display_id(id));
            state.note_edit(101, Strategy::Drop, answer.message(), ids, note);
        }
    }
    for at in 0..state.messages.len() {
        if !parts[draft.messages[at].range()].contains(&true) {
            if removed_messages[at] {
                let note = "the item is removed with its turn".to_owned();
                state.note_edit(101, Strategy::Drop, at, Vec::new(), note);
            }
            continue;
        }
        let message = state.load_message(at);
        let mut index = draft.messages[at].first as usize;
        let removed = message.retain_parts(|_| {
            index += 1;
            !parts[index - 1]
        });
        if removed == 0 {
            continue;
        }
        // Reasoning belongs to its calls: it is removed with the last of them. Reasoning beside a
        // fallback is not.
        let is_fallback = |part: &RepairedPart<'_>| matches!(part.part.kind, PartKind::Fallback);
        if message.role.is_assistant()
            && !message.parts.iter().any(RepairedPart::is_call)
            && !message.parts.iter().any(is_fallback)
        {
            message.retain_parts(|part| !part.is_reasoning());
        }
        let has_content = message.parts.iter().any(|part| {
            !matches!(
                part.part.kind,
                PartKind::Text(TextShape::Empty | TextShape::Blank | TextShape::Missing)
            )
        });
        removed_messages[at] |= !has_content;
    }
}

/// Placeholder texts, each stored once: a history may need many of them.
#[derive(Default)]
pub(super) struct PlaceholderTexts<'a>(Vec<(&'static str, PartPatch<'a>)>);

impl<'a> PlaceholderTexts<'a> {
    fn patch(&mut self, text: &'static str) -> PartPatch<'a> {
        if let Some((_, patch)) = self.0.iter().find(|(known, _)| *known == text) {
            return patch.clone();
        }
        let patch = PartPatch::with_source(PartSource::Text(text.into()));
        self.0.push((text, patch.clone()));
        patch
    }
}

/// A placeholder answer to a call.
pub(super) fn placeholder_part<'a>(
    state: &RepairState<'_, 'a>,
    texts: &mut PlaceholderTexts<'a>,
    part: &Part<'a>,
    call: &DraftCall<'a>,
) -> RepairedPart<'a> {
    let missing = placeholder::classify_open_call(call.name.as_deref());
    let text = placeholder::placeholder_text(missing, state.policy().language);
    let mut patch = texts.patch(text);
    let owned = state.input.owned_call(part).filter(|owned| !owned.repeated.is_empty());
    owned.into_iter().for_each(|owned| patch.set_repeated(owned.repeated));
    RepairedPart {
        part: Part {
            span: Span::NOWHERE,
            kind: PartKind::answer(DraftAnswer {
                id: call.id.clone(),
                name: call.name.to_cow().map(Box::new),
                family: call.family,
                output: AnswerShape::Full,
                content: Span::NOWHERE,
                media: false,
                foreign: false,
            }),
        },
        patch,
    }
}

/// An answer quoted as user text. A placeholder of foxwedge keeps its text.
pub(super) fn quoted_part<'a>(
    state: &RepairState<'_, 'a>,
    part: RepairedPart<'a>,
    result_match: ResultMatch,
) -> RepairedPart<'a> {
    let language = state.policy().language;
    let PartKind::Answer(answer) = &part.part.kind else { return part };
    let reason = match result_match {
        ResultMatch::Duplicate(_) => QuoteReason::SecondAnswer,
        _ => QuoteReason::NoCall,
    };
    let source = match part.source() {
        PartSource::Input => PartSource::Quote(QuotedAnswer::new(answer.clone(), reason, language)),
        other => other.clone(),
    };
    RepairedPart {
        part: Part { span: part.part.span, kind: PartKind::Text(TextShape::Full) },
        patch: PartPatch::with_source(source),
    }
}
