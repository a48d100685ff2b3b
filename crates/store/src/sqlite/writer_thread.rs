//! The writer thread commits in groups: a transaction includes every job that is queued when it
//! starts. One sync serves all of them, and no caller gets a success before the data is on disk.

use std::{
    sync::mpsc::{Receiver, RecvTimeoutError},
    time::{Duration, Instant},
};

use foxwedge_run::SharedId;
use rusqlite::{Connection, ErrorCode};

use super::open::{self, SqliteLocation, WalState};
use crate::hub::WakeHub;

/// Maximum number of jobs in a transaction.
const MAX_GROUP: usize = 1_024;

/// How often to check for writes of other processes while there is a watcher.
const POLL_INTERVAL: Duration = Duration::from_millis(75);

/// What a job works with: the transaction, and the wake-ups to send after the commit.
pub(super) struct WriteContext<'a> {
    pub(super) connection: &'a Connection,
    notices: Vec<(SharedId, u64)>,
}

impl WriteContext<'_> {
    /// Wakes the watchers of a run after the commit.
    pub(super) fn publish(&mut self, run: &str, last: u64) {
        self.notices.push((run.into(), last));
    }
}

/// What the queue carries.
pub(super) enum WriterMessage {
    /// A job to write.
    Job(Box<dyn WriteJob>),
    /// A watcher was added.
    Poll,
}

/// A job and its waiting caller.
pub(super) trait WriteJob: Send {
    /// Runs the job within the transaction; again if everything was rolled back.
    fn run(&mut self, context: &mut WriteContext<'_>) -> WriteOutcome;

    /// Sends the result to the caller. `failure` is the reason if the transaction failed.
    fn acknowledge(self: Box<Self>, failure: Option<&str>);
}

/// Whether to keep what a job wrote.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum WriteOutcome {
    Keep,
    Discard,
}

/// What is rolled back when a job has written something and failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum UndoScope {
    /// All jobs, which then run again. Few jobs write before they have made all checks.
    All,
    /// This job only. SQLite keeps a copy of every page it changes.
    One,
}

/// Why a transaction failed.
#[derive(Debug)]
enum TransactionFailure {
    /// Another process locked the file for too long. Nothing was started.
    Busy(String),
    /// The state of the connection is unknown.
    Broken(String),
}

/// State of the writer thread.
pub(super) struct WriterThread {
    location: SqliteLocation,
    hub: WakeHub,
    /// `None` after a failed commit.
    connection: Option<Connection>,
    /// SQLite's `data_version`, which changes when another process writes.
    version: Option<i64>,
    last_poll: Instant,
}

impl WriterThread {
    /// Starts with an open connection.
    pub(super) fn new(
        location: SqliteLocation,
        hub: WakeHub,
        connection: Connection,
    ) -> WriterThread {
        let version = data_version(&connection);
        WriterThread {
            location,
            hub,
            connection: Some(connection),
            version,
            last_poll: Instant::now(),
        }
    }

    /// Runs until the queue is closed.
    pub(super) fn serve(&mut self, jobs: &Receiver<WriterMessage>) {
        loop {
            match self.next(jobs) {
                Ok(WriterMessage::Job(job)) => self.write_group(job, jobs),
                Ok(WriterMessage::Poll) | Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => break,
            }
            if self.hub.watchers() > 0 && self.last_poll.elapsed() >= POLL_INTERVAL {
                self.poll_other_writers();
            }
        }
    }

    fn next(&self, jobs: &Receiver<WriterMessage>) -> Result<WriterMessage, RecvTimeoutError> {
        if self.hub.watchers() == 0 {
            return jobs.recv().map_err(|_| RecvTimeoutError::Disconnected);
        }
        jobs.recv_timeout(POLL_INTERVAL)
    }

    /// Runs one transaction for a job and all queued jobs.
    fn write_group(&mut self, first: Box<dyn WriteJob>, jobs: &Receiver<WriterMessage>) {
        let mut group = vec![first];
        let failure = match self.write(&mut group, jobs) {
            Ok(notices) => {
                notices.iter().for_each(|(run, last)| self.hub.publish(run, *last));
                None
            }
            Err(TransactionFailure::Busy(why)) => Some(why),
            Err(TransactionFailure::Broken(why)) => {
                self.roll_back();
                Some(why)
            }
        };
        group.into_iter().for_each(|job| job.acknowledge(failure.as_deref()));
    }

    fn write(
        &mut self,
        group: &mut Vec<Box<dyn WriteJob>>,
        jobs: &Receiver<WriterMessage>,
    ) -> Result<Vec<(SharedId, u64)>, TransactionFailure> {
        let mut context = WriteContext { connection: self.connection()?, notices: Vec::new() };
        begin(context.connection)?;
        let mut undo = UndoScope::All;
        let mut done = 0;
        while let Some(job) = group.get_mut(done) {
            match undo {
                UndoScope::One => run_in_savepoint(&mut context, job.as_mut())?,
                UndoScope::All if run_without_savepoint(&mut context, job.as_mut())? => {
                    execute(context.connection, "ROLLBACK").map_err(broken_transaction)?;
                    begin(context.connection)?;
                    context.notices.clear();
                    (undo, done) = (UndoScope::One, 0);
                    continue;
                }
                UndoScope::All => {}
            }
            done += 1;
            while done < MAX_GROUP && group.len() == done {
                match jobs.try_recv() {
                    Ok(WriterMessage::Job(job)) => group.push(job),
                    Ok(WriterMessage::Poll) => {}
                    Err(_) => break,
                }
            }
        }
        execute(context.connection, "COMMIT").map_err(broken_transaction)?;
        Ok(context.notices)
    }

    fn connection(&mut self) -> Result<&Connection, TransactionFailure> {
        if self.connection.is_none() {
            let connection =
                open::open_writer(&self.location, WalState::SyncFailed).map_err(|error| {
                    TransactionFailure::Broken(format!("it cannot be reopened: {error}"))
                })?;
            self.version = data_version(&connection);
            self.connection = Some(connection);
            // The versions of two connections cannot be compared.
            self.hub.wake_all();
        }
        self.connection
            .as_ref()
            .ok_or_else(|| TransactionFailure::Broken("the store is closed".to_owned()))
    }

    /// Drops the connection after a failed commit, to return to what is on disk.
    fn roll_back(&mut self) {
        let Some(connection) = self.connection.take() else { return };
        let _ = connection.execute_batch("ROLLBACK");
        match self.location {
            SqliteLocation::File(_) => drop(connection),
            // There is no disk to return to; the rollback must suffice.
            SqliteLocation::Memory => self.connection = Some(connection),
        }
    }

    /// Wakes all watchers if another process wrote since the last poll.
    fn poll_other_writers(&mut self) {
        self.last_poll = Instant::now();
        let found = self.connection.as_ref().and_then(data_version);
        if found != self.version {
            self.version = found;
            self.hub.wake_all();
        }
    }
}

/// Runs a job without a savepoint. Returns whether it wrote something that must be rolled back.
fn run_without_savepoint(
    context: &mut WriteContext<'_>,
    job: &mut dyn WriteJob,
) -> Result<bool, TransactionFailure> {
    let (notices, changes) = (context.notices.len(), context.connection.total_changes());
    if job.run(context) == WriteOutcome::Keep {
        return Ok(false);
    }
    context.notices.truncate(notices);
    check_open(context.connection)?;
    Ok(context.connection.total_changes() != changes)
}

/// Runs a job in a savepoint, so that a failure does not affect the other jobs.
fn run_in_savepoint(
    context: &mut WriteContext<'_>,
    job: &mut dyn WriteJob,
) -> Result<(), TransactionFailure> {
    let notices = context.notices.len();
    execute(context.connection, "SAVEPOINT job").map_err(broken_transaction)?;
    if job.run(context) == WriteOutcome::Discard {
        context.notices.truncate(notices);
        check_open(context.connection)?;
        execute(context.connection, "ROLLBACK TO job").map_err(broken_transaction)?;
    }
    execute(context.connection, "RELEASE job").map_err(broken_transaction)
}

fn begin(connection: &Connection) -> Result<(), TransactionFailure> {
    execute(connection, "BEGIN IMMEDIATE").map_err(|error| {
        let why = error.to_string();
        let busy = error.sqlite_error_code() == Some(ErrorCode::DatabaseBusy);
        if busy { TransactionFailure::Busy(why) } else { TransactionFailure::Broken(why) }
    })
}

/// After some errors SQLite rolls back everything by itself.
fn check_open(connection: &Connection) -> Result<(), TransactionFailure> {
    if connection.is_autocommit() {
        return Err(TransactionFailure::Broken("the transaction was rolled back".to_owned()));
    }
    Ok(())
}

fn execute(connection: &Connection, sql: &str) -> rusqlite::Result<()> {
    connection.prepare_cached(sql)?.execute([]).map(|_| ())
}

fn data_version(connection: &Connection) -> Option<i64> {
    let mut statement = connection.prepare_cached("PRAGMA data_version").ok()?;
    statement.query_row([], |row| row.get(0)).ok()
}

fn broken_transaction(error: rusqlite::Error) -> TransactionFailure {
    TransactionFailure::Broken(error.to_string())
}
