//! What a process is told. Nobody waits for it to read: what it has not read lies in memory, up to a
//! point.

use std::sync::{
    Arc,
    atomic::{AtomicUsize, Ordering},
};

use tokio::{io::AsyncWriteExt as _, process::ChildStdin, sync::mpsc, task::JoinHandle};

/// The input of a process. Dropping it closes it.
#[derive(Debug)]
pub(crate) struct ChildInput {
    sender: mpsc::UnboundedSender<Vec<u8>>,
    unread_bytes: Arc<AtomicUsize>,
    max_unread: usize,
}

/// Why a process is not told something.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum ChildInputError {
    /// It does not read what it is told.
    TooMuch,
    /// It has closed its input.
    Closed,
}

impl ChildInput {
    /// At most so many bytes wait. The task ends with the input or with the process.
    pub(crate) fn new(stdin: ChildStdin, most: usize) -> (ChildInput, JoinHandle<()>) {
        let (sender, receiver) = mpsc::unbounded_channel();
        let unread = Arc::new(AtomicUsize::new(0));
        let writer = tokio::spawn(write_queued(stdin, receiver, Arc::clone(&unread)));
        (ChildInput { sender, unread_bytes: unread, max_unread: most }, writer)
    }

    /// So many bytes are not read yet, for tests.
    #[cfg(test)]
    pub(crate) fn pretend(&self, unread: usize) {
        self.unread_bytes.store(unread, Ordering::Relaxed);
    }

    /// Tells it a line.
    pub(crate) fn write_line(&self, mut line: Vec<u8>) -> Result<(), ChildInputError> {
        line.push(b'\n');
        if self.unread_bytes.fetch_add(line.len(), Ordering::Relaxed) > self.max_unread {
            return Err(ChildInputError::TooMuch);
        }
        self.sender.send(line).map_err(|_| ChildInputError::Closed)
    }
}

/// Writes what waits, for as long as anybody reads it.
async fn write_queued(
    mut stdin: ChildStdin,
    mut receiver: mpsc::UnboundedReceiver<Vec<u8>>,
    unread: Arc<AtomicUsize>,
) {
    while let Some(bytes) = receiver.recv().await {
        if stdin.write_all(&bytes).await.is_err() || stdin.flush().await.is_err() {
            return;
        }
        unread.fetch_sub(bytes.len(), Ordering::Relaxed);
    }
}
