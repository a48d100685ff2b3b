//! Determines which call an event refers to.

use foxwedge_run::{
    CallRef, EventPayload, MachineSettings, RunEvent, SharedId, ToolCallUpdate, ToolStatusReason,
};

use super::tool::{CallFact, CallHistory, CallResultFact};

/// How many calls back an event without a turn is searched for.
const NEAR: usize = 8;

/// The calls of a run, in the order in which they became known.
#[derive(Debug)]
pub(super) struct RunCallList<'a> {
    run: SharedId,
    settings: &'a MachineSettings,
    pub(super) list: Vec<RunCall<'a>>,
    /// Number of generated ids.
    made_up: u64,
}

/// A call with all its facts.
#[derive(Debug)]
pub(super) struct RunCall<'a> {
    pub(super) id: SharedId,
    turn: Option<u32>,
    /// Whether an event stated its turn.
    turn_was_said: bool,
    /// For a call without an id: which half came first, and whether the other one came.
    halves: Option<(CallHalf, bool)>,
    facts: Vec<CallFact<'a>>,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum CallHalf {
    Call,
    Answer,
}

/// What an event states about a call.
#[derive(Clone, Copy, Debug)]
enum CallMention<'a> {
    Call(&'a ToolCallUpdate),
    Answer,
    Remark,
}

impl<'a> RunCallList<'a> {
    pub(super) fn new(run: &SharedId, settings: &'a MachineSettings) -> RunCallList<'a> {
        RunCallList { run: run.clone(), settings, list: Vec::new(), made_up: 0 }
    }

    pub(super) fn life(&self, known: &RunCall<'a>) -> CallHistory<'a> {
        CallHistory::of(&known.id, &known.facts, self.settings)
    }

    /// Applies an event about a call. Returns whether it is the first one that makes the call.
    pub(super) fn take(&mut self, event: &'a RunEvent, turn: u32) -> bool {
        let answer = |how, name, reason, content| {
            CallFact::Answered(CallResultFact { how, name, reason, content })
        };
        let (call, about, fact) = match &event.body {
            EventPayload::ToolCall(call) => {
                (&call.call, CallMention::Call(call), CallFact::Called(call))
            }
            EventPayload::ToolArguments { call, delta } => {
                (call, CallMention::Remark, CallFact::Arguments(delta))
            }
            EventPayload::ToolProgress { call, .. } => {
                (call, CallMention::Remark, CallFact::Progress)
            }
            EventPayload::ApprovalRequested(ask) => {
                (&ask.call, CallMention::Remark, CallFact::Asked(ask))
            }
            EventPayload::ApprovalReplied(reply) => {
                (&reply.call, CallMention::Remark, CallFact::Replied(reply))
            }
            EventPayload::ToolCancelled { call } => {
                (call, CallMention::Answer, CallFact::CalledOff)
            }
            EventPayload::ToolResult(result) => {
                let (name, content) = (result.name.as_ref(), result.content.as_ref());
                (
                    &result.call,
                    CallMention::Answer,
                    answer(result.outcome, name, result.reason, content),
                )
            }
            EventPayload::TimedOut { call: Some(call) } => (
                call,
                CallMention::Answer,
                answer(foxwedge_run::ToolOutcome::TimedOut, None, None, None),
            ),
            _ => return false,
        };
        let place = self.meant(call, turn, about);
        let before = self.life(&self.list[place]);
        // At the end of the run each call is closed individually.
        let end = matches!(
            fact,
            CallFact::Answered(CallResultFact { reason: Some(ToolStatusReason::RunEnded), .. })
        );
        self.list[place].facts.push(fact);
        let behind = self.life(&self.list[place]);
        self.close_children(place, end || before.was_called_off());
        let parent = behind.parent.filter(|_| before.parent.is_none());
        if let Some(parent) = parent.and_then(|parent| self.newest(parent)) {
            let canceled = self.life(&self.list[parent]).was_called_off();
            self.close_children(parent, !canceled);
        }
        behind.called && !before.called
    }

    fn newest(&self, id: &SharedId) -> Option<usize> {
        self.list.iter().rposition(|known| known.id == *id)
    }

    /// Closes the calls made by a canceled call, recursively.
    fn close_children(&mut self, parent: usize, before: bool) {
        if before || !self.life(&self.list[parent]).was_called_off() {
            return;
        }
        let id = self.list[parent].id.clone();
        for child in 0..self.list.len() {
            let life = self.life(&self.list[child]);
            if life.parent == Some(&id) && life.is_open() {
                self.list[child].facts.push(CallFact::Gone(ToolStatusReason::ParentClosed));
                // However it ended, everything below it is over.
                self.close_below(child);
            }
        }
    }

    fn close_below(&mut self, parent: usize) {
        let id = self.list[parent].id.clone();
        for child in 0..self.list.len() {
            let life = self.life(&self.list[child]);
            if life.parent == Some(&id) && life.is_open() {
                self.list[child].facts.push(CallFact::Gone(ToolStatusReason::ParentClosed));
                self.close_below(child);
            }
        }
    }

    fn meant(&mut self, call: &CallRef, current: u32, about: CallMention<'_>) -> usize {
        match call.id.as_ref().filter(|id| !id.is_empty()) {
            Some(id) => self.named(id, call.turn, current, about),
            None => self.nameless(call.turn.unwrap_or(current), about),
        }
    }

    /// Ids are unique within a turn. An event with a turn, or one that makes a call, refers to the
    /// call of that turn, otherwise to one from before turns were stated. An event without a turn
    /// refers to the newest open call.
    fn named(
        &mut self,
        id: &SharedId,
        turn: Option<u32>,
        current: u32,
        about: CallMention<'_>,
    ) -> usize {
        let calls = matches!(about, CallMention::Call(_));
        let due = turn.or(calls.then_some(current));
        let newest = |fits: &dyn Fn(&RunCall<'a>) -> bool| {
            self.list.iter().rposition(|known| known.id == *id && fits(known))
        };
        let open = |known: &RunCall<'a>| self.life(known).is_open();
        let exact = due.and_then(|due| newest(&|known| known.turn == Some(due)));
        let adrift = || newest(&|known| known.turn.is_none()).filter(|_| calls);
        let found = exact.or_else(adrift).or_else(|| match turn {
            Some(_) => {
                let places = (0..self.list.len()).rev().filter(|place| self.list[*place].id == *id);
                let mut near = places.filter(|place| open(&self.list[*place])).take(NEAR);
                near.find(|place| self.list[*place].has_no_turn())
            }
            None => newest(&open).or_else(|| newest(&|_| true).filter(|_| !calls)),
        });
        let place = found.unwrap_or_else(|| self.add(id.clone(), None));
        let known = &mut self.list[place];
        if known.turn.is_none() {
            known.turn_was_said = turn.is_some();
            known.turn = due;
        }
        place
    }

    /// Calls without an id are identified by their order: the first result belongs to the first
    /// call of the turn that has none.
    fn nameless(&mut self, turn: u32, about: CallMention<'_>) -> usize {
        let found = match about {
            CallMention::Call(call) => self.half(turn, CallHalf::Answer).or_else(|| {
                let last = self.last_of(turn)?;
                let life = self.life(&self.list[last]);
                let same = life.name.is_none() || life.name == call.name.as_ref();
                let continues = call.input.is_some() || !life.called;
                (same && life.is_open() && life.input.is_none() && continues).then_some(last)
            }),
            CallMention::Answer => {
                let mut turns: Vec<u32> = self.turns().filter(|other| *other <= turn).collect();
                turns.sort_unstable();
                turns.dedup();
                turns.iter().rev().take(8).find_map(|turn| self.half(*turn, CallHalf::Call))
            }
            CallMention::Remark => {
                self.last_of(turn).filter(|last| self.life(&self.list[*last]).is_open())
            }
        };
        if let Some(place) = found {
            let known = &mut self.list[place];
            match (&mut known.halves, about) {
                (Some((CallHalf::Answer, complete)), CallMention::Call(_))
                | (Some((CallHalf::Call, complete)), CallMention::Answer) => *complete = true,
                _ => {}
            }
            return place;
        }
        let half = match about {
            CallMention::Call(_) | CallMention::Remark => CallHalf::Call,
            CallMention::Answer => CallHalf::Answer,
        };
        let id = loop {
            self.made_up += 1;
            let id = SharedId::from(format!("local-{}-{}", self.run, self.made_up));
            if self.newest(&id).is_none() {
                break id;
            }
        };
        let place = self.add(id, Some(half));
        self.list[place].turn = Some(turn);
        self.list[place].turn_was_said = true;
        place
    }

    /// The first call without an id in a turn of which only this half has come.
    fn half(&self, turn: u32, half: CallHalf) -> Option<usize> {
        self.list.iter().position(|known| {
            let waits = known.halves == Some((half, false)) && known.turn == Some(turn);
            // A result belongs to a call that has none and has not ended in another way.
            waits && (half == CallHalf::Answer || self.life(known).is_unanswered())
        })
    }

    fn last_of(&self, turn: u32) -> Option<usize> {
        self.list.iter().rposition(|known| known.halves.is_some() && known.turn == Some(turn))
    }

    fn turns(&self) -> impl Iterator<Item = u32> + '_ {
        self.list.iter().filter(|known| known.halves.is_some()).filter_map(|known| known.turn)
    }

    fn add(&mut self, id: SharedId, half: Option<CallHalf>) -> usize {
        let halves = half.map(|half| (half, false));
        let (turn, turn_was_said, facts) = (None, false, Vec::new());
        self.list.push(RunCall { id, turn, turn_was_said, halves, facts });
        self.list.len() - 1
    }
}

impl RunCall<'_> {
    pub(super) fn turn(&self) -> u32 {
        self.turn.unwrap_or(0)
    }

    /// Whether it came before any turn was stated.
    fn has_no_turn(&self) -> bool {
        !self.turn_was_said && self.turn() == 0
    }
}
