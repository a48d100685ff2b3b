//! Stores complete runs, within a transaction. Every run is checked on its own; the rows of many are
//! inserted together, table by table.

use std::{collections::HashSet, sync::Arc};

use rusqlite::{Connection, params};

use super::{
    error::{SqliteError, SqliteResult},
    event_rows,
    row::{self, signed, unsigned},
    row_inserter::{InsertStatement, RowInserter},
    runs, seal, sessions,
    writer_thread::WriteContext,
};
use crate::{
    FinalizeResult, NewRecord, Result, WholeRun,
    ordinals::{self, ExistingRecords},
    whole_run::{self, EncodedRun, LogText},
};

/// How many runs are inserted together.
const MAX_TOGETHER: usize = 256;

/// How many stored ids are read at most, to know which ids of a batch exist.
const MAX_STORED_IDS: usize = 64;

static SESSIONS: InsertStatement = InsertStatement::new(
    "INSERT INTO sessions (serial, id, owner, title, meta, created, touched, epoch, records)",
    9,
);

static RUNS: InsertStatement = InsertStatement::new(
    "INSERT INTO runs (serial, id, session, epoch, key, started, agent, model, last, chain, holder, \
     fence, lease_until, ended_at, ended, summary)",
    16,
);

static RECORDS: InsertStatement = InsertStatement::new(
    "INSERT INTO records (session, ordinal, id, parent, run, kind, body, at, seal)",
    9,
);

/// An existing session.
struct SessionCounters {
    serial: i64,
    epoch: i64,
    records: i64,
}

/// A checked run whose rows are not inserted yet.
struct PlannedRun<'a> {
    encoded: EncodedRun,
    serial: i64,
    session: i64,
    epoch: i64,
    /// The number of records of its session, if that is new.
    new_session: Option<i64>,
    log: LogText,
    records: Vec<(u64, &'a NewRecord)>,
}

/// Checked runs, none of which depends on another.
struct PlannedRuns<'a> {
    now: u64,
    runs: Vec<PlannedRun<'a>>,
    /// The ids of these runs, of earlier ones of the same call, and of their sessions.
    ids: HashSet<&'a str>,
    stored_runs: StoredIds,
    stored_sessions: StoredIds,
    last_run: i64,
    last_session: i64,
}

/// Stores runs in order. A refused run has written nothing, so it does not affect the others.
pub(super) fn write_runs(
    context: &mut WriteContext<'_>,
    runs: &[Arc<WholeRun>],
    now: u64,
) -> SqliteResult<Vec<Result<FinalizeResult>>> {
    let connection = context.connection;
    let mut results = Vec::with_capacity(runs.len());
    let run_ids = runs.iter().map(|run| run.run.id.as_str());
    let session_ids = runs.iter().map(|run| run.session.id.as_str());
    let mut planned = PlannedRuns {
        now,
        runs: Vec::with_capacity(runs.len().min(MAX_TOGETHER)),
        ids: HashSet::with_capacity(2 * runs.len()),
        stored_runs: StoredIds::between(
            connection,
            "SELECT id FROM runs WHERE id BETWEEN ?1 AND ?2 LIMIT ?3",
            run_ids,
        )?,
        stored_sessions: StoredIds::between(
            connection,
            "SELECT id FROM sessions WHERE id BETWEEN ?1 AND ?2 LIMIT ?3",
            session_ids,
        )?,
        last_run: last_serial(connection, "SELECT max(serial) FROM runs")?,
        last_session: last_serial(connection, "SELECT max(serial) FROM sessions")?,
    };
    for run in runs {
        if planned.runs.len() >= MAX_TOGETHER || planned.must_precede(run) {
            planned.insert(connection)?;
        }
        results.push(match planned.plan(context, run) {
            Ok(result) => Ok(result),
            Err(SqliteError::Refused(error)) => Err(error),
            Err(error @ SqliteError::Engine(_)) => return Err(error),
        });
    }
    planned.insert(connection)?;
    Ok(results)
}

impl<'a> PlannedRuns<'a> {
    /// Whether a run has to see the rows of the planned ones.
    fn must_precede(&self, whole: &WholeRun) -> bool {
        let WholeRun { session, run, .. } = whole;
        self.ids.contains(&*run.id) || self.ids.contains(&*session.id)
    }

    fn may_exist(&self, stored: &StoredIds, id: &str) -> bool {
        stored.may_have(id) || self.ids.contains(id)
    }

    /// Makes all checks, and plans the rows. After an error nothing is planned or written.
    fn plan(
        &mut self,
        context: &mut WriteContext<'_>,
        whole: &'a Arc<WholeRun>,
    ) -> SqliteResult<FinalizeResult> {
        let encoded = EncodedRun::new(Arc::clone(whole))?;
        let connection = context.connection;
        let WholeRun { session, run, closing } = &**whole;
        let known = match self.may_exist(&self.stored_sessions, &session.id) {
            true => find_session(connection, whole)?,
            false => None,
        };
        // No session has the row number 0.
        let serial = known.as_ref().map_or(0, |known| known.serial);
        let may_exist = self.may_exist(&self.stored_runs, &run.id);
        if (run.key.is_some() || (may_exist && runs::exists(connection, &run.id)?))
            && let Some(known) = runs::find_existing(connection, serial, run)?
        {
            return Ok(FinalizeResult::AlreadyEnded(known));
        }
        let epoch = known.as_ref().map_or(1, |known| known.epoch + 1);
        let log = encoded.log_text(unsigned(epoch), self.now)?;
        let existing = match &known {
            Some(known) => {
                sessions::find_existing_records(connection, known.serial, &closing.records)?
            }
            None => ExistingRecords::default(),
        };
        let last = known.as_ref().map_or(0, |known| unsigned(known.records));
        let ordinals = ordinals::assign_ordinals(last, &existing, &closing.records)?;
        let records: Vec<(u64, &NewRecord)> =
            ordinals::new_records(last, &ordinals, &closing.records).collect();
        // From here on nothing is refused.
        let count = signed(records.last().map_or(last, |(ordinal, _)| *ordinal));
        let (session_serial, new_session) = match known {
            Some(known) => {
                update_session(connection, known.serial, epoch, count, self.now)?;
                (known.serial, None)
            }
            None => {
                self.last_session += 1;
                (self.last_session, Some(count))
            }
        };
        self.last_run += 1;
        self.ids.extend([run.id.as_str(), session.id.as_str()]);
        let last = log.head.last;
        let row = encoded.row(unsigned(epoch), last, self.now);
        self.runs.push(PlannedRun {
            encoded,
            serial: self.last_run,
            session: session_serial,
            epoch,
            new_session,
            log,
            records,
        });
        context.publish(&run.id, last);
        Ok(FinalizeResult::Recorded(row))
    }

    /// Inserts the rows of the planned runs.
    fn insert(&mut self, connection: &Connection) -> SqliteResult<()> {
        self.insert_sessions(connection)?;
        self.insert_runs(connection)?;
        self.insert_records(connection)?;
        let logs = self.runs.iter().map(|run| (run.serial, &run.log));
        event_rows::insert_logs(connection, logs)?;
        self.runs.clear();
        Ok(())
    }

    fn insert_sessions(&self, connection: &Connection) -> SqliteResult<()> {
        let new = self.runs.iter().filter_map(|run| run.new_session.map(|records| (run, records)));
        let mut rows = RowInserter::new(connection, &SESSIONS, new.clone().count());
        let now = signed(self.now);
        for (run, records) in new {
            let new = &run.encoded.whole.session;
            rows.add(&[
                &run.session,
                &new.id,
                &new.owner,
                &new.title,
                &new.meta,
                &now,
                &now,
                &run.epoch,
                &records,
            ])?;
        }
        Ok(())
    }

    /// Inserts runs with their ends.
    fn insert_runs(&self, connection: &Connection) -> SqliteResult<()> {
        let mut rows = RowInserter::new(connection, &RUNS, self.runs.len());
        for PlannedRun { encoded, serial, session, epoch, log, .. } in &self.runs {
            let (new, now) = (&encoded.whole.run, self.now);
            rows.add(&[
                serial,
                &new.id,
                session,
                epoch,
                &new.key,
                &signed(new.at.unwrap_or(now)),
                &new.start.agent.as_deref(),
                &new.start.model.as_deref(),
                &signed(log.head.last),
                &log.head.chain,
                // A run that has ended has no lease.
                &"",
                &1,
                &signed(now.saturating_add(new.ttl)),
                &signed(encoded.ended_at().unwrap_or(now)),
                &encoded.ended,
                &encoded.summary,
            ])?;
        }
        Ok(())
    }

    fn insert_records(&self, connection: &Connection) -> SqliteResult<()> {
        let count = self.runs.iter().map(|run| run.records.len()).sum();
        let mut rows = RowInserter::new(connection, &RECORDS, count);
        for run in &self.runs {
            for (ordinal, record) in &run.records {
                rows.add(&[
                    &run.session,
                    &signed(*ordinal),
                    &record.id,
                    &record.parent,
                    &record.run,
                    &record.kind,
                    &record.body,
                    &signed(self.now),
                    &seal::seal_record(*ordinal, self.now, record),
                ])?;
            }
        }
        Ok(())
    }
}

/// The ids that a table has between the first and the last one of a batch. New ids sort by time, so
/// there is mostly none, and one look replaces one for each id.
struct StoredIds {
    /// `None` if there are too many: then each id is looked up.
    found: Option<HashSet<String>>,
}

impl StoredIds {
    fn between<'i>(
        connection: &Connection,
        sql: &'static str,
        ids: impl Iterator<Item = &'i str> + Clone,
    ) -> SqliteResult<StoredIds> {
        let (Some(first), Some(last)) = (ids.clone().min(), ids.max()) else {
            return Ok(StoredIds { found: Some(HashSet::new()) });
        };
        let mut statement = connection.prepare_cached(sql)?;
        let limit = row::limit(MAX_STORED_IDS + 1);
        let rows = statement.query_map(params![first, last, limit], |row| row.get(0))?;
        let found: HashSet<String> = rows.collect::<rusqlite::Result<_>>()?;
        Ok(StoredIds { found: (found.len() <= MAX_STORED_IDS).then_some(found) })
    }

    fn may_have(&self, id: &str) -> bool {
        self.found.as_ref().is_none_or(|found| found.contains(id))
    }
}

fn last_serial(connection: &Connection, sql: &'static str) -> SqliteResult<i64> {
    let last: Option<i64> = connection.prepare_cached(sql)?.query_row([], |row| row.get(0))?;
    Ok(last.unwrap_or(0))
}

fn find_session(
    connection: &Connection,
    whole: &WholeRun,
) -> SqliteResult<Option<SessionCounters>> {
    let mut statement = connection
        .prepare_cached("SELECT serial, epoch, records, owner FROM sessions WHERE id = ?1")?;
    let mut rows = statement.query([&whole.session.id])?;
    let Some(row) = rows.next()? else { return Ok(None) };
    let owner: String = row.get(3)?;
    whole_run::check_owner(whole, &owner)?;
    Ok(Some(SessionCounters { serial: row.get(0)?, epoch: row.get(1)?, records: row.get(2)? }))
}

/// Updates a session that gets one more run.
fn update_session(
    connection: &Connection,
    session: i64,
    epoch: i64,
    records: i64,
    now: u64,
) -> SqliteResult<()> {
    connection
        .prepare_cached(
            "UPDATE sessions SET epoch = ?2, records = ?3, touched = max(touched, ?4)
             WHERE serial = ?1",
        )?
        .execute(params![session, epoch, records, signed(now)])?;
    Ok(())
}
