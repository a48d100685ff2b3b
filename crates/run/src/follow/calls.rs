//! The calls of a run as its follower knows them: which one an id means, and in which turn it is.
//!
//! Ids repeat in real streams, so a call is its turn and its id; a result without a turn goes to
//! the call of its id that is open. Two calls of one turn that share an id are told apart by a
//! number behind the second one's.

use std::{
    collections::{BTreeMap, BTreeSet},
    hash::{DefaultHasher, Hash, Hasher},
};

use crate::{ApprovalVerdict, CallRef, RawJson, SharedId};

/// How far a call is.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum CallStage {
    /// Somebody spoke of it before it was made.
    Mentioned,
    /// Its arguments are coming.
    Writing,
    /// Its arguments are there.
    Complete,
    /// It has its result.
    Settled,
}

/// Whether a person is asked about a call.
#[derive(Clone, PartialEq, Eq)]
pub(super) enum CallApproval {
    /// No.
    NotAsked,
    /// Yes, under this request.
    Open(SharedId),
    /// Yes, and somebody answered.
    Replied(ApprovalVerdict),
}

/// What is known about a call.
pub(super) struct StreamCall {
    /// How it is told.
    pub(super) call: CallRef,
    pub(super) name: Option<SharedId>,
    pub(super) parent: Option<SharedId>,
    pub(super) stage: CallStage,
    pub(super) approval: CallApproval,
    /// Somebody other than the person who was asked said no.
    pub(super) refused: bool,
    /// It ended in an error, or may have run: that it was denied would say more.
    pub(super) failed: bool,
    /// The model's provider runs it.
    pub(super) by_provider: bool,
    /// It has been told with its arguments.
    emitted: bool,
    /// The message that makes it.
    message: Option<SharedId>,
    input_hash: Option<u64>,
}

impl StreamCall {
    fn new(call: CallRef, home: Option<SharedId>) -> StreamCall {
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
            message: home,
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
    /// The call of a message with this id: known already, or new.
    pub(super) fn announce(
        &mut self,
        id: Option<&SharedId>,
        turn: u32,
        home: &SharedId,
        input: Option<&RawJson>,
    ) -> usize {
        let found = self.with_id(id).find(|(_, known)| match (&known.message, known.stage) {
            (Some(other), CallStage::Mentioned | CallStage::Writing) => other == home,
            // A message that is told again, and not two calls that look alike.
            (Some(other), CallStage::Complete | CallStage::Settled) => {
                let alike = known.input_hash.is_none()
                    || input.is_none()
                    || known.input_hash == input_hash(input);
                other == home && id.is_some() && alike
            }
            (None, _) => known.approval != CallApproval::NotAsked || known.call.turn == Some(turn),
        });
        let number = match found {
            Some((number, _)) => number,
            None => self.add(id, turn),
        };
        if let Some(known) = self.calls.get_mut(number) {
            known.message = Some(home.clone());
        }
        number
    }

    /// A call that somebody speaks of: known already, or one that is still to come.
    pub(super) fn mention(&mut self, id: Option<&SharedId>, turn: u32) -> usize {
        self.find(id).unwrap_or_else(|| self.add(id, turn))
    }

    /// The call that a result with this id belongs to: one that is open, in the last turn that
    /// has one; else the last one that had the id.
    pub(super) fn find(&self, id: Option<&SharedId>) -> Option<usize> {
        let unsettled = || self.with_id(id).filter(|(_, known)| known.stage != CallStage::Settled);
        let newest = unsettled().map(|(_, known)| known.call.turn).max();
        unsettled()
            .find(|(_, known)| Some(known.call.turn) == newest)
            .or_else(|| self.with_id(id).last())
            .map(|(number, _)| number)
    }

    /// Notes that the arguments are there. Says whether that is new. Arguments that were put
    /// together from pieces are not given: the line that has them whole may spell them otherwise.
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

    /// How a call is told.
    pub(super) fn reference(&self, number: usize) -> CallRef {
        self.calls.get(number).map(|known| known.call.clone()).unwrap_or_default()
    }

    /// The calls that have no result yet.
    pub(super) fn open(&self) -> impl Iterator<Item = (usize, &StreamCall)> {
        self.open.iter().filter_map(|number| Some((*number, self.calls.get(*number)?)))
    }

    /// The open calls that somebody outside of the agent may have to answer.
    pub(super) fn waiting(&self) -> Vec<CallRef> {
        let waits = |known: &StreamCall| match known.approval {
            CallApproval::Open(_) => true,
            CallApproval::NotAsked | CallApproval::Replied(_) => {
                known.parent.is_none() && !known.by_provider
            }
        };
        self.open().filter(|(_, known)| waits(known)).map(|(_, known)| known.call.clone()).collect()
    }

    fn with_id(&self, id: Option<&SharedId>) -> impl Iterator<Item = (usize, &StreamCall)> {
        let numbers = self.by_id.get(&id.cloned()).map_or(&[][..], Vec::as_slice);
        numbers.iter().filter_map(|number| Some((*number, self.calls.get(*number)?)))
    }

    fn add(&mut self, id: Option<&SharedId>, turn: u32) -> usize {
        let same = self.with_id(id).filter(|(_, known)| known.call.turn == Some(turn)).count();
        let told = match (id, same) {
            (Some(id), 1..) => Some(format!("{id}#{}", same + 1).into()),
            (id, _) => id.cloned(),
        };
        let number = self.calls.len();
        self.calls.push(StreamCall::new(CallRef { id: told, turn: Some(turn) }, None));
        let numbers = self.by_id.entry(id.cloned()).or_default();
        // An agent may use one id for ever: what is settled and of an earlier turn is not meant.
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

/// A mark by which arguments are known again, however they are spelled.
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
    fn a_call_behind_its_result_is_told_and_not_open() {
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
    fn a_call_that_was_asked_about_first_is_one_call() {
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
