//! The input of a child process. Writing never blocks: unread input is buffered, up to a limit.

use std::sync::{
    Arc,
    atomic::{AtomicUsize, Ordering},
};

use tokio::{io::AsyncWriteExt as _, process::ChildStdin, sync::mpsc, task::AbortHandle};

/// The input of a process. Dropping it closes it.
#[derive(Debug)]
pub struct ChildInput {
    sender: mpsc::UnboundedSender<Vec<u8>>,
    unread_bytes: Arc<AtomicUsize>,
    max_unread: usize,
}

/// Why a line cannot be sent to a process.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ChildInputError {
    /// The buffer is full: the process does not read.
    TooMuch,
    /// The process has closed its input.
    Closed,
}

impl ChildInput {
    /// Buffers at most this many bytes. The task ends with the input or with the process.
    pub(crate) fn new(stdin: ChildStdin, max_unread: usize) -> (ChildInput, AbortHandle) {
        let (sender, receiver) = mpsc::unbounded_channel();
        let unread = Arc::new(AtomicUsize::new(0));
        let writer = tokio::spawn(write_queued(stdin, receiver, Arc::clone(&unread)));
        (ChildInput { sender, unread_bytes: unread, max_unread }, writer.abort_handle())
    }

    /// Sends a line.
    ///
    /// # Errors
    /// If the process does not read, or has closed its input.
    pub fn write_line(&self, mut line: Vec<u8>) -> Result<(), ChildInputError> {
        line.push(b'\n');
        self.write(line)
    }

    /// Sends bytes.
    ///
    /// # Errors
    /// If the process does not read, or has closed its input.
    pub fn write(&self, bytes: Vec<u8>) -> Result<(), ChildInputError> {
        if self.unread_bytes.fetch_add(bytes.len(), Ordering::Relaxed) > self.max_unread {
            return Err(ChildInputError::TooMuch);
        }
        self.sender.send(bytes).map_err(|_| ChildInputError::Closed)
    }
}

/// Writes buffered lines until the process closes its input.
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
