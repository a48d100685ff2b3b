//! Why a job failed: the store refused it, or SQLite failed.

use rusqlite::ErrorCode;

use crate::StoreError;

/// The result of a job within a transaction.
pub(super) type SqliteResult<T> = Result<T, SqliteError>;

/// Why a job failed.
#[derive(Debug)]
pub(super) enum SqliteError {
    /// The store refused the job. The caller gets this error.
    Refused(StoreError),
    /// SQLite failed.
    Engine(rusqlite::Error),
}

impl From<StoreError> for SqliteError {
    fn from(error: StoreError) -> SqliteError {
        SqliteError::Refused(error)
    }
}

impl From<rusqlite::Error> for SqliteError {
    fn from(error: rusqlite::Error) -> SqliteError {
        SqliteError::Engine(error)
    }
}

impl From<SqliteError> for StoreError {
    fn from(error: SqliteError) -> StoreError {
        match error {
            SqliteError::Refused(error) => error,
            SqliteError::Engine(error) if is_damage(&error) => {
                StoreError::Corrupt { what: "the database".to_owned(), why: error.to_string() }
            }
            SqliteError::Engine(error) => StoreError::Unavailable(Box::new(error)),
        }
    }
}

/// Whether the error concerns the stored data, and not the disk or another process.
fn is_damage(error: &rusqlite::Error) -> bool {
    use rusqlite::Error;
    matches!(error.sqlite_error_code(), Some(ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase))
        || matches!(
            error,
            Error::FromSqlConversionFailure(..)
                | Error::IntegralValueOutOfRange(..)
                | Error::InvalidColumnType(..)
            // Our SQL is fixed. If SQLite rejects it, the schema is not ours.
            | Error::SqlInputError { .. }
                | Error::Utf8Error(..)
        )
}

/// The error for a caller whose job was not committed.
pub(super) fn unavailable(why: impl Into<String>) -> StoreError {
    StoreError::Unavailable(why.into().into())
}
