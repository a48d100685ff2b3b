//! Closes runs whose process is gone (once, by one node) and runs that are stopped from outside.
//! Open calls and messages are closed before the end.

use std::{
    hash::{DefaultHasher, Hash, Hasher},
    time::Duration,
};

use foxwedge_run::{EventPayload, Outcome, RunEnd, RunProblem};

use crate::{
    CloseAuthority, FinalizeResult, Lease, ListFilter, ListPage, Result, RunClosing, RunRow, Store,
    StoreError, StoredRecord, limits, process,
    replay::{self, RunReplay},
};

/// How long the node that closes a run holds its lease without a renewal, in milliseconds. Short,
/// so that a node that dies meanwhile does not delay the others.
const CLOSE_TTL: u64 = 5_000;

/// How often to retry the end of a run that receives events meanwhile.
const CLOSE_ATTEMPTS: usize = 100;

/// A run that was closed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClosedRun {
    /// The run after it was closed.
    pub run: RunRow,
    /// Damage in its log, if any. Events after the damage were not read.
    pub damage: Option<String>,
}

/// Closes runs whose lease has expired, at most `limit`, and adds their messages to their sessions.
/// `owner` is the node that closes them. Returns the runs that this call closed, without those that
/// another node closed meanwhile. If a run cannot be closed, the others are closed all the same,
/// and the first error is returned.
pub async fn sweep<S: Store>(store: &S, owner: &str, limit: usize) -> Result<Vec<ClosedRun>> {
    let mut closed_runs = Vec::new();
    let mut first_error = None;
    for run in store.abandoned_runs(limit).await? {
        match close_abandoned(store, owner, &run).await {
            Ok(closed) => closed_runs.extend(closed),
            // Another process closed or deleted it first.
            Err(StoreError::Ended(_) | StoreError::Fenced { .. } | StoreError::NoRun(_)) => {}
            Err(error @ StoreError::Unavailable(_)) => return Err(error),
            // A run that cannot be closed must not block the others.
            Err(error) => {
                first_error.get_or_insert(error);
            }
        }
    }
    match first_error {
        Some(error) => Err(error),
        None => Ok(closed_runs),
    }
}

/// When to look for abandoned runs next: just after the first lease expires. A run whose process
/// died is closed within a second of that.
#[derive(Clone, Debug)]
pub struct SweepSchedule {
    /// Differs between nodes, so that they do not all look at the same moment.
    random: u64,
}

/// Maximum delay after the end of a lease, in milliseconds. Nodes spread over it.
const MAX_JITTER: u64 = 200;

/// Maximum wait, in milliseconds. It is shorter than any lease, so a lease taken just after a look
/// is known before it expires.
const MAX_WAIT: u64 = 4_000;

/// Minimum wait, in milliseconds. It keeps a node from doing nothing but closing runs.
const MIN_WAIT: u64 = 50;

impl SweepSchedule {
    /// The schedule of a node.
    pub fn new(owner: &str) -> SweepSchedule {
        let mut hasher = DefaultHasher::new();
        owner.hash(&mut hasher);
        SweepSchedule { random: hasher.finish() | 1 }
    }

    /// How long to wait, given how long the first lease lasts (see [`Store::earliest_lease`]).
    pub fn wait(&mut self, earliest: Option<u64>) -> Duration {
        // A few steps of a shift register are random enough to keep nodes apart.
        self.random ^= self.random << 13;
        self.random ^= self.random >> 7;
        self.random ^= self.random << 17;
        let spread = self.random % MAX_JITTER;
        let rest = earliest.unwrap_or(MAX_WAIT).min(MAX_WAIT);
        Duration::from_millis(rest.max(MIN_WAIT).saturating_add(spread))
    }
}

/// Calls [`sweep`] and returns when to call it next. Whatever fails is tried again then.
pub async fn sweep_and_schedule<S: Store>(
    store: &S,
    owner: &str,
    limit: usize,
    schedule: &mut SweepSchedule,
) -> (Result<Vec<ClosedRun>>, Duration) {
    let result = sweep(store, owner, limit).await;
    let earliest = store.earliest_lease().await.ok().flatten();
    // Do not retry a run that cannot be closed without a pause.
    let earliest = if result.is_ok() { earliest } else { None };
    (result, schedule.wait(earliest))
}

/// Closes open runs of this machine whose process is gone, at most `limit`, even if their lease is
/// still valid. `filter` selects the runs. Returns the runs that this call closed.
pub async fn close_dead_runs<S: Store>(
    store: &S,
    filter: ListFilter,
    limit: usize,
) -> Result<Vec<ClosedRun>> {
    let mut closed_runs = Vec::new();
    let open = ListFilter { open: Some(true), ..filter };
    for run in store.runs(open, ListPage { after: None, limit }).await? {
        let owner = run.lease.as_ref().map(|lease| lease.owner.as_str());
        if !owner.is_some_and(process::is_gone) {
            continue;
        }
        let end = EventPayload::Ended(interrupted_end(None));
        match close_run(store, &run.id, end, CloseAuthority::Operator).await {
            Ok(FinalizeResult::Recorded(run)) => closed_runs.push(ClosedRun { run, damage: None }),
            // Another process closed or deleted it first.
            Ok(FinalizeResult::AlreadyEnded(_))
            | Err(StoreError::Ended(_) | StoreError::NoRun(_)) => {}
            Err(error) => return Err(error),
        }
    }
    Ok(closed_runs)
}

/// Ends a run under an authority. Reads its log, applies `end` after it and stores the resulting
/// events. `end` is the end of the run or a request to stop.
pub async fn close_run<S: Store>(
    store: &S,
    run: &str,
    end: EventPayload,
    authority: CloseAuthority,
) -> Result<FinalizeResult> {
    let row = store.run(run).await?.ok_or_else(|| StoreError::NoRun(run.to_owned()))?;
    let mut replay = RunReplay::new(&row);
    let mut tries = 1;
    loop {
        let damage = replay.read(store, None).await?;
        let run = match store.run(run).await? {
            Some(run) => run,
            None => return Err(StoreError::NoRun(run.to_owned())),
        };
        match finalize_replay(store, &run, replay.clone(), end.clone(), damage, &authority).await {
            // The run received events meanwhile; only the new ones are read again.
            Err(StoreError::Stale { .. } | StoreError::Conflict(_)) if tries < CLOSE_ATTEMPTS => {
                tries += 1
            }
            result => return result,
        }
    }
}

async fn close_abandoned<S: Store>(
    store: &S,
    owner: &str,
    run: &RunRow,
) -> Result<Option<ClosedRun>> {
    let Some(lease) = store.take_over(&run.id, owner, CLOSE_TTL).await? else { return Ok(None) };
    // The previous holder may have written until now. From here on it cannot.
    let Some(run) = store.run(&run.id).await? else { return Ok(None) };
    let mut replay = RunReplay::new(&run);
    let damage = read_all(store, &mut replay, &lease).await?;
    let end = EventPayload::Ended(interrupted_end(None));
    let authority = CloseAuthority::Holder(lease);
    match finalize_replay(store, &run, replay, end, damage.clone(), &authority).await? {
        FinalizeResult::Recorded(run) => Ok(Some(ClosedRun { run, damage })),
        FinalizeResult::AlreadyEnded(_) => Ok(None),
    }
}

/// Reads the log and treats permanent read errors as damage, so that the run does not stay open.
async fn read_all<S: Store>(
    store: &S,
    replay: &mut RunReplay,
    lease: &Lease,
) -> Result<Option<String>> {
    match replay.read(store, Some((lease, CLOSE_TTL))).await {
        Err(error @ StoreError::Corrupt { .. }) => Ok(Some(error.to_string())),
        result => result,
    }
}

/// Ends a run after the events that `replay` has read.
async fn finalize_replay<S: Store>(
    store: &S,
    run: &RunRow,
    mut replay: RunReplay,
    end: EventPayload,
    damage: Option<String>,
    authority: &CloseAuthority,
) -> Result<FinalizeResult> {
    let end = match &damage {
        Some(why) => EventPayload::Ended(interrupted_end(Some(why))),
        None => end,
    };
    // The sequence numbers after the damage are taken, so only the end is written.
    let closing = match (replay.end_run(end), &damage) {
        (Some(closing), None) => closing,
        (Some(RunClosing { ended, summary, .. }), Some(_)) => {
            replay::bare_closing(run, ended, summary)
        }
        (None, _) => {
            replay::bare_closing(run, interrupted_end(damage.as_deref()), Default::default())
        }
    };
    let newest = newest_record(store, run).await?;
    let existing = newest.as_ref().map_or(0, |newest| count_left_messages(run, newest));
    let records = replay.records(newest.map(|newest| newest.record.id).as_deref(), existing);
    let full = RunClosing { records, ..closing.clone() };
    match store.finalize(&run.id, authority.clone(), full).await {
        // The records or events do not fit. Close the run without them.
        Err(StoreError::Conflict(_) | StoreError::Invalid(_)) => {
            store.finalize(&run.id, authority.clone(), fit_limits(run, closing)).await
        }
        result => result,
    }
}

/// Drops all events but the end if they exceed the limit of one append. Also drops the text of the
/// end if it is too long; the log contains it anyway.
fn fit_limits(run: &RunRow, closing: RunClosing) -> RunClosing {
    let RunClosing { events, mut ended, summary, .. } = closing;
    let long = ended.text.as_ref().is_some_and(|text| text.len() > limits::EVENT_BYTES / 8);
    if long {
        ended.text = None;
    }
    match long || events.len() > limits::APPEND_EVENTS {
        true => replay::bare_closing(run, ended, summary),
        false => RunClosing { events, ended, summary, records: Vec::new() },
    }
}

async fn newest_record<S: Store>(store: &S, run: &RunRow) -> Result<Option<StoredRecord>> {
    let Some(session) = store.session(&run.session).await? else { return Ok(None) };
    match store.records(&run.session, session.records.saturating_sub(1), 1).await {
        Ok(newest) => Ok(newest.into_iter().next()),
        // The records of the run then have no parent.
        Err(StoreError::Corrupt { .. }) => Ok(None),
        Err(error) => Err(error),
    }
}

/// How many of its messages an open run has already left in its session: the number in the newest
/// record's id. A `_` may follow it, with the counter of a caller that copied the history.
fn count_left_messages(run: &RunRow, newest: &StoredRecord) -> usize {
    if newest.record.run.as_deref() != Some(run.id.as_str()) {
        return 0;
    }
    let number = newest.record.id.strip_prefix(&format!("{}-", run.epoch));
    let number = number.map(|number| number.split('_').next().unwrap_or(number));
    number.and_then(|number| number.parse().ok()).unwrap_or(0)
}

fn interrupted_end(damage: Option<&str>) -> RunEnd {
    let problem = damage.map(|why| RunProblem {
        message: format!("the log of the run is damaged: {why}"),
        code: Some("damaged_log".into()),
        fatal: true,
    });
    RunEnd { outcome: Some(Outcome::Interrupted), problem, ..RunEnd::default() }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Simulates one node and returns how late it looks at each lease.
    fn look_delays(node: &str, leases: &[(u64, u64)]) -> Vec<u64> {
        let (mut schedule, mut now) = (SweepSchedule::new(node), 0);
        let mut open: Vec<(u64, u64)> = leases.to_vec();
        let mut delays = Vec::new();
        while !open.is_empty() {
            let known = open.iter().filter(|(from, _)| *from <= now);
            let earliest = known.map(|(_, until)| until.saturating_sub(now)).min();
            now += u64::try_from(schedule.wait(earliest).as_millis()).expect("a moment");
            open.retain(|(from, until)| {
                let closed = *from <= now && *until <= now;
                if closed {
                    delays.push(now - until);
                }
                !closed
            });
        }
        delays
    }

    #[test]
    fn every_lease_that_runs_out_is_looked_at_within_a_second() {
        for node in ["a", "b", "gateway-00ff", "gateway-17c2"] {
            for first in (0..9_000).step_by(337) {
                // Closing a run takes the shortest lease of all.
                for length in [CLOSE_TTL, CLOSE_TTL + 1, 15_000, 30_000, 60_000] {
                    let leases = [(first, first + length), (first + 700, first + 700 + CLOSE_TTL)];
                    let delays = look_delays(node, &leases);
                    assert!(
                        delays.iter().all(|delays| *delays < 500),
                        "{node} {first} {length} {delays:?}"
                    );
                }
            }
        }
    }

    #[test]
    fn node_with_nothing_to_close_looks_rarely() {
        let mut schedule = SweepSchedule::new("a");
        for earliest in [None, Some(MAX_WAIT), Some(60_000), Some(u64::MAX)] {
            assert!(schedule.wait(earliest) >= Duration::from_millis(MAX_WAIT), "{earliest:?}");
        }
        assert!(schedule.wait(Some(0)) >= Duration::from_millis(MIN_WAIT));
    }

    #[test]
    fn two_nodes_do_not_look_at_the_same_moment() {
        let waits = |node| {
            let mut schedule = SweepSchedule::new(node);
            (0..8).map(|_| schedule.wait(Some(1_000))).collect::<Vec<_>>()
        };
        assert_ne!(waits("gateway-1"), waits("gateway-2"));
    }
}
