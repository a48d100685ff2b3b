//! Writes to stdout on a separate thread, so that a slow reader blocks only the output: leases are
//! renewed and Ctrl-C is handled meanwhile.

use std::{
    io::{self, IsTerminal, Write},
    thread,
};

use anyhow::Context;
use tokio::sync::{mpsc, oneshot};

use foxwedge_local::output::escape_unsafe;

/// How output is written.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum FollowOutputStyle {
    /// For programs: byte for byte.
    Plain,
    /// For people: with colors on a terminal.
    Styled,
}

/// Lines to append, and a status line below them that the next output replaces.
pub(super) struct FollowOutput {
    pub(super) lines: String,
    pub(super) status: Option<String>,
}

/// The handle of the output thread.
pub(super) struct FollowOutputThread {
    sender: Option<mpsc::Sender<FollowOutput>>,
    written: Option<oneshot::Receiver<io::Result<()>>>,
}

/// The reader of stdout is gone.
pub(super) struct OutputReaderGone;

impl FollowOutputThread {
    pub(super) fn new(style: FollowOutputStyle) -> FollowOutputThread {
        let (sender, receiver) = mpsc::channel(16);
        let (done, written) = oneshot::channel();
        thread::spawn(move || done.send(write_all_output(receiver, style)));
        FollowOutputThread { sender: Some(sender), written: Some(written) }
    }

    /// Queues output. Waits while the queue is full.
    pub(super) async fn write(&self, output: FollowOutput) -> Result<(), OutputReaderGone> {
        match &self.sender {
            Some(sender) => sender.send(output).await.map_err(|_| OutputReaderGone),
            None => Err(OutputReaderGone),
        }
    }

    /// Stops the output, and does not wait for queued output.
    pub(super) fn mute(&mut self) {
        self.sender = None;
        self.written = None;
    }

    /// Waits until all output is written. A closed pipe is not an error.
    pub(super) async fn finish(&mut self) -> anyhow::Result<()> {
        self.sender = None;
        let Some(written) = self.written.take() else { return Ok(()) };
        match written.await {
            Ok(Err(error)) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
            Ok(written) => written.context("stdout cannot be written"),
            Err(_) => Ok(()),
        }
    }
}

fn write_all_output(
    mut receiver: mpsc::Receiver<FollowOutput>,
    style: FollowOutputStyle,
) -> io::Result<()> {
    let mut has_status = false;
    let terminal = io::stdout().is_terminal();
    while let Some(output) = receiver.blocking_recv() {
        let mut stdout = io::stdout().lock();
        if has_status {
            // Clears the status line.
            stdout.write_all(b"\r\x1b[K")?;
        }
        match style {
            FollowOutputStyle::Plain if terminal => {
                stdout.write_all(escape_unsafe(&output.lines).as_bytes())?
            }
            FollowOutputStyle::Plain => stdout.write_all(output.lines.as_bytes())?,
            FollowOutputStyle::Styled => {
                drop(stdout);
                anstream::stdout().lock().write_all(output.lines.as_bytes())?;
                stdout = io::stdout().lock();
            }
        }
        has_status = output.status.is_some();
        if let Some(status) = output.status {
            stdout.flush()?;
            drop(stdout);
            anstream::stdout().lock().write_all(status.as_bytes())?;
            stdout = io::stdout().lock();
        }
        stdout.flush()?;
    }
    if has_status {
        io::stdout().lock().write_all(b"\r\x1b[K")?;
    }
    io::stdout().lock().flush()
}
