//! Errors of SQLite as a user can act on them.

use std::path::Path;

use rusqlite::ErrorCode;

use crate::output::{HelpfulError, clean};

/// What went wrong with a database, and what to do about it.
pub(super) fn explain(path: &Path, error: rusqlite::Error) -> anyhow::Error {
    let code = error.sqlite_error_code();
    let shown = clean(&path.to_string_lossy());
    let helpful = match code {
        Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => busy_error(),
        Some(ErrorCode::ReadOnly | ErrorCode::PermissionDenied) => {
            HelpfulError::new("the database is read-only")
                .help("nothing was changed; make the file and its folder writable, or copy it")
        }
        Some(ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase) => HelpfulError::new(format!(
            "the database itself is damaged: {error}"
        ))
        .help(format!("nothing was changed; `sqlite3 {shown} .recover` saves what can be read")),
        Some(ErrorCode::CannotOpen) => HelpfulError::new("the database cannot be opened").help(
            "its folder must be readable; a database with a `-wal` file beside it also needs a \
             folder that can be written, or a copy in one",
        ),
        Some(ErrorCode::DiskFull) => {
            HelpfulError::new("the disk is full").help("nothing was changed")
        }
        _ => return anyhow::Error::new(error).context("the database cannot be used"),
    };
    helpful.into()
}

/// Error for a database that another process holds.
pub(super) fn busy_error() -> HelpfulError {
    HelpfulError::new("the database is in use: another process holds it")
        .help("nothing was changed; stop the agent and try again")
}

/// Error for rows that are not as they were read.
pub(super) fn changed_error() -> HelpfulError {
    HelpfulError::new("the session changed while it was being repaired")
        .help("nothing was written; stop the agent that writes to it and try again")
}
