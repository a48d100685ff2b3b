//! Items of the Responses format: tools that the provider runs itself, tool searches, and calls for
//! which the model does not wait.

use std::collections::{HashMap, HashSet};

use foxwedge_json::{array_elements, field_text};

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

/// Whether a call needs no output: the model does not wait for it, or the search may be the
/// provider's.
pub(super) fn may_stay_open(draft: &Draft<'_>, call: &DraftCall<'_>) -> bool {
    let families = [CallFamily::Function, CallFamily::Custom, CallFamily::ToolSearch];
    draft.layout() == MessageLayout::Items && !call.typed && families.contains(&call.family)
}

/// Matches open calls with outputs of another type: a function output also answers a search or a call
/// of the local shell. Some programs write the output of a function or of a free-text tool for any
/// call; the id says that they belong together (FW109).
pub(super) fn match_other_types(draft: &Draft<'_>, pairing: &mut CallPairing) {
    let mut open: HashMap<(CallFamily, &str), Vec<usize>> = HashMap::new();
    for (index, call) in
        pairing.calls.iter().enumerate().filter(|(_, call)| call.answer().is_none())
    {
        let Some(outline) = call_at(draft, call.part()) else { continue };
        if let Some(id) = outline.id.as_deref() {
            open.entry((outline.family, id)).or_default().push(index);
        }
    }
    for answer in 0..pairing.answers.len() {
        let paired = pairing.answers[answer];
        let is_orphan = paired.result_match() == ResultMatch::Orphan;
        if !is_orphan && !matches!(paired.result_match(), ResultMatch::Duplicate(_)) {
            continue;
        }
        let Some((family, id)) = answer_key(draft, paired.part()) else { continue };
        let is_before = |&call: &usize| pairing.calls[call].message() < paired.message();
        // The nearest such call before the output, else the first after it.
        let taking =
            [CallFamily::ToolSearch, CallFamily::LocalShell].into_iter().find_map(|taking| {
                let calls = open.get(&(taking, id)).filter(|calls| !calls.is_empty())?;
                Some((taking, calls.iter().rposition(is_before).unwrap_or(0)))
            });
        let found = match taking.filter(|_| family == CallFamily::Function) {
            Some(found) => Some(found),
            None => family.confused_with().iter().filter(|_| is_orphan).find_map(|&taking| {
                if taking == CallFamily::Computer && !is_image(draft, paired.part()) {
                    return None;
                }
                let calls = open.get(&(taking, id))?;
                Some((taking, calls.iter().rposition(is_before)?))
            }),
        };
        let Some((family, at)) = found else { continue };
        let Some(calls) = open.get_mut(&(family, id)) else { continue };
        let call = calls.remove(at);
        join_answer(draft, pairing, call, answer);
    }
}

/// Whether the content of an output is one image: no other content shows a screen.
fn is_image(draft: &Draft<'_>, part: usize) -> bool {
    let PartKind::Answer(answer) = &draft.parts[part].kind else { return false };
    let [element] = array_elements(draft.source, answer.content)[..] else { return false };
    let text = |key| field_text(draft.source, element, key).filter(|text| !text.is_empty());
    text("type").as_deref() == Some("input_image")
        && (text("image_url").is_some() || text("file_id").is_some())
}
