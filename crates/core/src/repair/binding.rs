//! Newer Claude models bind each signed thinking block to the exact history before it.
//!
//! An edit before such a block also removes the thinking after the edit: a provider accepts a
//! history without the later blocks of the chain, but refuses them over a changed prefix.

use std::collections::HashMap;

use super::{RepairedPart, state::RepairState};
use crate::{
    Span,
    check::CheckOptions,
    draft::{Draft, DraftFeatures, Format, MessageFlags, Part, PartKind, SignatureState},
    profile::{Profile, binds_thinking, may_be_claude},
    report::{Finding, Fix, FixApplicability, Report, Severity, Strategy},
    rules::{Rule, RuleSet},
};

/// Removes signed thinking whose own text changes.
pub(super) fn remove_edited_thinking(state: &mut RepairState<'_, '_>) {
    if state.surrogates.is_empty() || !state.input.features.intersects(DraftFeatures::REASONING) {
        return;
    }
    let surrogates = state.surrogates.clone();
    let is_edited = |part: &RepairedPart<'_>| {
        let at = surrogates.partition_point(|span| span.start < part.part.span.start);
        part.is_kept()
            && is_signed(&part.part.kind)
            && surrogates.get(at).is_some_and(|span| span.end <= part.part.span.end)
    };
    let mut removed_messages = Vec::new();
    for at in 0..state.messages.len() {
        if !state.messages[at].holds(state.input, is_signed) {
            continue;
        }
        let message = state.load_message(at);
        let removed = message.retain_parts(|part| !is_edited(part));
        if removed > 0 && message.parts.is_empty() {
            removed_messages.push(at);
        }
        for _ in 0..removed {
            let note =
                "signed thinking with a lone surrogate is removed: its signature would no longer \
                        fit"
                .to_owned();
            state.note_edit(313, Strategy::DropThinking, at, Vec::new(), note);
        }
    }
    state.remove_messages(&removed_messages);
}

fn is_signed(kind: &PartKind<'_>) -> bool {
    matches!(kind, PartKind::Reasoning(SignatureState::Signed))
}

/// Removes signed thinking after the first edit.
pub(super) fn remove_bound_thinking(state: &mut RepairState<'_, '_>) {
    if !may_bind_thinking(state.input, state.options) {
        return;
    }
    let Some(first) = first_edit(state).filter(|&at| at < state.messages.len()) else { return };
    let cause = first_edit_rule(state);
    // In the edited message itself, reasoning before the edit still has the old prefix.
    let edited = &state.messages[first];
    let same_message = edited.origin() == Some(first);
    let safe_head = if same_message { untouched_head(state.input, first, edited) } else { 0 };
    let mut removed_messages = Vec::new();
    for at in first..state.messages.len() {
        let unbound = state.messages[at].flags.has(MessageFlags::UNBOUND);
        if unbound || !state.messages[at].holds(state.input, is_signed) {
            continue;
        }
        let message = state.load_message(at);
        let safe = if at == first { safe_head } else { 0 };
        let mut index = 0;
        let removed = message.retain_parts(|part| {
            index += 1;
            index <= safe || !is_signed(&part.part.kind)
        });
        if removed > 0 && message.parts.is_empty() {
            removed_messages.push(at);
        }
        for _ in 0..removed {
            let note =
                "signed thinking is removed: it is bound to the history before the edit".to_owned();
            state.note_edit(cause, Strategy::DropThinking, at, Vec::new(), note);
        }
    }
    state.remove_messages(&removed_messages);
}

/// Whether signed thinking of this history may be bound to the messages before it.
fn may_bind_thinking(draft: &Draft<'_>, options: &CheckOptions) -> bool {
    let model = draft.body.model.as_deref();
    let claude = match draft.format {
        Format::Anthropic => true,
        Format::Bedrock => model.is_some_and(may_be_claude),
        Format::OpenaiChat
        | Format::OpenaiResponses
        | Format::Gemini
        | Format::GeminiInteractions => false,
    };
    let binding_profile =
        matches!(options.profile, Profile::Anthropic | Profile::Bedrock | Profile::Strict);
    claude
        && binding_profile
        && draft.features.intersects(DraftFeatures::REASONING)
        && binds_thinking(model)
}

/// The rule of the first edit. A compaction has no rule; its removals count as FW503, a signature
/// of another history. File defects change no message.
fn first_edit_rule(state: &RepairState<'_, '_>) -> u16 {
    let about_messages = state.edits.iter().filter(|edit| edit.code < 700);
    about_messages.min_by_key(|edit| edit.message).map_or(503, |edit| edit.code)
}

/// Findings that no certain refusal requires to repair.
#[derive(Default)]
pub(crate) struct CosmeticFindings<'d> {
    /// For each rule, the first message that a repair would change.
    first: Vec<(u16, usize)>,
    /// Rules with a finding whose repair would leave reasoning without the content it led to.
    detaching: RuleSet,
    /// The first message with a call of each id; computed only when needed.
    first_calls: Option<HashMap<&'d str, usize>>,
    /// The message of the last orphan, and the start of the assistant run before it.
    last_orphan_run: Option<(usize, usize)>,
}

impl<'d> CosmeticFindings<'d> {
    /// Records a finding.
    pub(crate) fn add_finding(&mut self, draft: &'d Draft<'_>, finding: &Finding) {
        let Finding { rule, severity, fix, location: at, .. } = finding;
        let bound = draft.features.intersects(DraftFeatures::REASONING);
        if !bound || !is_cosmetic(draft, rule, *severity, *fix) {
            return;
        }
        let position = self.edit_position(draft, finding);
        if matches!(rule.code, 101 | 103..=105) && separates_reasoning(draft, position) {
            self.detaching.add(rule.code);
        }
        let position = position.min(at.message);
        match self.first.iter_mut().find(|(code, _)| *code == rule.code) {
            Some((_, first)) => *first = position.min(*first),
            None => self.first.push((rule.code, position)),
        }
    }

    /// The first message that the repair of a finding would change: a displaced answer, or one that
    /// is better than the current one, moves back to a call of its id.
    fn edit_position(&mut self, draft: &'d Draft<'_>, finding: &Finding) -> usize {
        let at = finding.location.message;
        match finding.rule.code {
            // A quote may be inserted before a turn that is still open.
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

    /// Keeps optional repairs from removing thinking. A finding that is only likely to be refused,
    /// or that the agent of a session skips by itself, is not fixed by default if it is before
    /// thinking that is bound to it.
    pub(crate) fn spare_thinking(
        self,
        draft: &Draft<'_>,
        options: &CheckOptions,
        report: &mut Report,
    ) {
        if self.first.is_empty() {
            return;
        }
        let mut spared = if options.rules.has(501) { self.detaching } else { RuleSet::default() };
        let bound = draft.messages.iter().rposition(|message| {
            let signed =
                |part: &Part<'_>| matches!(part.kind, PartKind::Reasoning(SignatureState::Signed));
            !message.flags.has(MessageFlags::UNBOUND) && draft.parts_of(message).iter().any(signed)
        });
        let bound = bound.filter(|_| may_bind_thinking(draft, options));
        // A message after an open turn may be moved before it.
        let extra = |code: u16| usize::from(draft.body.optional.has(code));
        let early =
            |(code, first): &(u16, usize)| bound.is_some_and(|last| *first <= last + extra(*code));
        for (code, _) in self.first.into_iter().filter(early) {
            spared.add(code);
        }
        report.require_unsafe(|rule, severity, fix| {
            spared.has(rule.code) && is_cosmetic(draft, rule, severity, fix)
        });
    }
}

/// Whether a result directly after this message would stand between its reasoning and the content
/// that the reasoning led to.
fn separates_reasoning(draft: &Draft<'_>, at: usize) -> bool {
    let is_reasoning = |part: &Part<'_>| matches!(part.kind, PartKind::Reasoning(_));
    let last = draft.messages.get(at).and_then(|message| draft.parts_of(message).last());
    let next = draft.messages.get(at + 1);
    last.is_some_and(is_reasoning) && next.is_some_and(|next| next.role.is_assistant())
}

/// The first message with a call of each id.
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
    let required = severity == Severity::Error && !draft.body.optional.has(rule.code);
    !required && rule.code < 700 && fix.applicability == FixApplicability::Safe
}

/// The first message that differs from the input's message at that index.
fn first_edit(state: &RepairState<'_, '_>) -> Option<usize> {
    let changed = |at: usize| {
        let message = &state.messages[at];
        message.is_touched() || message.origin() != Some(at)
    };
    // A change outside the list comes before everything: instructions and tools are part of the
    // prefix.
    let replaced = state.replacements.first().map(|replacement| replacement.span);
    let spans: Vec<Span> = state.surrogates.iter().copied().chain(replaced).collect();
    let positions = state.input.messages_at(&spans).into_iter();
    let inside = positions.map(|position| position.unwrap_or(0)).min();
    let first = (0..state.messages.len()).find(|&at| changed(at));
    [first, inside].into_iter().flatten().min()
}

/// The number of leading parts of a message that are unchanged.
fn untouched_head(input: &Draft<'_>, at: usize, repaired: &super::RepairedMessage<'_>) -> usize {
    let Some(message) = input.messages.get(at).filter(|_| !repaired.has_new_role()) else {
        return 0;
    };
    let parts = input.parts_of(message);
    let same = |(repaired_part, part): &(&RepairedPart<'_>, &Part<'_>)| {
        repaired_part.is_kept() && repaired_part.part.span == part.span
    };
    if repaired.parts.is_loaded() {
        repaired.parts.iter().zip(parts).take_while(same).count()
    } else {
        parts.len()
    }
}
