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
pub(super) enum Failure {
    /// It is the answer: the store did not do it, and never will.
    Answer(StoreError),
    /// Nothing has happened, or it does no harm if it happens twice.
    Again(Trouble),
    /// It is of no use to try again, or nobody knows what happened.
    Over(Trouble),
}

impl Failure {
    /// A commit, or a statement that is a transaction by itself, that must not happen twice: only
    /// where the server says that it undid it, it may be tried again.
    pub(super) fn in_commit(error: Error) -> Failure {
        let trouble = Trouble::of(&error);
        if is_undone(&error) { Failure::Again(trouble) } else { Failure::Over(trouble) }
    }

    /// An insert of what was not there when we looked. If it is there by now, the next attempt
    /// finds it.
    pub(super) fn in_insert(error: Error) -> Failure {
        match error.code() {
            Some(code) if *code == SqlState::UNIQUE_VIOLATION => {
                Failure::Again(Trouble::of(&error))
            }
            Some(_) | None => Failure::from(error),
        }
    }
}

impl From<StoreError> for Failure {
    fn from(error: StoreError) -> Failure {
        Failure::Answer(error)
    }
}

impl From<Error> for Failure {
    fn from(error: Error) -> Failure {
        let trouble = Trouble::of(&error);
        if is_undone(&error) || is_passing(&error) {
            Failure::Again(trouble)
        } else {
            Failure::Over(trouble)
        }
    }
}

impl From<PoolError> for Failure {
    fn from(error: PoolError) -> Failure {
        match error {
            PoolError::Backend(error) | PoolError::PostCreateHook(HookError::Backend(error)) => {
                Failure::from(error)
            }
            PoolError::Timeout(TimeoutType::Create | TimeoutType::Recycle) => {
                Failure::Again(Trouble("no connection could be made in time".to_owned()))
            }
            PoolError::Timeout(TimeoutType::Wait) => {
                Failure::Over(Trouble("all connections are in use".to_owned()))
            }
            other => Failure::Over(Trouble(other.to_string())),
        }
    }
}

/// What the server said, or the way to it. Nothing that was stored stands in it.
#[derive(Clone, Debug)]
pub(super) struct Trouble(String);

impl Trouble {
    pub(super) fn text(text: &str) -> Trouble {
        Trouble(text.to_owned())
    }

    pub(super) fn of(error: &Error) -> Trouble {
        // The server's detail and context are left out: they quote rows.
        if let Some(told) = error.as_db_error() {
            return Trouble(format!("{} ({})", told.message(), told.code().code()));
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
        Trouble(text)
    }
}

impl fmt::Display for Trouble {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.0)
    }
}

impl std::error::Error for Trouble {}

impl From<Trouble> for StoreError {
    fn from(trouble: Trouble) -> StoreError {
        StoreError::Unavailable(trouble.into())
    }
}

/// How long the wait is from attempt to attempt, in milliseconds. Together they outlast a restart
/// of the server.
const WAITS: [u64; 20] = [
    20, 50, 100, 200, 250, 250, 250, 250, 250, 250, 250, 250, 250, 250, 250, 250, 250, 250, 250,
    250,
];

/// Attempts that take long themselves, since nothing comes back, are not made for longer than that.
const ENOUGH: Duration = Duration::from_secs(20);

/// Bears failures, as long as it makes sense.
#[derive(Debug)]
pub(super) struct Patience {
    began: Instant,
    attempts: usize,
}

impl Patience {
    pub(super) fn new() -> Patience {
        Patience { began: Instant::now(), attempts: 0 }
    }

    /// Waits until the next attempt; or says that there is none.
    pub(super) async fn bear(&mut self, failure: Failure) -> Result<(), StoreError> {
        let trouble = match failure {
            Failure::Answer(error) => return Err(error),
            Failure::Over(trouble) => return Err(trouble.into()),
            Failure::Again(trouble) => trouble,
        };
        let wait = WAITS.get(self.attempts).filter(|_| self.began.elapsed() < ENOUGH);
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
fn is_undone(error: &Error) -> bool {
    let undone = [&SqlState::T_R_SERIALIZATION_FAILURE, &SqlState::T_R_DEADLOCK_DETECTED];
    error.code().is_some_and(|code| undone.contains(&code))
}

/// Whether it is about the connection, and a new one may do.
fn is_passing(error: &Error) -> bool {
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
