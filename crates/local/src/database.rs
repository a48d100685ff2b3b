//! Sessions that agents keep in SQLite databases.
//!
//! Such a session is named by the path of its database and its id: `opencode.db/ses_1`. Its content
//! is the text of its rows (see `foxwedge_sessions::write_rows`), so that reading, checking,
//! repairing and undoing work as for a file. Only writing differs: the changed rows are written in
//! one transaction, and only while no other process has the database open.

use std::{
    fs::{self, Metadata},
    io,
    path::{Path, PathBuf},
};

use crate::read_only;

mod error;
mod layout;
mod zed;
mod columns;
mod connection;
mod reading;
mod copies;
mod exclusive;
mod statements;
mod wanted_rows;
mod writing;

pub use reading::{StoredSession, StoredSizes, list_sessions, read_session};
pub use writing::{insert_session, replace_session};

/// Where a session in a database is.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct SessionPath {
    /// The database.
    pub database: PathBuf,
    /// The session id.
    pub id: String,
}

impl SessionPath {
    /// The session that a path names; `None` for any other path.
    pub fn parse(path: &Path) -> Option<SessionPath> {
        let (database, id) = (path.parent()?, path.file_name()?.to_str()?);
        // Nothing else is below a file.
        let is_below_file = fs::metadata(database).is_ok_and(|metadata| metadata.is_file());
        is_below_file.then(|| SessionPath { database: database.to_owned(), id: id.to_owned() })
    }

    /// The path that names it.
    pub fn path(&self) -> PathBuf {
        self.database.join(&self.id)
    }
}

/// Whether a file has the name of an SQLite database, and is one. Asks SQLite: closing a file that
/// was opened in another way would release the locks of this process.
pub fn is_database(path: &Path) -> bool {
    let is_named = path.extension().is_some_and(|end| end == "db" || end == "sqlite");
    is_named
        && fs::metadata(path).is_ok_and(|metadata| metadata.is_file())
        && connection::is_readable(path)
}

/// The content of a file, or of a session in a database.
///
/// # Errors
/// If it cannot be read.
pub fn read(path: &Path) -> io::Result<Vec<u8>> {
    match SessionPath::parse(path) {
        Some(session) => {
            reading::read_session(&session).map_err(|error| io::Error::other(format!("{error:#}")))
        }
        None => read_only::session_text(path, fs::read(path)?)
            .map_err(|error| io::Error::other(format!("{error:#}"))),
    }
}

/// The metadata of a file, or of the database of a session.
///
/// # Errors
/// If there is no such file.
pub fn metadata(path: &Path) -> io::Result<Metadata> {
    match SessionPath::parse(path) {
        Some(session) => fs::metadata(session.database),
        None => fs::metadata(path),
    }
}

/// The canonical path of a file, or of a session in a database.
///
/// # Errors
/// If there is no such file.
pub fn canonicalize(path: &Path) -> io::Result<PathBuf> {
    match SessionPath::parse(path) {
        Some(session) => Ok(fs::canonicalize(session.database)?.join(session.id)),
        None => fs::canonicalize(path),
    }
}

/// The file of a path: the database, if it names a session in one.
pub(crate) fn file_of(path: &Path) -> PathBuf {
    SessionPath::parse(path).map_or_else(|| path.to_owned(), |session| session.database)
}
