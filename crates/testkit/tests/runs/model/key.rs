//! What the end of a story may depend on. Everything else about the order means nothing.

use foxwedge_run::{
    EventPayload, MachineInput, MachineSettings, RunEvent, SessionMachine, SharedId,
};
use serde_json::Value;

use super::story::{State, Story, is_start};

/// The choices that an order of events makes.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(super) enum Key {
    /// Logs: which run began first, and what was on its way when somebody else took a log over.
    Log { starts: Vec<SharedId>, cut: Option<u32> },
    /// Sources: which decision came first in each run, what was told before it, what was told
    /// while the run stopped; and who of those that contradict each other came first.
    Source {
        starts: Vec<SharedId>,
        decided: Vec<Option<usize>>,
        before: u32,
        stopping: Vec<usize>,
        first: Vec<Option<usize>>,
    },
    /// Calls without an id: which answer belongs to which call is the order of arrival.
    Arrival,
}

impl Key {
    pub(super) fn of(story: &Story) -> Key {
        let starts = Vec::new();
        if story.events.iter().any(|event| event.seq.is_some()) {
            return Key::Log { starts, cut: None };
        }
        if story.events.iter().any(is_nameless) {
            return Key::Arrival;
        }
        let runs = story.events.iter().filter(|event| is_start(event)).count();
        Key::Source {
            starts,
            decided: vec![None; runs],
            before: 0,
            stopping: Vec::new(),
            first: vec![None; story.rivals.len()],
        }
    }

    /// Takes notice of the first delivery of an event.
    pub(super) fn note(&mut self, story: &Story, state: &State, place: usize) {
        let event = &story.events[place];
        match self {
            Key::Arrival => {}
            Key::Log { starts, cut } => {
                if is_start(event) {
                    starts.push(event.run.clone());
                }
                if event.seq.is_none() {
                    *cut = Some(state.left);
                }
            }
            Key::Source { starts, decided, before, stopping, first } => {
                if is_start(event) {
                    starts.push(event.run.clone());
                }
                let run = story.events.iter().filter(|event| is_start(event));
                let run = run.take_while(|start| start.run != event.run).count();
                let Some(decided) = decided.get_mut(run) else { return };
                match decided.map(|place| &story.events[place].body) {
                    None if decides(event) => *decided = Some(place),
                    None => *before |= 1 << place,
                    Some(EventPayload::Stop(stop))
                        if stop.grace > 0 && may_finish(state, event) =>
                    {
                        stopping.push(place);
                    }
                    Some(_) => return,
                }
                for (rivals, first) in story.rivals.iter().zip(first) {
                    if rivals.contains(&place) {
                        first.get_or_insert(place);
                    }
                }
            }
        }
    }

    /// What comes out if everything comes in its order; `None` if only other orders can tell.
    pub(super) fn in_order(&self, story: &Story) -> Option<SessionMachine> {
        let Key::Log { starts, cut } = self else { return None };
        let mut session = SessionMachine::new(MachineSettings::default());
        for run in starts {
            // The start comes first, whenever it comes.
            let cut_off = |place: usize, event: &RunEvent| {
                !is_start(event) && cut.is_some_and(|left| left & 1 << place != 0)
            };
            let mut log: Vec<(bool, &RunEvent)> = Vec::new();
            for (place, event) in story.events.iter().enumerate() {
                if event.run == *run {
                    log.push((event.seq.is_some() && cut_off(place, event), event));
                }
            }
            log.sort_by_key(|(cut_off, event)| (*cut_off, event.seq.unwrap_or(u64::MAX)));
            for (_, event) in log {
                session.apply(0, MachineInput::Event(event.clone()), &mut Vec::new());
            }
        }
        Some(session)
    }

    /// The truth without what depends on the order of arrival.
    pub(super) fn sorted(&self, mut truth: Value) -> Value {
        if matches!(self, Key::Log { .. }) {
            return truth;
        }
        for run in truth["runs"].as_array_mut().into_iter().flatten() {
            for (list, by) in [("tools", ["turn", "call"]), ("texts", ["kind", "id"])] {
                for item in run[list].as_array_mut().into_iter().flatten() {
                    sort(item.get_mut("asks"), ["id", "kind"]);
                }
                sort(run.get_mut(list), by);
            }
        }
        truth
    }
}

fn sort(list: Option<&mut Value>, by: [&str; 2]) {
    if let Some(list) = list.and_then(Value::as_array_mut) {
        list.sort_by_key(|item| by.map(|key| item[key].to_string()));
    }
}

fn is_nameless(event: &RunEvent) -> bool {
    match &event.body {
        EventPayload::ToolCall(call) => call.call.id.is_none(),
        _ => false,
    }
}

fn decides(event: &RunEvent) -> bool {
    match &event.body {
        EventPayload::Problem(problem) => problem.fatal,
        EventPayload::Stop(_) | EventPayload::TimedOut { call: None } | EventPayload::Ended(_) => {
            true
        }
        _ => false,
    }
}

/// While a run stops, what is at work may finish, and somebody may lose patience.
fn may_finish(state: &State, event: &RunEvent) -> bool {
    let over = state.session.run(&event.run).is_some_and(|run| run.is_over());
    !over
        && (decides(event)
            || matches!(
                event.body,
                EventPayload::ToolResult(_) | EventPayload::ToolCancelled { .. }
            ))
}
