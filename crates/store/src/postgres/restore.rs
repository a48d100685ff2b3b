//! Restores the items of an import. Every step can be repeated.

use std::collections::HashMap;

use deadpool_postgres::Transaction;

use super::{
    PostgresStore,
    append::no_run,
    failure::{Attempt, AttemptFailure, PostgresError},
    query,
    records::{self, PlacedRecord},
    row::{self, PostgresRun, session_columns, signed},
    runs,
    token::AttemptToken,
};
use crate::{
    RawEvent, RestoreItem, RunRow, RunState, SessionRow, StoreError, StoredRecord,
    archive::{IMPORT_TTL, IMPORTER},
    chain::ROOT,
    codec,
};

/// The result of restoring an item.
pub(super) struct RestoreResult {
    /// Number of new rows.
    pub(super) rows: u64,
    /// The changed run, with its last sequence number.
    pub(super) run: Option<(String, u64)>,
}

impl PostgresStore {
    /// Restores an item.
    pub(super) fn try_restore<'a>(&'a self, item: &'a RestoreItem) -> Attempt<'a, RestoreResult> {
        Box::pin(async move {
            let mut client = self.pool.client().await?;
            let transaction = client.transaction().await?;
            let result = match item {
                RestoreItem::Session(row) => new_rows(put_session(&transaction, row).await?),
                RestoreItem::Records { session, records } => {
                    new_rows(put_records(&transaction, session, records).await?)
                }
                RestoreItem::Run(row) => new_rows(put_run(&transaction, row).await?),
                RestoreItem::Events { run, events } => {
                    put_events(&transaction, run, events).await?
                }
                RestoreItem::Left { run } => new_rows(release_run(&transaction, run).await?),
                RestoreItem::End { run, ended, summary, at } => {
                    let end = RunState::Ended { ended: ended.clone(), summary: *summary, at: *at };
                    let json =
                        (codec::write_end(ended), codec::write_summary(summary), signed(*at));
                    put_end(&transaction, run, &end, json).await?
                }
            };
            transaction.commit().await?;
            if let Some((run, _)) = &result.run {
                self.heads.forget(run);
            }
            Ok(result)
        })
    }
}

async fn put_session(
    transaction: &Transaction<'_>,
    row: &SessionRow,
) -> Result<u64, AttemptFailure> {
    let statement = "INSERT INTO sessions (id, owner, title, meta, created, touched, epoch)
                     VALUES ($1, $2, $3, $4, $5, $6, $7) ON CONFLICT (id) DO NOTHING";
    let (created, touched) = (signed(row.created), signed(row.touched));
    let epoch = signed(row.epoch);
    let values: query::SqlValues<'_> =
        &[&row.id, &row.owner, &row.title, &row.meta, &created, &touched, &epoch];
    if query::execute(transaction, statement, values).await? > 0 {
        return Ok(1);
    }
    let sql = concat!("SELECT ", session_columns!(), " FROM sessions WHERE id = $1 FOR UPDATE");
    let missing = || {
        AttemptFailure::Retryable(PostgresError::from_text(
            "the session was deleted in the meantime",
        ))
    };
    let known = query::row(transaction, sql, &[&row.id]).await?.ok_or_else(missing)?;
    let known = row::session(&known)?;
    let fixed_fields =
        |row: &SessionRow| (row.owner.clone(), row.title.clone(), row.meta.clone(), row.created);
    if fixed_fields(&known) != fixed_fields(row) {
        return conflict(&row.id);
    }
    let update = "UPDATE sessions SET touched = greatest(touched, $2), epoch = greatest(epoch, $3)
                 WHERE id = $1";
    query::execute(transaction, update, &[&row.id, &touched, &epoch]).await?;
    Ok(0)
}

async fn put_records(
    transaction: &Transaction<'_>,
    session: &str,
    stored_records: &[StoredRecord],
) -> Result<u64, AttemptFailure> {
    let count = records::lock_session(transaction, session).await?;
    let known = "SELECT ordinal, at, id, parent, run, kind, body FROM records
                 WHERE session = $1 AND id = ANY ($2)";
    let ids: Vec<&str> = stored_records.iter().map(|record| record.record.id.as_str()).collect();
    let known = query::rows(transaction, known, &[&session, &ids]).await?;
    let by_id = |record: StoredRecord| (record.record.id.clone(), record);
    let known = known.iter().map(|row| row::record(row).map(by_id));
    let mut known = known.collect::<Result<HashMap<String, StoredRecord>, AttemptFailure>>()?;
    let mut last = count;
    let mut new: Vec<PlacedRecord<'_>> = Vec::new();
    for record in stored_records {
        let id = &record.record.id;
        match known.get(id) {
            Some(same) if same == record => {}
            None if record.ordinal == last + 1 => {
                last += 1;
                new.push(PlacedRecord {
                    ordinal: last,
                    at: Some(record.at),
                    record: &record.record,
                });
                known.insert(id.clone(), record.clone());
            }
            // Another record has its id or its ordinal.
            Some(_) | None => return conflict(id),
        }
    }
    records::insert(transaction, session, &new).await?;
    let update = "UPDATE sessions SET records = $2 WHERE id = $1";
    query::execute(transaction, update, &[&session, &signed(last)]).await?;
    Ok(last - count)
}

async fn put_run(transaction: &Transaction<'_>, run: &RunRow) -> Result<u64, AttemptFailure> {
    records::lock_session(transaction, &run.session).await?;
    let fixed_fields = |row: &RunRow| {
        let RunRow { session, epoch, key, started, agent, model, .. } = row.clone();
        (session, epoch, key, started, agent, model)
    };
    if let Some(known) = runs::find(transaction, &run.id).await? {
        return if fixed_fields(&known.row) == fixed_fields(run) {
            Ok(0)
        } else {
            conflict(&run.id)
        };
    }
    let taken = "SELECT 1 FROM runs WHERE session = $1 AND (epoch = $2 OR key = $3) LIMIT 1";
    let values: query::SqlValues<'_> = &[&run.session, &signed(run.epoch), &run.key];
    if query::row(transaction, taken, values).await?.is_some() {
        return conflict(&run.id);
    }
    let statement = "INSERT INTO runs (id, session, epoch, key, agent, model, started, last, chain,
                                       owner, fence, lease_until, token)
                     VALUES ($1, $2, $3, $4, $5, $6, $7, 0, $8, $9, 1, now_ms() + $10, $11)";
    let values: query::SqlValues<'_> = &[
        &run.id,
        &run.session,
        &signed(run.epoch),
        &run.key,
        &run.agent,
        &run.model,
        &signed(run.started),
        &ROOT.as_slice(),
        &IMPORTER,
        &signed(IMPORT_TTL),
        &AttemptToken::NONE.0,
    ];
    query::execute(transaction, statement, values).await.map_err(AttemptFailure::in_insert)
}

async fn put_events(
    transaction: &Transaction<'_>,
    run: &str,
    events: &[RawEvent],
) -> Result<RestoreResult, AttemptFailure> {
    let locked_run = runs::find_for_update(transaction, run).await?.ok_or_else(|| no_run(run))?;
    let repeated = events.partition_point(|event| event.seq <= locked_run.row.last);
    let (repeated, new) = events.split_at_checked(repeated).unwrap_or((events, &[]));
    check_same_events(transaction, &locked_run, repeated).await?;
    let (Some(first), Some(last)) = (new.first(), new.last()) else { return Ok(new_rows(0)) };
    if !is_imported(&locked_run) || first.seq != locked_run.row.last + 1 {
        return conflict(&format!("{run}/{}", first.seq));
    }
    let statement = "
        WITH head AS (
            UPDATE runs SET last = $2, chain = $3, lease_until = now_ms() + $4 WHERE serial = $1
        )
        INSERT INTO events (run, seq, body, chain)
        SELECT $1, event.* FROM unnest($5::bigint[], $6::text[], $7::bytea[]) AS event";
    let seqs: Vec<i64> = new.iter().map(|event| signed(event.seq)).collect();
    let bodies: Vec<&str> = new.iter().map(|event| event.body.as_str()).collect();
    let links: Vec<&[u8]> = new.iter().map(|event| event.chain.as_slice()).collect();
    let values: query::SqlValues<'_> = &[
        &locked_run.serial,
        &signed(last.seq),
        &last.chain.as_slice(),
        &signed(IMPORT_TTL),
        &seqs,
        &bodies,
        &links,
    ];
    let added = query::execute(transaction, statement, values).await?;
    Ok(RestoreResult { rows: added, run: Some((run.to_owned(), last.seq)) })
}

async fn release_run(transaction: &Transaction<'_>, run: &str) -> Result<u64, AttemptFailure> {
    let locked_run = runs::find_for_update(transaction, run).await?.ok_or_else(|| no_run(run))?;
    if is_imported(&locked_run) {
        let statement = "UPDATE runs SET lease_until = 0 WHERE serial = $1";
        query::execute(transaction, statement, &[&locked_run.serial]).await?;
    }
    Ok(0)
}

async fn put_end(
    transaction: &Transaction<'_>,
    run: &str,
    end: &RunState,
    (ended, summary, at): (String, String, i64),
) -> Result<RestoreResult, AttemptFailure> {
    let locked_run = runs::find_for_update(transaction, run).await?.ok_or_else(|| no_run(run))?;
    match &locked_run.row.state {
        RunState::Ended { .. } if locked_run.row.state == *end => return Ok(new_rows(0)),
        RunState::Open if is_imported(&locked_run) => {}
        RunState::Ended { .. } | RunState::Open => return conflict(run),
    }
    let statement = "UPDATE runs SET ended_at = $2, ended = $3, summary = $4, closed = now_ms()
                     WHERE serial = $1 AND ended_at IS NULL";
    let values: query::SqlValues<'_> = &[&locked_run.serial, &at, &ended, &summary];
    let changed = query::execute(transaction, statement, values).await?;
    Ok(RestoreResult { rows: changed, run: Some((run.to_owned(), locked_run.row.last)) })
}

/// Refuses repeated events that differ from the stored ones.
async fn check_same_events(
    transaction: &Transaction<'_>,
    run: &PostgresRun,
    events: &[RawEvent],
) -> Result<(), AttemptFailure> {
    let sql = "SELECT seq, body, chain FROM events
                    WHERE run = $1 AND seq = ANY ($2) ORDER BY seq";
    let seqs: Vec<i64> = events.iter().map(|event| signed(event.seq)).collect();
    if seqs.is_empty() {
        return Ok(());
    }
    let stored = query::rows(transaction, sql, &[&run.serial, &seqs]).await?;
    let stored: Vec<RawEvent> = stored.iter().map(row::event).collect::<Result<_, _>>()?;
    let mut stored = stored.iter();
    match events.iter().find(|event| stored.next() != Some(event)) {
        Some(other) => conflict(&format!("{}/{}", run.row.id, other.seq)),
        None => Ok(()),
    }
}

/// Whether the import holds the run. A run that another process holds is not changed.
fn is_imported(run: &PostgresRun) -> bool {
    run.row.lease.as_ref().is_some_and(|lease| lease.owner == IMPORTER)
}

fn new_rows(rows: u64) -> RestoreResult {
    RestoreResult { rows, run: None }
}

fn conflict<T>(id: &str) -> Result<T, AttemptFailure> {
    Err(AttemptFailure::Refused(StoreError::Conflict(id.to_owned())))
}
