//! What an approval says about a call without a result: whether it can have run.

use std::collections::{HashMap, HashSet};

use foxwedge_core::{
    Draft, MissingAnswer, NewText, Part, PartKind, PartSource, PlaceholderLanguage,
    RepairedMessage, Span, pair_calls, placeholder_text,
};
use foxwedge_json::{field_text, field_value, quote};

use super::{
    history_writer::{ClosedCall, denial_text, write_block},
    part::INVOCATION,
};

/// The text of a placeholder for a call that never ran, or that the user denied. `text` is what it
/// would be otherwise.
pub(super) fn text_of_unstarted(missing: MissingAnswer, text: &str) -> &'static str {
    let is_english = text.is_ascii();
    let language =
        if is_english { PlaceholderLanguage::English } else { PlaceholderLanguage::Chinese };
    placeholder_text(missing, language)
}

/// The approvals in a `ModelMessage` list, by the id of their call: given, denied, or open.
pub(super) struct ListApprovals(HashMap<String, Option<ApprovalDecision>>);

/// What the user decided, and why.
#[derive(Clone, Copy)]
struct ApprovalDecision {
    approved: bool,
    reason: Option<Span>,
}

impl ApprovalDecision {
    /// Reads an object with `approved`. A missing field denies.
    fn of(source: &str, object: Span) -> ApprovalDecision {
        let approved = field_value(source, object, "approved");
        ApprovalDecision {
            approved: approved.is_some_and(|it| it.of(source) == "true"),
            reason: field_value(source, object, "reason"),
        }
    }
}

impl ListApprovals {
    pub(super) fn of(draft: &Draft<'_>) -> ListApprovals {
        let source = draft.source;
        let (mut calls, mut decisions) = (HashMap::new(), HashMap::new());
        for part in draft.parts.iter().filter(|part| matches!(part.kind, PartKind::Other)) {
            let text = |key: &str| field_text(source, part.span, key);
            let Some(id) = text("approvalId") else { continue };
            match text("toolCallId") {
                Some(call) => drop(calls.insert(call.into_owned(), id)),
                None => drop(decisions.insert(id, ApprovalDecision::of(source, part.span))),
            }
        }
        let decided = |id| decisions.get(&id).copied();
        ListApprovals(calls.into_iter().map(|(call, id)| (call, decided(id))).collect())
    }

    /// Corrects the placeholders of calls that the user did not approve.
    pub(super) fn correct_placeholders(&self, message: &mut RepairedMessage<'_>) {
        for repaired in &mut message.parts {
            let (PartSource::Text(text), PartKind::Answer(answer)) =
                (repaired.source(), &repaired.part.kind)
            else {
                continue;
            };
            let missing = match answer.id.as_deref().and_then(|id| self.0.get(id)) {
                Some(None) => MissingAnswer::NotStarted,
                Some(Some(ApprovalDecision { approved: false, .. })) => MissingAnswer::Denied,
                Some(Some(ApprovalDecision { approved: true, .. })) | None => continue,
            };
            let text = text_of_unstarted(missing, text);
            repaired.set_source(PartSource::Text(NewText::Fixed(text)));
        }
    }
}

/// Which calls without a result a history closes.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum UnstartedCalls {
    /// Those that wait at the end of the list: no other format has calls that wait so.
    AtEnd,
    /// All. A repair could not know that they never ran.
    Anywhere,
}

/// The calls that a history closes, in order.
pub(crate) fn closed_calls<'a>(draft: &Draft<'a>, which: UnstartedCalls) -> Vec<ClosedCall<'a>> {
    let source = draft.source;
    let approvals = ListApprovals::of(draft);
    let unanswered: HashSet<usize> = match which {
        UnstartedCalls::AtEnd => HashSet::new(),
        UnstartedCalls::Anywhere => {
            let calls = pair_calls(draft).calls;
            calls.iter().filter(|call| call.answer().is_none()).map(|call| call.part()).collect()
        }
    };
    let mut closed = Vec::new();
    for (at, message) in draft.messages.iter().enumerate() {
        for (index, part) in message.range().zip(draft.parts_of(message)) {
            // A call that waits at the end is not paired.
            let waits = match part.kind {
                PartKind::Other if write_block(&mut String::new(), source, part) => true,
                PartKind::Call(_) if unanswered.contains(&index) => false,
                _ => continue,
            };
            let tool_part = field_value(source, part.span, INVOCATION).unwrap_or(part.span);
            let Some(id) = field_text(source, tool_part, "toolCallId") else { continue };
            let (text, waits) = match approvals.progress(source, part, tool_part, &id) {
                CallProgress::Denied(reason) => (denial_text(source, reason), false),
                CallProgress::Requested => (not_started(), true),
                CallProgress::Streaming => (not_started(), waits),
                CallProgress::MayHaveRun if waits => (not_started(), true),
                CallProgress::MayHaveRun => continue,
            };
            closed.push(ClosedCall { message: at, waits, id, text });
        }
    }
    closed
}

/// Appends the results of calls in front of a message.
pub(crate) fn write_results(out: &mut String, closed: &mut &[ClosedCall<'_>], before: usize) {
    let count = closed.iter().take_while(|call| call.message < before).count();
    let list = *closed;
    let (due, rest) = list.split_at_checked(count).unwrap_or((&[], list));
    *closed = rest;
    let results = due.iter().map(|ClosedCall { id, text, .. }| {
        let id = quote(id);
        format!(
            "{{\"type\":\"tool_result\",\"tool_use_id\":{id},\"content\":{text},\"is_error\":true}}"
        )
    });
    let results: Vec<String> = results.collect();
    if !results.is_empty() {
        out.push_str(&format!(",\n{{\"role\":\"user\",\"content\":[{}]}}", results.join(",")));
    }
}

fn not_started() -> String {
    quote(placeholder_text(MissingAnswer::NotStarted, PlaceholderLanguage::English))
}

/// How far a call without a result came.
enum CallProgress {
    /// The model was still writing it.
    Streaming,
    /// The user has not decided.
    Requested,
    Denied(Option<Span>),
    MayHaveRun,
}

impl ListApprovals {
    /// How far a call came, as its state says, or the parts of its list.
    fn progress(&self, source: &str, part: &Part<'_>, tool_part: Span, id: &str) -> CallProgress {
        let of_decision = |decision: ApprovalDecision| match decision.approved {
            true => CallProgress::MayHaveRun,
            false => CallProgress::Denied(decision.reason),
        };
        let state = field_text(source, tool_part, "state");
        match state.as_deref() {
            Some("input-streaming" | "partial-call") => CallProgress::Streaming,
            Some("approval-requested") => CallProgress::Requested,
            Some("approval-responded") => match field_value(source, part.span, "approval") {
                Some(approval) => of_decision(ApprovalDecision::of(source, approval)),
                None => CallProgress::MayHaveRun,
            },
            Some(_) => CallProgress::MayHaveRun,
            None => match self.0.get(id) {
                Some(None) => CallProgress::Requested,
                Some(Some(decision)) => of_decision(*decision),
                None => CallProgress::MayHaveRun,
            },
        }
    }
}
