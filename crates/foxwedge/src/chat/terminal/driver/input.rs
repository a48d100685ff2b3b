//! What comes from the keyboard, with the time at which it came.

use std::{
    collections::VecDeque,
    env, thread,
    time::{Duration, Instant},
};

use crossterm::event::{self, Event};
use tokio::{sync::mpsc, time::timeout_at};

use crate::chat::terminal::keys::{Gather, Key};

/// How long the rest of a sequence may take, unless `ESCDELAY` says otherwise: a line may be slow.
const REST: Duration = Duration::from_millis(50);
/// The most that it may say.
const LONGEST: u64 = 5_000;

/// Something from the keyboard or the terminal.
#[derive(Debug)]
pub(super) enum Typed {
    Key(Key, Instant),
    Resized,
    /// Nobody will type any more.
    Gone,
}

/// Reads the keyboard, in a thread of its own: reading cannot be waited for otherwise. The thread
/// ends with the process.
pub(super) struct Input {
    events: mpsc::UnboundedReceiver<(Event, Instant)>,
    gather: Gather,
    /// When what is gathered came.
    since: Instant,
    rest: Duration,
    ready: VecDeque<Typed>,
    gone: bool,
}

impl Input {
    pub(super) fn listen() -> Input {
        let (sender, events) = mpsc::unbounded_channel();
        thread::spawn(move || {
            while let Ok(event) = event::read() {
                if sender.send((event, Instant::now())).is_err() {
                    break;
                }
            }
        });
        let said = env::var("ESCDELAY").ok().and_then(|delay| delay.trim().parse().ok());
        let rest = said.map_or(REST, |delay: u64| Duration::from_millis(delay.min(LONGEST)));
        let (gather, since) = (Gather::default(), Instant::now());
        Input { events, gather, since, rest, ready: VecDeque::new(), gone: false }
    }

    /// Waits for the next one. Nothing is lost if it is not waited for to the end.
    pub(super) async fn next(&mut self) -> Typed {
        loop {
            if let Some(typed) = self.ready.pop_front() {
                return typed;
            }
            if self.gone {
                std::future::pending::<()>().await;
            }
            let event = match self.gather.waits() {
                true => timeout_at((self.since + self.rest).into(), self.events.recv()).await,
                false => Ok(self.events.recv().await),
            };
            match event {
                Ok(Some((event, at))) => self.take(event, at),
                Ok(None) => {
                    self.gone = true;
                    return Typed::Gone;
                }
                Err(_) => self.expire(),
            }
        }
    }

    fn take(&mut self, event: Event, at: Instant) {
        // It may have waited in the channel: the times decide what belongs together.
        if self.gather.waits() && at > self.since + self.rest {
            self.expire();
        }
        match event {
            Event::Key(key) => {
                self.since = at;
                let keys = self.gather.push(key).into_iter();
                self.ready.extend(keys.map(|key| Typed::Key(key, at)));
            }
            Event::Paste(text) => self.ready.push_back(Typed::Key(Key::Paste(text), at)),
            Event::Resize(_, _) => self.ready.push_back(Typed::Resized),
            Event::FocusGained | Event::FocusLost | Event::Mouse(_) => {}
        }
    }

    fn expire(&mut self) {
        let key = self.gather.expire();
        self.ready.extend(key.map(|key| Typed::Key(key, self.since)));
    }
}
