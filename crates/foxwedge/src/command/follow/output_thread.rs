//! Writes to stdout on a thread of its own, so that a slow reader holds up nothing but the view:
//! leases are renewed and Ctrl-C is heard while it waits.

use std::{
    io::{self, IsTerminal, Write},
    thread,
};

use anyhow::Context;
use tokio::sync::{mpsc, oneshot};

use crate::cli_output::escape_unsafe;

/// How it is written.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum FollowOutputStyle {
    /// For programs: byte for byte.
    Plain,
    /// For people: in colours, where they are seen.
    Styled,
}

/// What is written: lines that stay, and one below them that is replaced by the next.
pub(super) struct FollowOutput {
    pub(super) lines: String,
    pub(super) status: Option<String>,
}

/// The thread that writes.
pub(super) struct FollowOutputThread {
    sender: Option<mpsc::Sender<FollowOutput>>,
    written: Option<oneshot::Receiver<io::Result<()>>>,
}

/// Nobody reads any more.
pub(super) struct OutputReaderGone;

impl FollowOutputThread {
    pub(super) fn new(manner: FollowOutputStyle) -> FollowOutputThread {
        let (sender, receiver) = mpsc::channel(16);
        let (done, written) = oneshot::channel();
        thread::spawn(move || done.send(write_all_output(receiver, manner)));
        FollowOutputThread { sender: Some(sender), written: Some(written) }
    }

    /// Says something, as soon as there is room for it.
    pub(super) async fn write(&self, said: FollowOutput) -> Result<(), OutputReaderGone> {
        match &self.sender {
            Some(sender) => sender.send(said).await.map_err(|_| OutputReaderGone),
            None => Err(OutputReaderGone),
        }
    }

    /// Says nothing any more, and does not wait for what was said to be heard.
    pub(super) fn mute(&mut self) {
        self.sender = None;
        self.written = None;
    }

    /// Waits until everything is written. A reader that went away has seen enough.
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
    manner: FollowOutputStyle,
) -> io::Result<()> {
    let mut below = false;
    let terminal = io::stdout().is_terminal();
    while let Some(said) = receiver.blocking_recv() {
        let mut plain = io::stdout().lock();
        if below {
            // Back to the beginning of the line, and nothing on it.
            plain.write_all(b"\r\x1b[K")?;
        }
        match manner {
            FollowOutputStyle::Plain if terminal => {
                plain.write_all(escape_unsafe(&said.lines).as_bytes())?
            }
            FollowOutputStyle::Plain => plain.write_all(said.lines.as_bytes())?,
            FollowOutputStyle::Styled => {
                drop(plain);
                anstream::stdout().lock().write_all(said.lines.as_bytes())?;
                plain = io::stdout().lock();
            }
        }
        below = said.status.is_some();
        if let Some(status) = said.status {
            plain.flush()?;
            drop(plain);
            anstream::stdout().lock().write_all(status.as_bytes())?;
            plain = io::stdout().lock();
        }
        plain.flush()?;
    }
    if below {
        io::stdout().lock().write_all(b"\r\x1b[K")?;
    }
    io::stdout().lock().flush()
}
