//! Runs that are told from their beginning to their end at once.

use std::{collections::HashMap, sync::Arc};

use deadpool_postgres::GenericClient;
use tokio::task::JoinSet;

use super::{
    PostgresStore,
    append::no_run,
    failure::{AttemptBackoff, AttemptFailure, PostgresError},
    pool::PostgresPool,
    query, records,
    row::{self, PostgresRun, number, run_columns, signed},
    runs::{self, clamp_ttl},
    token::AttemptToken,
};
use crate::{
    FinalizeResult, NewSession, RawEvent, Result, StoreError, WholeRun,
    whole_run::{self, EncodedRun},
};

impl PostgresStore {
    /// Keeps runs: those of a session one after the other, and sessions side by side.
    pub(super) async fn put_all(&self, all: Vec<Arc<WholeRun>>) -> Vec<Result<FinalizeResult>> {
        let mut kept: Vec<Option<Result<FinalizeResult>>> = Vec::with_capacity(all.len());
        let mut sorted: HashMap<String, Vec<(usize, EncodedRun)>> = HashMap::new();
        for (place, whole) in all.into_iter().enumerate() {
            let session = whole.session.id.clone();
            kept.push(match EncodedRun::new(whole) {
                Ok(ready) => {
                    sorted.entry(session).or_default().push((place, ready));
                    None
                }
                Err(error) => Some(Err(error)),
            });
        }
        let mut work = JoinSet::new();
        for (_, runs) in sorted {
            let gate = self.pool.clone();
            work.spawn(async move {
                let mut done = Vec::with_capacity(runs.len());
                for (place, ready) in runs {
                    done.push((place, write_with_retry(&gate, &ready).await));
                }
                done
            });
        }
        while let Some(done) = work.join_next().await {
            // Of a task that panicked nothing is known.
            for (place, result) in done.unwrap_or_default() {
                if let Ok(FinalizeResult::Recorded(row)) = &result {
                    self.fanout.publish(&row.id, row.last);
                }
                if let Some(kept) = kept.get_mut(place) {
                    *kept = Some(result);
                }
            }
        }
        let gone = || Err(PostgresError::from_text("nobody knows what became of it").into());
        kept.into_iter().map(|kept| kept.unwrap_or_else(gone)).collect()
    }
}

async fn write_with_retry(gate: &PostgresPool, ready: &EncodedRun) -> Result<FinalizeResult> {
    let token = AttemptToken::random();
    let mut patience = AttemptBackoff::new();
    loop {
        match try_write(gate, ready, token).await {
            Ok(done) => return Ok(done),
            Err(failure) => patience.wait_or_fail(failure).await?,
        }
    }
}

/// Keeps a run. Done twice, the second time finds the token of the first.
async fn try_write(
    gate: &PostgresPool,
    ready: &EncodedRun,
    token: AttemptToken,
) -> Result<FinalizeResult, AttemptFailure> {
    let WholeRun { session, run, closing } = &*ready.whole;
    let mut client = gate.client().await?;
    let transaction = client.transaction().await?;
    create(&transaction, session).await?;
    // From here on the session is held, and gives out epochs and ordinals.
    let held = "SELECT owner FROM sessions WHERE id = $1 FOR UPDATE";
    let gone = || {
        AttemptFailure::Retryable(PostgresError::from_text("the session went away in the meantime"))
    };
    let held = query::row(&transaction, held, &[&session.id]).await?.ok_or_else(gone)?;
    whole_run::check_owner(&ready.whole, held.try_get("owner")?)?;
    match runs::find_existing(&transaction, run).await? {
        Some(run) if run.token == token => return Ok(FinalizeResult::Recorded(run.row)),
        Some(run) => return Ok(FinalizeResult::AlreadyEnded(run.row)),
        None => {}
    }
    let count = "UPDATE sessions SET epoch = epoch + 1 WHERE id = $1
                 RETURNING epoch, records, now_ms() AS now";
    let counted = query::row(&transaction, count, &[&session.id]).await?.ok_or_else(gone)?;
    let (epoch, now) = (number(&counted, "epoch")?, number(&counted, "now")?);
    let log = ready.log(epoch, now)?;
    let kept = write(&transaction, ready, &log, (epoch, now), token).await?;
    let count = number(&counted, "records")?;
    records::add(&transaction, &session.id, count, &closing.records).await?;
    transaction.commit().await?;
    Ok(FinalizeResult::Recorded(kept.row))
}

async fn create(client: &impl GenericClient, new: &NewSession) -> Result<(), AttemptFailure> {
    let statement = "INSERT INTO sessions (id, owner, title, meta, created, touched)
                     SELECT $1, $2, $3, $4, now.ms, now.ms FROM (SELECT now_ms() AS ms) AS now
                     ON CONFLICT (id) DO NOTHING";
    let values: query::SqlValues<'_> = &[&new.id, &new.owner, &new.title, &new.meta];
    query::execute(client, statement, values).await?;
    Ok(())
}

/// The run, with its end, and its log.
async fn write(
    client: &impl GenericClient,
    ready: &EncodedRun,
    log: &[RawEvent],
    (epoch, now): (u64, u64),
    token: AttemptToken,
) -> Result<PostgresRun, AttemptFailure> {
    let statement = concat!(
        "WITH kept AS (
             INSERT INTO runs (id, session, epoch, key, agent, model, started, last, chain, owner,
                               fence, lease_until, token, ended_at, ended, summary, closed)
             VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, 1, now_ms() + $11, $12, $13, $14, $15,
                     now_ms())
             RETURNING *
         ), event AS (
             INSERT INTO events (run, seq, body, chain)
             SELECT kept.serial, event.place, event.body, event.chain
             FROM kept, unnest($16::text[], $17::bytea[]) WITH ORDINALITY
                      AS event (body, chain, place)
         )
         SELECT ",
        run_columns!(),
        " FROM kept"
    );
    let new = &ready.whole.run;
    let last = log.last().ok_or_else(|| StoreError::Invalid("a run has a start".to_owned()))?;
    let bodies: Vec<&str> = log.iter().map(|event| event.body.as_str()).collect();
    let links: Vec<&[u8]> = log.iter().map(|event| event.chain.as_slice()).collect();
    let values: query::SqlValues<'_> = &[
        &new.id,
        &new.session,
        &signed(epoch),
        &new.key,
        &new.start.agent.as_deref(),
        &new.start.model.as_deref(),
        &signed(new.at.unwrap_or(now)),
        &signed(last.seq),
        &last.chain.as_slice(),
        &new.owner,
        &clamp_ttl(new.ttl),
        &token.0,
        &signed(ready.ended_at().unwrap_or(now)),
        &ready.ended,
        &ready.summary,
        &bodies,
        &links,
    ];
    let kept = query::row(client, statement, values).await.map_err(AttemptFailure::in_insert)?;
    row::run(&kept.ok_or_else(|| no_run(&new.id))?)
}
