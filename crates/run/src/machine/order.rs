//! The order of a run's log: events with a place wait until all before them are there.

use std::{cmp::Ordering, collections::BTreeMap};

use crate::RunEvent;

/// The highest place that a log can have: what a JSON number holds everywhere.
pub(super) const LAST_PLACE: u64 = 1 << 53;

/// The next place, and what came too early.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
pub(super) struct EventOrder {
    next: u64,
    early: BTreeMap<u64, RunEvent>,
    /// When a missing place is given up.
    pub(super) deadline: Option<u64>,
}

/// What is to be done with an event that has a place.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(super) enum EventPosition {
    /// It is the next one.
    Next,
    /// It has been told before.
    Repeated,
    /// It has to wait.
    Early,
}

impl EventOrder {
    /// A log whose start has this place.
    pub(super) fn after_start(start: u64) -> EventOrder {
        EventOrder { next: start.saturating_add(1), ..EventOrder::default() }
    }

    /// Gives out the next place.
    pub(super) fn take_place(&mut self) -> u64 {
        let place = self.next;
        self.next = self.next.saturating_add(1);
        place
    }

    /// Whose turn it is. The next place is given out by this.
    pub(super) fn claim_position(&mut self, seq: u64) -> EventPosition {
        match seq.cmp(&self.next) {
            _ if seq > LAST_PLACE => EventPosition::Repeated,
            Ordering::Less => EventPosition::Repeated,
            Ordering::Equal => {
                self.take_place();
                EventPosition::Next
            }
            Ordering::Greater if self.early.contains_key(&seq) => EventPosition::Repeated,
            Ordering::Greater => EventPosition::Early,
        }
    }

    /// Keeps an event that has to wait.
    pub(super) fn hold(&mut self, seq: u64, event: RunEvent) {
        self.early.insert(seq, event);
    }

    /// The next event, if it came before its time.
    pub(super) fn take_next(&mut self) -> Option<RunEvent> {
        let first = self.early.first_entry()?;
        if *first.key() != self.next {
            return None;
        }
        let event = first.remove();
        self.take_place();
        Some(event)
    }

    /// Goes on without the places that nobody sent: the first and the last of them.
    pub(super) fn skip_missing(&mut self) -> Option<(u64, u64)> {
        let first = *self.early.first_key_value()?.0;
        let missing = (self.next, first - 1);
        self.next = first;
        Some(missing)
    }

    pub(super) fn next(&self) -> u64 {
        self.next
    }

    pub(super) fn early_count(&self) -> usize {
        self.early.len()
    }

    /// Throws away what came too early: there is nothing behind the end.
    pub(super) fn close(&mut self) -> usize {
        let thrown = self.early.len();
        self.early.clear();
        self.deadline = None;
        thrown
    }
}
