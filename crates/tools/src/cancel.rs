//! Blocking work outside the runtime, and how it ends: its caller goes away, a stop is requested,
//! or it takes too long. The work checks this often.

use std::{
    sync::{Arc, Mutex, PoisonError},
    time::{Duration, Instant},
};

use tokio::task::{JoinHandle, spawn_blocking};

use crate::{StopLevel, StopReceiver, ToolCallResult, refusal::ToolRefusal};

/// What blocking work checks.
#[derive(Debug)]
pub(crate) struct CancelToken {
    /// The caller is gone.
    abandoned: Mutex<bool>,
    stop: StopReceiver,
    deadline: Instant,
}

/// Why work should end.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum CancelCause {
    /// A stop was requested, or the caller is gone.
    Stopped,
    /// It takes too long.
    TimedOut,
}

impl CancelToken {
    pub(crate) fn new(stop: StopReceiver, limit: Duration) -> CancelToken {
        let now = Instant::now();
        // A little before the caller gives up, so that the tool can still return a result.
        let limit = limit - limit / 10;
        let deadline = now.checked_add(limit).unwrap_or(now + Duration::from_secs(1 << 30));
        CancelToken { abandoned: Mutex::new(false), stop, deadline }
    }

    /// Whether to end now, and why.
    pub(crate) fn cancel_cause(&self) -> Option<CancelCause> {
        let abandoned = *self.abandoned.lock().unwrap_or_else(PoisonError::into_inner);
        if abandoned || self.stop.level() >= StopLevel::Graceful {
            Some(CancelCause::Stopped)
        } else if Instant::now() >= self.deadline {
            Some(CancelCause::TimedOut)
        } else {
            None
        }
    }

    /// Makes a change that is visible outside, unless the caller is gone. A caller that goes away
    /// waits for its end; after that nothing changes.
    pub(crate) fn commit<T>(&self, change: impl FnOnce() -> T) -> Result<T, ToolRefusal> {
        let abandoned = self.abandoned.lock().unwrap_or_else(PoisonError::into_inner);
        match *abandoned {
            true => Err(ToolRefusal("nobody waits for this any more".to_owned())),
            false => Ok(change()),
        }
    }

    fn abandon(&self) {
        *self.abandoned.lock().unwrap_or_else(PoisonError::into_inner) = true;
    }
}

/// Runs blocking work. Dropping the future ends it soon, and it changes nothing more.
pub(crate) async fn run_blocking(
    cancel: CancelToken,
    work: impl FnOnce(&CancelToken) -> ToolCallResult + Send + 'static,
) -> ToolCallResult {
    let cancel = Arc::new(cancel);
    let task_cancel = Arc::clone(&cancel);
    let mut task = BlockingTask { work: spawn_blocking(move || work(&task_cancel)), cancel };
    match (&mut task.work).await {
        Ok(result) => result,
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
        // Work that has not started never does.
        self.work.abort();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::StopSender;

    #[test]
    fn work_ends_on_stop_timeout_or_abandonment() {
        let sender = StopSender::new();
        let cancel = CancelToken::new(sender.receiver(), Duration::from_secs(60));
        assert_eq!(cancel.cancel_cause(), None);
        assert_eq!(cancel.commit(|| 1), Ok(1));
        sender.raise(StopLevel::Graceful);
        assert_eq!(cancel.cancel_cause(), Some(CancelCause::Stopped));
        assert_eq!(cancel.commit(|| 2), Ok(2), "what is nearly done may be done");
        cancel.abandon();
        assert!(cancel.commit(|| 3).is_err());

        let cancel = CancelToken::new(StopReceiver::never(), Duration::ZERO);
        assert_eq!(cancel.cancel_cause(), Some(CancelCause::TimedOut));
        let cancel = CancelToken::new(StopReceiver::never(), Duration::MAX);
        assert_eq!(cancel.cancel_cause(), None);
        cancel.abandon();
        assert_eq!(cancel.cancel_cause(), Some(CancelCause::Stopped));
    }
}
