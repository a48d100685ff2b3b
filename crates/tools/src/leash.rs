//! Work that blocks, beside the runtime, and how it is ended: whoever waits for it may go away, or
//! somebody may ask it to stop, or it takes too long. It looks for itself, often.

use std::{
    sync::{Arc, Mutex, PoisonError},
    time::{Duration, Instant},
};

use tokio::task::{JoinHandle, spawn_blocking};

use crate::{Answer, Stage, Stop, refusal::Refusal};

/// What work that blocks looks at.
#[derive(Debug)]
pub(crate) struct Leash {
    /// Nobody waits any more.
    cut: Mutex<bool>,
    stop: Stop,
    until: Instant,
}

/// Why work should end.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Pulled {
    /// Somebody asked for it, or nobody waits any more.
    Stopped,
    /// It takes too long.
    Late,
}

impl Leash {
    pub(crate) fn new(stop: Stop, limit: Duration) -> Leash {
        let now = Instant::now();
        // A little earlier than whoever waits gives up, so that something can still be said.
        let limit = limit - limit / 10;
        let until = now.checked_add(limit).unwrap_or(now + Duration::from_secs(1 << 30));
        Leash { cut: Mutex::new(false), stop, until }
    }

    /// Whether to end now.
    pub(crate) fn pulled(&self) -> Option<Pulled> {
        let cut = *self.cut.lock().unwrap_or_else(PoisonError::into_inner);
        if cut || self.stop.stage() >= Stage::Asked {
            Some(Pulled::Stopped)
        } else if Instant::now() >= self.until {
            Some(Pulled::Late)
        } else {
            None
        }
    }

    /// Does something that is seen from outside, unless nobody waits any more. Whoever goes away
    /// waits for its end: behind that nothing is changed.
    pub(crate) fn commit<T>(&self, act: impl FnOnce() -> T) -> Result<T, Refusal> {
        let cut = self.cut.lock().unwrap_or_else(PoisonError::into_inner);
        match *cut {
            true => Err(Refusal("nobody waits for this any more".to_owned())),
            false => Ok(act()),
        }
    }

    fn cut(&self) {
        *self.cut.lock().unwrap_or_else(PoisonError::into_inner) = true;
    }
}

/// Does work that blocks. Dropping this ends it soon, and lets it change nothing any more.
pub(crate) async fn blocking(
    leash: Leash,
    work: impl FnOnce(&Leash) -> Answer + Send + 'static,
) -> Answer {
    let leash = Arc::new(leash);
    let its = Arc::clone(&leash);
    let mut waiting = Waiting { work: spawn_blocking(move || work(&its)), leash };
    match (&mut waiting.work).await {
        Ok(answer) => answer,
        Err(_) => Answer::failed("the tool broke down; this is a fault in it"),
    }
}

struct Waiting {
    work: JoinHandle<Answer>,
    leash: Arc<Leash>,
}

impl Drop for Waiting {
    fn drop(&mut self) {
        self.leash.cut();
        // One that has not begun never does.
        self.work.abort();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Interrupt;

    #[test]
    fn work_is_pulled_by_a_wish_by_time_and_by_nobody_waiting() {
        let interrupt = Interrupt::new();
        let leash = Leash::new(interrupt.stop(), Duration::from_secs(60));
        assert_eq!(leash.pulled(), None);
        assert_eq!(leash.commit(|| 1), Ok(1));
        interrupt.raise(Stage::Asked);
        assert_eq!(leash.pulled(), Some(Pulled::Stopped));
        assert_eq!(leash.commit(|| 2), Ok(2), "what is nearly done may be done");
        leash.cut();
        assert!(leash.commit(|| 3).is_err());

        let leash = Leash::new(Stop::never(), Duration::ZERO);
        assert_eq!(leash.pulled(), Some(Pulled::Late));
        let leash = Leash::new(Stop::never(), Duration::MAX);
        assert_eq!(leash.pulled(), None);
        leash.cut();
        assert_eq!(leash.pulled(), Some(Pulled::Stopped));
    }
}
