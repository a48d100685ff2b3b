//! Records of sessions.

use std::collections::{HashMap, HashSet};

use deadpool_postgres::GenericClient;

use super::{
    PostgresStore,
    failure::{Attempt, AttemptFailure},
    query,
    row::{self, limit, number, searchable, signed},
    sessions,
};
use crate::{
    NewRecord, StoreError, StoredRecord,
    ordinals::{self, ExistingRecords},
};

impl PostgresStore {
    /// Adds records. A repeated attempt is detected by their ids.
    pub(super) fn try_append_records<'a>(
        &'a self,
        session: &'a str,
        records: &'a [NewRecord],
    ) -> Attempt<'a, Vec<u64>> {
        Box::pin(async move {
            let mut client = self.pool.client().await?;
            let transaction = client.transaction().await?;
            let count = lock_session(&transaction, session).await?;
            let ordinals = add(&transaction, session, count, records).await?;
            transaction.commit().await?;
            Ok(ordinals)
        })
    }

    /// Returns records with an ordinal above `after`.
    pub(super) fn try_records<'a>(
        &'a self,
        session: &'a str,
        after: u64,
        count: usize,
    ) -> Attempt<'a, Vec<StoredRecord>> {
        Box::pin(async move {
            let client = self.pool.client().await?;
            let sql = "SELECT ordinal, at, id, parent, run, kind, body FROM records
                        WHERE session = $1 AND ordinal > $2 ORDER BY ordinal LIMIT $3";
            let values: query::SqlValues<'_> =
                &[&searchable(session), &signed(after), &limit(count)];
            let rows = query::rows(&client, sql, values).await?;
            if rows.is_empty() {
                sessions::require_session(&client, session).await?;
            }
            rows.iter().map(row::record).collect()
        })
    }
}

/// Locks a session until the end of the transaction. Returns its number of records.
pub(super) async fn lock_session(
    client: &impl GenericClient,
    session: &str,
) -> Result<u64, AttemptFailure> {
    let sql = "SELECT records FROM sessions WHERE id = $1 FOR UPDATE";
    let locked = query::row(client, sql, &[&searchable(session)]).await?;
    number(&locked.ok_or_else(|| StoreError::NoSession(session.to_owned()))?, "records")
}

/// A record with its ordinal. `at: None` means the current time.
pub(super) struct PlacedRecord<'a> {
    pub(super) ordinal: u64,
    pub(super) at: Option<u64>,
    pub(super) record: &'a NewRecord,
}

/// Adds records to a locked session that has `count` records, and touches the session.
pub(super) async fn add(
    client: &impl GenericClient,
    session: &str,
    count: u64,
    records: &[NewRecord],
) -> Result<Vec<u64>, AttemptFailure> {
    let existing = ExistingRecords {
        records: find_stored(client, session, records).await?,
        parents: find_parents(client, session, records).await?,
    };
    let ordinals = ordinals::assign_ordinals(count, &existing, records)?;
    let new: Vec<PlacedRecord<'_>> = ordinals::new_records(count, &ordinals, records)
        .map(|(ordinal, record)| PlacedRecord { ordinal, at: None, record })
        .collect();
    let last = new.last().map_or(count, |placed| placed.ordinal);
    insert(client, session, &new).await?;
    let touch = "UPDATE sessions SET records = $2, touched = greatest(touched, now_ms())
                 WHERE id = $1";
    query::execute(client, touch, &[&session, &signed(last)]).await?;
    Ok(ordinals)
}

/// Inserts records with their ordinals.
pub(super) async fn insert(
    client: &impl GenericClient,
    session: &str,
    records: &[PlacedRecord<'_>],
) -> Result<(), AttemptFailure> {
    if records.is_empty() {
        return Ok(());
    }
    let statement = "
        INSERT INTO records (session, ordinal, id, parent, run, kind, body, at)
        SELECT $1, new.ordinal, new.id, new.parent, new.run, new.kind, new.body,
               coalesce(new.at, now.ms)
        FROM (SELECT now_ms() AS ms) AS now,
             unnest($2::bigint[], $3::text[], $4::text[], $5::text[], $6::text[], $7::text[],
                    $8::bigint[]) AS new (ordinal, id, parent, run, kind, body, at)";
    let ordinals: Vec<i64> = records.iter().map(|placed| signed(placed.ordinal)).collect();
    let times: Vec<Option<i64>> = records.iter().map(|placed| placed.at.map(signed)).collect();
    let column = |of: fn(&NewRecord) -> Option<&str>| -> Vec<Option<&str>> {
        records.iter().map(|placed| of(placed.record)).collect()
    };
    let values: query::SqlValues<'_> = &[
        &session,
        &ordinals,
        &column(|record| Some(&record.id)),
        &column(|record| record.parent.as_deref()),
        &column(|record| record.run.as_deref()),
        &column(|record| Some(&record.kind)),
        &column(|record| Some(&record.body)),
        &times,
    ];
    query::execute(client, statement, values).await?;
    Ok(())
}

/// Finds which of the given records exist.
async fn find_stored(
    client: &impl GenericClient,
    session: &str,
    records: &[NewRecord],
) -> Result<HashMap<String, StoredRecord>, AttemptFailure> {
    let sql = "SELECT ordinal, at, id, parent, run, kind, body FROM records
                    WHERE session = $1 AND id = ANY ($2)";
    let ids: Vec<&str> = records.iter().map(|record| record.id.as_str()).collect();
    let rows = query::rows(client, sql, &[&session, &ids]).await?;
    let by_id = |record: StoredRecord| (record.record.id.clone(), record);
    rows.iter().map(|row| row::record(row).map(by_id)).collect()
}

/// Finds which of the records' parents exist.
async fn find_parents(
    client: &impl GenericClient,
    session: &str,
    records: &[NewRecord],
) -> Result<HashSet<String>, AttemptFailure> {
    let parents: HashSet<&str> =
        records.iter().filter_map(|record| record.parent.as_deref()).collect();
    if parents.is_empty() {
        return Ok(HashSet::new());
    }
    let parents: Vec<&str> = parents.into_iter().collect();
    let sql = "SELECT id FROM records WHERE session = $1 AND id = ANY ($2)";
    let rows = query::rows(client, sql, &[&session, &parents]).await?;
    rows.iter().map(|row| Ok(row.try_get(0)?)).collect()
}
