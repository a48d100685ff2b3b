//! A few threads that read, each with a connection of its own, so that a read waits neither for
//! the thread that writes nor in the way of the runtime.

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
    fault::{Done, Fault, unavailable},
    open::{self, Place},
};
use crate::{Result, StoreError};

/// How many read at once.
const READERS: usize = 4;

/// The way to the threads that read.
#[derive(Debug)]
pub(super) struct Readers {
    queue: Option<Sender<Job>>,
    threads: Vec<JoinHandle<()>>,
}

type Job = Box<dyn FnOnce(&mut Reader) + Send>;

impl Readers {
    /// Starts the threads; each connects when it has something to read.
    pub(super) fn start(place: &Place) -> Result<Readers> {
        let (queue, jobs) = mpsc::channel::<Job>();
        let jobs = Arc::new(Mutex::new(jobs));
        let start = |number| {
            let (jobs, mut reader) =
                (jobs.clone(), Reader { place: place.clone(), connection: None });
            thread::Builder::new()
                .name(format!("store-reader-{number}"))
                .spawn(move || {
                    while let Some(job) = next(&jobs) {
                        job(&mut reader);
                    }
                })
                .map_err(|error| StoreError::Unavailable(Box::new(error)))
        };
        let threads = (1..=READERS).map(start).collect::<Result<Vec<_>>>()?;
        Ok(Readers { queue: Some(queue), threads })
    }

    /// Reads. All that a job sees is of one moment.
    pub(super) async fn read<T: Send + 'static>(
        &self,
        job: impl FnOnce(&Connection) -> Done<T> + Send + 'static,
    ) -> Result<T> {
        let (reply, answer) = oneshot::channel();
        let job: Job = Box::new(move |reader| {
            let _ = reply.send(reader.read(job));
        });
        self.queue.as_ref().ok_or_else(gone)?.send(job).map_err(|_| gone())?;
        answer.await.map_err(|_| gone())?
    }

    /// Makes the file as small as it can be.
    pub(super) async fn vacuum(&self) -> Result<()> {
        let (reply, answer) = oneshot::channel();
        let job: Job = Box::new(move |reader| {
            let _ = reply.send(open::vacuum(&reader.place));
        });
        self.queue.as_ref().ok_or_else(gone)?.send(job).map_err(|_| gone())?;
        answer.await.map_err(|_| gone())?
    }
}

impl Drop for Readers {
    fn drop(&mut self) {
        drop(self.queue.take());
        for thread in self.threads.drain(..) {
            let _ = thread.join();
        }
    }
}

struct Reader {
    place: Place,
    connection: Option<Connection>,
}

impl Reader {
    fn read<T>(&mut self, job: impl FnOnce(&Connection) -> Done<T>) -> Result<T> {
        let connection = match self.connection.take() {
            Some(connection) => connection,
            None => open::reader(&self.place)?,
        };
        let result = snapshot(&connection, job);
        // After trouble with the disk the next one starts afresh.
        if !matches!(result, Err(Fault::Engine(_))) {
            self.connection = Some(connection);
        }
        result.map_err(StoreError::from)
    }
}

fn snapshot<T>(connection: &Connection, job: impl FnOnce(&Connection) -> Done<T>) -> Done<T> {
    let execute = |sql| connection.prepare_cached(sql)?.execute([]);
    execute("BEGIN")?;
    let result = job(connection);
    // Nothing was written; whether the end succeeds means nothing.
    let _ = execute("COMMIT");
    result
}

fn next(jobs: &Mutex<Receiver<Job>>) -> Option<Job> {
    jobs.lock().unwrap_or_else(PoisonError::into_inner).recv().ok()
}

fn gone() -> StoreError {
    unavailable("the threads that read are gone")
}
