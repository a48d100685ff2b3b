//! Which call an event means.

use foxwedge_run::{
    CallRef, EventPayload, MachineSettings, RunEvent, SharedId, ToolCallUpdate, ToolStatusReason,
};

use super::tool::{Answer, Fact, Life};

/// How far back is looked for a call whose turn nobody named.
const NEAR: usize = 8;

/// The calls of a run, in the order in which they were first heard of.
#[derive(Debug)]
pub(super) struct Calls<'a> {
    run: SharedId,
    settings: &'a MachineSettings,
    pub(super) list: Vec<Known<'a>>,
    /// Ids that were made up.
    made_up: u64,
}

/// A call, and all that was said about it.
#[derive(Debug)]
pub(super) struct Known<'a> {
    pub(super) id: SharedId,
    turn: Option<u32>,
    /// Whether somebody said which turn it belongs to.
    turn_was_said: bool,
    /// Without an id of its own: which half of it came first, and whether the other one came.
    halves: Option<(Half, bool)>,
    facts: Vec<Fact<'a>>,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Half {
    Call,
    Answer,
}

/// What an event is about to say.
#[derive(Clone, Copy, Debug)]
enum About<'a> {
    Call(&'a ToolCallUpdate),
    Answer,
    Remark,
}

impl<'a> Calls<'a> {
    pub(super) fn new(run: &SharedId, settings: &'a MachineSettings) -> Calls<'a> {
        Calls { run: run.clone(), settings, list: Vec::new(), made_up: 0 }
    }

    pub(super) fn life(&self, known: &Known<'a>) -> Life<'a> {
        Life::of(&known.id, &known.facts, self.settings)
    }

    /// Takes an event that is about a call. Tells whether it is the first that says "called".
    pub(super) fn take(&mut self, event: &'a RunEvent, turn: u32) -> bool {
        let answer =
            |how, name, reason, content| Fact::Answered(Answer { how, name, reason, content });
        let (call, about, fact) = match &event.body {
            EventPayload::ToolCall(call) => (&call.call, About::Call(call), Fact::Called(call)),
            EventPayload::ToolArguments { call, delta } => {
                (call, About::Remark, Fact::Arguments(delta))
            }
            EventPayload::ToolProgress { call, .. } => (call, About::Remark, Fact::Progress),
            EventPayload::ApprovalRequested(ask) => (&ask.call, About::Remark, Fact::Asked(ask)),
            EventPayload::ApprovalReplied(reply) => {
                (&reply.call, About::Remark, Fact::Replied(reply))
            }
            EventPayload::ToolCancelled { call } => (call, About::Answer, Fact::CalledOff),
            EventPayload::ToolResult(result) => {
                let (name, content) = (result.name.as_ref(), result.content.as_ref());
                (&result.call, About::Answer, answer(result.outcome, name, result.reason, content))
            }
            EventPayload::TimedOut { call: Some(call) } => {
                (call, About::Answer, answer(foxwedge_run::ToolOutcome::TimedOut, None, None, None))
            }
            _ => return false,
        };
        let place = self.meant(call, turn, about);
        let before = self.life(&self.list[place]);
        // At the end of the run everybody goes alone.
        let end =
            matches!(fact, Fact::Answered(Answer { reason: Some(ToolStatusReason::RunEnded), .. }));
        self.list[place].facts.push(fact);
        let behind = self.life(&self.list[place]);
        self.close_children(place, end || before.was_called_off());
        let parent = behind.parent.filter(|_| before.parent.is_none());
        if let Some(parent) = parent.and_then(|parent| self.newest(parent)) {
            let gone = self.life(&self.list[parent]).was_called_off();
            self.close_children(parent, !gone);
        }
        behind.called && !before.called
    }

    fn newest(&self, id: &SharedId) -> Option<usize> {
        self.list.iter().rposition(|known| known.id == *id)
    }

    /// What works for a call that was called off goes, too, and so on.
    fn close_children(&mut self, parent: usize, before: bool) {
        if before || !self.life(&self.list[parent]).was_called_off() {
            return;
        }
        let id = self.list[parent].id.clone();
        for child in 0..self.list.len() {
            let life = self.life(&self.list[child]);
            if life.parent == Some(&id) && life.is_open() {
                self.list[child].facts.push(Fact::Gone(ToolStatusReason::ParentClosed));
                // However it ended: everything below it is over.
                self.close_below(child);
            }
        }
    }

    fn close_below(&mut self, parent: usize) {
        let id = self.list[parent].id.clone();
        for child in 0..self.list.len() {
            let life = self.life(&self.list[child]);
            if life.parent == Some(&id) && life.is_open() {
                self.list[child].facts.push(Fact::Gone(ToolStatusReason::ParentClosed));
                self.close_below(child);
            }
        }
    }

    fn meant(&mut self, call: &CallRef, current: u32, about: About<'_>) -> usize {
        match call.id.as_ref().filter(|id| !id.is_empty()) {
            Some(id) => self.named(id, call.turn, current, about),
            None => self.nameless(call.turn.unwrap_or(current), about),
        }
    }

    /// Ids are unique within a turn. Whoever names the turn, or calls, means the one of that turn;
    /// else one that came before anybody spoke of turns. Whoever names none means the newest open call.
    fn named(&mut self, id: &SharedId, turn: Option<u32>, current: u32, about: About<'_>) -> usize {
        let calls = matches!(about, About::Call(_));
        let due = turn.or(calls.then_some(current));
        let newest = |fits: &dyn Fn(&Known<'a>) -> bool| {
            self.list.iter().rposition(|known| known.id == *id && fits(known))
        };
        let open = |known: &Known<'a>| self.life(known).is_open();
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

    /// Calls without an id are told apart by their order: the first answer belongs to the first
    /// call of the turn that has none.
    fn nameless(&mut self, turn: u32, about: About<'_>) -> usize {
        let found = match about {
            About::Call(call) => self.half(turn, Half::Answer).or_else(|| {
                let last = self.last_of(turn)?;
                let life = self.life(&self.list[last]);
                let same = life.name.is_none() || life.name == call.name.as_ref();
                let continues = call.input.is_some() || !life.called;
                (same && life.is_open() && life.input.is_none() && continues).then_some(last)
            }),
            About::Answer => {
                let mut turns: Vec<u32> = self.turns().filter(|other| *other <= turn).collect();
                turns.sort_unstable();
                turns.dedup();
                turns.iter().rev().take(8).find_map(|turn| self.half(*turn, Half::Call))
            }
            About::Remark => {
                self.last_of(turn).filter(|last| self.life(&self.list[*last]).is_open())
            }
        };
        if let Some(place) = found {
            let known = &mut self.list[place];
            match (&mut known.halves, about) {
                (Some((Half::Answer, complete)), About::Call(_))
                | (Some((Half::Call, complete)), About::Answer) => *complete = true,
                _ => {}
            }
            return place;
        }
        let half = match about {
            About::Call(_) | About::Remark => Half::Call,
            About::Answer => Half::Answer,
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

    /// The first nameless call of a turn of which only this half has come.
    fn half(&self, turn: u32, half: Half) -> Option<usize> {
        self.list.iter().position(|known| {
            let waits = known.halves == Some((half, false)) && known.turn == Some(turn);
            // An answer is for a call that has none and has not ended in another way.
            waits && (half == Half::Answer || self.life(known).is_unanswered())
        })
    }

    fn last_of(&self, turn: u32) -> Option<usize> {
        self.list.iter().rposition(|known| known.halves.is_some() && known.turn == Some(turn))
    }

    fn turns(&self) -> impl Iterator<Item = u32> + '_ {
        self.list.iter().filter(|known| known.halves.is_some()).filter_map(|known| known.turn)
    }

    fn add(&mut self, id: SharedId, half: Option<Half>) -> usize {
        let halves = half.map(|half| (half, false));
        let (turn, turn_was_said, facts) = (None, false, Vec::new());
        self.list.push(Known { id, turn, turn_was_said, halves, facts });
        self.list.len() - 1
    }
}

impl Known<'_> {
    pub(super) fn turn(&self) -> u32 {
        self.turn.unwrap_or(0)
    }

    /// Whether it came before anybody spoke of turns.
    fn has_no_turn(&self) -> bool {
        !self.turn_was_said && self.turn() == 0
    }
}
