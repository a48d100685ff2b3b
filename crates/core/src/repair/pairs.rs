//! Calls and answers: what goes, what moves, what is invented.
//!
//! This file decides; `answers` (answers are messages) and `blocks` (answers are blocks) carry
//! the decisions out.

use super::{
    Patch, Piece, QuotedAnswer, Source, answers, blocks, sources::QuoteReason, work::Work,
};
use crate::{
    check::{frontier, shown},
    draft::{Answer, Call, Draft, Kind, Layout, Output, Part, Text},
    pair::{
        Fate, PairedAnswer, Pairing, call_at, is_hollow, is_invented, last_turn, prefer_real,
        says_nothing_new,
    },
    placeholder,
    policy::{Orphans, Unanswered},
    profile::Profile,
    report::Strategy,
    rules::RuleSet,
    span::Span,
};

/// What happens to an answer.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Verdict {
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
pub(super) struct Decisions {
    pub(super) verdicts: Vec<Verdict>,
    pub(super) invent: Vec<usize>,
    /// The first message of a turn whose calls are still running: nothing is said behind it, so
    /// quotes go in front of it.
    pub(super) running: Option<usize>,
}

/// Joins every call to its answer (FW101 to FW105 and misplaced answers of FW304).
pub(super) fn mend(work: &mut Work<'_, '_>, found: RuleSet) {
    // Only items have calls that no placeholder can answer.
    let dropping = work.policy().unanswered != Unanswered::Answer;
    if found.has(101) && (dropping || work.input.layout() == Layout::Items) {
        drop_unanswered(work);
    }
    let (draft, mut pairing) = work.paired();
    prefer_real(&draft, &mut pairing);
    let decisions = decide(work, found, &draft, &pairing);
    let nothing = decisions.invent.is_empty()
        && decisions.verdicts.iter().all(|verdict| *verdict == Verdict::Stay);
    if nothing {
        return;
    }
    note_all(work, &draft, &pairing, &decisions);
    match draft.layout() {
        Layout::Chat | Layout::Items => answers::relocate(work, &draft, &pairing, &decisions),
        Layout::Blocks => blocks::relocate(work, &draft, &pairing, &decisions),
    }
}

fn decide(work: &Work<'_, '_>, found: RuleSet, draft: &Draft<'_>, pairing: &Pairing) -> Decisions {
    let anywhere = draft.layout() == Layout::Items
        && !matches!(work.question.profile, Profile::Deepseek | Profile::Strict);
    // What was found and is not to be repaired unasked stays, also where others are repaired. A real
    // answer that takes the place of a placeholder moves there.
    let wants = |code: u16| work.wants(code) && found.has(code);
    let swaps = found.has(102) || found.has(104);
    let displaced = work.wants(103) && (swaps || found.has(103));
    let split = work.wants(105) && (swaps || found.has(105));
    let misplaced = work.wants(304) && (swaps || found.has(304));
    let (duplicates, orphans) = (wants(104) || wants(102), wants(102) && !draft.body.stateful);
    let extra = match work.policy().orphans {
        Orphans::Quote => Verdict::Quote,
        Orphans::Drop => Verdict::Remove,
    };
    let verdict = |answer: &crate::pair::PairedAnswer| match answer.fate() {
        Fate::Apart(call) if displaced && !anywhere => Verdict::Move(call),
        Fate::Early(call) if displaced => Verdict::Move(call),
        Fate::Split(call) if split => Verdict::Move(call),
        Fate::Misplaced(call) if misplaced => Verdict::Move(call),
        Fate::Duplicate(call) if duplicates => {
            if says_nothing_new(draft, pairing, answer.part(), call) {
                Verdict::Remove
            } else {
                extra
            }
        }
        Fate::Orphan | Fate::Duplicate(_)
            if misplaced && draft.messages[answer.message()].role.is_assistant() =>
        {
            extra
        }
        Fate::Orphan if orphans => {
            // Something has to be left.
            if is_invented(draft, answer.part()) && draft.messages.len() > 1 {
                Verdict::Remove
            } else {
                extra
            }
        }
        _ => Verdict::Stay,
    };
    let running = frontier(draft, pairing, work.policy().tail);
    let open = |&call: &usize| pairing.calls[call].answer().is_none() && !running.contains(&call);
    let invent = if wants(101) && work.policy().unanswered == Unanswered::Answer {
        (0..pairing.calls.len()).filter(open).collect()
    } else {
        Vec::new()
    };
    let live = running.clone().any(|call| pairing.calls[call].answer().is_none());
    let turn = pairing.groups.get(last_turn(pairing).start).filter(|_| live);
    let turn = turn.map(|group| group.messages().start);
    Decisions { verdicts: pairing.answers.iter().map(verdict).collect(), invent, running: turn }
}

fn note_all(work: &mut Work<'_, '_>, draft: &Draft<'_>, pairing: &Pairing, decisions: &Decisions) {
    for (answer, verdict) in pairing.answers.iter().zip(&decisions.verdicts) {
        let id = match &draft.parts[answer.part()].kind {
            Kind::Answer(answer) => answer.id.as_deref(),
            _ => None,
        };
        let name = shown(id);
        let (strategy, note) = match verdict {
            Verdict::Stay => continue,
            Verdict::Move(_) => {
                let strategy = match answer.fate() {
                    Fate::Split(_) => Strategy::Merge,
                    _ => Strategy::Recover,
                };
                (strategy, format!("answer {name} is moved behind its call"))
            }
            Verdict::Quote => (Strategy::Quote, format!("answer {name} is kept as user text")),
            Verdict::Remove => (Strategy::Drop, removed(draft, answer, &name)),
        };
        let code = match answer.fate() {
            Fate::Split(_) => 105,
            Fate::Misplaced(_) => 304,
            Fate::Apart(_) | Fate::Early(_) | Fate::Home(_) => 103,
            Fate::Duplicate(_) => 104,
            // What lies on the server may have made the call; only its place is wrong.
            Fate::Orphan if draft.body.stateful => 304,
            Fate::Orphan => 102,
        };
        work.note(
            code,
            strategy,
            answer.message(),
            id.map(str::to_owned).into_iter().collect(),
            note,
        );
    }
    for &call in &decisions.invent {
        let paired = pairing.calls[call];
        let Some(outline) = call_at(draft, paired.part()) else { continue };
        let ids = outline.id.as_deref().map(str::to_owned).into_iter().collect();
        let note = format!("call {} gets a placeholder answer", shown(outline.id.as_deref()));
        work.note(101, Strategy::Synthesize, paired.message(), ids, note);
    }
}

fn removed(draft: &Draft<'_>, answer: &PairedAnswer, name: &str) -> String {
    match answer.fate() {
        Fate::Duplicate(_) if is_invented(draft, answer.part()) => {
            format!("placeholder answer {name} is removed: there is another answer")
        }
        Fate::Duplicate(_) if is_hollow(draft, answer.part()) => {
            format!("empty answer {name} is removed: there is another answer")
        }
        Fate::Duplicate(_) => format!("second answer {name} is removed"),
        _ => format!("answer {name} is removed"),
    }
}

/// Under a dropping policy, unanswered calls go: with their whole message and its answers, or
/// alone. Calls that no placeholder can answer go under every policy.
fn drop_unanswered(work: &mut Work<'_, '_>) {
    let (draft, pairing) = work.paired();
    let running = frontier(&draft, &pairing, work.policy().tail);
    let policy = work.policy().unanswered;
    let mut dead = vec![false; pairing.calls.len()];
    for (index, call) in pairing.calls.iter().enumerate() {
        let Some(outline) = call_at(&draft, call.part()) else { continue };
        let unanswered = call.answer().is_none() && !running.contains(&index);
        dead[index] = unanswered && (policy != Unanswered::Answer || !outline.family.takes_words());
    }
    if !dead.contains(&true) {
        return;
    }
    let mut gone = vec![false; work.slots.len()];
    if policy == Unanswered::DropTurn {
        whole_turns(&draft, &pairing, &mut dead, &mut gone);
    }
    remove_calls(work, &draft, &pairing, &dead, &mut gone);
    let gone: Vec<usize> = (0..gone.len()).filter(|&at| gone[at]).collect();
    work.remove_slots(&gone);
}

/// Widens the dead calls to all calls of their messages (items: of their turns), and marks the
/// messages.
fn whole_turns(draft: &Draft<'_>, pairing: &Pairing, dead: &mut [bool], gone: &mut [bool]) {
    for (index, call) in pairing.calls.iter().enumerate() {
        if !dead[index] || gone[call.message()] {
            continue;
        }
        if draft.layout() == Layout::Items {
            let end = pairing.groups[call.group()].messages().end;
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
    work: &mut Work<'_, '_>,
    draft: &Draft<'_>,
    pairing: &Pairing,
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
        let why = if family.is_some_and(|family| !family.takes_words()) {
            ": no words can stand in for its answer"
        } else {
            ""
        };
        let note = format!("call {} is removed{with}{why}", shown(id));
        work.note(101, Strategy::Drop, call.message(), ids.clone(), note);
        if let Some(answer) = pairing.calls[index].answer().map(|answer| pairing.answers[answer]) {
            parts[answer.part()] = true;
            let note = format!("answer {} goes with its call", shown(id));
            work.note(101, Strategy::Drop, answer.message(), ids, note);
        }
    }
    for at in 0..work.slots.len() {
        if !parts[draft.messages[at].range()].contains(&true) {
            if gone[at] {
                let note = "the item goes with its turn".to_owned();
                work.note(101, Strategy::Drop, at, Vec::new(), note);
            }
            continue;
        }
        let slot = work.open(at);
        let mut index = draft.messages[at].first as usize;
        let lost = slot.keep(|_| {
            index += 1;
            !parts[index - 1]
        });
        if lost == 0 {
            continue;
        }
        // Reasoning belongs to its calls: with the last of them it goes.
        if slot.role.is_assistant() && !slot.pieces.iter().any(Piece::is_call) {
            slot.keep(|piece| !piece.is_reasoning());
        }
        let speaks = slot.pieces.iter().any(|piece| {
            !matches!(piece.part.kind, Kind::Text(Text::Empty | Text::Blank | Text::Missing))
        });
        gone[at] |= !speaks;
    }
}

/// A placeholder answer to a call.
pub(super) fn invented<'a>(work: &Work<'_, 'a>, call: &Call<'a>) -> Piece<'a> {
    let missing = placeholder::interrupted(call.name.as_deref());
    Piece {
        part: Part {
            span: Span::NOWHERE,
            kind: Kind::answer(Answer {
                id: call.id.clone(),
                name: call.name.to_cow().map(Box::new),
                family: call.family,
                output: Output::Full,
                content: Span::NOWHERE,
                media: false,
            }),
        },
        source: Source::Words(placeholder::words(missing, work.policy().language).into()),
        patch: Patch::default(),
    }
}

/// An answer told as user text. An answer we invented ourselves has nothing to tell.
pub(super) fn quoted<'a>(work: &Work<'_, 'a>, piece: Piece<'a>, fate: Fate) -> Piece<'a> {
    let language = work.policy().language;
    let Kind::Answer(answer) = &piece.part.kind else { return piece };
    let why = match fate {
        Fate::Duplicate(_) => QuoteReason::SecondAnswer,
        _ => QuoteReason::NoCall,
    };
    let source = match piece.source {
        Source::Kept => Source::Quote(QuotedAnswer::new(answer.clone(), why, language)),
        other => other,
    };
    Piece {
        part: Part { span: piece.part.span, kind: Kind::Text(Text::Full) },
        source,
        patch: Patch::default(),
    }
}
