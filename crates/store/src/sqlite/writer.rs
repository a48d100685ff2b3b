//! The way to the one thread that writes: hand in a job, hear once it is on disk.

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

/// What may wait to be written, in units of 1 KiB: whoever brings more waits with it.
const MAX_WAITING: u32 = 256 * 1_024;

/// The way to the thread that writes.
#[derive(Debug)]
pub(super) struct SqliteWriter {
    queue: Option<mpsc::Sender<WriterMessage>>,
    waiting: Arc<Semaphore>,
    thread: Option<JoinHandle<()>>,
}

impl SqliteWriter {
    /// Opens the place on a thread of its own.
    pub(super) async fn open(place: SqliteLocation, hub: WakeHub) -> Result<SqliteWriter> {
        let (queue, jobs) = mpsc::channel();
        let (ready, opened) = oneshot::channel();
        let begin = move || match open::open_writer(&place, WalState::AsFound) {
            Ok(connection) => {
                let mut desk = WriterThread::new(place, hub, connection);
                // Whoever asked may be gone; then so is the queue.
                let _ = ready.send(Ok(()));
                desk.serve(&jobs);
            }
            Err(error) => {
                let _ = ready.send(Err(error));
            }
        };
        let thread = thread::Builder::new()
            .name("store-writer".to_owned())
            .spawn(begin)
            .map_err(|error| StoreError::Unavailable(Box::new(error)))?;
        opened.await.map_err(|_| closed_error())??;
        let waiting = Arc::new(Semaphore::new(MAX_WAITING as usize));
        Ok(SqliteWriter { queue: Some(queue), waiting, thread: Some(thread) })
    }

    /// Does a job within a transaction, and returns once that is on disk. `bytes` is about how
    /// much the job carries. It is done again if the transaction has to begin anew.
    pub(super) async fn write<T: Send + 'static>(
        &self,
        bytes: usize,
        job: impl Fn(&mut WriteContext<'_>) -> SqliteResult<T> + Send + 'static,
    ) -> Result<T> {
        let units =
            u32::try_from(bytes / 1_024).unwrap_or(u32::MAX).saturating_add(1).min(MAX_WAITING);
        let permit =
            self.waiting.clone().acquire_many_owned(units).await.map_err(|_| closed_error())?;
        let (reply, answer) = oneshot::channel();
        let task = WriteTask { job, result: None, reply, permit };
        self.send(WriterMessage::Job(Box::new(task)))?;
        answer.await.map_err(|_| closed_error())?
    }

    /// Makes the thread look for what other processes write: somebody watches now.
    pub(super) fn request_poll(&self) -> Result<()> {
        self.send(WriterMessage::Poll)
    }

    fn send(&self, message: WriterMessage) -> Result<()> {
        self.queue.as_ref().ok_or_else(closed_error)?.send(message).map_err(|_| closed_error())
    }
}

impl Drop for SqliteWriter {
    /// Waits until everything that was handed in is written and the file is closed.
    fn drop(&mut self) {
        drop(self.queue.take());
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

/// A job, and who waits for it.
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
    fn run(&mut self, work: &mut WriteContext<'_>) -> WriteOutcome {
        let result = (self.job)(work);
        let kept = if result.is_ok() { WriteOutcome::Keep } else { WriteOutcome::Discard };
        self.result = Some(result);
        kept
    }

    fn acknowledge(self: Box<Self>, lost: Option<&str>) {
        let WriteTask { job, result, reply, permit } = *self;
        // There is room for others before anybody hears of it.
        drop((job, permit));
        let result = match (result, lost) {
            // A refusal holds whether or not others could be written.
            (Some(Err(SqliteError::Refused(error))), _) => Err(error),
            (_, Some(why)) => Err(unavailable(why)),
            (Some(result), None) => result.map_err(StoreError::from),
            (None, None) => Err(closed_error()),
        };
        // Whoever asked may have stopped waiting.
        let _ = reply.send(result);
    }
}

fn closed_error() -> StoreError {
    unavailable("the thread that writes is gone")
}
