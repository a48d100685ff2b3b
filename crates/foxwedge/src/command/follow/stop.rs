//! Ctrl-C, and the other ways in which somebody asks a program to end.

use tokio::sync::watch;

/// Hears how often somebody asked.
#[derive(Clone)]
pub(super) struct Stop {
    times: watch::Receiver<u32>,
    /// What was answered already.
    seen: u32,
}

impl Stop {
    /// Listens from now on: a signal does not end the program any more.
    pub(super) fn listen() -> std::io::Result<Stop> {
        let (sender, times) = watch::channel(0_u32);
        let mut signals = Signals::new()?;
        tokio::spawn(async move {
            while !sender.is_closed() {
                signals.next().await;
                sender.send_modify(|times| *times = times.saturating_add(1));
            }
        });
        Ok(Stop { times, seen: 0 })
    }

    /// Waits until somebody asks, or asks again.
    pub(super) async fn asked(&mut self) {
        let seen = self.seen;
        match self.times.wait_for(|times| *times > seen).await {
            Ok(times) => self.seen = *times,
            // Nobody will.
            Err(_) => std::future::pending().await,
        }
    }

    /// Waits until somebody who asked before asks once more.
    pub(super) async fn insisted(&mut self) {
        self.seen = self.seen.max(1);
        self.asked().await;
    }

    /// Waits until somebody has asked so often that nothing else matters to them.
    pub(super) async fn demanded(mut self) {
        if self.times.wait_for(|times| *times >= 3).await.is_err() {
            std::future::pending().await
        }
    }

    /// How often somebody asked, up to now.
    pub(super) fn times(&self) -> u32 {
        *self.times.borrow()
    }
}

#[cfg(unix)]
struct Signals {
    all: [tokio::signal::unix::Signal; 2],
}

#[cfg(unix)]
impl Signals {
    fn new() -> std::io::Result<Signals> {
        use tokio::signal::unix::{SignalKind, signal};
        Ok(Signals { all: [signal(SignalKind::interrupt())?, signal(SignalKind::terminate())?] })
    }

    async fn next(&mut self) {
        let [interrupt, terminate] = &mut self.all;
        tokio::select! {
            _ = interrupt.recv() => {}
            _ = terminate.recv() => {}
        }
    }
}

#[cfg(not(unix))]
struct Signals;

#[cfg(not(unix))]
impl Signals {
    fn new() -> std::io::Result<Signals> {
        Ok(Signals)
    }

    async fn next(&mut self) {
        if tokio::signal::ctrl_c().await.is_err() {
            std::future::pending::<()>().await;
        }
    }
}
