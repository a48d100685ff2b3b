//! Ctrl-C, and the other ways in which somebody asks a program to end.

use tokio::sync::watch;

/// Hears how often somebody asked.
#[derive(Clone)]
pub(super) struct StopListener {
    times: watch::Receiver<u32>,
    /// What was answered already.
    seen: u32,
}

impl StopListener {
    /// Listens from now on: a signal does not end the program any more.
    pub(super) fn listen() -> std::io::Result<StopListener> {
        let (sender, times) = watch::channel(0_u32);
        let mut signals = FollowSignals::new()?;
        tokio::spawn(async move {
            while !sender.is_closed() {
                signals.next().await;
                sender.send_modify(|times| *times = times.saturating_add(1));
            }
        });
        Ok(StopListener { times, seen: 0 })
    }

    /// Waits until somebody asks, or asks again.
    pub(super) async fn wait_for_stop(&mut self) {
        let seen = self.seen;
        match self.times.wait_for(|times| *times > seen).await {
            Ok(times) => self.seen = *times,
            // Nobody will.
            Err(_) => std::future::pending().await,
        }
    }

    /// Waits until somebody who asked before asks once more.
    pub(super) async fn wait_for_repeat(&mut self) {
        self.seen = self.seen.max(1);
        self.wait_for_stop().await;
    }

    /// Waits until somebody has asked so often that nothing else matters to them.
    pub(super) async fn wait_for_third(mut self) {
        if self.times.wait_for(|times| *times >= 3).await.is_err() {
            std::future::pending().await
        }
    }

    /// How often somebody asked, up to now.
    pub(super) fn stop_count(&self) -> u32 {
        *self.times.borrow()
    }
}

#[cfg(unix)]
struct FollowSignals {
    all: [tokio::signal::unix::Signal; 2],
}

#[cfg(unix)]
impl FollowSignals {
    fn new() -> std::io::Result<FollowSignals> {
        use tokio::signal::unix::{SignalKind, signal};
        Ok(FollowSignals {
            all: [signal(SignalKind::interrupt())?, signal(SignalKind::terminate())?],
        })
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
struct FollowSignals;

#[cfg(not(unix))]
impl FollowSignals {
    fn new() -> std::io::Result<FollowSignals> {
        Ok(FollowSignals)
    }

    async fn next(&mut self) {
        if tokio::signal::ctrl_c().await.is_err() {
            std::future::pending::<()>().await;
        }
    }
}
