//! The calls of a run in a stream: finds the call of an id, and its turn.
//!
//! Ids repeat in real streams, so a call is identified by turn and id. A result without a turn
//! belongs to the open call with its id. If two calls of one turn share an id, a number is appended
//! to the second one.

use std::{
    collections::{BTreeMap, BTreeSet},
    hash::{DefaultHasher, Hash, Hasher},
};

use crate::{ApprovalVerdict, CallRef, RawJson, SharedId};

/// The stage of a call.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum CallStage {
    /// Referenced before it was made.
    Mentioned,
    /// Its arguments are being streamed.
    Writing,
    /// Its arguments are complete.
    Complete,
    /// It has its result.
    Settled,
}

/// The approval state of a call.
#[derive(Clone, PartialEq, Eq)]
pub(super) enum CallApproval {
    /// No approval was requested.
    NotAsked,
    /// Requested with this id.
    Open(SharedId),
    /// Requested and decided.
    Replied(ApprovalVerdict),
}

/// What is known about a call.
pub(super) struct StreamCall {
    /// The reference in run events.
    pub(super) call: CallRef,
    pub(super) name: Option<SharedId>,
    pub(super) parent: Option<SharedId>,
    pub(super) stage: CallStage,
    pub(super) approval: CallApproval,
    /// Denied by something other than an approval.
    pub(super) refused: bool,
    /// It ended in an error or may have run, so a later denial is more precise.
    pub(super) failed: bool,
    /// The provider of the model runs it.
    pub(super) by_provider: bool,
    /// It was emitted with its arguments.
    emitted: bool,
    /// The message that contains it.
    message: Option<SharedId>,
    input_hash: Option<u64>,
}

impl StreamCall {
    fn new(call: CallRef, message: Option<SharedId>) -> StreamCall {
        StreamCall {
            call,
            name: None,
            parent: None,
            stage: CallStage::Mentioned,
            approval: CallApproval::NotAsked,
            refused: false,
            failed: false,
            by_provider: false,
            emitted: false,
            message,
            input_hash: None,
        }
    }
}

/// Every call of a run.
#[derive(Default)]
pub(super) struct StreamCalls {
    calls: Vec<StreamCall>,
    by_id: BTreeMap<Option<SharedId>, Vec<usize>>,
    /// Complete, and without a result.
    open: BTreeSet<usize>,
}

impl StreamCalls {
    /// The call with this id in a message, known or new.
    pub(super) fn announce(
        &mut self,
        id: Option<&SharedId>,
        turn: u32,
        message: &SharedId,
        input: Option<&RawJson>,
    ) -> usize {
        let found = self.with_id(id).find(|(_, known)| match (&known.message, known.stage) {
            (Some(other), CallStage::Mentioned | CallStage::Writing) => other == message,
            // The same message again, and not two similar calls.
            (Some(other), CallStage::Complete | CallStage::Settled) => {
                let same_input = known.input_hash.is_none()
                    || input.is_none()
                    || known.input_hash == input_hash(input);
                other == message && id.is_some() && same_input
            }
            (None, _) => known.approval != CallApproval::NotAsked || known.call.turn == Some(turn),
        });
        let number = match found {
            Some((number, _)) => number,
            None => self.add(id, turn),
        };
        if let Some(known) = self.calls.get_mut(number) {
            known.message = Some(message.clone());
        }
        number
    }

    /// The call that is referenced, known or still to come.
    pub(super) fn mention(&mut self, id: Option<&SharedId>, turn: u32) -> usize {
        self.find(id).unwrap_or_else(|| self.add(id, turn))
    }

    /// The call that a result with this id belongs to: the open one of the latest turn, else the
    /// last call with that id.
    pub(super) fn find(&self, id: Option<&SharedId>) -> Option<usize> {
        let unsettled = || self.with_id(id).filter(|(_, known)| known.stage != CallStage::Settled);
        let newest = unsettled().map(|(_, known)| known.call.turn).max();
        unsettled()
            .find(|(_, known)| Some(known.call.turn) == newest)
            .or_else(|| self.with_id(id).last())
            .map(|(number, _)| number)
    }

    /// Notes that the arguments are complete. Returns true the first time. Arguments assembled from
    /// deltas are not passed: the line with the whole call may encode them differently.
    pub(super) fn complete(&mut self, number: usize, input: Option<&RawJson>) -> bool {
        let Some(known) = self.calls.get_mut(number) else { return false };
        match known.stage {
            CallStage::Mentioned | CallStage::Writing => {
                known.stage = CallStage::Complete;
                self.open.insert(number);
            }
            CallStage::Complete | CallStage::Settled => {}
        }
        if known.input_hash.is_none() {
            known.input_hash = input_hash(input);
        }
        !std::mem::replace(&mut known.emitted, true)
    }

    /// Notes that the call has its result.
    pub(super) fn settle(&mut self, number: usize) {
        self.open.remove(&number);
        if let Some(known) = self.calls.get_mut(number) {
            known.stage = CallStage::Settled;
        }
    }

    pub(super) fn get(&self, number: usize) -> Option<&StreamCall> {
        self.calls.get(number)
    }

    pub(super) fn get_mut(&mut self, number: usize) -> Option<&mut StreamCall> {
        self.calls.get_mut(number)
    }

    /// The reference to a call in run events.
    pub(super) fn reference(&self, number: usize) -> CallRef {
        self.calls.get(number).map(|known| known.call.clone()).unwrap_or_default()
    }

    /// The calls that have no result yet.
    pub(super) fn open(&self) -> impl Iterator<Item = (usize, &StreamCall)> {
        self.open.iter().filter_map(|number| Some((*number, self.calls.get(*number)?)))
    }

    /// The open calls that wait for something outside the agent.
    pub(super) fn waiting(&self) -> Vec<CallRef> {
        let is_waiting = |known: &StreamCall| match known.approval {
            CallApproval::Open(_) => true,
            CallApproval::NotAsked | CallApproval::Replied(_) => {
                known.parent.is_none() && !known.by_provider
            }
        };
        self.open()
            .filter(|(_, known)| is_waiting(known))
            .map(|(_, known)| known.call.clone())
            .collect()
    }

    fn with_id(&self, id: Option<&SharedId>) -> impl Iterator<Item = (usize, &StreamCall)> {
        let numbers = self.by_id.get(&id.cloned()).map_or(&[][..], Vec::as_slice);
        numbers.iter().filter_map(|number| Some((*number, self.calls.get(*number)?)))
    }

    fn add(&mut self, id: Option<&SharedId>, turn: u32) -> usize {
        let same = self.with_id(id).filter(|(_, known)| known.call.turn == Some(turn)).count();
        let unique_id = match (id, same) {
            (Some(id), 1..) => Some(format!("{id}#{}", same + 1).into()),
            (id, _) => id.cloned(),
        };
        let number = self.calls.len();
        self.calls.push(StreamCall::new(CallRef { id: unique_id, turn: Some(turn) }, None));
        let numbers = self.by_id.entry(id.cloned()).or_default();
        // An agent may always use the same id: settled calls of earlier turns are not meant.
        numbers.retain(|number| {
            let known = self.calls.get(*number);
            let is_past = |known: &StreamCall| {
                known.stage == CallStage::Settled && known.call.turn != Some(turn)
            };
            !known.is_some_and(is_past)
        });
        numbers.push(number);
        number
    }
}

/// A hash of the arguments that does not depend on formatting.
fn input_hash(input: Option<&RawJson>) -> Option<u64> {
    let raw = input?.raw();
    let value: Option<serde_json::Value> = serde_json::from_str(raw).ok();
    let mut hasher = DefaultHasher::new();
    value.map_or_else(|| raw.to_owned(), |value| value.to_string()).hash(&mut hasher);
    Some(hasher.finish())
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]
mod tests {
    use super::*;

    fn told(calls: &StreamCalls, number: usize) -> String {
        let CallRef { id, turn } = calls.reference(number);
        format!("{}@{}", id.as_deref().unwrap_or("-"), turn.unwrap_or(0))
    }

    #[test]
    fn an_id_means_the_call_that_is_open() {
        let mut calls = StreamCalls::default();
        let (id, home): (SharedId, SharedId) = ("x".into(), "m1".into());
        let first = calls.announce(Some(&id), 1, &home, None);
        calls.complete(first, None);
        assert_eq!(calls.find(Some(&id)), Some(first));
        calls.settle(first);
        let second = calls.announce(Some(&id), 2, &"m2".into(), None);
        calls.complete(second, None);
        assert_eq!(calls.find(Some(&id)), Some(second));
        calls.settle(second);
        assert_eq!([told(&calls, first), told(&calls, second)], ["x@1", "x@2"]);
        assert_eq!(calls.open().count(), 0);
    }

    #[test]
    fn of_two_open_calls_of_one_id_the_newer_one_is_meant() {
        let mut calls = StreamCalls::default();
        let id: SharedId = "x".into();
        let old = calls.announce(Some(&id), 1, &"m1".into(), None);
        calls.complete(old, None);
        let new = calls.announce(Some(&id), 2, &"m2".into(), None);
        calls.complete(new, None);
        assert_eq!(calls.find(Some(&id)), Some(new));
        calls.settle(new);
        assert_eq!(calls.find(Some(&id)), Some(old));
    }

    #[test]
    fn a_late_result_goes_to_the_last_call_of_its_id() {
        let mut calls = StreamCalls::default();
        let id: SharedId = "x".into();
        let call = calls.announce(Some(&id), 1, &"m1".into(), None);
        calls.complete(call, None);
        calls.settle(call);
        assert_eq!(calls.find(Some(&id)), Some(call));
        assert_eq!(calls.find(Some(&"y".into())), None);
    }

    #[test]
    fn two_calls_of_one_turn_with_one_id_stay_two() {
        let mut calls = StreamCalls::default();
        let (id, home): (SharedId, SharedId) = ("x".into(), "m1".into());
        let (one, two) = (RawJson::parse("1").unwrap(), RawJson::parse("2").unwrap());
        let first = calls.announce(Some(&id), 1, &home, Some(&one));
        calls.complete(first, Some(&one));
        let again = calls.announce(Some(&id), 1, &home, Some(&one));
        let second = calls.announce(Some(&id), 1, &home, Some(&two));
        calls.complete(second, Some(&two));
        assert_eq!((again, told(&calls, second).as_str()), (first, "x#2@1"));
        assert_eq!(calls.find(Some(&id)), Some(first));
        calls.settle(first);
        assert_eq!(calls.find(Some(&id)), Some(second));
    }

    #[test]
    fn calls_without_ids_answer_in_their_order() {
        let mut calls = StreamCalls::default();
        let home: SharedId = "m1".into();
        let first = calls.announce(None, 1, &home, None);
        calls.complete(first, None);
        let second = calls.announce(None, 1, &home, None);
        calls.complete(second, None);
        assert_ne!(first, second);
        assert_eq!(calls.find(None), Some(first));
        calls.settle(first);
        assert_eq!(calls.find(None), Some(second));
    }

    #[test]
    fn a_call_after_its_result_is_emitted_and_not_open() {
        let mut calls = StreamCalls::default();
        let id: SharedId = "x".into();
        let answered = calls.mention(Some(&id), 1);
        calls.settle(answered);
        let call = calls.announce(Some(&id), 1, &"m1".into(), None);
        assert_eq!((call, calls.complete(call, None)), (answered, true));
        assert_eq!(calls.open().count(), 0);
        let next = calls.announce(Some(&id), 2, &"m2".into(), None);
        assert_ne!(next, answered);
    }

    #[test]
    fn a_call_whose_approval_came_first_is_one_call() {
        let mut calls = StreamCalls::default();
        let id: SharedId = "x".into();
        let asked = calls.mention(Some(&id), 0);
        if let Some(known) = calls.get_mut(asked) {
            known.approval = CallApproval::Open("request".into());
        }
        assert_eq!(calls.announce(Some(&id), 1, &"m1".into(), None), asked);
        assert_eq!(told(&calls, asked), "x@0");
    }
}
