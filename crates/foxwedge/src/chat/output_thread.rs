//! Writes to stdout and stderr on a thread of its own, so that a slow reader holds up nothing: a run
//! goes on, its lease is kept, and Ctrl-C is heard while it waits.

use std::{
    io::{self, Write},
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
        mpsc,
    },
    thread,
};

use anyhow::Context;
use tokio::sync::oneshot;

use super::line_printer::ChatOutput;

/// The thread that writes.
pub(crate) struct ChatOutputThread {
    sender: Option<mpsc::Sender<ChatOutput>>,
    done: Option<oneshot::Receiver<io::Result<()>>>,
    reader_gone: Arc<AtomicBool>,
}

impl ChatOutputThread {
    /// Begins to write. `unheard` is called once, when nobody reads stdout any more.
    pub(crate) fn new(unheard: impl FnOnce() + Send + 'static) -> ChatOutputThread {
        // What waits is at most what a run says, which is in memory anyway.
        let (sender, receiver) = mpsc::channel();
        let (tell, done) = oneshot::channel();
        let gone = Arc::new(AtomicBool::new(false));
        let seen = Arc::clone(&gone);
        thread::spawn(move || {
            let _ = tell.send(write_all_output(&receiver, &seen, unheard));
        });
        ChatOutputThread { sender: Some(sender), done: Some(done), reader_gone: gone }
    }

    /// Writes, as soon as there is a reader for it.
    pub(crate) fn write(&self, written: ChatOutput) {
        if let Some(sender) = &self.sender
            && written != ChatOutput::default()
        {
            // The thread ends only when nobody sends any more.
            let _ = sender.send(written);
        }
    }

    /// Writes talk.
    pub(crate) fn write_stderr(&self, text: impl Into<String>) {
        self.write(ChatOutput { out: String::new(), err: text.into() });
    }

    /// Whether nobody reads stdout any more.
    pub(crate) fn is_reader_gone(&self) -> bool {
        self.reader_gone.load(Ordering::Relaxed)
    }

    /// Waits until everything is written. A reader that went away has seen enough.
    pub(crate) async fn finish(&mut self) -> anyhow::Result<()> {
        self.sender = None;
        let Some(done) = self.done.take() else { return Ok(()) };
        match done.await {
            Ok(written) => written.context("stdout cannot be written"),
            Err(_) => Ok(()),
        }
    }
}

fn write_all_output(
    receiver: &mpsc::Receiver<ChatOutput>,
    gone: &AtomicBool,
    unheard: impl FnOnce(),
) -> io::Result<()> {
    let mut unheard = Some(unheard);
    let mut broken = Ok(());
    while let Ok(written) = receiver.recv() {
        if !written.out.is_empty() && unheard.is_some() {
            let mut out = io::stdout().lock();
            let result = out.write_all(written.out.as_bytes()).and_then(|()| out.flush());
            if let Err(error) = result {
                if error.kind() != io::ErrorKind::BrokenPipe {
                    broken = Err(error);
                }
                gone.store(true, Ordering::Relaxed);
                if let Some(unheard) = unheard.take() {
                    unheard();
                }
            }
        }
        // Nobody listens to talk: nothing is lost.
        let _ = anstream::stderr().lock().write_all(written.err.as_bytes());
    }
    broken
}
