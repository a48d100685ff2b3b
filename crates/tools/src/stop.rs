//! Stopping: first a wish, then force. Whoever works sees it, whoever presses decides it.

use tokio::sync::watch;

/// How strongly somebody wants an end.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum StopLevel {
    /// Nobody does.
    None,
    /// Somebody asked: finish soon, begin nothing.
    Graceful,
    /// At once, by force.
    Kill,
}

/// Whoever may stop something. A copy is the same.
#[derive(Clone, Debug)]
pub struct StopSender(watch::Sender<StopLevel>);

/// Whoever may be stopped. A copy is the same.
#[derive(Clone, Debug)]
pub struct StopReceiver(watch::Receiver<StopLevel>);

impl StopSender {
    /// Nobody has asked yet.
    pub fn new() -> StopSender {
        StopSender(watch::Sender::new(StopLevel::None))
    }

    /// Wants the end so strongly, or more strongly than that if it was wanted so before.
    pub fn raise(&self, stage: StopLevel) {
        self.0.send_if_modified(|now| {
            let stronger = stage > *now;
            *now = stage.max(*now);
            stronger
        });
    }

    /// How strongly the end is wanted.
    pub fn level(&self) -> StopLevel {
        *self.0.borrow()
    }

    /// For whoever may be stopped.
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
    /// One that nobody can press.
    pub fn never() -> StopReceiver {
        StopSender::new().receiver()
    }

    /// How strongly the end is wanted.
    pub fn level(&self) -> StopLevel {
        *self.0.borrow()
    }

    /// Waits until the end is wanted at least so strongly; for ever, if nobody can want it any more.
    pub async fn wait_for(&mut self, stage: StopLevel) {
        if self.0.wait_for(|now| *now >= stage).await.is_err() {
            std::future::pending::<()>().await;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn what_was_wanted_is_never_taken_back() {
        let interrupt = StopSender::new();
        let mut stop = interrupt.receiver();
        assert_eq!(stop.level(), StopLevel::None);
        interrupt.raise(StopLevel::Kill);
        interrupt.raise(StopLevel::Graceful);
        stop.wait_for(StopLevel::Graceful).await;
        stop.wait_for(StopLevel::Kill).await;
        assert_eq!((stop.level(), interrupt.level()), (StopLevel::Kill, StopLevel::Kill));
    }
}
