//! What happens to events on their way.

use foxwedge_run::{
    ApprovalVerdict, CallRef, EventPayload, RawJson, RunEvent, SharedId, UserAnswer,
};

use crate::Random;

/// What is done to a list of events.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Damage {
    /// Nothing.
    None,
    /// Any order.
    Shuffled,
    /// Some events change places with near ones.
    Jostled,
    /// Some events come twice or more often, at once or later.
    Repeated,
    /// The end is missing.
    CutOff,
    /// Some events come long after their time.
    Late,
    /// A start is missing, or comes late.
    NoStart,
    /// Some events never come.
    Holes,
}

impl Damage {
    /// Every kind.
    pub const ALL: [Damage; 8] = [
        Damage::None,
        Damage::Shuffled,
        Damage::Jostled,
        Damage::Repeated,
        Damage::CutOff,
        Damage::Late,
        Damage::NoStart,
        Damage::Holes,
    ];

    /// Any of them.
    pub fn draw(random: &mut Random) -> Damage {
        *random.pick(&Damage::ALL)
    }
}

/// The events as they may arrive.
pub fn damaged(random: &mut Random, events: &[RunEvent], damage: Damage) -> Vec<RunEvent> {
    let mut told = events.to_vec();
    match damage {
        Damage::None => {}
        Damage::Shuffled => random.shuffle(&mut told),
        Damage::Jostled => {
            for at in 1..told.len() {
                if random.chance(40) {
                    told.swap(at, at - 1 - random.below(at.min(4)));
                }
            }
        }
        Damage::Repeated => {
            for _ in 0..1 + random.below(told.len() + 1) {
                let event = random.pick(&told).clone();
                let at = random.below(told.len() + 1);
                told.insert(at, event);
            }
        }
        Damage::CutOff => told.truncate(1 + random.below(told.len())),
        Damage::Late => {
            for _ in 0..1 + random.below(3) {
                let event = told.remove(random.below(told.len()));
                told.push(event);
            }
        }
        Damage::NoStart => {
            let is_start = |event: &RunEvent| matches!(event.body, EventPayload::Started(_));
            let starts = told.iter().enumerate().filter(|(_, event)| is_start(event));
            let starts: Vec<usize> = starts.map(|(at, _)| at).collect();
            let from = *random.pick(&starts);
            let start = told.remove(from);
            if random.chance(60) {
                told.insert((from + 1 + random.below(12)).min(told.len()), start);
            }
        }
        Damage::Holes => {
            for _ in 0..1 + random.below(3) {
                if told.len() > 1 {
                    told.remove(random.below(told.len()));
                }
            }
        }
    }
    told
}

/// An answer that somebody may give around an event: to its call, or to nothing that exists.
pub(super) fn answer(random: &mut Random, event: &RunEvent) -> UserAnswer {
    let call = match &event.body {
        EventPayload::ToolCall(call) => call.call.clone(),
        EventPayload::ToolResult(result) => result.call.clone(),
        EventPayload::ApprovalRequested(ask) => ask.call.clone(),
        EventPayload::ApprovalReplied(reply) => reply.call.clone(),
        _ => CallRef { id: Some(SharedId::from("toolu_1")), turn: None },
    };
    // Where ids come again, somebody forgets the turn.
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
