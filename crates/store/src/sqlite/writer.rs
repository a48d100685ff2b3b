//! Access to the one writer thread: a call queues a job and returns once it is on disk.

#[cfg(test)]
mod tests;

use std::{
    sync::{Arc, mpsc},
    thread::{self, JoinHandle},
};

use tokio::sync::{OwnedSemaphorePermit, Semaphore, oneshot};

use super::{
    error::{SqliteError, SqliteResult, unavailable},
    open::{self, SqliteLocation, WalState},
    writer_thread::{WriteContext, WriteJob, WriteOutcome, WriterMessage, WriterThread},
};
use crate::{Result, StoreError, hub::WakeHub};

/// How much may wait to be written, in units of 1 KiB. Further callers wait until there is room.
const MAX_WAITING: u32 = 256 * 1_024;

/// A handle of the writer thread.
#[derive(Debug)]
pub(super) struct SqliteWriter {
    queue: Option<mpsc::Sender<WriterMessage>>,
    waiting: Arc<Semaphore>,
    thread: Option<JoinHandle<()>>,
}

impl SqliteWriter {
    /// Opens the database on a thread of its own.
    pub(super) async fn open(location: SqliteLocation, hub: WakeHub) -> Result<SqliteWriter> {
        let (queue, jobs) = mpsc::channel();
        let (ready, opened) = oneshot::channel();
        let run_thread = move || match open::open_writer(&location, WalState::AsFound) {
            Ok(connection) => {
                let mut writer = WriterThread::new(location, hub, connection);
                // The caller may be gone; then the queue is closed too.
                let _ = ready.send(Ok(()));
                writer.serve(&jobs);
            }
            Err(error) => {
                let _ = ready.send(Err(error));
            }
        };
        let thread = thread::Builder::new()
            .name("store-writer".to_owned())
            .spawn(run_thread)
            .map_err(|error| StoreError::Unavailable(Box::new(error)))?;
        opened.await.map_err(|_| closed_error())??;
        let waiting = Arc::new(Semaphore::new(MAX_WAITING as usize));
        Ok(SqliteWriter { queue: Some(queue), waiting, thread: Some(thread) })
    }

    /// Runs a job within a transaction and returns once that is on disk. `bytes` is the approximate
    /// size of the job. The job runs again if the transaction has to start over.
    pub(super) async fn write<T: Send + 'static>(
        &self,
        bytes: usize,
        job: impl Fn(&mut WriteContext<'_>) -> SqliteResult<T> + Send + 'static,
    ) -> Result<T> {
        let units =
            u32::try_from(bytes / 1_024).unwrap_or(u32::MAX).saturating_add(1).min(MAX_WAITING);
        let permit =
            self.waiting.clone().acquire_many_owned(units).await.map_err(|_| closed_error())?;
        let (reply, response) = oneshot::channel();
        let task = WriteTask { job, result: None, reply, permit };
        self.send(WriterMessage::Job(Box::new(task)))?;
        response.await.map_err(|_| closed_error())?
    }

    /// Makes the thread poll for writes of other processes, because there is a watcher now.
    pub(super) fn request_poll(&self) -> Result<()> {
        self.send(WriterMessage::Poll)
    }

    fn send(&self, message: WriterMessage) -> Result<()> {
        self.queue.as_ref().ok_or_else(closed_error)?.send(message).map_err(|_| closed_error())
    }
}

impl Drop for SqliteWriter {
    /// Waits until all queued jobs are written and the file is closed.
    fn drop(&mut self) {
        drop(self.queue.take());
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

/// A job and the channel for its result.
struct WriteTask<T, F> {
    job: F,
    result: Option<SqliteResult<T>>,
    reply: oneshot::Sender<Result<T>>,
    permit: OwnedSemaphorePermit,
}

impl<T, F> WriteJob for WriteTask<T, F>
where
    T: Send,
    F: Fn(&mut WriteContext<'_>) -> SqliteResult<T> + Send,
{
    fn run(&mut self, context: &mut WriteContext<'_>) -> WriteOutcome {
        let result = (self.job)(context);
        let outcome = if result.is_ok() { WriteOutcome::Keep } else { WriteOutcome::Discard };
        self.result = Some(result);
        outcome
    }

    fn acknowledge(self: Box<Self>, failure: Option<&str>) {
        let WriteTask { job, result, reply, permit } = *self;
        // Free the room before the caller is notified.
        drop((job, permit));
        let result = match (result, failure) {
            // A refusal holds whether or not the transaction was committed.
            (Some(Err(SqliteError::Refused(error))), _) => Err(error),
            (_, Some(why)) => Err(unavailable(why)),
            (Some(result), None) => result.map_err(StoreError::from),
            (None, None) => Err(closed_error()),
        };
        // The caller may have stopped waiting.
        let _ = reply.send(result);
    }
}

fn closed_error() -> StoreError {
    unavailable("the writer thread has stopped")
}
