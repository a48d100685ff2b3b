//! How long requests wait for the store. An answer has a deadline. After one that failed or did not
//! come in time, requests do without the store for a while, and then one of them tries it again.

use std::{
    sync::{Mutex, PoisonError},
    time::Duration,
};

use foxwedge_store::{Result, StoreError};
use tokio::time::{Instant, timeout};

use crate::log::StoreNotices;

/// How long a request waits for an answer of the store.
pub(super) const ANSWER_TIMEOUT: Duration = Duration::from_secs(3);
/// How long requests do without the store after it did not answer.
const PAUSE: Duration = Duration::from_secs(5);

/// Whether the store answers.
pub(super) struct StoreAnswers {
    notices: StoreNotices,
    /// Until when no request asks the store; `None` while it answers.
    paused_until: Mutex<Option<Instant>>,
}

impl StoreAnswers {
    pub(super) fn new(notices: StoreNotices) -> StoreAnswers {
        StoreAnswers { notices, paused_until: Mutex::default() }
    }

    /// Waits for an answer, unless the store did not answer just now.
    ///
    /// # Errors
    /// If the store fails, does not answer in time, or is not asked.
    pub(super) async fn ask<T>(&self, answer: impl Future<Output = Result<T>>) -> Result<T> {
        self.admit()?;
        self.wait(answer).await.unwrap_or_else(|| Err(unavailable("it did not answer in time")))
    }

    /// Waits for an answer, also while other requests do without the store. `None` if there is none
    /// in time.
    pub(super) async fn wait<T>(
        &self,
        answer: impl Future<Output = Result<T>>,
    ) -> Option<Result<T>> {
        let answer = timeout(ANSWER_TIMEOUT, answer).await.ok();
        self.note(!matches!(answer, None | Some(Err(StoreError::Unavailable(_)))));
        answer
    }

    /// Whether the store may be asked. At the end of a pause, one request may.
    fn admit(&self) -> Result<()> {
        let mut paused_until = self.lock();
        let Some(until) = *paused_until else { return Ok(()) };
        let now = Instant::now();
        if now < until {
            return Err(unavailable("it did not answer just now"));
        }
        // The others wait for what this one finds. It may be cancelled: then another one tries.
        *paused_until = Some(now + PAUSE);
        Ok(())
    }

    fn note(&self, has_answered: bool) {
        let mut paused_until = self.lock();
        let has_answered_before = paused_until.is_none();
        *paused_until = (!has_answered).then(|| Instant::now() + PAUSE);
        drop(paused_until);
        match (has_answered_before, has_answered) {
            (true, false) => self.notices.store_unanswered(),
            (false, true) => self.notices.store_answered(),
            (true, true) | (false, false) => {}
        }
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Option<Instant>> {
        self.paused_until.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn unavailable(why: &'static str) -> StoreError {
    StoreError::Unavailable(why.into())
}

#[cfg(test)]
mod tests {
    use std::{
        future::{pending, ready},
        sync::atomic::{AtomicUsize, Ordering},
    };

    use super::*;
    use crate::metrics::Metrics;

    #[tokio::test(start_paused = true)]
    async fn one_request_at_a_time_tries_a_store_that_did_not_answer() {
        let notices = StoreNotices::new(Metrics::new());
        let (answers, asked) = (StoreAnswers::new(notices), AtomicUsize::new(0));
        let counted = || {
            asked.fetch_add(1, Ordering::Relaxed);
        };
        let ask_frozen = || {
            answers.ask(async {
                counted();
                pending::<Result<()>>().await
            })
        };
        let began = Instant::now();
        assert!(matches!(ask_frozen().await, Err(StoreError::Unavailable(_))));
        assert_eq!(began.elapsed(), ANSWER_TIMEOUT);
        // No request waits for it during the pause.
        for _ in 0..3 {
            assert!(ask_frozen().await.is_err());
        }
        assert_eq!((began.elapsed(), asked.load(Ordering::Relaxed)), (ANSWER_TIMEOUT, 1));
        tokio::time::advance(PAUSE).await;
        let results = tokio::join!(ask_frozen(), ask_frozen(), ask_frozen());
        assert!(results.0.is_err() && results.1.is_err() && results.2.is_err());
        assert_eq!(asked.load(Ordering::Relaxed), 2);
        // The one that tries may go away.
        tokio::time::advance(PAUSE).await;
        assert!(timeout(Duration::from_millis(1), ask_frozen()).await.is_err());
        assert!(answers.ask(ready(Ok(()))).await.is_err());
        tokio::time::advance(PAUSE).await;
        assert!(answers.ask(ready(Ok(()))).await.is_ok());
        assert!(answers.ask(ready(Ok(()))).await.is_ok());
        // A refusal is an answer.
        let refused = answers.ask::<()>(ready(Err(StoreError::NoRun("r".to_owned())))).await;
        assert!(matches!(refused, Err(StoreError::NoRun(_))));
        assert!(answers.ask(ready(Ok(()))).await.is_ok());
    }
}
