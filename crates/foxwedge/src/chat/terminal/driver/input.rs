//! What comes from the keyboard, with the time at which it came.

use std::{
    collections::VecDeque,
    env, thread,
    time::{Duration, Instant},
};

use crossterm::event::{self, Event};
use tokio::{sync::mpsc, time::timeout_at};

use crate::chat::terminal::keys::{KeySequenceParser, TerminalKey};

/// How long the rest of a sequence may take, unless `ESCDELAY` says otherwise: a line may be slow.
const DEFAULT_ESCAPE_DELAY: Duration = Duration::from_millis(50);
/// The most that it may say.
const MAX_ESCAPE_DELAY_MILLIS: u64 = 5_000;

/// Something from the keyboard or the terminal.
#[derive(Debug)]
pub(super) enum TerminalInputEvent {
    Key(TerminalKey, Instant),
    Resized,
    /// Nobody will type any more.
    Closed,
}

/// Reads the keyboard, in a thread of its own: reading cannot be waited for otherwise. The thread
/// ends with the process.
pub(super) struct KeyboardReader {
    events: mpsc::UnboundedReceiver<(Event, Instant)>,
    parser: KeySequenceParser,
    /// When what is gathered came.
    since: Instant,
    escape_delay: Duration,
    ready: VecDeque<TerminalInputEvent>,
    gone: bool,
}

impl KeyboardReader {
    pub(super) fn listen() -> KeyboardReader {
        let (sender, events) = mpsc::unbounded_channel();
        thread::spawn(move || {
            while let Ok(event) = event::read() {
                if sender.send((event, Instant::now())).is_err() {
                    break;
                }
            }
        });
        let said = env::var("ESCDELAY").ok().and_then(|delay| delay.trim().parse().ok());
        let rest = said.map_or(DEFAULT_ESCAPE_DELAY, |delay: u64| {
            Duration::from_millis(delay.min(MAX_ESCAPE_DELAY_MILLIS))
        });
        let (gather, since) = (KeySequenceParser::default(), Instant::now());
        KeyboardReader {
            events,
            parser: gather,
            since,
            escape_delay: rest,
            ready: VecDeque::new(),
            gone: false,
        }
    }

    /// Waits for the next one. Nothing is lost if it is not waited for to the end.
    pub(super) async fn next(&mut self) -> TerminalInputEvent {
        loop {
            if let Some(typed) = self.ready.pop_front() {
                return typed;
            }
            if self.gone {
                std::future::pending::<()>().await;
            }
            let event = match self.parser.is_pending() {
                true => {
                    timeout_at((self.since + self.escape_delay).into(), self.events.recv()).await
                }
                false => Ok(self.events.recv().await),
            };
            match event {
                Ok(Some((event, at))) => self.take_event(event, at),
                Ok(None) => {
                    self.gone = true;
                    return TerminalInputEvent::Closed;
                }
                Err(_) => self.expire(),
            }
        }
    }

    fn take_event(&mut self, event: Event, at: Instant) {
        // It may have waited in the channel: the times decide what belongs together.
        if self.parser.is_pending() && at > self.since + self.escape_delay {
            self.expire();
        }
        match event {
            Event::Key(key) => {
                self.since = at;
                let keys = self.parser.push(key).into_iter();
                self.ready.extend(keys.map(|key| TerminalInputEvent::Key(key, at)));
            }
            Event::Paste(text) => {
                self.ready.push_back(TerminalInputEvent::Key(TerminalKey::Paste(text), at))
            }
            Event::Resize(_, _) => self.ready.push_back(TerminalInputEvent::Resized),
            Event::FocusGained | Event::FocusLost | Event::Mouse(_) => {}
        }
    }

    fn expire(&mut self) {
        let key = self.parser.expire();
        self.ready.extend(key.map(|key| TerminalInputEvent::Key(key, self.since)));
    }
}
