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
    open: BTreeMap<Id, Open>,
    /// The run that the last event belongs to.
    last: Option<Id>,
}

/// The open calls of a run by their id, each with its turn and a number that tells the order.
#[derive(Default)]
struct Open {
    calls: BTreeMap<Option<Id>, Vec<(Option<u32>, u64)>>,
    count: u64,
}

impl Open {
    fn add(&mut self, call: &CallRef) {
        let same = self.calls.entry(call.id.clone()).or_default();
        if !same.iter().any(|(turn, _)| is_same(*turn, call.turn)) {
            self.count += 1;
            same.push((call.turn, self.count));
        }
    }

    fn close(&mut self, call: &CallRef) {
        let Some(same) = self.calls.get_mut(&call.id) else { return };
        if let Some(place) = same.iter().position(|(turn, _)| is_same(*turn, call.turn)) {
            same.remove(place);
        }
        if same.is_empty() {
            self.calls.remove(&call.id);
        }
    }

    /// In the order in which they were made.
    fn list(&self) -> Vec<CallRef> {
        let of_id = |(id, same): (&Option<Id>, &Vec<(Option<u32>, u64)>)| {
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
                {
                    calls.add(&call.call);
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
        if let Some(calls) = self.open.get_mut(run) {
            calls.close(call);
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
            Some(open) if open.calls.is_empty() => State::Streaming,
            Some(open) => State::Waiting { calls: open.list() },
        }
    }

    fn tale(&mut self) -> &mut Tale {
        &mut self.tale
    }
}

fn is_same(one: Option<u32>, other: Option<u32>) -> bool {
    one == other || one.is_none() || other.is_none()
}
