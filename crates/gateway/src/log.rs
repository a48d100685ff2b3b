//! One line for every request, on the standard error stream. A line is a constant sentence with
//! fields: ids, names, numbers. What was said never gets into it, nor does any header that is not
//! named here.
//!
//! Lines are handed to a thread that writes them. If it cannot keep up, lines are lost and
//! counted; no request waits for a log.

mod line;

use std::{
    io::{self, IsTerminal as _, Write},
    mem,
    sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError},
    thread::JoinHandle,
    time::Duration,
};

use foxwedge_engine::{
    config,
    meter::{Dropped, Meter},
};

use line::Look;
pub(crate) use line::{Ended, Line, masked};

/// Where lines go. A copy is the same.
#[derive(Clone)]
pub(crate) struct Log(Option<Arc<Queue>>);

/// The thread that writes; it has written everything when this is closed.
pub(crate) struct Writer {
    queue: Option<Arc<Queue>>,
    thread: Option<JoinHandle<()>>,
}

struct Queue {
    waiting: Mutex<Waiting>,
    bell: Condvar,
    meter: Meter,
}

#[derive(Default)]
struct Waiting {
    lines: Vec<Line>,
    closed: bool,
}

/// Lines that may wait.
const MOST: usize = 8 << 10;

/// Lines are collected so long, so that a busy server does not wake a thread for each.
const REST: Duration = Duration::from_millis(5);

impl Log {
    /// Starts the thread. Without a place of their own, lines go to the standard error stream.
    pub(crate) fn start(
        form: config::Log,
        to: Option<Box<dyn Write + Send>>,
        meter: Meter,
    ) -> io::Result<(Log, Writer)> {
        let look = match form {
            config::Log::Off => return Ok((Log(None), Writer { queue: None, thread: None })),
            config::Log::Json => Look::Json,
            config::Log::Text if to.is_none() && is_coloured() => Look::Coloured,
            config::Log::Text => Look::Plain,
        };
        let queue = Arc::new(Queue { waiting: Mutex::default(), bell: Condvar::new(), meter });
        let to = to.unwrap_or_else(|| Box::new(io::stderr()));
        let thread = {
            let queue = queue.clone();
            std::thread::Builder::new().name("log".into()).spawn(move || queue.write(look, to))?
        };
        Ok((Log(Some(queue.clone())), Writer { queue: Some(queue), thread: Some(thread) }))
    }

    /// Whether anybody reads what is told.
    pub(crate) fn is_on(&self) -> bool {
        self.0.is_some()
    }

    /// Tells of a request.
    pub(crate) fn tell(&self, line: Line) {
        let Some(queue) = &self.0 else {
            return;
        };
        let mut waiting = queue.lock();
        if waiting.lines.len() >= MOST {
            drop(waiting);
            queue.meter.dropped(Dropped::Lines, 1);
            return;
        }
        waiting.lines.push(line);
        let first = waiting.lines.len() == 1;
        drop(waiting);
        if first {
            queue.bell.notify_one();
        }
    }
}

impl Writer {
    /// Waits until everything is written.
    pub(crate) fn close(mut self) {
        self.end();
    }

    fn end(&mut self) {
        if let Some(queue) = &self.queue {
            queue.lock().closed = true;
            queue.bell.notify_one();
        }
        if let Some(thread) = self.thread.take() {
            // A thread that panicked has nothing more to write.
            let _ = thread.join();
        }
    }
}

impl Drop for Writer {
    fn drop(&mut self) {
        self.end();
    }
}

impl Queue {
    fn lock(&self) -> MutexGuard<'_, Waiting> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn write(&self, look: Look, mut to: Box<dyn Write + Send>) {
        let mut text = String::new();
        let mut lines = Vec::new();
        loop {
            let waiting = self.lock();
            let idle = |waiting: &mut Waiting| waiting.lines.is_empty() && !waiting.closed;
            let waiting =
                self.bell.wait_while(waiting, idle).unwrap_or_else(PoisonError::into_inner);
            let (mut waiting, _) = self
                .bell
                .wait_timeout_while(waiting, REST, |waiting| !waiting.closed)
                .unwrap_or_else(PoisonError::into_inner);
            mem::swap(&mut waiting.lines, &mut lines);
            let closed = waiting.closed;
            drop(waiting);
            for line in lines.drain(..) {
                line.write(look, &mut text);
            }
            // A log that cannot be written is no reason to stop serving.
            let _ = to.write_all(text.as_bytes()).and_then(|()| to.flush());
            text.clear();
            if closed {
                return;
            }
        }
    }
}

fn is_coloured() -> bool {
    let set = |name| std::env::var_os(name).is_some_and(|value| !value.is_empty());
    let dumb = std::env::var_os("TERM").is_some_and(|term| term == "dumb");
    io::stderr().is_terminal() && !set("NO_COLOR") && !dumb
}

#[cfg(test)]
mod tests;
