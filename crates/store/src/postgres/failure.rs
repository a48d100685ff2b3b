//! What can go wrong between us and the server, and whether to try again.
//!
//! A transaction that was not committed has not happened, and may be tried again. Where the
//! connection is lost while the commit is under way, nobody knows; then only what finds out that
//! it has been done (by a place, an id, a token) is tried again, and everything else is told to
//! the caller.

use std::{
    error::Error as _,
    fmt, io,
    time::{Duration, Instant, SystemTime, UNIX_EPOCH},
};

use deadpool_postgres::{HookError, PoolError, TimeoutType};
use tokio_postgres::{Error, error::SqlState};

use crate::StoreError;

/// Why an attempt came to nothing.
#[derive(Debug)]
pub(super) enum AttemptFailure {
    /// It is the answer: the store did not do it, and never will.
    Refused(StoreError),
    /// Nothing has happened, or it does no harm if it happens twice.
    Retryable(PostgresError),
    /// It is of no use to try again, or nobody knows what happened.
    Final(PostgresError),
}

impl AttemptFailure {
    /// A commit, or a statement that is a transaction by itself, that must not happen twice: only
    /// where the server says that it undid it, it may be tried again.
    pub(super) fn in_commit(error: Error) -> AttemptFailure {
        let trouble = PostgresError::from_driver(&error);
        if is_rolled_back(&error) {
            AttemptFailure::Retryable(trouble)
        } else {
            AttemptFailure::Final(trouble)
        }
    }

    /// An insert of what was not there when we looked. If it is there by now, the next attempt
    /// finds it.
    pub(super) fn in_insert(error: Error) -> AttemptFailure {
        match error.code() {
            Some(code) if *code == SqlState::UNIQUE_VIOLATION => {
                AttemptFailure::Retryable(PostgresError::from_driver(&error))
            }
            Some(_) | None => AttemptFailure::from(error),
        }
    }
}

impl From<StoreError> for AttemptFailure {
    fn from(error: StoreError) -> AttemptFailure {
        AttemptFailure::Refused(error)
    }
}

impl From<Error> for AttemptFailure {
    fn from(error: Error) -> AttemptFailure {
        let trouble = PostgresError::from_driver(&error);
        if is_rolled_back(&error) || is_transient(&error) {
            AttemptFailure::Retryable(trouble)
        } else {
            AttemptFailure::Final(trouble)
        }
    }
}

impl From<PoolError> for AttemptFailure {
    fn from(error: PoolError) -> AttemptFailure {
        match error {
            PoolError::Backend(error) | PoolError::PostCreateHook(HookError::Backend(error)) => {
                AttemptFailure::from(error)
            }
            PoolError::Timeout(TimeoutType::Create | TimeoutType::Recycle) => {
                AttemptFailure::Retryable(PostgresError(
                    "no connection could be made in time".to_owned(),
                ))
            }
            PoolError::Timeout(TimeoutType::Wait) => {
                AttemptFailure::Final(PostgresError("all connections are in use".to_owned()))
            }
            other => AttemptFailure::Final(PostgresError(other.to_string())),
        }
    }
}

/// What the server said, or the way to it. Nothing that was stored stands in it.
#[derive(Clone, Debug)]
pub(super) struct PostgresError(String);

impl PostgresError {
    pub(super) fn from_text(text: &str) -> PostgresError {
        PostgresError(text.to_owned())
    }

    pub(super) fn from_driver(error: &Error) -> PostgresError {
        // The server's detail and context are left out: they quote rows.
        if let Some(told) = error.as_db_error() {
            return PostgresError(format!("{} ({})", told.message(), told.code().code()));
        }
        let mut text = error.to_string();
        let mut source = error.source();
        while let Some(error) = source {
            let told = error.to_string();
            if !text.contains(&told) {
                text = format!("{text}: {told}");
            }
            source = error.source();
        }
        PostgresError(text)
    }
}

impl fmt::Display for PostgresError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.0)
    }
}

impl std::error::Error for PostgresError {}

impl From<PostgresError> for StoreError {
    fn from(trouble: PostgresError) -> StoreError {
        StoreError::Unavailable(trouble.into())
    }
}

/// How long the wait is from attempt to attempt, in milliseconds. Together they outlast a restart
/// of the server.
const RETRY_WAITS: [u64; 20] = [
    20, 50, 100, 200, 250, 250, 250, 250, 250, 250, 250, 250, 250, 250, 250, 250, 250, 250, 250,
    250,
];

/// Attempts that take long themselves, since nothing comes back, are not made for longer than that.
const MAX_RETRY_TIME: Duration = Duration::from_secs(20);

/// Bears failures, as long as it makes sense.
#[derive(Debug)]
pub(super) struct AttemptBackoff {
    began: Instant,
    attempts: usize,
}

impl AttemptBackoff {
    pub(super) fn new() -> AttemptBackoff {
        AttemptBackoff { began: Instant::now(), attempts: 0 }
    }

    /// Waits until the next attempt; or says that there is none.
    pub(super) async fn wait_or_fail(&mut self, failure: AttemptFailure) -> Result<(), StoreError> {
        let trouble = match failure {
            AttemptFailure::Refused(error) => return Err(error),
            AttemptFailure::Final(trouble) => return Err(trouble.into()),
            AttemptFailure::Retryable(trouble) => trouble,
        };
        let wait = RETRY_WAITS.get(self.attempts).filter(|_| self.began.elapsed() < MAX_RETRY_TIME);
        let Some(wait) = wait else { return Err(trouble.into()) };
        self.attempts += 1;
        let wait = Duration::from_millis(*wait);
        tokio::time::sleep(wait + jitter(wait)).await;
        Ok(())
    }
}

/// Up to half of the wait more, so that those who failed together do not come back together.
pub(super) fn jitter(wait: Duration) -> Duration {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    wait.mul_f64(f64::from(now.subsec_nanos() % 1_000) / 2_000.0)
}

/// Whether the server says that it has undone the transaction.
fn is_rolled_back(error: &Error) -> bool {
    let undone = [&SqlState::T_R_SERIALIZATION_FAILURE, &SqlState::T_R_DEADLOCK_DETECTED];
    error.code().is_some_and(|code| undone.contains(&code))
}

/// Whether it is about the connection, and a new one may do.
fn is_transient(error: &Error) -> bool {
    if let Some(code) = error.code() {
        let passing = [
            &SqlState::ADMIN_SHUTDOWN,
            &SqlState::CRASH_SHUTDOWN,
            &SqlState::CANNOT_CONNECT_NOW,
            &SqlState::TOO_MANY_CONNECTIONS,
            &SqlState::IDLE_IN_TRANSACTION_SESSION_TIMEOUT,
        ];
        return passing.contains(&code) || code.code().starts_with("08");
    }
    // What TLS does not like, such as a certificate, is invalid data, and will be the next time.
    let source = error.source().and_then(|source| source.downcast_ref::<io::Error>());
    let invalid = [io::ErrorKind::InvalidData, io::ErrorKind::InvalidInput];
    error.is_closed() || source.is_some_and(|source| !invalid.contains(&source.kind()))
}
