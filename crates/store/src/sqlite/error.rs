//! Why a job did not succeed: somebody has to hear about it, or the engine is in trouble.

use rusqlite::ErrorCode;

use crate::StoreError;

/// What a job within a transaction ends with.
pub(super) type SqliteResult<T> = Result<T, SqliteError>;

/// Why a job did not succeed.
#[derive(Debug)]
pub(super) enum SqliteError {
    /// It may not be: the caller hears why.
    Refused(StoreError),
    /// SQLite could not.
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
    fn from(fault: SqliteError) -> StoreError {
        match fault {
            SqliteError::Refused(error) => error,
            SqliteError::Engine(error) if is_damage(&error) => {
                StoreError::Corrupt { what: "the database".to_owned(), why: error.to_string() }
            }
            SqliteError::Engine(error) => StoreError::Unavailable(Box::new(error)),
        }
    }
}

/// Whether it is about what is stored, and not about the disk or somebody else.
fn is_damage(error: &rusqlite::Error) -> bool {
    use rusqlite::Error;
    matches!(error.sqlite_error_code(), Some(ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase))
        || matches!(
            error,
            Error::FromSqlConversionFailure(..)
                | Error::IntegralValueOutOfRange(..)
                | Error::InvalidColumnType(..)
            // Our questions are fixed texts: if one makes no sense, the schema is not ours.
            | Error::SqlInputError { .. }
                | Error::Utf8Error(..)
        )
}

/// The error for whoever waited for something that did not come to be.
pub(super) fn unavailable(why: impl Into<String>) -> StoreError {
    StoreError::Unavailable(why.into().into())
}
