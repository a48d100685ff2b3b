//! Stopping: first a wish, then force. Whoever works sees it, whoever presses decides it.

use tokio::sync::watch;

/// How strongly somebody wants an end.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Stage {
    /// Nobody does.
    Quiet,
    /// Somebody asked: finish soon, begin nothing.
    Asked,
    /// At once, by force.
    Forced,
}

/// Whoever may stop something. A copy is the same.
#[derive(Clone, Debug)]
pub struct Interrupt(watch::Sender<Stage>);

/// Whoever may be stopped. A copy is the same.
#[derive(Clone, Debug)]
pub struct Stop(watch::Receiver<Stage>);

impl Interrupt {
    /// Nobody has asked yet.
    pub fn new() -> Interrupt {
        Interrupt(watch::Sender::new(Stage::Quiet))
    }

    /// Wants the end so strongly, or more strongly than that if it was wanted so before.
    pub fn raise(&self, stage: Stage) {
        self.0.send_if_modified(|now| {
            let stronger = stage > *now;
            *now = stage.max(*now);
            stronger
        });
    }

    /// How strongly the end is wanted.
    pub fn stage(&self) -> Stage {
        *self.0.borrow()
    }

    /// For whoever may be stopped.
    pub fn stop(&self) -> Stop {
        Stop(self.0.subscribe())
    }
}

impl Default for Interrupt {
    fn default() -> Interrupt {
        Interrupt::new()
    }
}

impl Stop {
    /// One that nobody can press.
    pub fn never() -> Stop {
        Interrupt::new().stop()
    }

    /// How strongly the end is wanted.
    pub fn stage(&self) -> Stage {
        *self.0.borrow()
    }

    /// Waits until the end is wanted at least so strongly; for ever, if nobody can want it any more.
    pub async fn reached(&mut self, stage: Stage) {
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
        let interrupt = Interrupt::new();
        let mut stop = interrupt.stop();
        assert_eq!(stop.stage(), Stage::Quiet);
        interrupt.raise(Stage::Forced);
        interrupt.raise(Stage::Asked);
        stop.reached(Stage::Asked).await;
        stop.reached(Stage::Forced).await;
        assert_eq!((stop.stage(), interrupt.stage()), (Stage::Forced, Stage::Forced));
    }
}
