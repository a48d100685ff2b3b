//! Entries that nodes share. Every decision is made in one statement, by the server's clock.

use super::{
    PostgresStore,
    failure::Attempt,
    query,
    row::{number, signed},
    token::AttemptToken,
};
use crate::{EntryHold, EntryHolder, EntryTake, EntryWrite, SharedEntry, model::NODE_PREFIX};

/// Writes of entries, column by column and sorted by key, so that no two statements wait for each
/// other.
pub(super) struct EntryColumns {
    keys: Vec<String>,
    values: Vec<Vec<u8>>,
    links: Vec<Option<String>>,
    ttls: Vec<i64>,
}

impl EntryColumns {
    pub(super) fn new(mut writes: Vec<EntryWrite>) -> EntryColumns {
        writes.sort_by(|one, other| one.key.cmp(&other.key));
        let mut columns = EntryColumns {
            keys: Vec::new(),
            values: Vec::new(),
            links: Vec::new(),
            ttls: Vec::new(),
        };
        for EntryWrite { key, value, link, ttl } in writes {
            // A statement writes a row once: the last write counts.
            if columns.keys.last() == Some(&key) {
                columns.keys.pop();
                columns.values.pop();
                columns.links.pop();
                columns.ttls.pop();
            }
            columns.keys.push(key);
            columns.values.push(value);
            columns.links.push(link);
            columns.ttls.push(signed(ttl));
        }
        columns
    }
}

/// Writes the columns `$1` to `$4`, under a condition, with a token where there is one.
macro_rules! write_columns {
    ($condition:literal) => {
        write_columns!($condition, "0")
    };
    ($condition:literal, $token:literal) => {
        concat!(
            "INSERT INTO shared AS s (key, value, link, version, token, expires)
             SELECT w.key, w.value, w.link, 1, ",
            $token,
            ",
                    CASE WHEN w.ttl = 0 THEN 0 ELSE now_ms() + w.ttl END
             FROM unnest($1::text[], $2::bytea[], $3::text[], $4::bigint[])
                  AS w (key, value, link, ttl)
             WHERE ",
            $condition,
            " ORDER BY w.key
             ON CONFLICT (key) DO UPDATE SET value = excluded.value, link = excluded.link,
                 version = s.version + 1, token = excluded.token, expires = excluded.expires"
        )
    };
}

impl PostgresStore {
    /// Reads entries, those that they link to, and held ones that link to them.
    pub(super) fn try_entries<'a>(&'a self, keys: &'a [String]) -> Attempt<'a, Vec<SharedEntry>> {
        Box::pin(async move {
            let client = self.pool.client().await?;
            let sql = "
            SELECT s.key, s.value, s.link, s.version, s.holder, s.holder IS NOT NULL AND EXISTS (
                SELECT 1 FROM shared n WHERE n.key = $2 || s.holder AND n.expires > now_ms()) AS alive
            FROM shared s
            WHERE s.expires > now_ms() AND s.key = ANY ($1::text[] || ARRAY (
                SELECT l.link FROM shared l
                WHERE l.key = ANY ($1) AND l.link IS NOT NULL AND l.expires > now_ms())
            || ARRAY (
                SELECT (SELECT h.key FROM shared h
                        WHERE h.link = linked.key AND h.holder IS NOT NULL AND h.expires > now_ms()
                          AND wanted.alive = EXISTS (
                              SELECT 1 FROM shared n
                              WHERE n.key = $2 || h.holder AND n.expires > now_ms())
                        LIMIT 1)
                FROM unnest($1::text[]) AS linked (key), (VALUES (true), (false)) AS wanted (alive)))";
            let rows = query::rows(&client, sql, &[&keys, &NODE_PREFIX]).await?;
            let entry = |row: &tokio_postgres::Row| {
                let (holder, is_alive): (Option<String>, bool) =
                    (row.try_get("holder")?, row.try_get("alive")?);
                Ok(SharedEntry {
                    key: row.try_get("key")?,
                    value: row.try_get("value")?,
                    link: row.try_get("link")?,
                    version: number(row, "version")?,
                    holder: holder.map(|node| EntryHolder { node, is_alive }),
                })
            };
            rows.iter().map(entry).collect()
        })
    }

    /// Takes an entry. A repeated attempt finds the token of the first.
    pub(super) fn try_hold_entry<'a>(
        &'a self,
        take: &'a EntryTake,
        writes: &'a EntryColumns,
        token: AttemptToken,
    ) -> Attempt<'a, Option<u64>> {
        Box::pin(async move {
            let mut client = self.pool.client().await?;
            let EntryTake { hold, ttl, link, replaced, .. } = take;
            let sql = concat!(
                "
            WITH held AS (
                INSERT INTO shared AS s (key, value, link, version, holder, token, expires)
                SELECT $5, '', $11, 1, $6, $8, now_ms() + $9
                WHERE $7::bigint = 0
                      OR EXISTS (SELECT 1 FROM shared e WHERE e.key = $5 AND e.expires > now_ms())
                ON CONFLICT (key) DO UPDATE SET
                    value = CASE WHEN s.expires > now_ms() THEN s.value ELSE '' END,
                    link = excluded.link,
                    version = s.version + 1, holder = excluded.holder, token = excluded.token,
                    expires = greatest(s.expires, excluded.expires)
                WHERE (s.token = excluded.token AND s.holder = excluded.holder)
                   OR (CASE WHEN s.expires > now_ms() THEN s.version ELSE 0 END = $7
                       AND (s.holder IS NULL OR s.expires <= now_ms() OR NOT EXISTS (
                           SELECT 1 FROM shared n
                           WHERE n.key = $10 || s.holder AND n.expires > now_ms())))
                RETURNING version
            ), written AS (",
                write_columns!("EXISTS (SELECT 1 FROM held)", "$8"),
                " WHERE s.key IS DISTINCT FROM $12 OR s.token = excluded.token
                     OR CASE WHEN s.expires > now_ms() THEN s.version ELSE 0 END = $13
                 RETURNING 1
            ) SELECT version, (SELECT count(*) FROM written) AS written FROM held"
            );
            let key = replaced.as_ref().map(|replaced| &replaced.key);
            let version = signed(replaced.as_ref().map_or(0, |replaced| replaced.version));
            let values: query::SqlValues<'_> = &[
                &writes.keys,
                &writes.values,
                &writes.links,
                &writes.ttls,
                &hold.key,
                &hold.node,
                &signed(hold.version),
                &token.0,
                &signed(*ttl),
                &NODE_PREFIX,
                link,
                &key,
                &version,
            ];
            if replaced.is_none() {
                let held = query::row(&client, sql, values).await?;
                return held.map(|row| number(&row, "version")).transpose();
            }
            // Another node may be writing what was read as replaced: then all of this is undone.
            let transaction = client.transaction().await?;
            let Some(held) = query::row(&transaction, sql, values).await? else { return Ok(None) };
            if number(&held, "written")? < writes.keys.len() as u64 {
                return Ok(None);
            }
            // A repeated attempt finds the tokens.
            transaction.commit().await?;
            Ok(Some(number(&held, "version")?))
        })
    }

    /// Writes entries, and releases the one that is held.
    pub(super) fn try_write_entries<'a>(
        &'a self,
        hold: Option<&'a EntryHold>,
        writes: &'a EntryColumns,
    ) -> Attempt<'a, bool> {
        Box::pin(async move {
            let client = self.pool.client().await?;
            let EntryColumns { keys, values, links, ttls } = writes;
            let Some(hold) = hold else {
                let columns: query::SqlValues<'_> = &[keys, values, links, ttls];
                query::execute(&client, write_columns!("true"), columns).await?;
                return Ok(true);
            };
            // One statement changes a row once: the value of the released entry is written with it.
            let sql = concat!(
                "
            WITH released AS (
                UPDATE shared AS s SET holder = NULL, version = s.version + 1,
                    value = coalesce(w.value, s.value),
                    link = CASE WHEN w.key IS NULL THEN s.link ELSE w.link END,
                    expires = CASE w.ttl WHEN 0 THEN 0 ELSE coalesce(now_ms() + w.ttl, s.expires) END
                FROM (SELECT 1) AS one LEFT JOIN
                     unnest($1::text[], $2::bytea[], $3::text[], $4::bigint[])
                     AS w (key, value, link, ttl) ON w.key = $5
                WHERE s.key = $5 AND s.holder = $6 AND s.version = $7
                RETURNING 1
            ), written AS (",
                write_columns!("w.key <> $5 AND EXISTS (SELECT 1 FROM released)"),
                ") SELECT 1 FROM released"
            );
            let (key, node, version) = (&hold.key, &hold.node, signed(hold.version));
            let values: query::SqlValues<'_> = &[keys, values, links, ttls, key, node, &version];
            Ok(query::row(&client, sql, values).await?.is_some())
        })
    }
}
