//! The order of a run's log: events with a sequence number wait for all earlier ones.

use std::{cmp::Ordering, collections::BTreeMap};

use crate::RunEvent;

/// The highest sequence number: the largest integer that every JSON reader holds exactly.
pub(super) const LAST_PLACE: u64 = 1 << 53;

/// The next sequence number, and events that arrived too early.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
pub(super) struct EventOrder {
    next: u64,
    early: BTreeMap<u64, RunEvent>,
    /// When to stop waiting for a missing sequence number.
    pub(super) deadline: Option<u64>,
}

/// What to do with an event that has a sequence number.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(super) enum EventPosition {
    /// It is the next one.
    Next,
    /// It was applied before.
    Repeated,
    /// It must wait for earlier events.
    Early,
}

impl EventOrder {
    /// Creates the order of a log whose start event has this sequence number.
    pub(super) fn after_start(start: u64) -> EventOrder {
        EventOrder { next: start.saturating_add(1), ..EventOrder::default() }
    }

    /// Assigns the next sequence number.
    pub(super) fn take_place(&mut self) -> u64 {
        let seq = self.next;
        self.next = self.next.saturating_add(1);
        seq
    }

    /// Classifies a sequence number. If it is the next one, it counts as taken.
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

    /// Keeps an event that must wait.
    pub(super) fn hold(&mut self, seq: u64, event: RunEvent) {
        self.early.insert(seq, event);
    }

    /// Returns the next event, if it arrived early.
    pub(super) fn take_next(&mut self) -> Option<RunEvent> {
        let first = self.early.first_entry()?;
        if *first.key() != self.next {
            return None;
        }
        let event = first.remove();
        self.take_place();
        Some(event)
    }

    /// Skips the missing sequence numbers. Returns the first and the last of them.
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

    /// Discards early events, since nothing follows the end. Returns their number.
    pub(super) fn close(&mut self) -> usize {
        let dropped = self.early.len();
        self.early.clear();
        self.deadline = None;
        dropped
    }
}
