//! Events of our own, out of a log or from another node: nothing is made of them, they are read.

use std::collections::BTreeMap;

use crate::{
    Body, CallRef, Event, Id,
    follow::{
        Exit, Reader, State,
        tale::{Tale, cut_short},
    },
    wire,
};

/// Follows a log.
pub(super) struct Events {
    tale: Tale,
    /// Runs that have begun and not ended, with their open calls.
    open: BTreeMap<Id, Vec<CallRef>>,
    /// The run that the last event belongs to.
    last: Option<Id>,
}

impl Events {
    pub(super) fn new(run: Id) -> Events {
        Events { tale: Tale::following(run), open: BTreeMap::new(), last: None }
    }

    fn note(&mut self, event: &Event) {
        match &event.body {
            Body::Started(_) => {
                self.open.entry(event.run.clone()).or_default();
            }
            Body::Ended(_) => {
                self.open.remove(&event.run);
            }
            Body::Call(call) => {
                if let Some(calls) = self.open.get_mut(&event.run)
                    && call.input.is_some()
                    && !calls.iter().any(|open| is_same(open, &call.call))
                {
                    calls.push(call.call.clone());
                }
            }
            Body::Result(result) => self.close(&event.run, &result.call),
            Body::Cancelled { call } => self.close(&event.run, call),
            Body::ToolsAvailable(_)
            | Body::Turn(_)
            | Body::Text(_)
            | Body::Thought(_)
            | Body::Arguments { .. }
            | Body::Progress { .. }
            | Body::Asked(_)
            | Body::Replied(_)
            | Body::Tasks(_)
            | Body::Usage(_)
            | Body::Activity(_)
            | Body::Problem(_)
            | Body::Stop(_)
            | Body::TimedOut { .. }
            | Body::Unknown { .. } => {}
        }
        self.last = Some(event.run.clone());
    }

    fn close(&mut self, run: &Id, call: &CallRef) {
        let Some(calls) = self.open.get_mut(run) else { return };
        if let Some(place) = calls.iter().position(|open| is_same(open, call)) {
            calls.remove(place);
        }
    }
}

impl Reader for Events {
    fn line(&mut self, line: &str) {
        match wire::read(line) {
            Ok(event) => {
                self.note(&event);
                self.tale.pass(event);
            }
            Err(wire::WireError::NotJson | wire::WireError::NotObject) => {
                self.tale.unreadable(line);
            }
            Err(wire::WireError::NoRun) => self.tale.unknown("no-run", line),
            Err(wire::WireError::NoType) => self.tale.unknown("no-type", line),
        }
    }

    fn host_line(&mut self, _line: &str) {}

    fn finish(&mut self, exit: Exit) {
        for run in std::mem::take(&mut self.open).into_keys() {
            self.tale.pass(Event::new(&run, Body::Ended(cut_short(exit))));
        }
    }

    fn settle(&mut self) {}

    fn state(&self) -> State {
        let Some(last) = &self.last else { return State::Idle };
        match self.open.get(last) {
            None => State::Complete,
            Some(calls) if calls.is_empty() => State::Streaming,
            Some(calls) => State::Waiting { calls: calls.clone() },
        }
    }

    fn tale(&mut self) -> &mut Tale {
        &mut self.tale
    }
}

fn is_same(one: &CallRef, other: &CallRef) -> bool {
    one.id == other.id && (one.turn == other.turn || one.turn.is_none() || other.turn.is_none())
}
