//! Starts, finds and lists runs.

use std::sync::Arc;

use deadpool_postgres::GenericClient;
use foxwedge_run::{EventPayload, RunEvent};

use super::{
    PostgresStore,
    append::no_run,
    failure::{Attempt, AttemptFailure},
    log_heads::CachedLogHead,
    query, records,
    row::{self, PostgresRun, limit, number, run_columns, searchable, signed},
    token::AttemptToken,
};
use crate::{
    ListFilter, ListPage, NewRun, RunRow, StartResult, StoreError,
    chain::{self, ROOT},
    check, codec, limits,
};

impl PostgresStore {
    /// Starts a run. Locks the session's row first, because it assigns the epochs.
    pub(super) fn try_start<'a>(
        &'a self,
        new: &'a NewRun,
        token: AttemptToken,
    ) -> Attempt<'a, StartResult> {
        Box::pin(async move {
            let mut client = self.pool.client().await?;
            let transaction = client.transaction().await?;
            records::lock_session(&transaction, &new.session).await?;
            match find_existing(&transaction, new).await? {
                Some(run) if run.token == token => return Ok(self.start_result(run)),
                Some(run) => return Ok(StartResult::Existing(run.row)),
                None => {}
            }
            let count =
                "UPDATE sessions SET epoch = epoch + 1, touched = greatest(touched, now_ms())
                     WHERE id = $1 RETURNING epoch, now_ms() AS now";
            let row = query::row(&transaction, count, &[&new.session]).await?;
            let row = row.ok_or_else(|| StoreError::NoSession(new.session.clone()))?;
            let (epoch, now) = (number(&row, "epoch")?, number(&row, "now")?);
            let run = insert_run(&transaction, new, token, epoch, new.at.unwrap_or(now)).await?;
            transaction.commit().await?;
            Ok(self.start_result(run))
        })
    }

    fn start_result(&self, run: PostgresRun) -> StartResult {
        self.heads.put(&run.row.id, CachedLogHead::from(&run));
        match run.row.lease.clone() {
            Some(lease) => StartResult::New { run: run.row, lease },
            None => StartResult::Existing(run.row),
        }
    }

    /// Finds a run.
    pub(super) fn try_run<'a>(&'a self, id: &'a str) -> Attempt<'a, Option<PostgresRun>> {
        Box::pin(async move { find(&self.pool.client().await?, id).await })
    }

    /// Lists runs, newest first.
    pub(super) fn try_runs<'a>(
        &'a self,
        filter: &'a ListFilter,
        page: &'a ListPage,
    ) -> Attempt<'a, Vec<RunRow>> {
        Box::pin(async move {
            let client = self.pool.client().await?;
            let mut after = None;
            if let Some(id) = &page.after {
                let run = find(&client, id).await?.ok_or_else(|| no_run(id))?;
                after = Some((signed(run.row.started), run.serial));
            }
            let sql = concat!(
                "SELECT ",
                run_columns!(),
                " FROM runs
              WHERE ($1::text IS NULL OR session = $1)
                AND ($2::text IS NULL OR session IN (SELECT id FROM sessions WHERE owner = $2))
                AND ($3::boolean IS NULL OR (ended_at IS NULL) = $3)
                AND ($4::bigint IS NULL OR (started, serial) < ($4, $5::bigint))
              ORDER BY started DESC, serial DESC LIMIT $6"
            );
            let values: query::SqlValues<'_> = &[
                &filter.session.as_deref().map(searchable),
                &filter.owner.as_deref().map(searchable),
                &filter.open,
                &after.map(|(started, _)| started),
                &after.map(|(_, serial)| serial),
                &limit(page.limit),
            ];
            let rows = query::rows(&client, sql, values).await?;
            rows.iter().map(|row| Ok(row::run(row)?.row)).collect()
        })
    }
}

/// Finds a run by id.
pub(super) async fn find(
    client: &impl GenericClient,
    id: &str,
) -> Result<Option<PostgresRun>, AttemptFailure> {
    let sql = concat!("SELECT ", run_columns!(), " FROM runs WHERE id = $1");
    query::row(client, sql, &[&searchable(id)]).await?.as_ref().map(row::run).transpose()
}

/// Finds a run by id and locks it until the end of the transaction. Lock the session's row first if
/// it is needed.
pub(super) async fn find_for_update(
    client: &impl GenericClient,
    id: &str,
) -> Result<Option<PostgresRun>, AttemptFailure> {
    let sql = concat!("SELECT ", run_columns!(), " FROM runs WHERE id = $1 FOR UPDATE");
    query::row(client, sql, &[&searchable(id)]).await?.as_ref().map(row::run).transpose()
}

/// Limits a lease to half of the number range, so that no sum overflows.
pub(super) fn clamp_ttl(ttl: u64) -> i64 {
    signed(ttl).min(i64::MAX / 2)
}

/// Finds the run that a start refers to, by its id or its key.
pub(super) async fn find_existing(
    client: &impl GenericClient,
    new: &NewRun,
) -> Result<Option<PostgresRun>, AttemptFailure> {
    if let Some(run) = find(client, &new.id).await? {
        let same_key = new.key.is_none() || new.key == run.row.key;
        return if run.row.session == new.session && same_key {
            Ok(Some(run))
        } else {
            Err(StoreError::Conflict(new.id.clone()).into())
        };
    }
    let Some(key) = &new.key else { return Ok(None) };
    let sql = concat!("SELECT ", run_columns!(), " FROM runs WHERE session = $1 AND key = $2");
    let found = query::row(client, sql, &[&new.session, key]).await?;
    found.as_ref().map(row::run).transpose()
}

/// Inserts the run and its first event.
async fn insert_run(
    client: &impl GenericClient,
    new: &NewRun,
    token: AttemptToken,
    epoch: u64,
    at: u64,
) -> Result<PostgresRun, AttemptFailure> {
    let statement = concat!(
        "WITH begun AS (
             INSERT INTO runs (id, session, epoch, key, agent, model, started, last, chain,
                               owner, fence, lease_until, token)
             VALUES ($1, $2, $3, $4, $5, $6, $7, 1, $8, $9, 1, now_ms() + $10, $12)
             RETURNING *
         ), event AS (
             INSERT INTO events (run, seq, body, chain) SELECT serial, 1, $11, $8 FROM begun
         )
         SELECT ",
        run_columns!(),
        " FROM begun"
    );
    let body = codec::write_event(&RunEvent {
        run: Arc::from(new.id.as_str()),
        epoch: Some(epoch),
        seq: Some(1),
        at: Some(at),
        unknown_word: None,
        body: EventPayload::Started(new.start.clone()),
    });
    check::size("an event", body.len(), limits::EVENT_BYTES)?;
    let link = chain::link(&ROOT, 1, &body);
    let values: query::SqlValues<'_> = &[
        &new.id,
        &new.session,
        &signed(epoch),
        &new.key,
        &new.start.agent.as_deref(),
        &new.start.model.as_deref(),
        &signed(at),
        &link.as_slice(),
        &new.owner,
        &clamp_ttl(new.ttl),
        &body,
        &token.0,
    ];
    let inserted =
        query::row(client, statement, values).await.map_err(AttemptFailure::in_insert)?;
    row::run(&inserted.ok_or_else(|| no_run(&new.id))?)
}
