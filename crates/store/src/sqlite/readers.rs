//! Reader threads, each with its own connection. A read waits neither for the writer thread nor
//! blocks the async runtime.

use std::{
    sync::{
        Arc, Mutex, PoisonError,
        mpsc::{self, Receiver, Sender},
    },
    thread::{self, JoinHandle},
};

use rusqlite::Connection;
use tokio::sync::oneshot;

use super::{
    error::{SqliteError, SqliteResult, unavailable},
    open::{self, SqliteLocation},
};
use crate::{Result, StoreError};

/// Number of reader threads.
const READERS: usize = 4;

/// A pool of reader threads.
#[derive(Debug)]
pub(super) struct ReaderPool {
    queue: Option<Sender<ReadJob>>,
    threads: Vec<JoinHandle<()>>,
}

type ReadJob = Box<dyn FnOnce(&mut SqliteReader) + Send>;

impl ReaderPool {
    /// Starts the threads. Each opens its connection at the first read.
    pub(super) fn start(location: &SqliteLocation) -> Result<ReaderPool> {
        let (queue, jobs) = mpsc::channel::<ReadJob>();
        let jobs = Arc::new(Mutex::new(jobs));
        let start = |number| {
            let (jobs, mut reader) =
                (jobs.clone(), SqliteReader { location: location.clone(), connection: None });
            thread::Builder::new()
                .name(format!("store-reader-{number}"))
                .spawn(move || {
                    while let Some(job) = next_job(&jobs) {
                        job(&mut reader);
                    }
                })
                .map_err(|error| StoreError::Unavailable(Box::new(error)))
        };
        let threads = (1..=READERS).map(start).collect::<Result<Vec<_>>>()?;
        Ok(ReaderPool { queue: Some(queue), threads })
    }

    /// Runs a read job. The job sees one consistent snapshot.
    pub(super) async fn read<T: Send + 'static>(
        &self,
        job: impl FnOnce(&Connection) -> SqliteResult<T> + Send + 'static,
    ) -> Result<T> {
        let (reply, response) = oneshot::channel();
        let job: ReadJob = Box::new(move |reader| {
            let _ = reply.send(reader.read(job));
        });
        self.queue.as_ref().ok_or_else(closed_error)?.send(job).map_err(|_| closed_error())?;
        response.await.map_err(|_| closed_error())?
    }

    /// Shrinks the file.
    pub(super) async fn vacuum(&self) -> Result<()> {
        let (reply, response) = oneshot::channel();
        let job: ReadJob = Box::new(move |reader| {
            let _ = reply.send(open::vacuum(&reader.location));
        });
        self.queue.as_ref().ok_or_else(closed_error)?.send(job).map_err(|_| closed_error())?;
        response.await.map_err(|_| closed_error())?
    }
}

impl Drop for ReaderPool {
    fn drop(&mut self) {
        drop(self.queue.take());
        for thread in self.threads.drain(..) {
            let _ = thread.join();
        }
    }
}

struct SqliteReader {
    location: SqliteLocation,
    connection: Option<Connection>,
}

impl SqliteReader {
    fn read<T>(&mut self, job: impl FnOnce(&Connection) -> SqliteResult<T>) -> Result<T> {
        let connection = match self.connection.take() {
            Some(connection) => connection,
            None => open::open_reader(&self.location)?,
        };
        let result = read_snapshot(&connection, job);
        // After an error of SQLite the next read opens a new connection.
        if !matches!(result, Err(SqliteError::Engine(_))) {
            self.connection = Some(connection);
        }
        result.map_err(StoreError::from)
    }
}

fn read_snapshot<T>(
    connection: &Connection,
    job: impl FnOnce(&Connection) -> SqliteResult<T>,
) -> SqliteResult<T> {
    let execute = |sql| connection.prepare_cached(sql)?.execute([]);
    execute("BEGIN")?;
    let result = job(connection);
    // Nothing was written, so a failed commit does not matter.
    let _ = execute("COMMIT");
    result
}

fn next_job(jobs: &Mutex<Receiver<ReadJob>>) -> Option<ReadJob> {
    jobs.lock().unwrap_or_else(PoisonError::into_inner).recv().ok()
}

fn closed_error() -> StoreError {
    unavailable("the reader threads have stopped")
}
