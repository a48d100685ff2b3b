//! Stores complete runs.

use std::{collections::HashMap, sync::Arc};

use deadpool_postgres::GenericClient;
use tokio::task::JoinSet;

use super::{
    PostgresStore,
    append::no_run,
    failure::{Attempt, AttemptBackoff, AttemptFailure, PostgresError},
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
    /// Stores runs: those of one session in order, sessions in parallel.
    pub(super) async fn put_all(&self, runs: Vec<Arc<WholeRun>>) -> Vec<Result<FinalizeResult>> {
        let mut results: Vec<Option<Result<FinalizeResult>>> = Vec::with_capacity(runs.len());
        let mut by_session: HashMap<String, Vec<(usize, EncodedRun)>> = HashMap::new();
        for (index, whole) in runs.into_iter().enumerate() {
            let session = whole.session.id.clone();
            results.push(match EncodedRun::new(whole) {
                Ok(encoded) => {
                    by_session.entry(session).or_default().push((index, encoded));
                    None
                }
                Err(error) => Some(Err(error)),
            });
        }
        let mut tasks = JoinSet::new();
        for (_, runs) in by_session {
            let pool = self.pool.clone();
            tasks.spawn(async move {
                let mut done = Vec::with_capacity(runs.len());
                for (index, encoded) in runs {
                    done.push((index, write_with_retry(&pool, &encoded).await));
                }
                done
            });
        }
        while let Some(done) = tasks.join_next().await {
            // The result of a task that panicked is unknown.
            for (index, result) in done.unwrap_or_default() {
                if let Ok(FinalizeResult::Recorded(row)) = &result {
                    self.fanout.publish(&row.id, row.last);
                }
                if let Some(slot) = results.get_mut(index) {
                    *slot = Some(result);
                }
            }
        }
        let missing = || Err(PostgresError::from_text("its outcome is unknown").into());
        results.into_iter().map(|result| result.unwrap_or_else(missing)).collect()
    }
}

async fn write_with_retry(pool: &PostgresPool, encoded: &EncodedRun) -> Result<FinalizeResult> {
    let token = AttemptToken::random();
    let mut backoff = AttemptBackoff::new();
    loop {
        match pool.limit(try_write(pool, encoded, token)).await {
            Ok(done) => return Ok(done),
            Err(failure) => backoff.wait_or_fail(failure).await?,
        }
    }
}

/// Stores a run. A repeated attempt finds the token of the first.
fn try_write<'a>(
    pool: &'a PostgresPool,
    encoded: &'a EncodedRun,
    token: AttemptToken,
) -> Attempt<'a, FinalizeResult> {
    Box::pin(write_once(pool, encoded, token))
}

async fn write_once(
    pool: &PostgresPool,
    encoded: &EncodedRun,
    token: AttemptToken,
) -> Result<FinalizeResult, AttemptFailure> {
    let WholeRun { session, run, closing } = &*encoded.whole;
    let mut client = pool.client().await?;
    let transaction = client.transaction().await?;
    create(&transaction, session).await?;
    // From here on the session is locked; it assigns epochs and ordinals.
    let lock = "SELECT owner FROM sessions WHERE id = $1 FOR UPDATE";
    let missing = || {
        AttemptFailure::Retryable(PostgresError::from_text(
            "the session was deleted in the meantime",
        ))
    };
    let owner = query::row(&transaction, lock, &[&session.id]).await?.ok_or_else(missing)?;
    whole_run::check_owner(&encoded.whole, owner.try_get("owner")?)?;
    match runs::find_existing(&transaction, run).await? {
        Some(run) if run.token == token => return Ok(FinalizeResult::Recorded(run.row)),
        Some(run) => return Ok(FinalizeResult::AlreadyEnded(run.row)),
        None => {}
    }
    let count = "UPDATE sessions SET epoch = epoch + 1 WHERE id = $1
                 RETURNING epoch, records, now_ms() AS now";
    let row = query::row(&transaction, count, &[&session.id]).await?.ok_or_else(missing)?;
    let (epoch, now) = (number(&row, "epoch")?, number(&row, "now")?);
    let log = encoded.log(epoch, now)?;
    let stored = write(&transaction, encoded, &log, (epoch, now), token).await?;
    let count = number(&row, "records")?;
    records::add(&transaction, &session.id, count, &closing.records).await?;
    transaction.commit().await?;
    Ok(FinalizeResult::Recorded(stored.row))
}

async fn create(client: &impl GenericClient, new: &NewSession) -> Result<(), AttemptFailure> {
    let statement = "INSERT INTO sessions (id, owner, title, meta, created, touched)
                     SELECT $1, $2, $3, $4, now.ms, now.ms FROM (SELECT now_ms() AS ms) AS now
                     ON CONFLICT (id) DO NOTHING";
    let values: query::SqlValues<'_> = &[&new.id, &new.owner, &new.title, &new.meta];
    query::execute(client, statement, values).await?;
    Ok(())
}

/// Inserts the run with its end and its log.
async fn write(
    client: &impl GenericClient,
    encoded: &EncodedRun,
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
    let new = &encoded.whole.run;
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
        &signed(encoded.ended_at().unwrap_or(now)),
        &encoded.ended,
        &encoded.summary,
        &bodies,
        &links,
    ];
    let inserted =
        query::row(client, statement, values).await.map_err(AttemptFailure::in_insert)?;
    row::run(&inserted.ok_or_else(|| no_run(&new.id))?)
}
