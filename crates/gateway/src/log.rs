//! The request log: one line per request on the standard error stream, and notices about the store. A
//! line is a constant message with fields: ids, names, numbers. It never holds message content, nor any header that
//! is not named here.
//!
//! A thread writes the lines. If it cannot keep up, lines are dropped and counted; no request
//! waits for the log. We keep it instead of a `tracing` subscriber, which would format and write on
//! the threads that serve requests: the cost of a request with the log on is measured, and most of it
//! would be the log.
//!
//! Each line is also a `tracing` event, for programs that embed the gateway. Without a subscriber
//! that costs one atomic read.

mod line;
mod store_notices;

use std::{
    io::{self, IsTerminal as _, Write},
    mem,
    sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError},
    thread::JoinHandle,
    time::Duration,
};

use crate::{
    config::GatewayLogFormat,
    metrics::{DroppedItem, Metrics},
};

pub(crate) use line::{DeliveryOutcome, RequestLogLine, mask_path};
use line::{LogStyle, REQUEST_TARGET};
use store_notices::StoreNotice;
pub(crate) use store_notices::{RecordLoss, StoreNotices};

/// A handle to the log. Cheap to clone; clones share the queue.
#[derive(Clone)]
pub(crate) struct RequestLog(Option<Arc<LogQueue>>);

/// The writer thread. Closing it waits until all lines are written.
pub(crate) struct LogWriter {
    queue: Option<Arc<LogQueue>>,
    thread: Option<JoinHandle<()>>,
}

struct LogQueue {
    waiting: Mutex<QueuedLines>,
    wake_up: Condvar,
    metrics: Metrics,
}

#[derive(Default)]
struct QueuedLines {
    lines: Vec<RequestLogLine>,
    notices: Vec<StoreNotice>,
    closed: bool,
}

/// Maximum number of queued lines.
const MAX_QUEUED_LINES: usize = 8 << 10;

/// How long lines are collected, so that a busy server does not wake the thread for each one.
const BATCH_DELAY: Duration = Duration::from_millis(5);

impl GatewayLogFormat {
    /// The format of what is written to the standard error stream: never [`GatewayLogFormat::Auto`].
    #[must_use]
    pub fn for_stderr(self) -> GatewayLogFormat {
        match self {
            GatewayLogFormat::Auto if io::stderr().is_terminal() => GatewayLogFormat::Text,
            GatewayLogFormat::Auto => GatewayLogFormat::Json,
            GatewayLogFormat::Text | GatewayLogFormat::Json | GatewayLogFormat::Off => self,
        }
    }
}

impl RequestLog {
    /// Starts the thread. If `to` is `None`, lines go to the standard error stream.
    pub(crate) fn start(
        format: GatewayLogFormat,
        to: Option<Box<dyn Write + Send>>,
        metrics: Metrics,
    ) -> io::Result<(RequestLog, LogWriter)> {
        let format = if to.is_none() { format.for_stderr() } else { format };
        let style = match format {
            GatewayLogFormat::Off => {
                return Ok((RequestLog(None), LogWriter { queue: None, thread: None }));
            }
            GatewayLogFormat::Json | GatewayLogFormat::Auto => LogStyle::Json,
            GatewayLogFormat::Text if to.is_none() && io::stderr().is_terminal() => {
                LogStyle::Short { is_colored: is_colored() }
            }
            GatewayLogFormat::Text => LogStyle::Plain,
        };
        let queue =
            Arc::new(LogQueue { waiting: Mutex::default(), wake_up: Condvar::new(), metrics });
        let to = to.unwrap_or_else(|| Box::new(io::stderr()));
        let thread = {
            let queue = queue.clone();
            std::thread::Builder::new()
                .name("log".into())
                .spawn(move || queue.write_lines(style, to))?
        };
        Ok((
            RequestLog(Some(queue.clone())),
            LogWriter { queue: Some(queue), thread: Some(thread) },
        ))
    }

    /// False if the log is off and there is no subscriber to events of requests.
    pub(crate) fn is_enabled(&self) -> bool {
        self.0.is_some() || tracing::enabled!(target: REQUEST_TARGET, tracing::Level::ERROR)
    }

    /// Emits the event of a line, and queues the line.
    pub(crate) fn write_line(&self, line: RequestLogLine) {
        line.emit();
        self.queue(|waiting| waiting.lines.push(line));
    }

    /// Emits the event of a notice, and queues its line.
    fn write_notice(&self, notice: StoreNotice) {
        notice.emit();
        self.queue(|waiting| waiting.notices.push(notice));
    }

    fn queue(&self, push: impl FnOnce(&mut QueuedLines)) {
        let Some(queue) = &self.0 else {
            return;
        };
        let mut waiting = queue.lock();
        if waiting.len() >= MAX_QUEUED_LINES {
            drop(waiting);
            queue.metrics.count_dropped(DroppedItem::Lines, 1);
            return;
        }
        push(&mut waiting);
        let is_first = waiting.len() == 1;
        drop(waiting);
        if is_first {
            queue.wake_up.notify_one();
        }
    }
}

impl QueuedLines {
    fn len(&self) -> usize {
        self.lines.len() + self.notices.len()
    }
}

impl LogWriter {
    /// Waits until everything is written.
    pub(crate) fn close(mut self) {
        self.close_and_join();
    }

    fn close_and_join(&mut self) {
        if let Some(queue) = &self.queue {
            queue.lock().closed = true;
            queue.wake_up.notify_one();
        }
        if let Some(thread) = self.thread.take() {
            // A thread that panicked has nothing more to write.
            let _ = thread.join();
        }
    }
}

impl Drop for LogWriter {
    fn drop(&mut self) {
        self.close_and_join();
    }
}

impl LogQueue {
    fn lock(&self) -> MutexGuard<'_, QueuedLines> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn write_lines(&self, style: LogStyle, mut to: Box<dyn Write + Send>) {
        let mut text = String::new();
        let (mut lines, mut notices) = (Vec::new(), Vec::new());
        loop {
            let waiting = self.lock();
            let idle = |waiting: &mut QueuedLines| waiting.len() == 0 && !waiting.closed;
            let waiting =
                self.wake_up.wait_while(waiting, idle).unwrap_or_else(PoisonError::into_inner);
            let (mut waiting, _) = self
                .wake_up
                .wait_timeout_while(waiting, BATCH_DELAY, |waiting| !waiting.closed)
                .unwrap_or_else(PoisonError::into_inner);
            mem::swap(&mut waiting.lines, &mut lines);
            mem::swap(&mut waiting.notices, &mut notices);
            let closed = waiting.closed;
            drop(waiting);
            lines.drain(..).for_each(|line| line.write(style, &mut text));
            notices.drain(..).for_each(|notice| notice.write(style, &mut text));
            // A write error must not stop the server.
            let _ = to.write_all(text.as_bytes()).and_then(|()| to.flush());
            text.clear();
            if closed {
                return;
            }
        }
    }
}

fn is_colored() -> bool {
    let set = |name| std::env::var_os(name).is_some_and(|value| !value.is_empty());
    let dumb = std::env::var_os("TERM").is_some_and(|term| term == "dumb");
    !set("NO_COLOR") && !dumb
}

#[cfg(test)]
mod tests;
