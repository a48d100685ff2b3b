//! Closes runs: those whose process is gone, once and by one node, and those that somebody stops
//! from outside. Whatever was open is told before the end.

use foxwedge_run::{Body, Ended, Outcome, Problem};

use crate::{
    Authority, Closing, Filter, Finalized, Lease, Page, Record, Result, RunRow, Store, StoreError,
    limits, process,
    replay::{self, Replay},
};

/// How long whoever closes a run keeps it without a sign of life, in milliseconds: one that dies
/// over it must not keep others waiting.
const TTL: u64 = 5_000;

/// How often the end of a run is tried that goes on meanwhile.
const TRIES: usize = 100;

/// A run that was closed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Swept {
    /// The run, as it is now.
    pub run: RunRow,
    /// What was wrong with its log, if anything: what stands behind that place was not read.
    pub damage: Option<String>,
}

/// Closes runs whose lease has run out, at most so many, and leaves what they said in their
/// sessions. `owner` is who does it. Returns those that this call closed; what another node
/// closed meanwhile is not among them.
pub async fn sweep<S: Store>(store: &S, owner: &str, limit: usize) -> Result<Vec<Swept>> {
    let mut swept = Vec::new();
    for run in store.abandoned(limit).await? {
        match take(store, owner, &run).await {
            Ok(closed) => swept.extend(closed),
            // Somebody else was faster, or deleted it.
            Err(StoreError::Ended(_) | StoreError::Fenced { .. } | StoreError::NoRun(_)) => {}
            Err(error) => return Err(error),
        }
    }
    Ok(swept)
}

/// Closes runs of this machine whose process is gone, at most so many, whether their lease has run
/// out or not. Which, the filter says; only open ones are looked at. Returns those that this call
/// closed.
pub async fn close_gone<S: Store>(store: &S, of: Filter, limit: usize) -> Result<Vec<Swept>> {
    let mut swept = Vec::new();
    let open = Filter { open: Some(true), ..of };
    for run in store.runs(open, Page { after: None, limit }).await? {
        let owner = run.lease.as_ref().map(|lease| lease.owner.as_str());
        if !owner.is_some_and(process::is_gone) {
            continue;
        }
        let end = Body::Ended(interrupted(None));
        match close(store, &run.id, end, Authority::Operator).await {
            Ok(Finalized::Won(run)) => swept.push(Swept { run, damage: None }),
            // Somebody else was faster, or deleted it.
            Ok(Finalized::Lost(_)) | Err(StoreError::Ended(_) | StoreError::NoRun(_)) => {}
            Err(error) => return Err(error),
        }
    }
    Ok(swept)
}

/// Ends a run in somebody's name: its log is read, `end` is told behind it, and what follows from
/// that is stored. `end` is the end, or a wish to stop.
pub async fn close<S: Store>(
    store: &S,
    run: &str,
    end: Body,
    authority: Authority,
) -> Result<Finalized> {
    let row = store.run(run).await?.ok_or_else(|| StoreError::NoRun(run.to_owned()))?;
    let mut replay = Replay::new(&row);
    let mut tries = 1;
    loop {
        let damage = replay.read(store, None).await?;
        let run = match store.run(run).await? {
            Some(run) => run,
            None => return Err(StoreError::NoRun(run.to_owned())),
        };
        match finish(store, &run, replay.clone(), end.clone(), damage, &authority).await {
            // Whoever runs it went on meanwhile; only what is new is read again.
            Err(StoreError::Stale { .. } | StoreError::Conflict(_)) if tries < TRIES => tries += 1,
            result => return result,
        }
    }
}

async fn take<S: Store>(store: &S, owner: &str, run: &RunRow) -> Result<Option<Swept>> {
    let Some(lease) = store.take_over(&run.id, owner, TTL).await? else { return Ok(None) };
    // Whoever had it may have written until a moment ago; from now on nobody can.
    let Some(run) = store.run(&run.id).await? else { return Ok(None) };
    let mut replay = Replay::new(&run);
    let damage = read_all(store, &mut replay, &lease).await?;
    let end = Body::Ended(interrupted(None));
    let authority = Authority::Holder(lease);
    match finish(store, &run, replay, end, damage.clone(), &authority).await? {
        Finalized::Won(run) => Ok(Some(Swept { run, damage })),
        Finalized::Lost(_) => Ok(None),
    }
}

/// A log that cannot be read for good is damaged, too: its run does not stay open for that.
async fn read_all<S: Store>(
    store: &S,
    replay: &mut Replay,
    lease: &Lease,
) -> Result<Option<String>> {
    match replay.read(store, Some((lease, TTL))).await {
        Err(error @ StoreError::Corrupt { .. }) => Ok(Some(error.to_string())),
        result => result,
    }
}

/// Ends a run behind what was read of it.
async fn finish<S: Store>(
    store: &S,
    run: &RunRow,
    mut replay: Replay,
    end: Body,
    damage: Option<String>,
    authority: &Authority,
) -> Result<Finalized> {
    let end = match &damage {
        Some(why) => Body::Ended(interrupted(Some(why))),
        None => end,
    };
    // Places behind the damage are taken, so that only the end is told.
    let closing = match (replay.close(end), &damage) {
        (Some(closing), None) => closing,
        (Some(Closing { ended, summary, .. }), Some(_)) => replay::bare(run, ended, summary),
        (None, _) => replay::bare(run, interrupted(damage.as_deref()), Default::default()),
    };
    let newest = newest_record(store, run).await?;
    let there = newest.as_ref().map_or(0, |newest| left_already(run, newest));
    let records = replay.records(newest.map(|newest| newest.record.id).as_deref(), there);
    let full = Closing { records, ..closing.clone() };
    match store.finalize(&run.id, authority.clone(), full).await {
        // What it leaves does not fit, or is too much; the run is closed all the same.
        Err(StoreError::Conflict(_) | StoreError::Invalid(_)) => {
            store.finalize(&run.id, authority.clone(), fitting(run, closing)).await
        }
        result => result,
    }
}

/// More than can be stored at once is left out, but for the end; and so is a text of the end that
/// is too long, which stands in the log all the same.
fn fitting(run: &RunRow, closing: Closing) -> Closing {
    let Closing { events, mut ended, summary, .. } = closing;
    let long = ended.text.as_ref().is_some_and(|text| text.len() > limits::EVENT_BYTES / 8);
    if long {
        ended.text = None;
    }
    match long || events.len() > limits::APPEND_EVENTS {
        true => replay::bare(run, ended, summary),
        false => Closing { events, ended, summary, records: Vec::new() },
    }
}

async fn newest_record<S: Store>(store: &S, run: &RunRow) -> Result<Option<Record>> {
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
fn left_already(run: &RunRow, newest: &Record) -> usize {
    if newest.record.run.as_deref() != Some(run.id.as_str()) {
        return 0;
    }
    let number = newest.record.id.strip_prefix(&format!("{}-", run.epoch));
    let number = number.map(|number| number.split('_').next().unwrap_or(number));
    number.and_then(|number| number.parse().ok()).unwrap_or(0)
}

fn interrupted(damage: Option<&str>) -> Ended {
    let problem = damage.map(|why| Problem {
        message: format!("the log of the run is damaged: {why}"),
        code: Some("damaged_log".into()),
        fatal: true,
    });
    Ended { outcome: Some(Outcome::Interrupted), problem, ..Ended::default() }
}
