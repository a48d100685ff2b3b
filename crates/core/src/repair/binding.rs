//! Newer Claude models bind each signed thinking block to the exact history before it.
//!
//! An edit before such a block takes the thinking from the edit on with it: removing the later
//! blocks of the chain is accepted, keeping them over a changed prefix is refused.

use std::collections::HashMap;

use super::{Piece, work::Work};
use crate::{
    check::Question,
    draft::{Draft, Facts, Kind, Marks, Part, Seal, Wire},
    profile::{Profile, binds_thinking},
    report::{Applicability, Finding, Fix, Report, Severity, Strategy},
    rules::{Rule, RuleSet},
};

/// Removes signed thinking that stands behind the first edit.
pub(super) fn release(work: &mut Work<'_, '_>) {
    if !binds(work.input, work.question) {
        return;
    }
    let Some(first) = first_edit(work).filter(|&at| at < work.slots.len()) else { return };
    let cause = cause(work);
    // In the edited message itself, reasoning in front of the edit still stands on the old past.
    let edited = &work.slots[first];
    let kept = edited.origin == Some(first);
    let safe_head = if kept { untouched_head(work.input, first, edited) } else { 0 };
    let mut gone = Vec::new();
    for at in first..work.slots.len() {
        let signed = |kind: &Kind<'_>| matches!(kind, Kind::Reasoning(Seal::Signed));
        let unbound = work.slots[at].marks.has(Marks::UNBOUND);
        if unbound || !work.slots[at].holds(work.input, signed) {
            continue;
        }
        let slot = work.open(at);
        let safe = if at == first { safe_head } else { 0 };
        let mut index = 0;
        let lost = slot.keep(|piece| {
            index += 1;
            index <= safe || !matches!(piece.part.kind, Kind::Reasoning(Seal::Signed))
        });
        if lost > 0 && slot.pieces.is_empty() {
            gone.push(at);
        }
        for _ in 0..lost {
            let note =
                "signed thinking goes: it is bound to the history before the edit".to_owned();
            work.note(cause, Strategy::DropThinking, at, Vec::new(), note);
        }
    }
    work.remove_slots(&gone);
}

/// Whether signed thinking of this history may be bound to what stands before it.
fn binds(draft: &Draft<'_>, question: &Question) -> bool {
    let model = draft.body.model.as_deref();
    let claude = match draft.wire {
        Wire::Anthropic => true,
        Wire::Bedrock => model.is_some_and(|model| model.contains("claude")),
        Wire::OpenaiChat | Wire::OpenaiResponses | Wire::Gemini => false,
    };
    let asked = matches!(question.profile, Profile::Anthropic | Profile::Bedrock | Profile::Strict);
    claude && asked && draft.facts.any(Facts::REASONING) && binds_thinking(model)
}

/// The rule whose edit stands first. A compaction is no rule's doing; what it leaves behind is a
/// signature of another history. Flaws of a file change no message.
fn cause(work: &Work<'_, '_>) -> u16 {
    let about_messages = work.edits.iter().filter(|edit| edit.code < 700);
    about_messages.min_by_key(|edit| edit.message).map_or(503, |edit| edit.code)
}

/// Findings whose repair no refusal demands.
#[derive(Default)]
pub(crate) struct CosmeticFindings<'d> {
    /// For each rule, the first message that a repair would change.
    first: Vec<(u16, usize)>,
    /// The first message that calls under each id; asked for only where it matters.
    called: Option<HashMap<&'d str, usize>>,
    /// The message of the last orphan, and where the assistant messages before it begin.
    run: Option<(usize, usize)>,
}

impl<'d> CosmeticFindings<'d> {
    /// Takes note of a finding.
    pub(crate) fn see(&mut self, draft: &'d Draft<'_>, finding: &Finding) {
        let Finding { rule, severity, fix, at, .. } = finding;
        let bound = draft.facts.any(Facts::REASONING);
        if !bound || !is_cosmetic(draft, rule, *severity, *fix) {
            return;
        }
        let place = self.place(draft, finding).min(at.message);
        match self.first.iter_mut().find(|(code, _)| *code == rule.code) {
            Some((_, first)) => *first = place.min(*first),
            None => self.first.push((rule.code, place)),
        }
    }

    /// Where the repair of a finding would change something: an answer that stands apart, or that is
    /// better than the one there, goes back to a call of its id.
    fn place(&mut self, draft: &'d Draft<'_>, finding: &Finding) -> usize {
        let at = finding.at.message;
        match finding.rule.code {
            // It may be told in front of a turn that is still open.
            102 => match self.run.filter(|(message, _)| *message == at) {
                Some((_, start)) => start,
                None => {
                    let before = draft.messages.get(..at).unwrap_or(&[]).iter().rev();
                    let run = before.take_while(|message| message.role.is_assistant()).count();
                    self.run = Some((at, at - run));
                    at - run
                }
            },
            103..=105 => {
                let called = self.called.get_or_insert_with(|| first_calls(draft));
                let first = finding.ids.iter().filter_map(|id| called.get(id.as_str())).min();
                first.copied().unwrap_or(0)
            }
            _ => at,
        }
    }

    /// An edit that no refusal demands never costs thinking: what is only likely to be refused, or
    /// what the agent of a session leaves out by itself, is not repaired unasked if it stands before
    /// thinking that is bound to it.
    pub(crate) fn spare_thinking(
        self,
        draft: &Draft<'_>,
        question: &Question,
        report: &mut Report,
    ) {
        if self.first.is_empty() || !binds(draft, question) {
            return;
        }
        let bound = draft.messages.iter().rposition(|message| {
            let signed = |part: &Part<'_>| matches!(part.kind, Kind::Reasoning(Seal::Signed));
            !message.marks.has(Marks::UNBOUND) && draft.parts_of(message).iter().any(signed)
        });
        let Some(last) = bound else { return };
        let mut spared = RuleSet::default();
        // What stands behind an open turn may be put before it.
        let behind = |code: u16| usize::from(draft.body.optional.has(code));
        let early = |(code, first): &(u16, usize)| *first <= last + behind(*code);
        for (code, _) in self.first.into_iter().filter(early) {
            spared.add(code);
        }
        report.hold_back(|rule, severity, fix| {
            spared.has(rule.code) && is_cosmetic(draft, rule, severity, fix)
        });
    }
}

/// The first message that calls under each id.
fn first_calls<'d>(draft: &'d Draft<'_>) -> HashMap<&'d str, usize> {
    let mut calls = HashMap::new();
    for (at, message) in draft.messages.iter().enumerate() {
        for part in draft.parts_of(message) {
            if let Kind::Call(call) = &part.kind
                && let Some(id) = call.id.as_deref()
            {
                calls.entry(id).or_insert(at);
            }
        }
    }
    calls
}

fn is_cosmetic(draft: &Draft<'_>, rule: &Rule, severity: Severity, fix: Fix) -> bool {
    let demanded = severity == Severity::Error && !draft.body.optional.has(rule.code);
    !demanded && rule.code < 700 && fix.applicability == Applicability::Safe
}

/// The first slot that is not the input's message at that place, as it was.
fn first_edit(work: &Work<'_, '_>) -> Option<usize> {
    let changed = |at: usize| {
        let slot = &work.slots[at];
        slot.touched || slot.origin != Some(at)
    };
    // Outside the list is before everything: instructions and tools are part of the prefix.
    let places = work.input.messages_at(&work.surrogates).into_iter();
    let surrogate = places.map(|place| place.unwrap_or(0)).min();
    let first = (0..work.slots.len()).find(|&at| changed(at));
    match (first, surrogate) {
        (Some(first), Some(other)) => Some(first.min(other)),
        (first, other) => first.or(other),
    }
}

/// How many pieces at the head of a slot are those of its message, unchanged.
fn untouched_head(input: &Draft<'_>, at: usize, slot: &super::Slot<'_>) -> usize {
    let Some(message) = input.messages.get(at).filter(|_| !slot.recast) else { return 0 };
    let parts = input.parts_of(message);
    let same =
        |(piece, part): &(&Piece<'_>, &Part<'_>)| piece.is_kept() && piece.part.span == part.span;
    if slot.opened { slot.pieces.iter().zip(parts).take_while(same).count() } else { parts.len() }
}
