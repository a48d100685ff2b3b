//! Stopping: first a request, then force. A sender raises the level, receivers see it.

use tokio::sync::watch;

/// How urgently to stop.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum StopLevel {
    /// No stop was requested.
    None,
    /// Finish soon, start nothing new.
    Graceful,
    /// Stop at once, by force.
    Kill,
}

/// Requests a stop. Clones share state.
#[derive(Clone, Debug)]
pub struct StopSender(watch::Sender<StopLevel>);

/// Receives stop requests. Clones share state.
#[derive(Clone, Debug)]
pub struct StopReceiver(watch::Receiver<StopLevel>);

impl StopSender {
    /// A sender without a request.
    pub fn new() -> StopSender {
        StopSender(watch::Sender::new(StopLevel::None))
    }

    /// Raises the level. A lower level than the current one has no effect.
    pub fn raise(&self, level: StopLevel) {
        self.0.send_if_modified(|current| {
            let raised = level > *current;
            *current = level.max(*current);
            raised
        });
    }

    /// The current level.
    pub fn level(&self) -> StopLevel {
        *self.0.borrow()
    }

    /// Makes a receiver.
    pub fn receiver(&self) -> StopReceiver {
        StopReceiver(self.0.subscribe())
    }
}

impl Default for StopSender {
    fn default() -> StopSender {
        StopSender::new()
    }
}

impl StopReceiver {
    /// A receiver that never gets a request.
    pub fn never() -> StopReceiver {
        StopSender::new().receiver()
    }

    /// The current level.
    pub fn level(&self) -> StopLevel {
        *self.0.borrow()
    }

    /// Waits until the level is at least `level`; for ever if all senders are gone.
    pub async fn wait_for(&mut self, level: StopLevel) {
        if self.0.wait_for(|current| *current >= level).await.is_err() {
            std::future::pending::<()>().await;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn stop_level_never_falls() {
        let sender = StopSender::new();
        let mut stop = sender.receiver();
        assert_eq!(stop.level(), StopLevel::None);
        sender.raise(StopLevel::Kill);
        sender.raise(StopLevel::Graceful);
        stop.wait_for(StopLevel::Graceful).await;
        stop.wait_for(StopLevel::Kill).await;
        assert_eq!((stop.level(), sender.level()), (StopLevel::Kill, StopLevel::Kill));
    }
}
