//! Cuts a history into what belongs together: nothing may be cut through a unit.

use std::ops::Range;

use crate::{
    check::assistant_runs,
    draft::{Draft, DraftFeatures, Message, MessageFlags, MessageLayout, Role},
    pairing::{CallPairing, ResultMatch},
    placeholder,
};

/// A turn with all its answers, the reasoning it carries, what is attached to it and whatever lies
/// between; or a single message that belongs to no turn.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Unit {
    /// Its messages.
    pub messages: Range<usize>,
    /// Why it has to stay, whatever a strategy says.
    pub hold: UnitHold,
}

/// Whether a unit may go.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum UnitHold {
    /// It may.
    Free,
    /// Instructions at the beginning.
    Instructions,
    /// It has a call that nobody has answered yet.
    Open,
    /// It answers a call that lies on the server.
    Remote,
    /// Somebody asked for it.
    Pinned,
    /// The first thing the user said.
    First,
    /// The last thing the user said.
    Last,
    /// The end of the history.
    End,
    /// A summary: one that was just written, or the last one that a provider made.
    Summary,
}

impl UnitHold {
    /// The name in reports.
    pub fn name(self) -> &'static str {
        match self {
            UnitHold::Free => "free",
            UnitHold::Instructions => "instructions",
            UnitHold::Open => "open calls",
            UnitHold::Remote => "answers to the server",
            UnitHold::Pinned => "pinned",
            UnitHold::First => "first user message",
            UnitHold::Last => "last user message",
            UnitHold::End => "newest",
            UnitHold::Summary => "summary",
        }
    }
}

/// Cuts a paired history into units. They cover it, in order and without gaps.
pub fn split_units(draft: &Draft<'_>, pairing: &CallPairing) -> Vec<Unit> {
    let inside = boundary_depths(draft, pairing);
    let mut units: Vec<Unit> = Vec::with_capacity(draft.messages.len());
    let mut depth = 0;
    for (at, change) in inside.iter().enumerate().take(draft.messages.len()) {
        depth += change;
        match units.last_mut().filter(|_| depth > 0) {
            Some(unit) => unit.messages.end = at + 1,
            None => units.push(Unit { messages: at..at + 1, hold: UnitHold::Free }),
        }
    }
    for unit in units.iter_mut() {
        let system = |at: usize| draft.messages.get(at).is_some_and(|m| m.role.is_system());
        if !unit.messages.clone().all(system) {
            break;
        }
        unit.hold = UnitHold::Instructions;
    }
    hold_open_units(draft, pairing, &mut units);
    units
}

/// The unit a message is in.
pub fn unit_at(units: &[Unit], message: usize) -> Option<usize> {
    let at = units.partition_point(|unit| unit.messages.end <= message);
    units.get(at).filter(|unit| unit.messages.contains(&message)).map(|_| at)
}

/// For each message the change of depth in front of it: where the sum is above zero, something
/// reaches across the boundary before the message.
fn boundary_depths(draft: &Draft<'_>, pairing: &CallPairing) -> Vec<i32> {
    let mut inside = vec![0; draft.messages.len() + 1];
    let mut join = |one: usize, two: usize| {
        let (first, last) = (one.min(two), one.max(two));
        if first < last && last < draft.messages.len() {
            inside[first + 1] += 1;
            inside[last + 1] -= 1;
        }
    };
    // What the model said in one go, its reasoning included.
    for run in assistant_runs(draft) {
        join(run.start, run.end - 1);
    }
    for answer in &pairing.answers {
        match answer.result_match() {
            ResultMatch::InPlace(call)
            | ResultMatch::Split(call)
            | ResultMatch::Misplaced(call)
            | ResultMatch::Displaced(call)
            | ResultMatch::Early(call)
            | ResultMatch::Duplicate(call) => {
                if let Some(call) = pairing.calls.get(call) {
                    join(call.message(), answer.message());
                }
            }
            ResultMatch::Orphan => {}
        }
    }
    // Outputs that are paired with nothing are the provider's own.
    if draft.layout() == MessageLayout::Items && draft.features.intersects(DraftFeatures::SERVER) {
        let mut paired = pairing.answers.iter().map(|answer| answer.message()).peekable();
        for (at, message) in draft.messages.iter().enumerate() {
            if paired.next_if_eq(&at).is_none() && message.role == Role::Answer && at > 0 {
                join(at - 1, at);
            }
        }
    }
    let leading = draft.messages.iter().take_while(|message| message.role.is_system()).count();
    // Nothing hangs on leading instructions: they stay for themselves.
    for at in leading + 1..draft.messages.len() {
        if is_attached(draft, at) {
            join(at - 1, at);
        }
    }
    inside
}

/// Whether a message only makes sense behind the one before it: answers of an older kind, media
/// that was carried out of answers, instructions that are no leading ones.
fn is_attached(draft: &Draft<'_>, at: usize) -> bool {
    let message = &draft.messages[at];
    match message.role {
        Role::Neutral => !is_reference(draft, at),
        Role::User => {
            let first = draft.parts_of(message).first();
            first.is_some_and(|first| placeholder::is_media_heading(first.span.of(draft.source)))
        }
        // In formats of blocks, instructions in the middle belong to what they stand behind.
        Role::System | Role::Developer => draft.layout() == MessageLayout::Blocks,
        Role::Assistant | Role::Answer | Role::Unknown => false,
    }
}

/// Whether an item only names something that lies on the server.
fn is_reference(draft: &Draft<'_>, at: usize) -> bool {
    draft.messages.get(at).is_some_and(|message| message.flags.has(MessageFlags::REFERENCE))
}

/// Holds what somebody still waits for: open calls, answers whose call is out of sight, references
/// to what lies on the server, and the provider's own summary of what came before.
fn hold_open_units(draft: &Draft<'_>, pairing: &CallPairing, units: &mut [Unit]) {
    let made = |message: &Message| message.flags.has(MessageFlags::COMPACTION);
    if let Some(unit) = draft.messages.iter().rposition(made).and_then(|at| unit_at(units, at)) {
        units[unit].hold = UnitHold::Summary;
    }
    for unit in units.iter_mut() {
        if unit.messages.clone().any(|at| is_reference(draft, at)) {
            unit.hold = UnitHold::Remote;
        }
    }
    let mut hold = |message: usize, hold: UnitHold| {
        if let Some(unit) = unit_at(units, message) {
            units[unit].hold = hold;
        }
    };
    for answer in
        pairing.answers.iter().filter(|answer| answer.result_match() == ResultMatch::Orphan)
    {
        hold(answer.message(), UnitHold::Remote);
    }
    for call in pairing.calls.iter().filter(|call| call.answer().is_none()) {
        hold(call.message(), UnitHold::Open);
    }
}
