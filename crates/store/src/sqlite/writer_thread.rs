//! The thread that writes commits in groups: whatever waits when a transaction begins goes into
//! it, one sync pays for all, and nobody hears of success before it is on disk.

use std::{
    sync::mpsc::{Receiver, RecvTimeoutError},
    time::{Duration, Instant},
};

use foxwedge_run::SharedId;
use rusqlite::{Connection, ErrorCode};

use super::open::{self, SqliteLocation, WalState};
use crate::hub::WakeHub;

/// The most jobs that share a transaction.
const MAX_GROUP: usize = 1_024;

/// How often to look whether another process wrote, while somebody watches.
const POLL_INTERVAL: Duration = Duration::from_millis(75);

/// What a job has at hand: the transaction, and whom to tell once it is on disk.
pub(super) struct WriteContext<'a> {
    pub(super) connection: &'a Connection,
    notices: Vec<(SharedId, u64)>,
}

impl WriteContext<'_> {
    /// A run went on to a place: whoever watches hears of it after the commit.
    pub(super) fn publish(&mut self, run: &str, last: u64) {
        self.notices.push((run.into(), last));
    }
}

/// What comes over the queue.
pub(super) enum WriterMessage {
    /// Something to write.
    Job(Box<dyn WriteJob>),
    /// Somebody began to watch.
    Poll,
}

/// Something to write, and somebody who waits for it.
pub(super) trait WriteJob: Send {
    /// Does it, within the transaction; again, if everything was rolled back.
    fn run(&mut self, work: &mut WriteContext<'_>) -> WriteOutcome;

    /// Tells who waits; with a reason if the transaction did not come to be.
    fn acknowledge(self: Box<Self>, lost: Option<&str>);
}

/// Whether what a job wrote stays.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum WriteOutcome {
    Keep,
    Discard,
}

/// What is taken back when a job wrote something and did not succeed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum UndoScope {
    /// All jobs, which are then done again. Few jobs write before they are sure.
    All,
    /// That job alone. SQLite keeps a copy of every page it changes.
    One,
}

/// Why a transaction did not come to be.
#[derive(Debug)]
enum TransactionFailure {
    /// Another process kept the file for too long. Nothing was begun.
    Busy(String),
    /// Nobody knows what the connection believes now.
    Broken(String),
}

/// What the thread works with.
pub(super) struct WriterThread {
    location: SqliteLocation,
    hub: WakeHub,
    /// None after a commit that failed.
    connection: Option<Connection>,
    /// The number by which SQLite tells that somebody else wrote.
    version: Option<i64>,
    last_poll: Instant,
}

impl WriterThread {
    /// With a connection that is ready.
    pub(super) fn new(place: SqliteLocation, hub: WakeHub, connection: Connection) -> WriterThread {
        let version = data_version(&connection);
        WriterThread {
            location: place,
            hub,
            connection: Some(connection),
            version,
            last_poll: Instant::now(),
        }
    }

    /// Works until nobody can hand in anything any more.
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

    /// One transaction for a job and all that wait behind it.
    fn write_group(&mut self, first: Box<dyn WriteJob>, jobs: &Receiver<WriterMessage>) {
        let mut group = vec![first];
        let lost = match self.write(&mut group, jobs) {
            Ok(news) => {
                news.iter().for_each(|(run, last)| self.hub.publish(run, *last));
                None
            }
            Err(TransactionFailure::Busy(why)) => Some(why),
            Err(TransactionFailure::Broken(why)) => {
                self.roll_back();
                Some(why)
            }
        };
        group.into_iter().for_each(|job| job.acknowledge(lost.as_deref()));
    }

    fn write(
        &mut self,
        group: &mut Vec<Box<dyn WriteJob>>,
        jobs: &Receiver<WriterMessage>,
    ) -> Result<Vec<(SharedId, u64)>, TransactionFailure> {
        let mut work = WriteContext { connection: self.connection()?, notices: Vec::new() };
        begin(work.connection)?;
        let mut undo = UndoScope::All;
        let mut ran = 0;
        while let Some(job) = group.get_mut(ran) {
            match undo {
                UndoScope::One => run_in_savepoint(&mut work, job.as_mut())?,
                UndoScope::All if run_without_savepoint(&mut work, job.as_mut())? => {
                    execute(work.connection, "ROLLBACK").map_err(broken_transaction)?;
                    begin(work.connection)?;
                    work.notices.clear();
                    (undo, ran) = (UndoScope::One, 0);
                    continue;
                }
                UndoScope::All => {}
            }
            ran += 1;
            while ran < MAX_GROUP && group.len() == ran {
                match jobs.try_recv() {
                    Ok(WriterMessage::Job(job)) => group.push(job),
                    Ok(WriterMessage::Poll) => {}
                    Err(_) => break,
                }
            }
        }
        execute(work.connection, "COMMIT").map_err(broken_transaction)?;
        Ok(work.notices)
    }

    fn connection(&mut self) -> Result<&Connection, TransactionFailure> {
        if self.connection.is_none() {
            let connection =
                open::open_writer(&self.location, WalState::SyncFailed).map_err(|error| {
                    TransactionFailure::Broken(format!("it cannot be opened again: {error}"))
                })?;
            self.version = data_version(&connection);
            self.connection = Some(connection);
            // The numbers of two connections cannot be compared.
            self.hub.wake_all();
        }
        self.connection
            .as_ref()
            .ok_or_else(|| TransactionFailure::Broken("the store is closed".to_owned()))
    }

    /// After a commit that failed: back to what is on disk.
    fn roll_back(&mut self) {
        let Some(connection) = self.connection.take() else { return };
        let _ = connection.execute_batch("ROLLBACK");
        match self.location {
            SqliteLocation::File(_) => drop(connection),
            // There is no disk to go back to; the rollback has to do.
            SqliteLocation::Memory => self.connection = Some(connection),
        }
    }

    /// Whether another process wrote since the last look.
    fn poll_other_writers(&mut self) {
        self.last_poll = Instant::now();
        let found = self.connection.as_ref().and_then(data_version);
        if found != self.version {
            self.version = found;
            self.hub.wake_all();
        }
    }
}

/// Does a job without a way back. Whether it wrote something that must not stay.
fn run_without_savepoint(
    work: &mut WriteContext<'_>,
    job: &mut dyn WriteJob,
) -> Result<bool, TransactionFailure> {
    let (news, changes) = (work.notices.len(), work.connection.total_changes());
    if job.run(work) == WriteOutcome::Keep {
        return Ok(false);
    }
    work.notices.truncate(news);
    check_open(work.connection)?;
    Ok(work.connection.total_changes() != changes)
}

/// A job that is refused, or that SQLite cannot do, leaves the others alone.
fn run_in_savepoint(
    work: &mut WriteContext<'_>,
    job: &mut dyn WriteJob,
) -> Result<(), TransactionFailure> {
    let news = work.notices.len();
    execute(work.connection, "SAVEPOINT job").map_err(broken_transaction)?;
    if job.run(work) == WriteOutcome::Discard {
        work.notices.truncate(news);
        check_open(work.connection)?;
        execute(work.connection, "ROLLBACK TO job").map_err(broken_transaction)?;
    }
    execute(work.connection, "RELEASE job").map_err(broken_transaction)
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
