//! Reads our own events, from a log or from another node, without conversion.

use std::collections::BTreeMap;

use crate::{
    CallRef, EventPayload, RunEvent, SharedId,
    follow::{
        AgentExit, AgentState, AgentStreamReader,
        emitter::{RunEmitter, unfinished_end},
    },
    wire,
};

/// Follows an event log.
pub(super) struct EventLogReader {
    emitter: RunEmitter,
    /// Open runs and their open calls.
    open: BTreeMap<SharedId, OpenRunCalls>,
    /// The run of the last event.
    last: Option<SharedId>,
}

/// The open calls of a run by id, each with its turn and a number for the order.
#[derive(Default)]
struct OpenRunCalls {
    calls: BTreeMap<Option<SharedId>, Vec<(Option<u32>, u64)>>,
    count: u64,
}

impl OpenRunCalls {
    fn add(&mut self, call: &CallRef) {
        let same = self.calls.entry(call.id.clone()).or_default();
        if !same.iter().any(|(turn, _)| is_same(*turn, call.turn)) {
            self.count += 1;
            same.push((call.turn, self.count));
        }
    }

    fn close(&mut self, call: &CallRef) {
        let Some(same) = self.calls.get_mut(&call.id) else { return };
        if let Some(position) = same.iter().position(|(turn, _)| is_same(*turn, call.turn)) {
            same.remove(position);
        }
        if same.is_empty() {
            self.calls.remove(&call.id);
        }
    }

    /// The calls in the order in which they were made.
    fn list(&self) -> Vec<CallRef> {
        let of_id = |(id, same): (&Option<SharedId>, &Vec<(Option<u32>, u64)>)| {
            let call = |(turn, order): &(Option<u32>, u64)| {
                (*order, CallRef { id: id.clone(), turn: *turn })
            };
            same.iter().map(call).collect::<Vec<_>>()
        };
        let mut calls: Vec<(u64, CallRef)> = self.calls.iter().flat_map(of_id).collect();
        calls.sort_by_key(|(order, _)| *order);
        calls.into_iter().map(|(_, call)| call).collect()
    }
}

impl EventLogReader {
    pub(super) fn new(run: SharedId) -> EventLogReader {
        EventLogReader { emitter: RunEmitter::for_log(run), open: BTreeMap::new(), last: None }
    }

    fn track_event(&mut self, event: &RunEvent) {
        match &event.body {
            EventPayload::Started(_) => {
                self.open.entry(event.run.clone()).or_default();
            }
            EventPayload::Ended(_) => {
                self.open.remove(&event.run);
            }
            EventPayload::ToolCall(call) => {
                if let Some(calls) = self.open.get_mut(&event.run)
                    && call.input.is_some()
                {
                    calls.add(&call.call);
                }
            }
            EventPayload::ToolResult(result) => self.close(&event.run, &result.call),
            EventPayload::ToolCancelled { call } => self.close(&event.run, call),
            EventPayload::ToolsAvailable(_)
            | EventPayload::TurnStarted(_)
            | EventPayload::Text(_)
            | EventPayload::Thought(_)
            | EventPayload::ToolArguments { .. }
            | EventPayload::ToolProgress { .. }
            | EventPayload::ApprovalRequested(_)
            | EventPayload::ApprovalReplied(_)
            | EventPayload::Tasks(_)
            | EventPayload::Usage(_)
            | EventPayload::Activity(_)
            | EventPayload::Problem(_)
            | EventPayload::Stop(_)
            | EventPayload::TimedOut { .. }
            | EventPayload::Unknown { .. } => {}
        }
        self.last = Some(event.run.clone());
    }

    fn close(&mut self, run: &SharedId, call: &CallRef) {
        if let Some(calls) = self.open.get_mut(run) {
            calls.close(call);
        }
    }
}

impl AgentStreamReader for EventLogReader {
    fn line(&mut self, line: &str) {
        match wire::read(line) {
            Ok(event) => {
                self.track_event(&event);
                self.emitter.emit_event(event);
            }
            Err(wire::EventParseError::NotJson | wire::EventParseError::NotObject) => {
                self.emitter.emit_unreadable(line);
            }
            Err(wire::EventParseError::NoRun) => self.emitter.emit_unknown("no-run", line),
            Err(wire::EventParseError::NoType) => self.emitter.emit_unknown("no-type", line),
        }
    }

    fn host_line(&mut self, _line: &str) {}

    fn finish(&mut self, exit: AgentExit) {
        for run in std::mem::take(&mut self.open).into_keys() {
            self.emitter.emit_event(RunEvent::new(&run, EventPayload::Ended(unfinished_end(exit))));
        }
    }

    fn settle(&mut self) {}

    fn state(&self) -> AgentState {
        let Some(last) = &self.last else { return AgentState::Idle };
        match self.open.get(last) {
            None => AgentState::Complete,
            Some(open) if open.calls.is_empty() => AgentState::Streaming,
            Some(open) => AgentState::Waiting { calls: open.list() },
        }
    }

    fn emitter(&mut self) -> &mut RunEmitter {
        &mut self.emitter
    }
}

fn is_same(one: Option<u32>, other: Option<u32>) -> bool {
    one == other || one.is_none() || other.is_none()
}
