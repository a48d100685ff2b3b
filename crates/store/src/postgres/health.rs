//! Counts the stored rows and checks their consistency.

use deadpool_postgres::Client;

use super::{
    PostgresStore,
    failure::{Attempt, AttemptFailure},
    query,
    row::number,
};
use crate::StoreTotals;

/// All tables, for statements about all of them.
const TABLES: &str = "sessions, records, runs, events, snapshots";

/// Maximum number of errors listed per check.
const COMPLAINTS: i64 = 100;

impl PostgresStore {
    /// Counts the stored rows. Records and events are added up from their parents' rows.
    pub(super) fn try_totals(&self) -> Attempt<'_, StoreTotals> {
        Box::pin(async move {
            let client = self.pool.client().await?;
            let sql = "
            SELECT (SELECT coalesce(max(number), 0)::bigint FROM foxwedge_migrations) AS schema,
                   (SELECT count(*) FROM sessions) AS sessions,
                   (SELECT coalesce(sum(records), 0)::bigint FROM sessions) AS records,
                   (SELECT count(*) FROM snapshots) AS snapshots,
                   (SELECT count(*) FROM runs) AS runs,
                   (SELECT count(*) FROM runs WHERE ended_at IS NULL) AS open,
                   (SELECT coalesce(sum(last), 0)::bigint FROM runs) AS events,
                   (SELECT coalesce(sum(pg_total_relation_size(oid)), 0)::bigint
                    FROM pg_catalog.pg_class
                    WHERE relkind = 'r' AND relnamespace = $1::text::regnamespace) AS bytes";
            let row = client.query_one(sql, &[&self.pool.schema()]).await?;
            Ok(StoreTotals {
                schema: u32::try_from(number(&row, "schema")?).unwrap_or(u32::MAX),
                sessions: number(&row, "sessions")?,
                records: number(&row, "records")?,
                snapshots: number(&row, "snapshots")?,
                runs: number(&row, "runs")?,
                open: number(&row, "open")?,
                events: number(&row, "events")?,
                bytes: Some(number(&row, "bytes")?),
            })
        })
    }

    /// Frees the space of deleted rows for new ones.
    pub(super) fn try_compact(&self) -> Attempt<'_, ()> {
        Box::pin(async move {
            let client = without_timeout(self.pool.client().await?).await?;
            Ok(client.batch_execute(&format!("VACUUM (ANALYZE) {TABLES}")).await?)
        })
    }

    /// Checks that counters and rows agree. The chain of a run verifies its events.
    pub(super) fn try_examine(&self) -> Attempt<'_, Vec<String>> {
        Box::pin(async move {
            let client = without_timeout(self.pool.client().await?).await?;
            let checks = [
                (
                    "events that belong to no run",
                    "SELECT DISTINCT 'run number ' || run FROM events
                 WHERE NOT EXISTS (SELECT 1 FROM runs WHERE serial = events.run) LIMIT $1",
                ),
                (
                    "a log that does not end at the last event of its run",
                    "SELECT runs.id FROM runs LEFT JOIN
                     (SELECT run, count(*) AS count, max(seq) AS last FROM events GROUP BY run)
                         AS log ON log.run = runs.serial
                 WHERE coalesce(log.last, 0) <> runs.last OR coalesce(log.count, 0) <> runs.last
                 LIMIT $1",
                ),
                (
                    "a number of records that differs from its session",
                    "SELECT sessions.id FROM sessions LEFT JOIN
                     (SELECT session, count(*) AS count, max(ordinal) AS last
                      FROM records GROUP BY session) AS list ON list.session = sessions.id
                 WHERE coalesce(list.last, 0) <> sessions.records
                    OR coalesce(list.count, 0) <> sessions.records
                 LIMIT $1",
                ),
            ];
            let mut errors = Vec::new();
            for (problem, sql) in checks {
                let values: query::SqlValues<'_> = &[&COMPLAINTS];
                for row in client.query(sql, values).await? {
                    errors.push(format!("{}: {problem}", row.try_get::<_, String>(0)?));
                }
            }
            Ok(errors)
        })
    }
}

/// Removes the statement timeout of a connection. The connection leaves the pool, so that the
/// others keep their timeout.
async fn without_timeout(
    client: Client,
) -> Result<deadpool_postgres::ClientWrapper, AttemptFailure> {
    let client = Client::take(client);
    client.batch_execute("SET statement_timeout = 0").await?;
    Ok(client)
}
