//! Errors of SQLite as a user can act on them.

use std::path::Path;

use rusqlite::{ErrorCode, ffi};

use crate::output::{HelpfulError, clean};

/// What went wrong with a database, and what to do about it.
pub(super) fn explain(path: &Path, error: rusqlite::Error) -> anyhow::Error {
    let code = error.sqlite_error_code();
    let shown = clean(&path.to_string_lossy());
    // A database of another user can be read, but not locked.
    let is_unlockable =
        error.sqlite_error().is_some_and(|it| it.extended_code == ffi::SQLITE_IOERR_LOCK);
    let helpful = match code {
        _ if is_unlockable => HelpfulError::new("the database cannot be locked")
            .help("nothing was changed; make the file and its folder writable, or copy it"),
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::output::help_of;

    #[test]
    fn errors_of_a_database_that_cannot_be_written_have_help() {
        let table = [
            (ffi::SQLITE_IOERR_LOCK, "the database cannot be locked"),
            (ffi::SQLITE_READONLY, "the database is read-only"),
            (ffi::SQLITE_PERM, "the database is read-only"),
            (ffi::SQLITE_BUSY, "the database is in use: another process holds it"),
        ];
        for (code, expected) in table {
            let failure = rusqlite::Error::SqliteFailure(ffi::Error::new(code), None);
            let error = explain(Path::new("a.db"), failure);
            assert_eq!(error.to_string(), expected);
            assert!(help_of(&error).is_some_and(|help| help.starts_with("nothing was changed")));
        }
    }
}
