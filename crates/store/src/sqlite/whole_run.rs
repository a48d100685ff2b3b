//! Stores complete runs, within a transaction. Every run is checked on its own; the rows of many are
//! inserted together, table by table.

use std::collections::HashSet;

use rusqlite::{Connection, params};

use super::{
    error::{SqliteError, SqliteResult},
    event_rows,
    row::{signed, unsigned},
    row_inserter::RowInserter,
    runs, seal, sessions,
    writer_thread::WriteContext,
};
use crate::{
    FinalizeResult, NewRecord, RawEvent, Result, WholeRun,
    ordinals::{self, ExistingRecords},
    whole_run::{self, EncodedRun},
};

/// How many runs are inserted together.
const MAX_TOGETHER: usize = 256;

/// An existing session.
struct SessionCounters {
    serial: i64,
    epoch: i64,
    records: i64,
}

/// A checked run whose rows are not inserted yet.
struct PlannedRun<'a> {
    encoded: &'a EncodedRun,
    serial: i64,
    session: i64,
    epoch: i64,
    /// The number of records of its session, if that is new.
    new_session: Option<i64>,
    log: Vec<RawEvent>,
    records: Vec<(u64, &'a NewRecord)>,
}

/// Checked runs, none of which depends on another.
struct PlannedRuns<'a> {
    now: u64,
    runs: Vec<PlannedRun<'a>>,
    /// The ids of these runs and of their sessions.
    ids: HashSet<&'a str>,
    last_run: i64,
    last_session: i64,
}

/// Stores runs in order. A refused run has written nothing, so it does not affect the others.
pub(super) fn write_runs(
    context: &mut WriteContext<'_>,
    runs: &[EncodedRun],
    now: u64,
) -> SqliteResult<Vec<Result<FinalizeResult>>> {
    let connection = context.connection;
    let mut results = Vec::with_capacity(runs.len());
    let mut planned = PlannedRuns {
        now,
        runs: Vec::with_capacity(runs.len().min(MAX_TOGETHER)),
        ids: HashSet::new(),
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
    fn must_precede(&self, encoded: &EncodedRun) -> bool {
        let WholeRun { session, run, .. } = &*encoded.whole;
        self.ids.contains(&*run.id) || self.ids.contains(&*session.id)
    }

    /// Makes all checks, and plans the rows. After an error nothing is planned or written.
    fn plan(
        &mut self,
        context: &mut WriteContext<'_>,
        encoded: &'a EncodedRun,
    ) -> SqliteResult<FinalizeResult> {
        let connection = context.connection;
        let WholeRun { session, run, closing } = &*encoded.whole;
        let known = find_session(connection, &encoded.whole)?;
        // No session has the row number 0.
        let serial = known.as_ref().map_or(0, |known| known.serial);
        if (run.key.is_some() || runs::exists(connection, &run.id)?)
            && let Some(known) = runs::find_existing(connection, serial, run)?
        {
            return Ok(FinalizeResult::AlreadyEnded(known));
        }
        let epoch = known.as_ref().map_or(1, |known| known.epoch + 1);
        let log = encoded.log(unsigned(epoch), self.now)?;
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
        let last = log.last().map_or(1, |event| event.seq);
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
        Ok(FinalizeResult::Recorded(encoded.row(unsigned(epoch), last, self.now)))
    }

    /// Inserts the rows of the planned runs.
    fn insert(&mut self, connection: &Connection) -> SqliteResult<()> {
        self.insert_sessions(connection)?;
        self.insert_runs(connection)?;
        self.insert_records(connection)?;
        let logs = self.runs.iter().map(|run| (run.serial, run.log.as_slice()));
        event_rows::insert_logs(connection, logs)?;
        self.runs.clear();
        self.ids.clear();
        Ok(())
    }

    fn insert_sessions(&self, connection: &Connection) -> SqliteResult<()> {
        let insert = "INSERT INTO sessions (serial, id, owner, title, meta, created, touched, \
                      epoch, records)";
        let new = self.runs.iter().filter_map(|run| run.new_session.map(|records| (run, records)));
        let mut rows = RowInserter::new(connection, insert, 9, new.clone().count());
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
        let insert = "INSERT INTO runs (serial, id, session, epoch, key, started, agent, model, \
                      last, chain, holder, fence, lease_until, ended_at, ended, summary)";
        let mut rows = RowInserter::new(connection, insert, 16, self.runs.len());
        for PlannedRun { encoded, serial, session, epoch, log, .. } in &self.runs {
            let (new, now) = (&encoded.whole.run, self.now);
            let last = log.last();
            rows.add(&[
                serial,
                &new.id,
                session,
                epoch,
                &new.key,
                &signed(new.at.unwrap_or(now)),
                &new.start.agent.as_deref(),
                &new.start.model.as_deref(),
                &signed(last.map_or(1, |event| event.seq)),
                &last.map(|event| &event.chain[..]),
                &new.owner,
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
        let insert =
            "INSERT INTO records (session, ordinal, id, parent, run, kind, body, at, seal)";
        let count = self.runs.iter().map(|run| run.records.len()).sum();
        let mut rows = RowInserter::new(connection, insert, 9, count);
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
