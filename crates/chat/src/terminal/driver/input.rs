//! Keyboard input with timestamps.

use std::{
    collections::VecDeque,
    env, thread,
    time::{Duration, Instant},
};

use crossterm::event::{self, Event};
use tokio::{sync::mpsc, time::timeout_at};

use crate::terminal::keys::{KeySequenceParser, TerminalKey};

/// Default time limit for the rest of an escape sequence; `ESCDELAY` overrides it for slow lines.
const DEFAULT_ESCAPE_DELAY: Duration = Duration::from_millis(50);
/// Maximum value of `ESCDELAY`.
const MAX_ESCAPE_DELAY_MILLIS: u64 = 5_000;

/// An event of the keyboard or the terminal.
#[derive(Debug)]
pub(super) enum TerminalInputEvent {
    Key(TerminalKey, Instant),
    Resized,
    /// The input has ended.
    Closed,
}

/// Reads the keyboard on a separate thread, because reading blocks. The thread ends with the
/// process.
pub(super) struct KeyboardReader {
    events: mpsc::UnboundedReceiver<(Event, Instant)>,
    parser: KeySequenceParser,
    /// When the pending sequence arrived.
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
        let configured = env::var("ESCDELAY").ok().and_then(|delay| delay.trim().parse().ok());
        let escape_delay = configured.map_or(DEFAULT_ESCAPE_DELAY, |delay: u64| {
            Duration::from_millis(delay.min(MAX_ESCAPE_DELAY_MILLIS))
        });
        let (parser, since) = (KeySequenceParser::default(), Instant::now());
        KeyboardReader { events, parser, since, escape_delay, ready: VecDeque::new(), gone: false }
    }

    /// Waits for the next event. Cancel safe.
    pub(super) async fn next(&mut self) -> TerminalInputEvent {
        loop {
            if let Some(input_event) = self.ready.pop_front() {
                return input_event;
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
        // The event may have waited in the channel, so timestamps decide what belongs together.
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
