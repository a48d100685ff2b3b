//! Opens a database to read it, and leaves no trace of that.

use std::{
    fs::{self, Metadata},
    path::{Path, PathBuf},
    time::Duration,
};

use rusqlite::{Connection, OpenFlags};

use super::error::explain;

/// How long a read waits for a process that is just writing.
const READ_WAIT: Duration = Duration::from_secs(5);

/// Runs `read` with a connection that cannot write.
///
/// A database without a write-ahead log is read without locks and side files, and once more with
/// them if it changed meanwhile. Such a database may be on read-only media.
pub(super) fn with_reader<T>(
    path: &Path,
    read: impl Fn(&Connection) -> anyhow::Result<T>,
) -> anyhow::Result<T> {
    let before = FileState::of(path);
    if before.as_ref().is_some_and(|state| !state.has_log) {
        let done = open(path, "immutable=1").and_then(|connection| read(&connection));
        if FileState::of(path) == before {
            return done;
        }
    }
    let connection = open(path, "mode=ro")?;
    // One transaction, so that all rows are of one moment.
    let transaction = connection.unchecked_transaction().map_err(|error| explain(path, error))?;
    let done = read(&transaction)?;
    drop(transaction);
    Ok(done)
}

/// Whether a file is a database.
pub(super) fn is_readable(path: &Path) -> bool {
    let version = |connection: &Connection| {
        connection.pragma_query_value(None, "schema_version", |row| row.get::<_, i64>(0)).is_ok()
    };
    open(path, "immutable=1").is_ok_and(|connection| version(&connection))
}

fn open(path: &Path, mode: &str) -> anyhow::Result<Connection> {
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY
        | OpenFlags::SQLITE_OPEN_URI
        | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let connection = Connection::open_with_flags(uri(path, mode), flags)
        .map_err(|error| explain(path, error))?;
    connection.busy_timeout(READ_WAIT).map_err(|error| explain(path, error))?;
    Ok(connection)
}

/// A path as a URI. Everything but plain characters is escaped.
fn uri(path: &Path, mode: &str) -> String {
    let mut uri = "file:".to_owned();
    for &byte in path.as_os_str().as_encoded_bytes() {
        match byte {
            b'/' | b'-' | b'_' | b'.' | b'~' => uri.push(char::from(byte)),
            byte if byte.is_ascii_alphanumeric() => uri.push(char::from(byte)),
            byte => uri.push_str(&format!("%{byte:02x}")),
        }
    }
    format!("{uri}?{mode}")
}

/// What shows that a database was written.
#[derive(PartialEq, Eq)]
struct FileState {
    length: u64,
    modified: Option<std::time::SystemTime>,
    /// Whether there is a write-ahead log or a journal with content.
    has_log: bool,
}

impl FileState {
    fn of(path: &Path) -> Option<FileState> {
        let metadata: Metadata = fs::metadata(path).ok()?;
        let has_content =
            |end: &str| fs::metadata(beside(path, end)).is_ok_and(|log| log.len() > 0);
        Some(FileState {
            length: metadata.len(),
            modified: metadata.modified().ok(),
            has_log: has_content("-wal") || has_content("-journal"),
        })
    }
}

/// The path of a file that SQLite keeps beside a database.
pub(super) fn beside(path: &Path, end: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(end);
    PathBuf::from(name)
}
