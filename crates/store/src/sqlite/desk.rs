//! The thread that writes commits in groups: whatever waits when a transaction begins goes into
//! it, one sync pays for all, and nobody hears of success before it is on disk.

use std::{
    sync::mpsc::{Receiver, RecvTimeoutError},
    time::{Duration, Instant},
};

use foxwedge_run::Id;
use rusqlite::{Connection, ErrorCode};

use super::open::{self, Log, Place};
use crate::hub::Hub;

/// The most jobs that share a transaction.
const GROUP: usize = 1_024;

/// How often to look whether another process wrote, while somebody watches.
const LOOK: Duration = Duration::from_millis(75);

/// What a job has at hand: the transaction, and whom to tell once it is on disk.
pub(super) struct Work<'a> {
    pub(super) connection: &'a Connection,
    news: Vec<(Id, u64)>,
}

impl Work<'_> {
    /// A run went on to a place: whoever watches hears of it after the commit.
    pub(super) fn tell(&mut self, run: &str, last: u64) {
        self.news.push((run.into(), last));
    }
}

/// What comes over the queue.
pub(super) enum Message {
    /// Something to write.
    Job(Box<dyn Job>),
    /// Somebody began to watch.
    Look,
}

/// Something to write, and somebody who waits for it.
pub(super) trait Job: Send {
    /// Does it, within the transaction; again, if everything was rolled back.
    fn run(&mut self, work: &mut Work<'_>) -> Kept;

    /// Tells who waits; with a reason if the transaction did not come to be.
    fn acknowledge(self: Box<Self>, lost: Option<&str>);
}

/// Whether what a job wrote stays.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kept {
    Yes,
    No,
}

/// What is taken back when a job wrote something and did not succeed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Undo {
    /// All jobs, which are then done again. Few jobs write before they are sure.
    All,
    /// That job alone. SQLite keeps a copy of every page it changes.
    One,
}

/// Why a transaction did not come to be.
#[derive(Debug)]
enum Lost {
    /// Another process kept the file for too long. Nothing was begun.
    Busy(String),
    /// Nobody knows what the connection believes now.
    Broken(String),
}

/// What the thread works with.
pub(super) struct Desk {
    place: Place,
    hub: Hub,
    /// None after a commit that failed.
    connection: Option<Connection>,
    /// The number by which SQLite tells that somebody else wrote.
    version: Option<i64>,
    looked: Instant,
}

impl Desk {
    /// With a connection that is ready.
    pub(super) fn new(place: Place, hub: Hub, connection: Connection) -> Desk {
        let version = version(&connection);
        Desk { place, hub, connection: Some(connection), version, looked: Instant::now() }
    }

    /// Works until nobody can hand in anything any more.
    pub(super) fn serve(&mut self, jobs: &Receiver<Message>) {
        loop {
            match self.next(jobs) {
                Ok(Message::Job(job)) => self.group(job, jobs),
                Ok(Message::Look) | Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => break,
            }
            if self.hub.watchers() > 0 && self.looked.elapsed() >= LOOK {
                self.look();
            }
        }
    }

    fn next(&self, jobs: &Receiver<Message>) -> Result<Message, RecvTimeoutError> {
        if self.hub.watchers() == 0 {
            return jobs.recv().map_err(|_| RecvTimeoutError::Disconnected);
        }
        jobs.recv_timeout(LOOK)
    }

    /// One transaction for a job and all that wait behind it.
    fn group(&mut self, first: Box<dyn Job>, jobs: &Receiver<Message>) {
        let mut group = vec![first];
        let lost = match self.write(&mut group, jobs) {
            Ok(news) => {
                news.iter().for_each(|(run, last)| self.hub.publish(run, *last));
                None
            }
            Err(Lost::Busy(why)) => Some(why),
            Err(Lost::Broken(why)) => {
                self.give_up();
                Some(why)
            }
        };
        group.into_iter().for_each(|job| job.acknowledge(lost.as_deref()));
    }

    fn write(
        &mut self,
        group: &mut Vec<Box<dyn Job>>,
        jobs: &Receiver<Message>,
    ) -> Result<Vec<(Id, u64)>, Lost> {
        let mut work = Work { connection: self.connection()?, news: Vec::new() };
        begin(work.connection)?;
        let mut undo = Undo::All;
        let mut ran = 0;
        while let Some(job) = group.get_mut(ran) {
            match undo {
                Undo::One => run(&mut work, job.as_mut())?,
                Undo::All if spoils(&mut work, job.as_mut())? => {
                    execute(work.connection, "ROLLBACK").map_err(broken)?;
                    begin(work.connection)?;
                    work.news.clear();
                    (undo, ran) = (Undo::One, 0);
                    continue;
                }
                Undo::All => {}
            }
            ran += 1;
            while ran < GROUP && group.len() == ran {
                match jobs.try_recv() {
                    Ok(Message::Job(job)) => group.push(job),
                    Ok(Message::Look) => {}
                    Err(_) => break,
                }
            }
        }
        execute(work.connection, "COMMIT").map_err(broken)?;
        Ok(work.news)
    }

    fn connection(&mut self) -> Result<&Connection, Lost> {
        if self.connection.is_none() {
            let connection = open::writer(&self.place, Log::Doubted)
                .map_err(|error| Lost::Broken(format!("it cannot be opened again: {error}")))?;
            self.version = version(&connection);
            self.connection = Some(connection);
            // The numbers of two connections cannot be compared.
            self.hub.wake_all();
        }
        self.connection.as_ref().ok_or_else(|| Lost::Broken("the store is closed".to_owned()))
    }

    /// After a commit that failed: back to what is on disk.
    fn give_up(&mut self) {
        let Some(connection) = self.connection.take() else { return };
        let _ = connection.execute_batch("ROLLBACK");
        match self.place {
            Place::File(_) => drop(connection),
            // There is no disk to go back to; the rollback has to do.
            Place::Memory => self.connection = Some(connection),
        }
    }

    /// Whether another process wrote since the last look.
    fn look(&mut self) {
        self.looked = Instant::now();
        let found = self.connection.as_ref().and_then(version);
        if found != self.version {
            self.version = found;
            self.hub.wake_all();
        }
    }
}

/// Does a job without a way back. Whether it wrote something that must not stay.
fn spoils(work: &mut Work<'_>, job: &mut dyn Job) -> Result<bool, Lost> {
    let (news, changes) = (work.news.len(), work.connection.total_changes());
    if job.run(work) == Kept::Yes {
        return Ok(false);
    }
    work.news.truncate(news);
    still_open(work.connection)?;
    Ok(work.connection.total_changes() != changes)
}

/// A job that is refused, or that SQLite cannot do, leaves the others alone.
fn run(work: &mut Work<'_>, job: &mut dyn Job) -> Result<(), Lost> {
    let news = work.news.len();
    execute(work.connection, "SAVEPOINT job").map_err(broken)?;
    if job.run(work) == Kept::No {
        work.news.truncate(news);
        still_open(work.connection)?;
        execute(work.connection, "ROLLBACK TO job").map_err(broken)?;
    }
    execute(work.connection, "RELEASE job").map_err(broken)
}

fn begin(connection: &Connection) -> Result<(), Lost> {
    execute(connection, "BEGIN IMMEDIATE").map_err(|error| {
        let why = error.to_string();
        let busy = error.sqlite_error_code() == Some(ErrorCode::DatabaseBusy);
        if busy { Lost::Busy(why) } else { Lost::Broken(why) }
    })
}

/// After some errors SQLite rolls back everything by itself.
fn still_open(connection: &Connection) -> Result<(), Lost> {
    if connection.is_autocommit() {
        return Err(Lost::Broken("the transaction was rolled back".to_owned()));
    }
    Ok(())
}

fn execute(connection: &Connection, sql: &str) -> rusqlite::Result<()> {
    connection.prepare_cached(sql)?.execute([]).map(|_| ())
}

fn version(connection: &Connection) -> Option<i64> {
    let mut statement = connection.prepare_cached("PRAGMA data_version").ok()?;
    statement.query_row([], |row| row.get(0)).ok()
}

fn broken(error: rusqlite::Error) -> Lost {
    Lost::Broken(error.to_string())
}
