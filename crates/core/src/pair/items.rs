//! Items of the Responses format: tools that the provider runs itself, tool searches, and calls
//! that the model does not wait for.

use std::collections::{HashMap, HashSet};

use super::{Fate, Pairing, answer_key, call_at, join};
use crate::draft::{Answer, Call, Draft, Facts, Family, Kind, Layout};

/// What the provider runs itself: nobody answers it, and its outputs are the provider's own.
#[derive(Default)]
pub(super) struct Hosted<'d> {
    /// Ids of calls that say so.
    called: HashSet<&'d str>,
    /// Families and ids of calls that the client answers.
    clients: HashSet<(Family, &'d str)>,
    /// Ids with an output; asked for only where a search does not say who runs it.
    answered: Option<HashSet<&'d str>>,
}

impl<'d> Hosted<'d> {
    pub(super) fn of(draft: &'d Draft<'_>) -> Hosted<'d> {
        let mut hosted = Hosted::default();
        let some = Facts::SERVER.or(Facts::UNTYPED_CALL);
        if draft.layout() != Layout::Items || !draft.facts.any(some) {
            return hosted;
        }
        let mut answered = HashSet::new();
        for part in &draft.parts {
            match &part.kind {
                Kind::ServerCall(_) => hosted.called.extend(part.kind.server_id()),
                Kind::Call(call) => {
                    hosted.clients.extend(call.id.as_deref().map(|id| (call.family, id)));
                }
                Kind::Answer(answer) => answered.extend(answer.id.as_deref()),
                _ => {}
            }
        }
        hosted.answered = Some(answered);
        hosted
    }

    /// A call without an output that nobody has to answer now: a search that does not say who runs
    /// it may be the provider's, and the output of an asynchronous call comes when it comes.
    pub(super) fn runs(&self, call: &Call<'_>) -> bool {
        let Some(answered) = self.answered.as_ref().filter(|_| !call.typed) else { return false };
        let open = call.id.as_deref().map(|id| !answered.contains(id));
        match call.family {
            Family::ToolSearch => open.unwrap_or(true),
            Family::Function | Family::Custom => open.unwrap_or(false),
            _ => false,
        }
    }

    /// An output under the id of a call that the provider runs.
    pub(super) fn answers(&self, answer: &Answer<'_>) -> bool {
        let Some(id) = answer.id.as_deref().filter(|id| self.called.contains(id)) else {
            return false;
        };
        !self.clients.contains(&(answer.family, id))
    }
}

/// A search that the client runs is also answered by the output of a function.
pub(super) fn searches(draft: &Draft<'_>, pairing: &mut Pairing) {
    let mut open: HashMap<&str, Vec<usize>> = HashMap::new();
    for (index, call) in
        pairing.calls.iter().enumerate().filter(|(_, call)| call.answer().is_none())
    {
        let Some(outline) = call_at(draft, call.part()) else { continue };
        if let (Family::ToolSearch, Some(id)) = (outline.family, outline.id.as_deref()) {
            open.entry(id).or_default().push(index);
        }
    }
    if open.is_empty() {
        return;
    }
    for answer in 0..pairing.answers.len() {
        let paired = pairing.answers[answer];
        if !matches!(paired.fate(), Fate::Orphan | Fate::Duplicate(_)) {
            continue;
        }
        let Some((Family::Function, id)) = answer_key(draft, paired.part()) else { continue };
        let Some(calls) = open.get_mut(id) else { continue };
        // The nearest one before it, else the first behind it.
        let before =
            calls.iter().rposition(|&call| pairing.calls[call].message() < paired.message());
        let at = before.unwrap_or(0);
        if at < calls.len() {
            let call = calls.remove(at);
            join(draft, pairing, call, answer);
        }
    }
}
