//! Items of the Responses format: tools that the provider runs itself, tool searches, and calls for
//! which the model does not wait.

use std::collections::{HashMap, HashSet};

use super::{CallPairing, ResultMatch, answer_key, call_at, join_answer};
use crate::draft::{
    CallFamily, Draft, DraftAnswer, DraftCall, DraftFeatures, MessageLayout, PartKind,
};

/// Calls that the provider runs itself. The client does not answer them; their outputs are the
/// provider's own.
#[derive(Default)]
pub(super) struct HostedCalls<'d> {
    /// Ids of calls that are marked as run by the provider.
    hosted_ids: HashSet<&'d str>,
    /// Families and ids of calls that the client answers.
    client_calls: HashSet<(CallFamily, &'d str)>,
    /// Ids with an output; collected only where the draft may have hosted calls.
    answered_ids: Option<HashSet<&'d str>>,
}

impl<'d> HostedCalls<'d> {
    pub(super) fn of(draft: &'d Draft<'_>) -> HostedCalls<'d> {
        let mut hosted = HostedCalls::default();
        let relevant = DraftFeatures::SERVER.union(DraftFeatures::UNTYPED_CALL);
        if draft.layout() != MessageLayout::Items || !draft.features.intersects(relevant) {
            return hosted;
        }
        let mut answered = HashSet::new();
        for part in draft.message_parts() {
            match &part.kind {
                PartKind::ServerCall(_) => hosted.hosted_ids.extend(part.kind.server_id()),
                PartKind::Call(call) => {
                    hosted.client_calls.extend(call.id.as_deref().map(|id| (call.family, id)));
                }
                PartKind::Answer(answer) => answered.extend(answer.id.as_deref()),
                _ => {}
            }
        }
        hosted.answered_ids = Some(answered);
        hosted
    }

    /// Whether a call needs no output now: a search that does not state who runs it may be the
    /// provider's, and the output of an asynchronous call may come later.
    pub(super) fn is_hosted_call(&self, call: &DraftCall<'_>) -> bool {
        let Some(answered) = self.answered_ids.as_ref().filter(|_| !call.typed) else {
            return false;
        };
        let open = call.id.as_deref().map(|id| !answered.contains(id));
        match call.family {
            CallFamily::ToolSearch => open.unwrap_or(true),
            CallFamily::Function | CallFamily::Custom => open.unwrap_or(false),
            _ => false,
        }
    }

    /// Whether an output belongs to a call that the provider runs.
    pub(super) fn is_hosted_output(&self, answer: &DraftAnswer<'_>) -> bool {
        let Some(id) = answer.id.as_deref().filter(|id| self.hosted_ids.contains(id)) else {
            return false;
        };
        !self.client_calls.contains(&(answer.family, id))
    }
}

/// Matches open client searches with function outputs, which also answer a search.
pub(super) fn match_searches(draft: &Draft<'_>, pairing: &mut CallPairing) {
    let mut open: HashMap<&str, Vec<usize>> = HashMap::new();
    for (index, call) in
        pairing.calls.iter().enumerate().filter(|(_, call)| call.answer().is_none())
    {
        let Some(outline) = call_at(draft, call.part()) else { continue };
        if let (CallFamily::ToolSearch, Some(id)) = (outline.family, outline.id.as_deref()) {
            open.entry(id).or_default().push(index);
        }
    }
    if open.is_empty() {
        return;
    }
    for answer in 0..pairing.answers.len() {
        let paired = pairing.answers[answer];
        if !matches!(paired.result_match(), ResultMatch::Orphan | ResultMatch::Duplicate(_)) {
            continue;
        }
        let Some((CallFamily::Function, id)) = answer_key(draft, paired.part()) else { continue };
        let Some(calls) = open.get_mut(id) else { continue };
        // The nearest call before the answer, else the first after it.
        let before =
            calls.iter().rposition(|&call| pairing.calls[call].message() < paired.message());
        let at = before.unwrap_or(0);
        if at < calls.len() {
            let call = calls.remove(at);
            join_answer(draft, pairing, call, answer);
        }
    }
}
