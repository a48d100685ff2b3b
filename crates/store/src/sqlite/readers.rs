//! Reader threads, each with its own connection. A read waits neither for the writer thread nor
//! blocks the async runtime.

use std::{
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicUsize, Ordering},
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

/// Maximum number of reader threads.
const READERS: usize = 4;

/// A pool of reader threads. A thread is started when all others have something to do.
#[derive(Debug)]
pub(super) struct ReaderPool {
    location: SqliteLocation,
    queue: Option<Sender<ReadJob>>,
    jobs: Arc<Mutex<Receiver<ReadJob>>>,
    /// Jobs that are queued or running.
    pending: Arc<AtomicUsize>,
    threads: Mutex<Vec<JoinHandle<()>>>,
}

type ReadJob = Box<dyn FnOnce(&mut SqliteReader) + Send>;

impl ReaderPool {
    /// A pool without threads.
    pub(super) fn new(location: &SqliteLocation) -> ReaderPool {
        let (queue, jobs) = mpsc::channel::<ReadJob>();
        ReaderPool {
            location: location.clone(),
            queue: Some(queue),
            jobs: Arc::new(Mutex::new(jobs)),
            pending: Arc::default(),
            threads: Mutex::default(),
        }
    }

    /// Runs a read job. The job sees one consistent snapshot.
    pub(super) async fn read<T: Send + 'static>(
        &self,
        job: impl FnOnce(&Connection) -> SqliteResult<T> + Send + 'static,
    ) -> Result<T> {
        let (reply, response) = oneshot::channel();
        let pending = self.pending.clone();
        self.send(Box::new(move |reader| {
            let result = reader.read(job);
            // Before the reply: the next job of this caller needs no other thread.
            pending.fetch_sub(1, Ordering::Relaxed);
            let _ = reply.send(result);
        }))?;
        response.await.map_err(|_| closed_error())?
    }

    /// Shrinks the file.
    pub(super) async fn vacuum(&self) -> Result<()> {
        let (reply, response) = oneshot::channel();
        let pending = self.pending.clone();
        self.send(Box::new(move |reader| {
            let result = open::vacuum(&reader.location);
            pending.fetch_sub(1, Ordering::Relaxed);
            let _ = reply.send(result);
        }))?;
        response.await.map_err(|_| closed_error())?
    }

    fn send(&self, job: ReadJob) -> Result<()> {
        let pending = self.pending.fetch_add(1, Ordering::Relaxed) + 1;
        self.start_threads(pending)?;
        self.queue.as_ref().ok_or_else(closed_error)?.send(job).map_err(|_| closed_error())
    }

    /// Starts a thread if there are fewer than jobs. The first one has to start.
    fn start_threads(&self, pending: usize) -> Result<()> {
        let mut threads = self.threads.lock().unwrap_or_else(PoisonError::into_inner);
        // One that panicked is replaced.
        threads.retain(|thread| !thread.is_finished());
        if threads.len() >= pending.min(READERS) {
            return Ok(());
        }
        let jobs = self.jobs.clone();
        let mut reader = SqliteReader { location: self.location.clone(), connection: None };
        let name = format!("store-reader-{}", threads.len() + 1);
        let thread = thread::Builder::new().name(name).spawn(move || {
            while let Some(job) = next_job(&jobs) {
                job(&mut reader);
            }
        });
        match thread {
            Ok(thread) => threads.push(thread),
            Err(error) if threads.is_empty() => {
                return Err(StoreError::Unavailable(Box::new(error)));
            }
            Err(_) => {}
        }
        Ok(())
    }
}

impl Drop for ReaderPool {
    fn drop(&mut self) {
        drop(self.queue.take());
        let threads = self.threads.get_mut().unwrap_or_else(PoisonError::into_inner);
        for thread in threads.drain(..) {
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
