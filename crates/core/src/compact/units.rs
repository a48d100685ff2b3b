//! Splits a history into units; no cut may go through a unit.

use std::{collections::HashMap, ops::Range};

use crate::{
    check::assistant_runs,
    draft::{Draft, DraftFeatures, Message, MessageFlags, MessageLayout, PartKind, Role},
    pairing::{CallPairing, ResultMatch},
    placeholder,
};

/// A turn with all its answers, its reasoning, attached messages and everything in between; or a
/// single message that belongs to no turn.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Unit {
    /// Its messages.
    pub messages: Range<usize>,
    /// Why it has to stay, whatever the strategy.
    pub hold: UnitHold,
}

/// Why a unit has to stay.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum UnitHold {
    /// It may be dropped.
    Free,
    /// Instructions at the beginning.
    Instructions,
    /// It has a call without an answer.
    Open,
    /// It answers a call that is stored on the server.
    Remote,
    /// The caller pinned it.
    Pinned,
    /// The first user input.
    First,
    /// The last user request.
    Last,
    /// The end of the history.
    End,
    /// A summary: a new one, or the last one that a provider made.
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

/// Splits a paired history into units. They cover it, in order and without gaps.
pub fn split_units(draft: &Draft<'_>, pairing: &CallPairing) -> Vec<Unit> {
    let depths = boundary_depths(draft, pairing);
    let mut units: Vec<Unit> = Vec::with_capacity(draft.messages.len());
    let mut depth = 0;
    for (at, change) in depths.iter().enumerate().take(draft.messages.len()) {
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

/// The change of depth before each message: where the sum is above zero, a connection crosses the
/// boundary before the message.
fn boundary_depths(draft: &Draft<'_>, pairing: &CallPairing) -> Vec<i32> {
    let mut depths = vec![0; draft.messages.len() + 1];
    let mut join = |one: usize, two: usize| {
        let (first, last) = (one.min(two), one.max(two));
        if first < last && last < draft.messages.len() {
            depths[first + 1] += 1;
            depths[last + 1] -= 1;
        }
    };
    // A run of assistant messages, including reasoning.
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
    join_owned(draft, &mut join);
    // Unpaired outputs belong to the provider's own calls.
    if draft.layout() == MessageLayout::Items && draft.features.intersects(DraftFeatures::SERVER) {
        let mut paired = pairing.answers.iter().map(|answer| answer.message()).peekable();
        for (at, message) in draft.messages.iter().enumerate() {
            if paired.next_if_eq(&at).is_none() && message.role == Role::Answer && at > 0 {
                join(at - 1, at);
            }
        }
    }
    let leading = draft.messages.iter().take_while(|message| message.role.is_system()).count();
    // Nothing is attached to leading instructions; each is a unit by itself.
    for at in leading + 1..draft.messages.len() {
        if is_attached(draft, at) {
            join(at - 1, at);
        }
    }
    depths
}

/// Joins the calls that the provider runs itself with their results and with the calls they made.
fn join_owned(draft: &Draft<'_>, join: &mut impl FnMut(usize, usize)) {
    if !draft.features.intersects(DraftFeatures::SERVER) {
        return;
    }
    let mut latest: HashMap<&str, usize> = HashMap::new();
    for (at, message) in draft.messages.iter().enumerate() {
        for part in draft.parts_of(message) {
            let owner = match &part.kind {
                PartKind::ServerCall(_) => {
                    latest.extend(part.kind.server_id().map(|id| (id, at)));
                    continue;
                }
                PartKind::ServerAnswer(_) => part.kind.server_id(),
                PartKind::Call(_) => draft.owned_call(part).and_then(|call| call.owner.as_deref()),
                _ => None,
            };
            if let Some(&call) = owner.and_then(|id| latest.get(id)) {
                join(call, at);
            }
        }
    }
}

/// Whether a message only makes sense after the previous one: legacy answers, media moved out of
/// answers, instructions in the middle.
fn is_attached(draft: &Draft<'_>, at: usize) -> bool {
    let message = &draft.messages[at];
    match message.role {
        Role::Neutral => !is_reference(draft, at),
        Role::User => {
            let first = draft.parts_of(message).first();
            first.is_some_and(|first| placeholder::is_media_heading(first.span.of(draft.source)))
        }
        // In block formats, instructions in the middle belong to the message before them, and the
        // reply to them.
        Role::System | Role::Developer => draft.layout() == MessageLayout::Blocks,
        Role::Assistant => {
            draft.layout() == MessageLayout::Blocks && draft.messages[at - 1].role.is_system()
        }
        Role::Answer | Role::Unknown => false,
    }
}

/// Whether an item only references something stored on the server.
fn is_reference(draft: &Draft<'_>, at: usize) -> bool {
    draft.messages.get(at).is_some_and(|message| message.flags.has(MessageFlags::REFERENCE))
}

/// Whether a message declares or changes tools or settings, for what follows.
fn is_declaration(draft: &Draft<'_>, message: &Message) -> bool {
    let parts = draft.parts_of(message);
    message.role.is_system() && parts.iter().any(|part| matches!(part.kind, PartKind::Other))
}

/// Holds units that are still needed: declarations of tools, open calls, answers whose call is not
/// visible, references to the server, and the provider's own summary of earlier messages.
fn hold_open_units(draft: &Draft<'_>, pairing: &CallPairing, units: &mut [Unit]) {
    for unit in units.iter_mut() {
        let messages = draft.messages.get(unit.messages.clone()).unwrap_or_default();
        if messages.iter().any(|message| is_declaration(draft, message)) {
            unit.hold = UnitHold::Instructions;
        }
    }
    let is_compaction = |message: &Message| message.flags.has(MessageFlags::COMPACTION);
    if let Some(unit) =
        draft.messages.iter().rposition(is_compaction).and_then(|at| unit_at(units, at))
    {
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
    for &at in &pairing.waiting_calls {
        hold(at, UnitHold::Open);
    }
    for turn in &pairing.unknown_turns {
        turn.clone().for_each(|at| hold(at, UnitHold::Open));
    }
}
