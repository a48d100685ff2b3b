//! Deletes sessions and runs. Locks a session before its runs, as everywhere.

use deadpool_postgres::{GenericClient, Transaction};

use super::{
    PostgresStore,
    failure::{Attempt, AttemptFailure},
    query, records,
    row::{limit, signed},
    runs,
};
use crate::{PruneReport, RunState, StoreError};

impl PostgresStore {
    /// Deletes a session with everything in it.
    pub(super) fn try_delete_session<'a>(&'a self, id: &'a str) -> Attempt<'a, bool> {
        Box::pin(async move {
            let mut client = self.pool.client().await?;
            let transaction = begin_unlimited(client.transaction().await?).await?;
            match records::lock_session(&transaction, id).await {
                Ok(_) => {}
                Err(AttemptFailure::Refused(StoreError::NoSession(_))) => return Ok(false),
                Err(failure) => return Err(failure),
            }
            // No run can start while this transaction holds the session.
            let sql = "SELECT id FROM runs WHERE session = $1 AND ended_at IS NULL LIMIT 1";
            if let Some(open) = query::row(&transaction, sql, &[&id]).await? {
                let (session, run) = (id.to_owned(), open.try_get(0)?);
                return Err(StoreError::Busy { session, run }.into());
            }
            remove(&transaction, &[id]).await?;
            transaction.commit().await.map_err(AttemptFailure::in_commit)?;
            Ok(true)
        })
    }

    /// Deletes an ended run.
    pub(super) fn try_delete_run<'a>(&'a self, id: &'a str) -> Attempt<'a, bool> {
        Box::pin(async move {
            let mut client = self.pool.client().await?;
            let transaction = begin_unlimited(client.transaction().await?).await?;
            let Some(run) = runs::find_for_update(&transaction, id).await? else {
                return Ok(false);
            };
            if matches!(run.row.state, RunState::Open) {
                let (session, run) = (run.row.session, run.row.id);
                return Err(StoreError::Busy { session, run }.into());
            }
            let serial: query::SqlValues<'_> = &[&run.serial];
            query::execute(&transaction, "DELETE FROM events WHERE run = $1", serial).await?;
            query::execute(&transaction, "DELETE FROM runs WHERE serial = $1", serial).await?;
            transaction.commit().await.map_err(AttemptFailure::in_commit)?;
            self.heads.forget(id);
            Ok(true)
        })
    }

    /// Deletes sessions that did not change since `before`, and expired snapshots.
    pub(super) fn try_prune(&self, before: u64, count: usize) -> Attempt<'_, PruneReport> {
        Box::pin(async move {
            let mut client = self.pool.client().await?;
            let transaction = begin_unlimited(client.transaction().await?).await?;
            // A starting run touches its session, so the session no longer matches when PostgreSQL
            // checks the condition again under its lock. A locked session is in use.
            let sql = "
            SELECT id FROM sessions
            WHERE touched < $1 AND NOT EXISTS (
                SELECT 1 FROM runs WHERE runs.session = sessions.id AND runs.ended_at IS NULL)
            ORDER BY touched LIMIT $2 FOR UPDATE SKIP LOCKED";
            let values: query::SqlValues<'_> = &[&signed(before), &limit(count)];
            let old = query::rows(&transaction, sql, values).await?;
            let old: Vec<String> =
                old.iter().map(|row| row.try_get(0)).collect::<Result<_, _>>()?;
            let old: Vec<&str> = old.iter().map(String::as_str).collect();
            let expired = "DELETE FROM snapshots WHERE expires <= now_ms()";
            let expired = query::execute(&transaction, expired, &[]).await?;
            let entries = "DELETE FROM shared WHERE expires <= now_ms()";
            query::execute(&transaction, entries, &[]).await?;
            let mut report = remove(&transaction, &old).await?;
            report.snapshots += expired;
            transaction.commit().await.map_err(AttemptFailure::in_commit)?;
            Ok(report)
        })
    }
}

/// Removes the statement timeout, because there may be many rows to delete.
async fn begin_unlimited(transaction: Transaction<'_>) -> Result<Transaction<'_>, AttemptFailure> {
    transaction.batch_execute("SET LOCAL statement_timeout = 0").await?;
    Ok(transaction)
}

/// Deletes locked sessions without an open run, with everything in them.
async fn remove(
    client: &impl GenericClient,
    sessions: &[&str],
) -> Result<PruneReport, AttemptFailure> {
    let sessions: query::SqlValues<'_> = &[&sessions];
    let events = "DELETE FROM events
                  WHERE run IN (SELECT serial FROM runs WHERE session = ANY ($1))";
    query::execute(client, events, sessions).await?;
    let delete = async |statement| query::execute(client, statement, sessions).await;
    Ok(PruneReport {
        snapshots: delete("DELETE FROM snapshots WHERE session = ANY ($1)").await?,
        runs: delete("DELETE FROM runs WHERE session = ANY ($1)").await?,
        sessions: delete("DELETE FROM sessions WHERE id = ANY ($1)").await?,
    })
}
