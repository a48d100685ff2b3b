//! Items of the Responses format: tools that the provider runs itself, tool searches, and calls
//! that the model does not wait for.

use std::collections::{HashMap, HashSet};

use super::{CallPairing, ResultMatch, answer_key, call_at, join_answer};
use crate::draft::{
    CallFamily, Draft, DraftAnswer, DraftCall, DraftFeatures, MessageLayout, PartKind,
};

/// What the provider runs itself: nobody answers it, and its outputs are the provider's own.
#[derive(Default)]
pub(super) struct HostedCalls<'d> {
    /// Ids of calls that say so.
    hosted_ids: HashSet<&'d str>,
    /// Families and ids of calls that the client answers.
    client_calls: HashSet<(CallFamily, &'d str)>,
    /// Ids with an output; asked for only where a search does not say who runs it.
    answered_ids: Option<HashSet<&'d str>>,
}

impl<'d> HostedCalls<'d> {
    pub(super) fn of(draft: &'d Draft<'_>) -> HostedCalls<'d> {
        let mut hosted = HostedCalls::default();
        let some = DraftFeatures::SERVER.union(DraftFeatures::UNTYPED_CALL);
        if draft.layout() != MessageLayout::Items || !draft.features.intersects(some) {
            return hosted;
        }
        let mut answered = HashSet::new();
        for part in &draft.parts {
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

    /// A call without an output that nobody has to answer now: a search that does not say who runs
    /// it may be the provider's, and the output of an asynchronous call comes when it comes.
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

    /// An output under the id of a call that the provider runs.
    pub(super) fn is_hosted_output(&self, answer: &DraftAnswer<'_>) -> bool {
        let Some(id) = answer.id.as_deref().filter(|id| self.hosted_ids.contains(id)) else {
            return false;
        };
        !self.client_calls.contains(&(answer.family, id))
    }
}

/// A search that the client runs is also answered by the output of a function.
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
        // The nearest one before it, else the first behind it.
        let before =
            calls.iter().rposition(|&call| pairing.calls[call].message() < paired.message());
        let at = before.unwrap_or(0);
        if at < calls.len() {
            let call = calls.remove(at);
            join_answer(draft, pairing, call, answer);
        }
    }
}
