//! Sessions and agent snapshots.

use deadpool_postgres::GenericClient;
use tokio_postgres::Row;

use super::{
    PostgresStore,
    failure::{Attempt, AttemptFailure, PostgresError},
    query,
    row::{self, limit, searchable, session_columns, signed},
};
use crate::{AgentSnapshot, ListFilter, ListPage, NewSession, SessionRow, StoreError};

impl PostgresStore {
    /// Creates a session, or returns the existing one.
    pub(super) fn try_create<'a>(&'a self, new: &'a NewSession) -> Attempt<'a, SessionRow> {
        Box::pin(async move {
            let client = self.pool.client().await?;
            let statement = concat!(
                "INSERT INTO sessions (id, owner, title, meta, created, touched)
             SELECT $1, $2, $3, $4, now.ms, now.ms FROM (SELECT now_ms() AS ms) AS now
             ON CONFLICT (id) DO NOTHING RETURNING ",
                session_columns!()
            );
            let values: query::SqlValues<'_> = &[&new.id, &new.owner, &new.title, &new.meta];
            if let Some(created) = query::row(&client, statement, values).await? {
                return row::session(&created);
            }
            // It existed, unless another process is deleting it right now.
            let missing = || {
                AttemptFailure::Retryable(PostgresError::from_text(
                    "the session was deleted in the meantime",
                ))
            };
            row::session(&find(&client, &new.id).await?.ok_or_else(missing)?)
        })
    }

    /// Finds a session.
    pub(super) fn try_session<'a>(&'a self, id: &'a str) -> Attempt<'a, Option<SessionRow>> {
        Box::pin(async move {
            let client = self.pool.client().await?;
            find(&client, id).await?.as_ref().map(row::session).transpose()
        })
    }

    /// Lists sessions, newest first.
    pub(super) fn try_sessions<'a>(
        &'a self,
        filter: &'a ListFilter,
        page: &'a ListPage,
    ) -> Attempt<'a, Vec<SessionRow>> {
        Box::pin(async move {
            let client = self.pool.client().await?;
            let mut after: (Option<i64>, Option<i64>) = (None, None);
            if let Some(id) = &page.after {
                let last = find(&client, id).await?;
                let last = last.ok_or_else(|| StoreError::NoSession(id.clone()))?;
                after = (Some(last.try_get("created")?), Some(last.try_get("serial")?));
            }
            let sql = concat!(
                "SELECT ",
                session_columns!(),
                " FROM sessions
              WHERE ($1::text IS NULL OR id = $1)
                AND ($2::text IS NULL OR owner = $2)
                AND ($3::boolean IS NULL OR $3 = EXISTS (
                        SELECT 1 FROM runs
                        WHERE runs.session = sessions.id AND runs.ended_at IS NULL))
                AND ($4::bigint IS NULL OR (created, serial) < ($4, $5::bigint))
              ORDER BY created DESC, serial DESC LIMIT $6"
            );
            let values: query::SqlValues<'_> = &[
                &filter.session.as_deref().map(searchable),
                &filter.owner.as_deref().map(searchable),
                &filter.open,
                &after.0,
                &after.1,
                &limit(page.limit),
            ];
            query::rows(&client, sql, values).await?.iter().map(row::session).collect()
        })
    }

    /// Stores a snapshot and touches the session.
    pub(super) fn try_put_snapshot<'a>(
        &'a self,
        session: &'a str,
        snapshot: &'a AgentSnapshot,
    ) -> Attempt<'a, ()> {
        Box::pin(async move {
            let client = self.pool.client().await?;
            let statement = "
            WITH touched AS (
                UPDATE sessions SET touched = greatest(touched, now_ms()) WHERE id = $1
                RETURNING id
            )
            INSERT INTO snapshots (session, name, body, expires)
            SELECT id, $2, $3, $4 FROM touched
            ON CONFLICT (session, name)
            DO UPDATE SET body = excluded.body, expires = excluded.expires";
            let expires = snapshot.expires.map(signed);
            let values: query::SqlValues<'_> =
                &[&searchable(session), &snapshot.name, &snapshot.body, &expires];
            match query::execute(&client, statement, values).await? {
                0 => Err(StoreError::NoSession(session.to_owned()).into()),
                _ => Ok(()),
            }
        })
    }

    /// Finds a snapshot.
    pub(super) fn try_snapshot<'a>(
        &'a self,
        session: &'a str,
        name: &'a str,
    ) -> Attempt<'a, Option<AgentSnapshot>> {
        Box::pin(async move {
            let client = self.pool.client().await?;
            let sql = "SELECT name, body, expires FROM snapshots
                        WHERE session = $1 AND name = $2
                          AND (expires IS NULL OR expires > now_ms())";
            let values: query::SqlValues<'_> = &[&searchable(session), &searchable(name)];
            let Some(found) = query::row(&client, sql, values).await? else {
                require_session(&client, session).await?;
                return Ok(None);
            };
            let expires: Option<i64> = found.try_get("expires")?;
            Ok(Some(AgentSnapshot {
                name: found.try_get("name")?,
                body: found.try_get("body")?,
                expires: expires.map(|expires| u64::try_from(expires).unwrap_or(0)),
            }))
        })
    }

    /// Deletes a snapshot.
    pub(super) fn try_drop_snapshot<'a>(
        &'a self,
        session: &'a str,
        name: &'a str,
    ) -> Attempt<'a, bool> {
        Box::pin(async move {
            let mut client = self.pool.client().await?;
            let transaction = client.transaction().await?;
            let statement = "DELETE FROM snapshots WHERE session = $1 AND name = $2";
            let values: query::SqlValues<'_> = &[&searchable(session), &searchable(name)];
            let deleted = query::execute(&transaction, statement, values).await?;
            if deleted == 0 {
                require_session(&transaction, session).await?;
            }
            transaction.commit().await.map_err(AttemptFailure::in_commit)?;
            Ok(deleted > 0)
        })
    }
}

/// Fails if the session does not exist.
pub(super) async fn require_session(
    client: &impl GenericClient,
    id: &str,
) -> Result<(), AttemptFailure> {
    let sql = "SELECT 1 FROM sessions WHERE id = $1";
    match query::row(client, sql, &[&searchable(id)]).await? {
        Some(_) => Ok(()),
        None => Err(StoreError::NoSession(id.to_owned()).into()),
    }
}

async fn find(client: &impl GenericClient, id: &str) -> Result<Option<Row>, AttemptFailure> {
    let sql = concat!("SELECT ", session_columns!(), " FROM sessions WHERE id = $1");
    Ok(query::row(client, sql, &[&searchable(id)]).await?)
}
