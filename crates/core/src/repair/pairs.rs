//! Calls and answers: what goes, what moves, what is invented.
//!
//! This file decides; `answers` (answers are messages) and `blocks` (answers are blocks) carry
//! the decisions out.

use super::{
    PartPatch, PartSource, QuotedAnswer, RepairedPart, answers, blocks, sources::QuoteReason,
    state::RepairState,
};
use crate::{
    check::{display_id, running_calls},
    draft::{AnswerShape, Draft, DraftAnswer, DraftCall, MessageLayout, Part, PartKind, TextShape},
    pairing::{
        CallPairing, PairedAnswer, ResultMatch, adds_nothing, call_at, is_empty_answer,
        is_placeholder_answer, last_turn, prefer_real_answers,
    },
    placeholder,
    policy::{OrphanPolicy, UnansweredPolicy},
    profile::Profile,
    report::Strategy,
    rules::RuleSet,
    span::Span,
};

/// What happens to an answer.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum AnswerAction {
    /// It stays where it is.
    Stay,
    /// It goes behind the turn of this call.
    Move(usize),
    /// It becomes user text.
    Quote,
    /// It goes.
    Remove,
}

/// What happens to every answer, and which calls get a placeholder.
pub(super) struct PairingDecisions {
    pub(super) actions: Vec<AnswerAction>,
    pub(super) placeholders: Vec<usize>,
    /// The first message of a turn whose calls are still running: nothing is said behind it, so
    /// quotes go in front of it.
    pub(super) running: Option<usize>,
}

/// Joins every call to its answer (FW101 to FW105 and misplaced answers of FW304).
pub(super) fn fix_pairs(work: &mut RepairState<'_, '_>, found: RuleSet) {
    // Only items have calls that no placeholder can answer.
    let dropping = work.policy().unanswered != UnansweredPolicy::Answer;
    if found.has(101) && (dropping || work.input.layout() == MessageLayout::Items) {
        drop_unanswered(work);
    }
    let (draft, mut pairing) = work.draft_with_pairing();
    prefer_real_answers(&draft, &mut pairing);
    let decisions = decide_answers(work, found, &draft, &pairing);
    let nothing = decisions.placeholders.is_empty()
        && decisions.actions.iter().all(|verdict| *verdict == AnswerAction::Stay);
    if nothing {
        return;
    }
    note_edits(work, &draft, &pairing, &decisions);
    match draft.layout() {
        MessageLayout::Chat | MessageLayout::Items => {
            answers::move_answers(work, &draft, &pairing, &decisions)
        }
        MessageLayout::Blocks => blocks::move_answers(work, &draft, &pairing, &decisions),
    }
}

fn decide_answers(
    work: &RepairState<'_, '_>,
    found: RuleSet,
    draft: &Draft<'_>,
    pairing: &CallPairing,
) -> PairingDecisions {
    let anywhere = draft.layout() == MessageLayout::Items
        && !matches!(work.options.profile, Profile::Deepseek | Profile::Strict);
    // What was found and is not to be repaired unasked stays, also where others are repaired. A real
    // answer that takes the place of a placeholder moves there.
    let wants = |code: u16| work.is_enabled(code) && found.has(code);
    let swaps = found.has(102) || found.has(104);
    let displaced = work.is_enabled(103) && (swaps || found.has(103));
    let split = work.is_enabled(105) && (swaps || found.has(105));
    let misplaced = work.is_enabled(304) && (swaps || found.has(304));
    let (duplicates, orphans) = (wants(104) || wants(102), wants(102) && !draft.body.stateful);
    let extra = match work.policy().orphans {
        OrphanPolicy::Quote => AnswerAction::Quote,
        OrphanPolicy::Drop => AnswerAction::Remove,
    };
    let verdict = |answer: &crate::pairing::PairedAnswer| match answer.result_match() {
        ResultMatch::Displaced(call) if displaced && !anywhere => AnswerAction::Move(call),
        ResultMatch::Early(call) if displaced => AnswerAction::Move(call),
        ResultMatch::Split(call) if split => AnswerAction::Move(call),
        ResultMatch::Misplaced(call) if misplaced => AnswerAction::Move(call),
        ResultMatch::Duplicate(call) if duplicates => {
            if adds_nothing(draft, pairing, answer.part(), call) {
                AnswerAction::Remove
            } else {
                extra
            }
        }
        ResultMatch::Orphan | ResultMatch::Duplicate(_)
            if misplaced && draft.messages[answer.message()].role.is_assistant() =>
        {
            extra
        }
        ResultMatch::Orphan if orphans => {
            // Something has to be left.
            if is_placeholder_answer(draft, answer.part()) && draft.messages.len() > 1 {
                AnswerAction::Remove
            } else {
                extra
            }
        }
        _ => AnswerAction::Stay,
    };
    let running = running_calls(draft, pairing, work.policy().tail);
    let open = |&call: &usize| pairing.calls[call].answer().is_none() && !running.contains(&call);
    let invent = if wants(101) && work.policy().unanswered == UnansweredPolicy::Answer {
        (0..pairing.calls.len()).filter(open).collect()
    } else {
        Vec::new()
    };
    let live = running.clone().any(|call| pairing.calls[call].answer().is_none());
    let turn = pairing.turns.get(last_turn(pairing).start).filter(|_| live);
    let turn = turn.map(|group| group.messages().start);
    PairingDecisions {
        actions: pairing.answers.iter().map(verdict).collect(),
        placeholders: invent,
        running: turn,
    }
}

fn note_edits(
    work: &mut RepairState<'_, '_>,
    draft: &Draft<'_>,
    pairing: &CallPairing,
    decisions: &PairingDecisions,
) {
    for (answer, verdict) in pairing.answers.iter().zip(&decisions.actions) {
        let id = match &draft.parts[answer.part()].kind {
            PartKind::Answer(answer) => answer.id.as_deref(),
            _ => None,
        };
        let name = display_id(id);
        let (strategy, note) = match verdict {
            AnswerAction::Stay => continue,
            AnswerAction::Move(_) => {
                let strategy = match answer.result_match() {
                    ResultMatch::Split(_) => Strategy::Merge,
                    _ => Strategy::Recover,
                };
                (strategy, format!("answer {name} is moved behind its call"))
            }
            AnswerAction::Quote => (Strategy::Quote, format!("answer {name} is kept as user text")),
            AnswerAction::Remove => (Strategy::Drop, removal_note(draft, answer, &name)),
        };
        let code = match answer.result_match() {
            ResultMatch::Split(_) => 105,
            ResultMatch::Misplaced(_) => 304,
            ResultMatch::Displaced(_) | ResultMatch::Early(_) | ResultMatch::InPlace(_) => 103,
            ResultMatch::Duplicate(_) => 104,
            // What lies on the server may have made the call; only its place is wrong.
            ResultMatch::Orphan if draft.body.stateful => 304,
            ResultMatch::Orphan => 102,
        };
        work.note_edit(
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
        let note = format!("call {} gets a placeholder answer", display_id(outline.id.as_deref()));
        work.note_edit(101, Strategy::Synthesize, paired.message(), ids, note);
    }
}

fn removal_note(draft: &Draft<'_>, answer: &PairedAnswer, name: &str) -> String {
    match answer.result_match() {
        ResultMatch::Duplicate(_) if is_placeholder_answer(draft, answer.part()) => {
            format!("placeholder answer {name} is removed: there is another answer")
        }
        ResultMatch::Duplicate(_) if is_empty_answer(draft, answer.part()) => {
            format!("empty answer {name} is removed: there is another answer")
        }
        ResultMatch::Duplicate(_) => format!("second answer {name} is removed"),
        _ => format!("answer {name} is removed"),
    }
}

/// Under a dropping policy, unanswered calls go: with their whole message and its answers, or
/// alone. Calls that no placeholder can answer go under every policy.
fn drop_unanswered(work: &mut RepairState<'_, '_>) {
    let (draft, pairing) = work.draft_with_pairing();
    let running = running_calls(&draft, &pairing, work.policy().tail);
    let policy = work.policy().unanswered;
    let mut dead = vec![false; pairing.calls.len()];
    for (index, call) in pairing.calls.iter().enumerate() {
        let Some(outline) = call_at(&draft, call.part()) else { continue };
        let unanswered = call.answer().is_none() && !running.contains(&index);
        dead[index] =
            unanswered && (policy != UnansweredPolicy::Answer || !outline.family.accepts_text());
    }
    if !dead.contains(&true) {
        return;
    }
    let mut gone = vec![false; work.messages.len()];
    if policy == UnansweredPolicy::DropTurn {
        widen_to_turns(&draft, &pairing, &mut dead, &mut gone);
    }
    remove_calls(work, &draft, &pairing, &dead, &mut gone);
    let gone: Vec<usize> = (0..gone.len()).filter(|&at| gone[at]).collect();
    work.remove_messages(&gone);
}

/// Widens the dead calls to all calls of their messages (items: of their turns), and marks the
/// messages.
fn widen_to_turns(draft: &Draft<'_>, pairing: &CallPairing, dead: &mut [bool], gone: &mut [bool]) {
    for (index, call) in pairing.calls.iter().enumerate() {
        if !dead[index] || gone[call.message()] {
            continue;
        }
        if draft.layout() == MessageLayout::Items {
            let end = pairing.turns[call.turn()].messages().end;
            let before = draft.messages[..call.message()].iter().rev();
            let start = call.message() - before.take_while(|m| m.role.is_assistant()).count();
            gone[start..end].iter_mut().for_each(|slot| *slot = true);
        } else {
            gone[call.message()] = true;
        }
    }
    for (index, call) in pairing.calls.iter().enumerate() {
        dead[index] |= gone[call.message()];
    }
}

fn remove_calls(
    work: &mut RepairState<'_, '_>,
    draft: &Draft<'_>,
    pairing: &CallPairing,
    dead: &[bool],
    gone: &mut [bool],
) {
    // Parts to remove: dead calls, and the answers they had.
    let mut parts = vec![false; draft.parts.len()];
    for (index, call) in pairing.calls.iter().enumerate().filter(|(index, _)| dead[*index]) {
        parts[call.part()] = true;
        let id = call_at(draft, call.part()).and_then(|call| call.id.as_deref());
        let ids: Vec<String> = id.map(str::to_owned).into_iter().collect();
        let with = if gone[call.message()] { " with its whole message" } else { "" };
        let family = call_at(draft, call.part()).map(|call| call.family);
        let why = if family.is_some_and(|family| !family.accepts_text()) {
            ": no words can stand in for its answer"
        } else {
            ""
        };
        let note = format!("call {} is removed{with}{why}", display_id(id));
        work.note_edit(101, Strategy::Drop, call.message(), ids.clone(), note);
        if let Some(answer) = pairing.calls[index].answer().map(|answer| pairing.answers[answer]) {
            parts[answer.part()] = true;
            let note = format!("answer {} goes with its call", display_id(id));
            work.note_edit(101, Strategy::Drop, answer.message(), ids, note);
        }
    }
    for at in 0..work.messages.len() {
        if !parts[draft.messages[at].range()].contains(&true) {
            if gone[at] {
                let note = "the item goes with its turn".to_owned();
                work.note_edit(101, Strategy::Drop, at, Vec::new(), note);
            }
            continue;
        }
        let slot = work.load_message(at);
        let mut index = draft.messages[at].first as usize;
        let lost = slot.retain_parts(|_| {
            index += 1;
            !parts[index - 1]
        });
        if lost == 0 {
            continue;
        }
        // Reasoning belongs to its calls: with the last of them it goes.
        if slot.role.is_assistant() && !slot.parts.iter().any(RepairedPart::is_call) {
            slot.retain_parts(|piece| !piece.is_reasoning());
        }
        let speaks = slot.parts.iter().any(|piece| {
            !matches!(
                piece.part.kind,
                PartKind::Text(TextShape::Empty | TextShape::Blank | TextShape::Missing)
            )
        });
        gone[at] |= !speaks;
    }
}

/// A placeholder answer to a call.
pub(super) fn placeholder_part<'a>(
    work: &RepairState<'_, 'a>,
    call: &DraftCall<'a>,
) -> RepairedPart<'a> {
    let missing = placeholder::classify_open_call(call.name.as_deref());
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
            }),
        },
        source: PartSource::Text(
            placeholder::placeholder_text(missing, work.policy().language).into(),
        ),
        patch: PartPatch::default(),
    }
}

/// An answer told as user text. An answer we invented ourselves has nothing to tell.
pub(super) fn quoted_part<'a>(
    work: &RepairState<'_, 'a>,
    piece: RepairedPart<'a>,
    fate: ResultMatch,
) -> RepairedPart<'a> {
    let language = work.policy().language;
    let PartKind::Answer(answer) = &piece.part.kind else { return piece };
    let why = match fate {
        ResultMatch::Duplicate(_) => QuoteReason::SecondAnswer,
        _ => QuoteReason::NoCall,
    };
    let source = match piece.source {
        PartSource::Input => PartSource::Quote(QuotedAnswer::new(answer.clone(), why, language)),
        other => other,
    };
    RepairedPart {
        part: Part { span: piece.part.span, kind: PartKind::Text(TextShape::Full) },
        source,
        patch: PartPatch::default(),
    }
}
