//! Work that blocks, beside the runtime, and how it is ended: whoever waits for it may go away, or
//! somebody may ask it to stop, or it takes too long. It looks for itself, often.

use std::{
    sync::{Arc, Mutex, PoisonError},
    time::{Duration, Instant},
};

use tokio::task::{JoinHandle, spawn_blocking};

use crate::{StopLevel, StopReceiver, ToolCallResult, refusal::ToolRefusal};

/// What work that blocks looks at.
#[derive(Debug)]
pub(crate) struct CancelToken {
    /// Nobody waits any more.
    abandoned: Mutex<bool>,
    stop: StopReceiver,
    deadline: Instant,
}

/// Why work should end.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum CancelCause {
    /// Somebody asked for it, or nobody waits any more.
    Stopped,
    /// It takes too long.
    TimedOut,
}

impl CancelToken {
    pub(crate) fn new(stop: StopReceiver, limit: Duration) -> CancelToken {
        let now = Instant::now();
        // A little earlier than whoever waits gives up, so that something can still be said.
        let limit = limit - limit / 10;
        let until = now.checked_add(limit).unwrap_or(now + Duration::from_secs(1 << 30));
        CancelToken { abandoned: Mutex::new(false), stop, deadline: until }
    }

    /// Whether to end now.
    pub(crate) fn cancel_cause(&self) -> Option<CancelCause> {
        let cut = *self.abandoned.lock().unwrap_or_else(PoisonError::into_inner);
        if cut || self.stop.level() >= StopLevel::Graceful {
            Some(CancelCause::Stopped)
        } else if Instant::now() >= self.deadline {
            Some(CancelCause::TimedOut)
        } else {
            None
        }
    }

    /// Does something that is seen from outside, unless nobody waits any more. Whoever goes away
    /// waits for its end: behind that nothing is changed.
    pub(crate) fn commit<T>(&self, act: impl FnOnce() -> T) -> Result<T, ToolRefusal> {
        let cut = self.abandoned.lock().unwrap_or_else(PoisonError::into_inner);
        match *cut {
            true => Err(ToolRefusal("nobody waits for this any more".to_owned())),
            false => Ok(act()),
        }
    }

    fn abandon(&self) {
        *self.abandoned.lock().unwrap_or_else(PoisonError::into_inner) = true;
    }
}

/// Does work that blocks. Dropping this ends it soon, and lets it change nothing any more.
pub(crate) async fn run_blocking(
    leash: CancelToken,
    work: impl FnOnce(&CancelToken) -> ToolCallResult + Send + 'static,
) -> ToolCallResult {
    let leash = Arc::new(leash);
    let its = Arc::clone(&leash);
    let mut waiting = BlockingTask { work: spawn_blocking(move || work(&its)), cancel: leash };
    match (&mut waiting.work).await {
        Ok(answer) => answer,
        Err(_) => ToolCallResult::failed("the tool broke down; this is a fault in it"),
    }
}

struct BlockingTask {
    work: JoinHandle<ToolCallResult>,
    cancel: Arc<CancelToken>,
}

impl Drop for BlockingTask {
    fn drop(&mut self) {
        self.cancel.abandon();
        // One that has not begun never does.
        self.work.abort();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::StopSender;

    #[test]
    fn work_is_pulled_by_a_wish_by_time_and_by_nobody_waiting() {
        let interrupt = StopSender::new();
        let leash = CancelToken::new(interrupt.receiver(), Duration::from_secs(60));
        assert_eq!(leash.cancel_cause(), None);
        assert_eq!(leash.commit(|| 1), Ok(1));
        interrupt.raise(StopLevel::Graceful);
        assert_eq!(leash.cancel_cause(), Some(CancelCause::Stopped));
        assert_eq!(leash.commit(|| 2), Ok(2), "what is nearly done may be done");
        leash.abandon();
        assert!(leash.commit(|| 3).is_err());

        let leash = CancelToken::new(StopReceiver::never(), Duration::ZERO);
        assert_eq!(leash.cancel_cause(), Some(CancelCause::TimedOut));
        let leash = CancelToken::new(StopReceiver::never(), Duration::MAX);
        assert_eq!(leash.cancel_cause(), None);
        leash.abandon();
        assert_eq!(leash.cancel_cause(), Some(CancelCause::Stopped));
    }
}
