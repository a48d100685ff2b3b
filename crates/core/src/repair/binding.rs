//! Newer Claude models bind each signed thinking block to the exact history before it.
//!
//! An edit before such a block takes the thinking from the edit on with it: removing the later
//! blocks of the chain is accepted, keeping them over a changed prefix is refused.

use std::collections::HashMap;

use super::{RepairedPart, state::RepairState};
use crate::{
    check::CheckOptions,
    draft::{Draft, DraftFeatures, Format, MessageFlags, Part, PartKind, SignatureState},
    profile::{Profile, binds_thinking},
    report::{Finding, Fix, FixApplicability, Report, Severity, Strategy},
    rules::{Rule, RuleSet},
};

/// Removes signed thinking that stands behind the first edit.
pub(super) fn remove_bound_thinking(work: &mut RepairState<'_, '_>) {
    if !may_bind_thinking(work.input, work.options) {
        return;
    }
    let Some(first) = first_edit(work).filter(|&at| at < work.messages.len()) else { return };
    let cause = first_edit_rule(work);
    // In the edited message itself, reasoning in front of the edit still stands on the old past.
    let edited = &work.messages[first];
    let kept = edited.origin == Some(first);
    let safe_head = if kept { untouched_head(work.input, first, edited) } else { 0 };
    let mut gone = Vec::new();
    for at in first..work.messages.len() {
        let signed =
            |kind: &PartKind<'_>| matches!(kind, PartKind::Reasoning(SignatureState::Signed));
        let unbound = work.messages[at].flags.has(MessageFlags::UNBOUND);
        if unbound || !work.messages[at].holds(work.input, signed) {
            continue;
        }
        let slot = work.load_message(at);
        let safe = if at == first { safe_head } else { 0 };
        let mut index = 0;
        let lost = slot.retain_parts(|piece| {
            index += 1;
            index <= safe || !matches!(piece.part.kind, PartKind::Reasoning(SignatureState::Signed))
        });
        if lost > 0 && slot.parts.is_empty() {
            gone.push(at);
        }
        for _ in 0..lost {
            let note =
                "signed thinking goes: it is bound to the history before the edit".to_owned();
            work.note_edit(cause, Strategy::DropThinking, at, Vec::new(), note);
        }
    }
    work.remove_messages(&gone);
}

/// Whether signed thinking of this history may be bound to what stands before it.
fn may_bind_thinking(draft: &Draft<'_>, question: &CheckOptions) -> bool {
    let model = draft.body.model.as_deref();
    let claude = match draft.format {
        Format::Anthropic => true,
        Format::Bedrock => model.is_some_and(|model| model.contains("claude")),
        Format::OpenaiChat | Format::OpenaiResponses | Format::Gemini => false,
    };
    let asked = matches!(question.profile, Profile::Anthropic | Profile::Bedrock | Profile::Strict);
    claude && asked && draft.features.intersects(DraftFeatures::REASONING) && binds_thinking(model)
}

/// The rule whose edit stands first. A compaction is no rule's doing; what it leaves behind is a
/// signature of another history. Flaws of a file change no message.
fn first_edit_rule(work: &RepairState<'_, '_>) -> u16 {
    let about_messages = work.edits.iter().filter(|edit| edit.code < 700);
    about_messages.min_by_key(|edit| edit.message).map_or(503, |edit| edit.code)
}

/// Findings whose repair no refusal demands.
#[derive(Default)]
pub(crate) struct CosmeticFindings<'d> {
    /// For each rule, the first message that a repair would change.
    first: Vec<(u16, usize)>,
    /// The first message that calls under each id; asked for only where it matters.
    first_calls: Option<HashMap<&'d str, usize>>,
    /// The message of the last orphan, and where the assistant messages before it begin.
    last_orphan_run: Option<(usize, usize)>,
}

impl<'d> CosmeticFindings<'d> {
    /// Takes note of a finding.
    pub(crate) fn add_finding(&mut self, draft: &'d Draft<'_>, finding: &Finding) {
        let Finding { rule, severity, fix, location: at, .. } = finding;
        let bound = draft.features.intersects(DraftFeatures::REASONING);
        if !bound || !is_cosmetic(draft, rule, *severity, *fix) {
            return;
        }
        let place = self.edit_position(draft, finding).min(at.message);
        match self.first.iter_mut().find(|(code, _)| *code == rule.code) {
            Some((_, first)) => *first = place.min(*first),
            None => self.first.push((rule.code, place)),
        }
    }

    /// Where the repair of a finding would change something: an answer that stands apart, or that is
    /// better than the one there, goes back to a call of its id.
    fn edit_position(&mut self, draft: &'d Draft<'_>, finding: &Finding) -> usize {
        let at = finding.location.message;
        match finding.rule.code {
            // It may be told in front of a turn that is still open.
            102 => match self.last_orphan_run.filter(|(message, _)| *message == at) {
                Some((_, start)) => start,
                None => {
                    let before = draft.messages.get(..at).unwrap_or(&[]).iter().rev();
                    let run = before.take_while(|message| message.role.is_assistant()).count();
                    self.last_orphan_run = Some((at, at - run));
                    at - run
                }
            },
            103..=105 => {
                let called = self.first_calls.get_or_insert_with(|| first_calls(draft));
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
        question: &CheckOptions,
        report: &mut Report,
    ) {
        if self.first.is_empty() || !may_bind_thinking(draft, question) {
            return;
        }
        let bound = draft.messages.iter().rposition(|message| {
            let signed =
                |part: &Part<'_>| matches!(part.kind, PartKind::Reasoning(SignatureState::Signed));
            !message.flags.has(MessageFlags::UNBOUND) && draft.parts_of(message).iter().any(signed)
        });
        let Some(last) = bound else { return };
        let mut spared = RuleSet::default();
        // What stands behind an open turn may be put before it.
        let behind = |code: u16| usize::from(draft.body.optional.has(code));
        let early = |(code, first): &(u16, usize)| *first <= last + behind(*code);
        for (code, _) in self.first.into_iter().filter(early) {
            spared.add(code);
        }
        report.require_unsafe(|rule, severity, fix| {
            spared.has(rule.code) && is_cosmetic(draft, rule, severity, fix)
        });
    }
}

/// The first message that calls under each id.
fn first_calls<'d>(draft: &'d Draft<'_>) -> HashMap<&'d str, usize> {
    let mut calls = HashMap::new();
    for (at, message) in draft.messages.iter().enumerate() {
        for part in draft.parts_of(message) {
            if let PartKind::Call(call) = &part.kind
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
    !demanded && rule.code < 700 && fix.applicability == FixApplicability::Safe
}

/// The first slot that is not the input's message at that place, as it was.
fn first_edit(work: &RepairState<'_, '_>) -> Option<usize> {
    let changed = |at: usize| {
        let slot = &work.messages[at];
        slot.touched || slot.origin != Some(at)
    };
    // Outside the list is before everything: instructions and tools are part of the prefix.
    let places = work.input.messages_at(&work.surrogates).into_iter();
    let surrogate = places.map(|place| place.unwrap_or(0)).min();
    let first = (0..work.messages.len()).find(|&at| changed(at));
    match (first, surrogate) {
        (Some(first), Some(other)) => Some(first.min(other)),
        (first, other) => first.or(other),
    }
}

/// How many pieces at the head of a slot are those of its message, unchanged.
fn untouched_head(input: &Draft<'_>, at: usize, slot: &super::RepairedMessage<'_>) -> usize {
    let Some(message) = input.messages.get(at).filter(|_| !slot.role_changed) else { return 0 };
    let parts = input.parts_of(message);
    let same = |(piece, part): &(&RepairedPart<'_>, &Part<'_>)| {
        piece.is_kept() && piece.part.span == part.span
    };
    if slot.parts_loaded {
        slot.parts.iter().zip(parts).take_while(same).count()
    } else {
        parts.len()
    }
}
