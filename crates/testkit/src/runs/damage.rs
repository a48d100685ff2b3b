//! Damages lists of events, as transports do.

use foxwedge_run::{
    ApprovalVerdict, CallRef, EventPayload, RawJson, RunEvent, SharedId, UserAnswer,
};

use crate::Random;

/// One kind of damage to a list of events.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum LogDamage {
    /// No damage.
    None,
    /// Any order.
    Shuffled,
    /// Some events swap positions with nearby ones.
    Jostled,
    /// Some events are repeated, at once or later.
    Repeated,
    /// The end is missing.
    CutOff,
    /// Some events arrive much later.
    Late,
    /// A start is missing or late.
    NoStart,
    /// Some events are missing.
    Holes,
}

impl LogDamage {
    /// Every kind.
    pub const ALL: [LogDamage; 8] = [
        LogDamage::None,
        LogDamage::Shuffled,
        LogDamage::Jostled,
        LogDamage::Repeated,
        LogDamage::CutOff,
        LogDamage::Late,
        LogDamage::NoStart,
        LogDamage::Holes,
    ];

    /// Draws one of them.
    pub fn draw(random: &mut Random) -> LogDamage {
        *random.pick(&LogDamage::ALL)
    }
}

/// The events as they may arrive.
pub fn damaged(random: &mut Random, events: &[RunEvent], damage: LogDamage) -> Vec<RunEvent> {
    let mut arrived = events.to_vec();
    match damage {
        LogDamage::None => {}
        LogDamage::Shuffled => random.shuffle(&mut arrived),
        LogDamage::Jostled => {
            for at in 1..arrived.len() {
                if random.chance(40) {
                    arrived.swap(at, at - 1 - random.below(at.min(4)));
                }
            }
        }
        LogDamage::Repeated => {
            for _ in 0..1 + random.below(arrived.len() + 1) {
                let event = random.pick(&arrived).clone();
                let at = random.below(arrived.len() + 1);
                arrived.insert(at, event);
            }
        }
        LogDamage::CutOff => arrived.truncate(1 + random.below(arrived.len())),
        LogDamage::Late => {
            for _ in 0..1 + random.below(3) {
                let event = arrived.remove(random.below(arrived.len()));
                arrived.push(event);
            }
        }
        LogDamage::NoStart => {
            let is_start = |event: &RunEvent| matches!(event.body, EventPayload::Started(_));
            let starts = arrived.iter().enumerate().filter(|(_, event)| is_start(event));
            let starts: Vec<usize> = starts.map(|(at, _)| at).collect();
            let from = *random.pick(&starts);
            let start = arrived.remove(from);
            if random.chance(60) {
                arrived.insert((from + 1 + random.below(12)).min(arrived.len()), start);
            }
        }
        LogDamage::Holes => {
            for _ in 0..1 + random.below(3) {
                if arrived.len() > 1 {
                    arrived.remove(random.below(arrived.len()));
                }
            }
        }
    }
    arrived
}

/// A user answer near an event: to its call, or to a call that does not exist.
pub(super) fn answer(random: &mut Random, event: &RunEvent) -> UserAnswer {
    let call = match &event.body {
        EventPayload::ToolCall(call) => call.call.clone(),
        EventPayload::ToolResult(result) => result.call.clone(),
        EventPayload::ApprovalRequested(ask) => ask.call.clone(),
        EventPayload::ApprovalReplied(reply) => reply.call.clone(),
        _ => CallRef { id: Some(SharedId::from("toolu_1")), turn: None },
    };
    // Sometimes the turn is missing, although ids repeat.
    let turn = call.turn.filter(|_| random.chance(50));
    let call = CallRef { turn, ..call };
    let run = match random.below(10) {
        0 => None,
        1 => Some(SharedId::from("run-of-nobody")),
        _ => Some(event.run.clone()),
    };
    let verdicts = [
        ApprovalVerdict::Allowed,
        ApprovalVerdict::Denied,
        ApprovalVerdict::Answered,
        ApprovalVerdict::Answered,
    ];
    let verdict = *random.pick(&verdicts);
    let answer =
        if verdict == ApprovalVerdict::Answered { RawJson::parse(r#"{"0":"a"}"#) } else { None };
    UserAnswer {
        run,
        call,
        id: random.chance(10).then(|| SharedId::from("ask-1")),
        verdict,
        answer,
    }
}
