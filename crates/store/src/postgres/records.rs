//! The records of a session.

use std::collections::{HashMap, HashSet};

use deadpool_postgres::GenericClient;

use super::{
    PostgresStore, ask,
    failure::Failure,
    row::{self, limit, number, plain, signed},
    sessions,
};
use crate::{
    NewRecord, Record, StoreError,
    ordinals::{self, There},
};

impl PostgresStore {
    /// Adds records. Doing it twice is found out by their ids.
    pub(super) async fn try_append_records(
        &self,
        session: &str,
        records: &[NewRecord],
    ) -> Result<Vec<u64>, Failure> {
        let mut client = self.gate.client().await?;
        let transaction = client.transaction().await?;
        let count = hold(&transaction, session).await?;
        let ordinals = add(&transaction, session, count, records).await?;
        transaction.commit().await?;
        Ok(ordinals)
    }

    /// Records behind an ordinal.
    pub(super) async fn try_records(
        &self,
        session: &str,
        after: u64,
        count: usize,
    ) -> Result<Vec<Record>, Failure> {
        let client = self.gate.client().await?;
        let question = "SELECT ordinal, at, id, parent, run, kind, body FROM records
                        WHERE session = $1 AND ordinal > $2 ORDER BY ordinal LIMIT $3";
        let values: ask::Values<'_> = &[&plain(session), &signed(after), &limit(count)];
        let rows = ask::rows(&client, question, values).await?;
        if rows.is_empty() {
            sessions::exists(&client, session).await?;
        }
        rows.iter().map(row::record).collect()
    }
}

/// Holds a session until the end of the transaction; how many records it has.
pub(super) async fn hold(client: &impl GenericClient, session: &str) -> Result<u64, Failure> {
    let question = "SELECT records FROM sessions WHERE id = $1 FOR UPDATE";
    let held = ask::row(client, question, &[&plain(session)]).await?;
    number(&held.ok_or_else(|| StoreError::NoSession(session.to_owned()))?, "records")
}

/// A record in its place. Without a time it is added now.
pub(super) struct Placed<'a> {
    pub(super) ordinal: u64,
    pub(super) at: Option<u64>,
    pub(super) record: &'a NewRecord,
}

/// Adds records to a session that is held and has so many, and says that it was touched.
pub(super) async fn add(
    client: &impl GenericClient,
    session: &str,
    count: u64,
    records: &[NewRecord],
) -> Result<Vec<u64>, Failure> {
    let there = There {
        records: stored(client, session, records).await?,
        parents: parents(client, session, records).await?,
    };
    let ordinals = ordinals::place(count, &there, records)?;
    let new: Vec<Placed<'_>> = ordinals::fresh(count, &ordinals, records)
        .map(|(ordinal, record)| Placed { ordinal, at: None, record })
        .collect();
    let last = new.last().map_or(count, |placed| placed.ordinal);
    insert(client, session, &new).await?;
    let touch = "UPDATE sessions SET records = $2, touched = greatest(touched, now_ms())
                 WHERE id = $1";
    ask::change(client, touch, &[&session, &signed(last)]).await?;
    Ok(ordinals)
}

/// Writes records in their places.
pub(super) async fn insert(
    client: &impl GenericClient,
    session: &str,
    records: &[Placed<'_>],
) -> Result<(), Failure> {
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
    let values: ask::Values<'_> = &[
        &session,
        &ordinals,
        &column(|record| Some(&record.id)),
        &column(|record| record.parent.as_deref()),
        &column(|record| record.run.as_deref()),
        &column(|record| Some(&record.kind)),
        &column(|record| Some(&record.body)),
        &times,
    ];
    ask::change(client, statement, values).await?;
    Ok(())
}

/// Those of the records that are there, as they are there.
async fn stored(
    client: &impl GenericClient,
    session: &str,
    records: &[NewRecord],
) -> Result<HashMap<String, Record>, Failure> {
    let question = "SELECT ordinal, at, id, parent, run, kind, body FROM records
                    WHERE session = $1 AND id = ANY ($2)";
    let ids: Vec<&str> = records.iter().map(|record| record.id.as_str()).collect();
    let rows = ask::rows(client, question, &[&session, &ids]).await?;
    let by_id = |record: Record| (record.record.id.clone(), record);
    rows.iter().map(|row| row::record(row).map(by_id)).collect()
}

/// Those of the records' parents that are there.
async fn parents(
    client: &impl GenericClient,
    session: &str,
    records: &[NewRecord],
) -> Result<HashSet<String>, Failure> {
    let wanted: HashSet<&str> =
        records.iter().filter_map(|record| record.parent.as_deref()).collect();
    if wanted.is_empty() {
        return Ok(HashSet::new());
    }
    let wanted: Vec<&str> = wanted.into_iter().collect();
    let question = "SELECT id FROM records WHERE session = $1 AND id = ANY ($2)";
    let rows = ask::rows(client, question, &[&session, &wanted]).await?;
    rows.iter().map(|row| Ok(row.try_get(0)?)).collect()
}
