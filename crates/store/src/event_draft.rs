//! Events on their way into a log: spelled, in their places, and compared with what is there.

use foxwedge_run::{EventPayload, RunEvent};

use crate::{Result, StoreError, check, codec, limits};

/// An event that is to be stored.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct EventDraft {
    /// Its place.
    pub(crate) seq: u64,
    /// The number of its run, if the caller said so.
    pub(crate) epoch: Option<u64>,
    /// The event, as JSON.
    pub(crate) body: String,
    /// Whose time it bears.
    time: EventTime,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum EventTime {
    Given,
    FilledIn,
}

/// Makes drafts of events that a run goes on with. Their places have to follow each other.
pub(crate) fn prepare_events(
    run: &str,
    events: Vec<RunEvent>,
    now: u64,
) -> Result<Vec<EventDraft>> {
    if let Some(end) = events.iter().find(|event| is_end(event)) {
        return invalid(run, end.seq, "the end of a run is told by finalizing it");
    }
    drafts(run, events, now)
}

/// Makes drafts of the events that a run ends with: the end is the last one.
pub(crate) fn prepare_closing(
    run: &str,
    events: Vec<RunEvent>,
    now: u64,
) -> Result<Vec<EventDraft>> {
    let end = events.iter().position(is_end);
    if !events.is_empty() && end != Some(events.len() - 1) {
        return invalid(run, None, "the last of the closing events is the end, and only the last");
    }
    drafts(run, events, now)
}

/// How many of the drafts are told again, since their places are taken. The rest is new.
pub(crate) fn count_repeated(run: &str, last: u64, drafts: &[EventDraft]) -> Result<usize> {
    let expected = last + 1;
    match drafts.first() {
        Some(first) if first.seq > expected => {
            Err(StoreError::Stale { run: run.to_owned(), expected, found: first.seq })
        }
        Some(_) | None => Ok(drafts.partition_point(|draft| draft.seq <= last)),
    }
}

/// Refuses drafts that bear the number of another run.
pub(crate) fn check_epochs(run: &str, epoch: u64, drafts: &[EventDraft]) -> Result<()> {
    match drafts.iter().find(|draft| draft.epoch.is_some_and(|told| told != epoch)) {
        Some(draft) => invalid(run, Some(draft.seq), "it bears the epoch of another run"),
        None => Ok(()),
    }
}

impl EventDraft {
    /// Refuses a draft whose place holds something else.
    pub(crate) fn compare(&self, run: &str, stored: &str) -> Result<()> {
        if self.body == stored
            || (self.time == EventTime::FilledIn && equals_without_time(&self.body, stored))
        {
            return Ok(());
        }
        Err(StoreError::Conflict(format!("{run}/{}", self.seq)))
    }
}

fn drafts(run: &str, events: Vec<RunEvent>, now: u64) -> Result<Vec<EventDraft>> {
    if events.len() > limits::APPEND_EVENTS {
        return invalid(run, None, &format!("more than {} events at once", limits::APPEND_EVENTS));
    }
    let mut drafts: Vec<EventDraft> = Vec::with_capacity(events.len());
    let mut bytes = 0;
    for event in events {
        let draft = draft(run, event, now)?;
        if drafts.last().is_some_and(|before| before.seq + 1 != draft.seq) {
            return invalid(run, Some(draft.seq), "it does not follow the event before it");
        }
        bytes += draft.body.len();
        check::size("all events", bytes, limits::APPEND_BYTES)?;
        drafts.push(draft);
    }
    Ok(drafts)
}

fn draft(run: &str, mut event: RunEvent, now: u64) -> Result<EventDraft> {
    if &*event.run != run {
        return invalid(run, event.seq, "it belongs to another run");
    }
    let seq = match event.seq {
        Some(seq @ 1..=limits::RUN_EVENTS) => seq,
        Some(_) | None => return invalid(run, event.seq, "it has no place in the log"),
    };
    let time = if event.at.is_some() { EventTime::Given } else { EventTime::FilledIn };
    event.at.get_or_insert(now);
    let body = codec::write_event(&event);
    check::size("an event", body.len(), limits::EVENT_BYTES)?;
    Ok(EventDraft { seq, epoch: event.epoch, body, time })
}

fn is_end(event: &RunEvent) -> bool {
    matches!(event.body, EventPayload::Ended(_))
}

/// A retry after a lost acknowledgement comes with a later time.
fn equals_without_time(left: &str, right: &str) -> bool {
    let timeless = |body| {
        let event = foxwedge_run::wire::read(body).ok()?;
        Some(RunEvent { at: None, ..event })
    };
    timeless(left).is_some_and(|left| Some(left) == timeless(right))
}

fn invalid<T>(run: &str, seq: Option<u64>, why: &str) -> Result<T> {
    let place = seq.map_or(String::new(), |seq| format!("event {seq} of "));
    Err(StoreError::Invalid(format!("{place}run `{run}`: {why}")))
}
