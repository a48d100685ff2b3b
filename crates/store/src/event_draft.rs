//! Events before they are stored: encoded, numbered, and compared with stored events.

use foxwedge_run::{EventPayload, RunEvent, wire};

use crate::{Result, StoreError, check, limits};

/// An event to store.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct EventDraft {
    /// Sequence number.
    pub(crate) seq: u64,
    /// Epoch of its run, if the caller set it.
    pub(crate) epoch: Option<u64>,
    /// The event, as JSON.
    pub(crate) body: String,
    /// Whether the caller or the store set its time.
    time: EventTime,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum EventTime {
    Given,
    FilledIn,
}

/// Makes drafts of events to append. Their sequence numbers must be consecutive.
pub(crate) fn prepare_events(run: &str, events: &[RunEvent], now: u64) -> Result<Vec<EventDraft>> {
    if let Some(end) = events.iter().find(|event| is_end(event)) {
        return invalid(run, end.seq, "the end of a run cannot be appended: finalize the run");
    }
    drafts(run, events, None, now)
}

/// Makes drafts of the last events of a run, which get its epoch if they have none. The final one
/// is the end.
pub(crate) fn prepare_closing(
    run: &str,
    events: &[RunEvent],
    epoch: Option<u64>,
    now: u64,
) -> Result<Vec<EventDraft>> {
    let end = events.iter().position(is_end);
    if !events.is_empty() && end != Some(events.len() - 1) {
        return invalid(run, None, "the last closing event, and no other, must be the end");
    }
    drafts(run, events, epoch, now)
}

/// Counts the drafts whose sequence number is taken: they are a retry. The rest is new.
pub(crate) fn count_repeated(run: &str, last: u64, drafts: &[EventDraft]) -> Result<usize> {
    let expected = last + 1;
    match drafts.first() {
        Some(first) if first.seq > expected => {
            Err(StoreError::Stale { run: run.to_owned(), expected, found: first.seq })
        }
        Some(_) | None => Ok(drafts.partition_point(|draft| draft.seq <= last)),
    }
}

/// Refuses drafts with the epoch of another run.
pub(crate) fn check_epochs(run: &str, epoch: u64, drafts: &[EventDraft]) -> Result<()> {
    match drafts.iter().find(|draft| draft.epoch.is_some_and(|given| given != epoch)) {
        Some(draft) => invalid(run, Some(draft.seq), "it has the epoch of another run"),
        None => Ok(()),
    }
}

impl EventDraft {
    /// Refuses a draft that differs from the stored event with its sequence number.
    pub(crate) fn compare(&self, run: &str, stored: &str) -> Result<()> {
        if self.body == stored
            || (self.time == EventTime::FilledIn && equals_without_time(&self.body, stored))
        {
            return Ok(());
        }
        Err(StoreError::Conflict(format!("{run}/{}", self.seq)))
    }
}

fn drafts(run: &str, events: &[RunEvent], epoch: Option<u64>, now: u64) -> Result<Vec<EventDraft>> {
    if events.len() > limits::APPEND_EVENTS {
        return invalid(run, None, &format!("more than {} events at once", limits::APPEND_EVENTS));
    }
    let mut drafts: Vec<EventDraft> = Vec::with_capacity(events.len());
    let mut bytes = 0;
    for event in events {
        let draft = draft(run, event, epoch, now)?;
        if drafts.last().is_some_and(|before| before.seq + 1 != draft.seq) {
            return invalid(run, Some(draft.seq), "it does not follow the event before it");
        }
        bytes += draft.body.len();
        check::size("all events", bytes, limits::APPEND_BYTES)?;
        drafts.push(draft);
    }
    Ok(drafts)
}

fn draft(run: &str, event: &RunEvent, epoch: Option<u64>, now: u64) -> Result<EventDraft> {
    if &*event.run != run {
        return invalid(run, event.seq, "it belongs to another run");
    }
    let seq = match event.seq {
        Some(seq @ 1..=limits::RUN_EVENTS) => seq,
        Some(_) | None => return invalid(run, event.seq, "it has no valid event number"),
    };
    let time = if event.at.is_some() { EventTime::Given } else { EventTime::FilledIn };
    let body = wire::write_with(event, epoch, now);
    check::size("an event", body.len(), limits::EVENT_BYTES)?;
    Ok(EventDraft { seq, epoch: event.epoch, body, time })
}

fn is_end(event: &RunEvent) -> bool {
    matches!(event.body, EventPayload::Ended(_))
}

/// A retry after a lost acknowledgement has a later time.
fn equals_without_time(left: &str, right: &str) -> bool {
    let without_time = |body| {
        let event = foxwedge_run::wire::read(body).ok()?;
        Some(RunEvent { at: None, ..event })
    };
    without_time(left).is_some_and(|left| Some(left) == without_time(right))
}

fn invalid<T>(run: &str, seq: Option<u64>, why: &str) -> Result<T> {
    let prefix = seq.map_or(String::new(), |seq| format!("event {seq} of "));
    Err(StoreError::Invalid(format!("{prefix}run `{run}`: {why}")))
}
