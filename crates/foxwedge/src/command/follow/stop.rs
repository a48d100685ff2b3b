//! Counts stop signals: Ctrl-C and SIGTERM.

use tokio::sync::watch;

/// Waits for stop signals and counts them.
#[derive(Clone)]
pub(super) struct StopListener {
    count: watch::Receiver<u32>,
    /// The number of signals that were handled.
    seen: u32,
}

impl StopListener {
    /// Starts to listen. From now on a signal does not end the program.
    pub(super) fn listen() -> std::io::Result<StopListener> {
        let (sender, count) = watch::channel(0_u32);
        let mut signals = FollowSignals::new()?;
        tokio::spawn(async move {
            while !sender.is_closed() {
                signals.next().await;
                sender.send_modify(|count| *count = count.saturating_add(1));
            }
        });
        Ok(StopListener { count, seen: 0 })
    }

    /// Waits for the next signal.
    pub(super) async fn wait_for_stop(&mut self) {
        let seen = self.seen;
        match self.count.wait_for(|count| *count > seen).await {
            Ok(count) => self.seen = *count,
            // The sender is gone: no more signals.
            Err(_) => std::future::pending().await,
        }
    }

    /// Waits for a second signal, or a later one.
    pub(super) async fn wait_for_repeat(&mut self) {
        self.seen = self.seen.max(1);
        self.wait_for_stop().await;
    }

    /// Waits for the third signal.
    pub(super) async fn wait_for_third(mut self) {
        if self.count.wait_for(|count| *count >= 3).await.is_err() {
            std::future::pending().await
        }
    }

    /// The number of signals so far.
    pub(super) fn stop_count(&self) -> u32 {
        *self.count.borrow()
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
