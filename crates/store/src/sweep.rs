//! Closes runs: those whose process is gone, once and by one node, and those that somebody stops
//! from outside. Whatever was open is told before the end.

use foxwedge_run::{Body, Ended, Outcome, Problem};

use crate::{
    Authority, Closing, Finalized, Result, RunRow, Store, StoreError,
    replay::{self, Replay},
};

/// How long closing a run may take before somebody else tries, in milliseconds.
const TTL: u64 = 60_000;

/// How often a run is read anew that went on while it was read.
const TRIES: usize = 8;

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

/// Ends a run in somebody's name: its log is read, `end` is told behind it, and what follows from
/// that is stored. `end` is the end, or a wish to stop.
pub async fn close<S: Store>(
    store: &S,
    run: &str,
    end: Body,
    authority: Authority,
) -> Result<Finalized> {
    let mut tries = 1;
    loop {
        let row = store.run(run).await?.ok_or_else(|| StoreError::NoRun(run.to_owned()))?;
        match close_at(store, &row, end.clone(), authority.clone()).await {
            Ok((finalized, _)) => return Ok(finalized),
            // Whoever runs it went on meanwhile.
            Err(StoreError::Stale { .. } | StoreError::Conflict(_)) if tries < TRIES => tries += 1,
            Err(error) => return Err(error),
        }
    }
}

async fn take<S: Store>(store: &S, owner: &str, run: &RunRow) -> Result<Option<Swept>> {
    let Some(lease) = store.take_over(&run.id, owner, TTL).await? else { return Ok(None) };
    // Whoever had it may have written until a moment ago; from now on nobody can.
    let Some(run) = store.run(&run.id).await? else { return Ok(None) };
    let (end, holder) = (Body::Ended(interrupted(None)), Authority::Holder(lease));
    match close_at(store, &run, end, holder).await? {
        (Finalized::Won(run), damage) => Ok(Some(Swept { run, damage })),
        (Finalized::Lost(_), _) => Ok(None),
    }
}

/// Closes a run as it was a moment ago. What comes back besides says what is wrong with its log.
async fn close_at<S: Store>(
    store: &S,
    run: &RunRow,
    end: Body,
    authority: Authority,
) -> Result<(Finalized, Option<String>)> {
    let mut replay = Replay::new(run);
    let damage = replay.read(store).await?;
    let end = match &damage {
        Some(why) => Body::Ended(interrupted(Some(why))),
        None => end,
    };
    let told = replay.close(run, end);
    // Places behind the damage are taken, so that only the end is told.
    let closing = match (told, &damage) {
        (Some(closing), None) => closing,
        (Some(Closing { ended, summary, .. }), Some(_)) => replay::bare(run, ended, summary),
        (None, _) => replay::bare(run, interrupted(damage.as_deref()), Default::default()),
    };
    let records = replay.records(newest_record(store, run).await?.as_deref());
    let full = Closing { records, ..closing.clone() };
    match store.finalize(&run.id, authority.clone(), full).await {
        // What it leaves does not fit the session; the run is closed all the same.
        Err(StoreError::Conflict(_) | StoreError::Invalid(_)) => {
            let closing = fitting(run, closing);
            Ok((store.finalize(&run.id, authority, closing).await?, damage))
        }
        result => Ok((result?, damage)),
    }
}

/// More events than can be stored at once are left out, but for the end.
fn fitting(run: &RunRow, closing: Closing) -> Closing {
    match closing.events.len() > crate::limits::APPEND_EVENTS {
        true => replay::bare(run, closing.ended, closing.summary),
        false => closing,
    }
}

async fn newest_record<S: Store>(store: &S, run: &RunRow) -> Result<Option<String>> {
    let Some(session) = store.session(&run.session).await? else { return Ok(None) };
    let newest = store.records(&run.session, session.records.saturating_sub(1), 1).await?;
    Ok(newest.into_iter().next().map(|record| record.record.id))
}

fn interrupted(damage: Option<&str>) -> Ended {
    let problem = damage.map(|why| Problem {
        message: format!("the log of the run is damaged: {why}"),
        code: Some("damaged_log".into()),
        fatal: true,
    });
    Ended { outcome: Some(Outcome::Interrupted), problem, ..Ended::default() }
}
