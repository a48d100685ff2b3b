//! Closes runs: those whose process is gone, once and by one node, and those that somebody stops
//! from outside. Whatever was open is told before the end.

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

/// How long whoever closes a run keeps it without a sign of life, in milliseconds: one that dies
/// over it must not keep others waiting.
const CLOSE_TTL: u64 = 5_000;

/// How often the end of a run is tried that goes on meanwhile.
const CLOSE_ATTEMPTS: usize = 100;

/// A run that was closed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClosedRun {
    /// The run, as it is now.
    pub run: RunRow,
    /// What was wrong with its log, if anything: what stands behind that place was not read.
    pub damage: Option<String>,
}

/// Closes runs whose lease has run out, at most so many, and leaves what they said in their
/// sessions. `owner` is who does it. Returns those that this call closed; what another node
/// closed meanwhile is not among them. If one cannot be closed, the others are all the same, and
/// the error says why.
pub async fn sweep<S: Store>(store: &S, owner: &str, limit: usize) -> Result<Vec<ClosedRun>> {
    let mut swept = Vec::new();
    let mut failed = None;
    for run in store.abandoned_runs(limit).await? {
        match close_abandoned(store, owner, &run).await {
            Ok(closed) => swept.extend(closed),
            // Somebody else was faster, or deleted it.
            Err(StoreError::Ended(_) | StoreError::Fenced { .. } | StoreError::NoRun(_)) => {}
            Err(error @ StoreError::Unavailable(_)) => return Err(error),
            // One run that cannot be closed does not keep the others open.
            Err(error) => {
                failed.get_or_insert(error);
            }
        }
    }
    match failed {
        Some(error) => Err(error),
        None => Ok(swept),
    }
}

/// When to look for abandoned runs next: right behind the lease that runs out first, so that a run
/// whose process died is closed within a second of that.
#[derive(Clone, Debug)]
pub struct SweepSchedule {
    /// Differs from node to node, so that they do not all look at the same moment.
    random: u64,
}

/// How long after the end of a lease is looked at most, in milliseconds: nodes spread over it.
const MAX_JITTER: u64 = 200;

/// How long nobody looks at most, in milliseconds. Shorter than any lease that somebody takes, so
/// that one which was taken a moment after a look is known before it runs out.
const MAX_WAIT: u64 = 4_000;

/// How long is waited at least, in milliseconds: closing runs must not be all that a node does.
const MIN_WAIT: u64 = 50;

impl SweepSchedule {
    /// The schedule of a node.
    pub fn new(owner: &str) -> SweepSchedule {
        let mut hasher = DefaultHasher::new();
        owner.hash(&mut hasher);
        SweepSchedule { random: hasher.finish() | 1 }
    }

    /// How long to wait, by how long the lease that runs out first lasts: see
    /// [`Store::earliest_lease`].
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

/// [`sweep`], and when to do it next. What cannot be closed or asked now is tried again then.
pub async fn sweep_and_schedule<S: Store>(
    store: &S,
    owner: &str,
    limit: usize,
    schedule: &mut SweepSchedule,
) -> (Result<Vec<ClosedRun>>, Duration) {
    let swept = sweep(store, owner, limit).await;
    let earliest = store.earliest_lease().await.ok().flatten();
    // A run that cannot be closed must not be tried all the time.
    let earliest = if swept.is_ok() { earliest } else { None };
    (swept, schedule.wait(earliest))
}

/// Closes runs of this machine whose process is gone, at most so many, whether their lease has run
/// out or not. Which, the filter says; only open ones are looked at. Returns those that this call
/// closed.
pub async fn close_dead_runs<S: Store>(
    store: &S,
    of: ListFilter,
    limit: usize,
) -> Result<Vec<ClosedRun>> {
    let mut swept = Vec::new();
    let open = ListFilter { open: Some(true), ..of };
    for run in store.runs(open, ListPage { after: None, limit }).await? {
        let owner = run.lease.as_ref().map(|lease| lease.owner.as_str());
        if !owner.is_some_and(process::is_gone) {
            continue;
        }
        let end = EventPayload::Ended(interrupted_end(None));
        match close_run(store, &run.id, end, CloseAuthority::Operator).await {
            Ok(FinalizeResult::Recorded(run)) => swept.push(ClosedRun { run, damage: None }),
            // Somebody else was faster, or deleted it.
            Ok(FinalizeResult::AlreadyEnded(_))
            | Err(StoreError::Ended(_) | StoreError::NoRun(_)) => {}
            Err(error) => return Err(error),
        }
    }
    Ok(swept)
}

/// Ends a run in somebody's name: its log is read, `end` is told behind it, and what follows from
/// that is stored. `end` is the end, or a wish to stop.
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
            // Whoever runs it went on meanwhile; only what is new is read again.
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
    // Whoever had it may have written until a moment ago; from now on nobody can.
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

/// A log that cannot be read for good is damaged, too: its run does not stay open for that.
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

/// Ends a run behind what was read of it.
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
    // Places behind the damage are taken, so that only the end is told.
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
    let there = newest.as_ref().map_or(0, |newest| count_left_messages(run, newest));
    let records = replay.records(newest.map(|newest| newest.record.id).as_deref(), there);
    let full = RunClosing { records, ..closing.clone() };
    match store.finalize(&run.id, authority.clone(), full).await {
        // What it leaves does not fit, or is too much; the run is closed all the same.
        Err(StoreError::Conflict(_) | StoreError::Invalid(_)) => {
            store.finalize(&run.id, authority.clone(), fit_limits(run, closing)).await
        }
        result => result,
    }
}

/// More than can be stored at once is left out, but for the end; and so is a text of the end that
/// is too long, which stands in the log all the same.
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
        // What the run leaves then follows nothing.
        Err(StoreError::Corrupt { .. }) => Ok(None),
        Err(error) => Err(error),
    }
}

/// How many of its messages a run has left in its session while it was at work: the number in the
/// newest record's id, up to a `_` behind which whoever copied the history counts its own.
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

    /// Nodes, the leases they may have seen, and the moments at which they look.
    fn latest_look(node: &str, leases: &[(u64, u64)]) -> Vec<u64> {
        let (mut schedule, mut now) = (SweepSchedule::new(node), 0);
        let mut open: Vec<(u64, u64)> = leases.to_vec();
        let mut late = Vec::new();
        while !open.is_empty() {
            let known = open.iter().filter(|(from, _)| *from <= now);
            let earliest = known.map(|(_, until)| until.saturating_sub(now)).min();
            now += u64::try_from(schedule.wait(earliest).as_millis()).expect("a moment");
            open.retain(|(from, until)| {
                let closed = *from <= now && *until <= now;
                if closed {
                    late.push(now - until);
                }
                !closed
            });
        }
        late
    }

    #[test]
    fn every_lease_that_runs_out_is_looked_at_within_a_second() {
        for node in ["a", "b", "gateway-00ff", "gateway-17c2"] {
            for first in (0..9_000).step_by(337) {
                // Whoever closes a run holds it for the shortest time of all.
                for length in [CLOSE_TTL, CLOSE_TTL + 1, 15_000, 30_000, 60_000] {
                    let leases = [(first, first + length), (first + 700, first + 700 + CLOSE_TTL)];
                    let late = latest_look(node, &leases);
                    assert!(
                        late.iter().all(|late| *late < 500),
                        "{node} {first} {length} {late:?}"
                    );
                }
            }
        }
    }

    #[test]
    fn a_node_that_has_nothing_to_close_looks_rarely() {
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
