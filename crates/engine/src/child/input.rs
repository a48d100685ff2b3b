//! What a process is told. Nobody waits for it to read: what it has not read lies in memory, up to a
//! point.

use std::sync::{
    Arc,
    atomic::{AtomicUsize, Ordering},
};

use tokio::{io::AsyncWriteExt as _, process::ChildStdin, sync::mpsc, task::JoinHandle};

/// The input of a process. Dropping it closes it.
#[derive(Debug)]
pub(crate) struct Input {
    sender: mpsc::UnboundedSender<Vec<u8>>,
    unread: Arc<AtomicUsize>,
    most: usize,
}

/// Why a process is not told something.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Unread {
    /// It does not read what it is told.
    TooMuch,
    /// It has closed its input.
    Closed,
}

impl Input {
    /// At most so many bytes wait. The task ends with the input or with the process.
    pub(crate) fn new(stdin: ChildStdin, most: usize) -> (Input, JoinHandle<()>) {
        let (sender, receiver) = mpsc::unbounded_channel();
        let unread = Arc::new(AtomicUsize::new(0));
        let writer = tokio::spawn(write(stdin, receiver, Arc::clone(&unread)));
        (Input { sender, unread, most }, writer)
    }

    /// So many bytes are not read yet, for tests.
    #[cfg(test)]
    pub(crate) fn pretend(&self, unread: usize) {
        self.unread.store(unread, Ordering::Relaxed);
    }

    /// Tells it a line.
    pub(crate) fn tell(&self, mut line: Vec<u8>) -> Result<(), Unread> {
        line.push(b'\n');
        if self.unread.fetch_add(line.len(), Ordering::Relaxed) > self.most {
            return Err(Unread::TooMuch);
        }
        self.sender.send(line).map_err(|_| Unread::Closed)
    }
}

/// Writes what waits, for as long as anybody reads it.
async fn write(
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
