//! Which result belongs to which call. SPEC 4.1.

use std::ops::Range;

use super::{AbstractHistory, AbstractPart, HistoryLayout, SenderSide};

/// Calls and results, joined.
pub struct HistoryPairing {
    /// Turns with calls, in order.
    pub turns: Vec<ModelTurn>,
    /// Calls, in order.
    pub calls: Vec<ModelCall>,
    /// Results, in order.
    pub results: Vec<ModelResult>,
}

/// Messages whose calls are answered together.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ModelTurn {
    /// The messages of the model.
    pub messages: Range<usize>,
    /// The messages in which the results belong.
    pub home: Range<usize>,
    /// Messages of the user directly behind: too late, but near.
    pub late: Range<usize>,
}

/// A call.
pub struct ModelCall {
    /// Its message.
    pub message: usize,
    /// Its turn.
    pub turn: usize,
    /// Its id.
    pub id: u8,
    /// Whether it has a result.
    pub answered: bool,
}

/// A result.
pub struct ModelResult {
    /// Its message.
    pub message: usize,
    /// The id of its call.
    pub id: u8,
    /// Its number; 0 for a placeholder.
    pub number: u32,
    /// The call that it belongs to.
    pub fate: ResultFate,
}

/// What a result belongs to.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ResultFate {
    /// To this call.
    Of(usize),
    /// To a call that has a result already.
    Second,
    /// To no call.
    Orphan,
}

impl HistoryPairing {
    /// Joins the calls and results of a history that is laid out.
    pub fn new(history: &AbstractHistory, layout: HistoryLayout) -> HistoryPairing {
        let turns = turns(history, layout);
        let (mut calls, mut results) = (Vec::new(), Vec::new());
        for (at, message) in history.0.iter().enumerate() {
            let turn = turns.iter().position(|turn| turn.messages.contains(&at));
            for part in &message.parts {
                match (part, turn) {
                    (AbstractPart::Call(id), Some(turn)) => {
                        calls.push(ModelCall { message: at, turn, id: *id, answered: false });
                    }
                    (AbstractPart::Result(id, _) | AbstractPart::Placeholder(id), _) => {
                        let number =
                            if let AbstractPart::Result(_, number) = part { *number } else { 0 };
                        results.push(ModelResult {
                            message: at,
                            id: *id,
                            number,
                            fate: ResultFate::Orphan,
                        });
                    }
                    _ => {}
                }
            }
        }
        let mut pairing = HistoryPairing { turns, calls, results };
        for at in 0..pairing.results.len() {
            let fate = pairing.earlier_call(at);
            pairing.join(at, fate);
        }
        for at in 0..pairing.results.len() {
            if !matches!(pairing.results[at].fate, ResultFate::Of(_))
                && let Some(call) = pairing.next_call(history, at)
            {
                pairing.join(at, ResultFate::Of(call));
            }
        }
        if layout != HistoryLayout::Items {
            pairing.part_turns();
        }
        pairing
    }

    fn join(&mut self, result: usize, fate: ResultFate) {
        self.results[result].fate = fate;
        if let ResultFate::Of(call) = fate {
            self.calls[call].answered = true;
        }
    }

    /// Whether the calls of a turn may still be running: it is the last one, or in a row with it, and
    /// only results and instructions follow.
    pub fn may_run(&self, history: &AbstractHistory, turn: usize) -> bool {
        let Some(last) = self.turns.last() else { return false };
        let mut rest = history.0[last.messages.end..].iter();
        let mut pairs = self.turns[turn..].windows(2);
        rest.all(|it| it.side == SenderSide::System || it.is_result())
            && pairs.all(|pair| pair[0].messages.end == pair[1].messages.start)
    }

    /// The turn in whose place a message stands.
    fn turn_at(&self, message: usize) -> Option<usize> {
        self.turns
            .iter()
            .position(|turn| turn.home.contains(&message) || turn.late.contains(&message))
    }

    /// A result belongs to an open call of the turn before it; else to the newest open call with
    /// its id; else, if a call with its id is before it, it is a second result.
    fn earlier_call(&self, result: usize) -> ResultFate {
        let ModelResult { message, id, .. } = self.results[result];
        let here = self.turn_at(message);
        let near = |call: &ModelCall| !call.answered && call.id == id && Some(call.turn) == here;
        let before = |call: &ModelCall| call.id == id && call.message < message;
        if let Some(call) = self.calls.iter().position(near) {
            return ResultFate::Of(call);
        }
        let Some(newest) = self.calls.iter().rev().find(|call| before(call)).map(|call| call.turn)
        else {
            return ResultFate::Orphan;
        };
        let open = |call: &ModelCall| before(call) && !call.answered;
        let of_newest = self.calls.iter().position(|call| open(call) && call.turn == newest);
        let found = of_newest.or_else(|| self.calls.iter().rposition(open));
        found.map_or(ResultFate::Second, ResultFate::Of)
    }

    /// A result before its call belongs to the next turn, if only results and instructions stand
    /// between.
    fn next_call(&self, history: &AbstractHistory, result: usize) -> Option<usize> {
        let ModelResult { message, id, .. } = self.results[result];
        let model = |at: &usize| history.0[*at].side == SenderSide::Model;
        let start = (message + 1..history.0.len()).find(model)?;
        let mut between = history.0[message + 1..start].iter();
        if !between.all(|it| it.side == SenderSide::System || it.is_result()) {
            return None;
        }
        let end = (start..history.0.len()).find(|at| !model(at)).unwrap_or(history.0.len());
        let open = |call: &ModelCall| {
            call.id == id && !call.answered && (start..end).contains(&call.message)
        };
        self.calls.iter().position(open)
    }

    /// Of several calling messages in a row, the first ones are turns of their own until one of
    /// them has a result in the place behind the row.
    fn part_turns(&mut self) {
        let mut turns = Vec::new();
        for turn in std::mem::take(&mut self.turns) {
            let answered = |message: usize| {
                self.results.iter().any(|result| {
                    let at = result.message;
                    let near = turn.home.contains(&at) || turn.late.contains(&at);
                    matches!(result.fate, ResultFate::Of(call) if near && self.calls[call].message == message)
                })
            };
            let mut first = turn.messages.start;
            while first + 1 < turn.messages.end && !answered(first) {
                turns.push(ModelTurn { messages: first..first + 1, home: 0..0, late: 0..0 });
                first += 1;
            }
            turns.push(ModelTurn { messages: first..turn.messages.end, ..turn });
        }
        for call in &mut self.calls {
            let own = turns.iter().position(|turn| turn.messages.contains(&call.message));
            call.turn = own.unwrap_or(call.turn);
        }
        self.turns = turns;
    }
}

/// The turns of a history. Messages of the model in a row belong together; in a row, the calling
/// messages at its end are one turn, and a calling message before them is a turn without a place
/// for results. In a list of items the whole row is one turn.
fn turns(history: &AbstractHistory, layout: HistoryLayout) -> Vec<ModelTurn> {
    let messages = &history.0;
    let is_model = |at: usize| messages.get(at).is_some_and(|it| it.side == SenderSide::Model);
    let takes = |at: usize| {
        messages.get(at).is_some_and(|it| match layout {
            HistoryLayout::Blocks => it.side == SenderSide::User,
            HistoryLayout::Chat | HistoryLayout::Items => it.is_result(),
        })
    };
    let mut turns = Vec::new();
    let mut start = 0;
    while start < messages.len() {
        let end = (start..=messages.len()).find(|at| !is_model(*at)).unwrap_or(messages.len());
        if end == start {
            start += 1;
            continue;
        }
        let mut first = end;
        while first > start && (layout == HistoryLayout::Items || messages[first - 1].has_calls()) {
            first -= 1;
        }
        for alone in (start..first).filter(|at| messages[*at].has_calls()) {
            turns.push(ModelTurn { messages: alone..alone + 1, home: 0..0, late: 0..0 });
        }
        let last = (end..=messages.len()).find(|at| !takes(*at)).unwrap_or(messages.len());
        let home = if layout == HistoryLayout::Blocks { last.min(end + 1) } else { last };
        if first < end {
            turns.push(ModelTurn { messages: first..end, home: end..home, late: home..last });
        }
        start = end;
    }
    turns
}
