//! Writes to stdout and stderr on a separate thread, so that a slow reader blocks nothing: the run
//! continues, its lease is renewed, and Ctrl-C works meanwhile.

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

/// Handle of the writing thread.
pub(crate) struct ChatOutputThread {
    sender: Option<mpsc::Sender<ChatOutput>>,
    done: Option<oneshot::Receiver<io::Result<()>>>,
    reader_gone: Arc<AtomicBool>,
}

impl ChatOutputThread {
    /// Starts the thread. `on_reader_gone` is called once, when stdout is closed.
    pub(crate) fn new(on_reader_gone: impl FnOnce() + Send + 'static) -> ChatOutputThread {
        // Unbounded, but at most the output of a run, which is in memory anyway.
        let (sender, receiver) = mpsc::channel();
        let (done_sender, done) = oneshot::channel();
        let gone = Arc::new(AtomicBool::new(false));
        let gone_flag = Arc::clone(&gone);
        thread::spawn(move || {
            let _ = done_sender.send(write_all_output(&receiver, &gone_flag, on_reader_gone));
        });
        ChatOutputThread { sender: Some(sender), done: Some(done), reader_gone: gone }
    }

    /// Queues output for the thread.
    pub(crate) fn write(&self, written: ChatOutput) {
        if let Some(sender) = &self.sender
            && written != ChatOutput::default()
        {
            // The thread ends only after all senders are dropped.
            let _ = sender.send(written);
        }
    }

    /// Queues text for stderr.
    pub(crate) fn write_stderr(&self, text: impl Into<String>) {
        self.write(ChatOutput { out: String::new(), err: text.into() });
    }

    /// Whether stdout is closed.
    pub(crate) fn is_reader_gone(&self) -> bool {
        self.reader_gone.load(Ordering::Relaxed)
    }

    /// Waits until everything is written. A reader that closed its end is not an error.
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
    on_reader_gone: impl FnOnce(),
) -> io::Result<()> {
    let mut on_reader_gone = Some(on_reader_gone);
    let mut stdout_result = Ok(());
    while let Ok(written) = receiver.recv() {
        if !written.out.is_empty() && on_reader_gone.is_some() {
            let mut out = io::stdout().lock();
            let result = out.write_all(written.out.as_bytes()).and_then(|()| out.flush());
            if let Err(error) = result {
                if error.kind() != io::ErrorKind::BrokenPipe {
                    stdout_result = Err(error);
                }
                gone.store(true, Ordering::Relaxed);
                if let Some(on_reader_gone) = on_reader_gone.take() {
                    on_reader_gone();
                }
            }
        }
        // Errors are ignored: stderr may be closed.
        let _ = anstream::stderr().lock().write_all(written.err.as_bytes());
    }
    stdout_result
}
