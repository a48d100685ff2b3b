//! Errors of the connection and the server, and whether to retry.
//!
//! A transaction that was not committed has no effect and may be retried. If the connection is lost
//! during a commit, its result is unknown. Then only an operation that can detect an earlier
//! success (by a sequence number, an id or a token) is retried; every other failure goes to the
//! caller.

use std::{
    error::Error as _,
    fmt, io,
    pin::Pin,
    time::{Duration, Instant, SystemTime, UNIX_EPOCH},
};

use deadpool_postgres::{HookError, PoolError, TimeoutType};
use tokio_postgres::{Error, error::SqlState};

use crate::StoreError;

/// An attempt at an operation. Behind a pointer it is compiled in this crate, and not again in every
/// crate that waits for it.
pub(super) type Attempt<'a, T> =
    Pin<Box<dyn Future<Output = Result<T, AttemptFailure>> + Send + 'a>>;

/// Why an attempt failed.
#[derive(Debug)]
pub(super) enum AttemptFailure {
    /// The store refused the operation. A retry does not help.
    Refused(StoreError),
    /// Nothing has happened, or a second execution does no harm.
    Retryable(PostgresError),
    /// A retry does not help, or the result is unknown.
    Final(PostgresError),
}

impl AttemptFailure {
    /// Classifies an error of a commit, or of a single-statement transaction, that must not run
    /// twice. It may be retried only if the server reports that it rolled back.
    pub(super) fn in_commit(error: Error) -> AttemptFailure {
        let cause = PostgresError::from_driver(&error);
        if is_rolled_back(&error) {
            AttemptFailure::Retryable(cause)
        } else {
            AttemptFailure::Final(cause)
        }
    }

    /// Classifies an error of an insert. If the row exists by now, the next attempt finds it.
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
        let cause = PostgresError::from_driver(&error);
        if is_rolled_back(&error) || is_transient(&error) {
            AttemptFailure::Retryable(cause)
        } else {
            AttemptFailure::Final(cause)
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

/// An error of the server or the connection. It contains no stored data.
#[derive(Clone, Debug)]
pub(super) struct PostgresError(String);

impl PostgresError {
    pub(super) fn from_text(text: &str) -> PostgresError {
        PostgresError(text.to_owned())
    }

    pub(super) fn from_driver(error: &Error) -> PostgresError {
        // The server's detail and context are left out, because they quote rows.
        if let Some(db_error) = error.as_db_error() {
            return PostgresError(format!("{} ({})", db_error.message(), db_error.code().code()));
        }
        let mut text = error.to_string();
        let mut source = error.source();
        while let Some(error) = source {
            let source_text = error.to_string();
            if !text.contains(&source_text) {
                text = format!("{text}: {source_text}");
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
    fn from(error: PostgresError) -> StoreError {
        StoreError::Unavailable(error.into())
    }
}

/// Waits between attempts, in milliseconds. Together they outlast a restart of the server.
const RETRY_WAITS: [u64; 20] = [
    20, 50, 100, 200, 250, 250, 250, 250, 250, 250, 250, 250, 250, 250, 250, 250, 250, 250, 250,
    250,
];

/// Time limit for all attempts, because an attempt without a response takes long itself.
const MAX_RETRY_TIME: Duration = Duration::from_secs(20);

/// Decides whether and when to retry.
#[derive(Debug)]
pub(super) struct AttemptBackoff {
    began: Instant,
    attempts: usize,
}

impl AttemptBackoff {
    pub(super) fn new() -> AttemptBackoff {
        AttemptBackoff { began: Instant::now(), attempts: 0 }
    }

    /// Waits for the next attempt, or returns the error if there is none.
    pub(super) async fn wait_or_fail(&mut self, failure: AttemptFailure) -> Result<(), StoreError> {
        let error = match failure {
            AttemptFailure::Refused(error) => return Err(error),
            AttemptFailure::Final(error) => return Err(error.into()),
            AttemptFailure::Retryable(error) => error,
        };
        let wait = RETRY_WAITS.get(self.attempts).filter(|_| self.began.elapsed() < MAX_RETRY_TIME);
        let Some(wait) = wait else { return Err(error.into()) };
        self.attempts += 1;
        let wait = Duration::from_millis(*wait);
        tokio::time::sleep(wait + jitter(wait)).await;
        Ok(())
    }
}

/// Up to half of the wait, so that clients that failed together do not retry together.
pub(super) fn jitter(wait: Duration) -> Duration {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    wait.mul_f64(f64::from(now.subsec_nanos() % 1_000) / 2_000.0)
}

/// Whether the server reports that it rolled the transaction back.
fn is_rolled_back(error: &Error) -> bool {
    let rollback_codes = [&SqlState::T_R_SERIALIZATION_FAILURE, &SqlState::T_R_DEADLOCK_DETECTED];
    error.code().is_some_and(|code| rollback_codes.contains(&code))
}

/// Whether the error concerns the connection, so that a new one may work.
fn is_transient(error: &Error) -> bool {
    if let Some(code) = error.code() {
        let transient_codes = [
            &SqlState::ADMIN_SHUTDOWN,
            &SqlState::CRASH_SHUTDOWN,
            &SqlState::CANNOT_CONNECT_NOW,
            &SqlState::TOO_MANY_CONNECTIONS,
            &SqlState::IDLE_IN_TRANSACTION_SESSION_TIMEOUT,
        ];
        return transient_codes.contains(&code) || code.code().starts_with("08");
    }
    // TLS errors, such as a bad certificate, are invalid data. They do not go away.
    let source = error.source().and_then(|source| source.downcast_ref::<io::Error>());
    let invalid = [io::ErrorKind::InvalidData, io::ErrorKind::InvalidInput];
    error.is_closed() || source.is_some_and(|source| !invalid.contains(&source.kind()))
}
