//! Opens a database to write it, if no other process has it open.
//!
//! SQLite's own lock shows other connections to a database with a write-ahead log: each holds a
//! shared lock as long as it is open. For other databases it shows only transactions; there, the
//! open files of other processes are looked at as well (`disk::check_idle`).

use std::path::Path;

use anyhow::bail;
use rusqlite::{Connection, OpenFlags};

use super::error::{busy_error, explain};
use crate::output::HelpfulError;

/// Opens a database for this process alone, until the connection is closed.
pub(super) fn open_exclusive(path: &Path) -> anyhow::Result<Connection> {
    check_file_system(path)?;
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let connection =
        Connection::open_with_flags(path, flags).map_err(|error| explain(path, error))?;
    let take = || -> rusqlite::Result<()> {
        connection.busy_timeout(std::time::Duration::ZERO)?;
        connection.pragma_update(None, "locking_mode", "EXCLUSIVE")?;
        connection.pragma_update(None, "foreign_keys", "OFF")?;
        // What is committed must be on disk.
        connection.pragma_update(None, "synchronous", "FULL")?;
        // The lock is taken with the first transaction, and kept.
        connection.execute_batch("BEGIN EXCLUSIVE; COMMIT")
    };
    take().map_err(|error| explain(path, error))?;
    Ok(connection)
}

/// Changes that other connections made, as SQLite counts them.
pub(super) fn data_version(connection: &Connection) -> rusqlite::Result<i64> {
    connection.pragma_query_value(None, "data_version", |row| row.get(0))
}

/// Fails if another connection wrote since `version`.
pub(super) fn check_unchanged(connection: &Connection, version: i64) -> anyhow::Result<()> {
    if data_version(connection)? != version {
        bail!(busy_error());
    }
    Ok(())
}

/// Refuses file systems that cannot be written, and those whose locks cannot be trusted.
#[cfg(target_os = "linux")]
fn check_file_system(path: &Path) -> anyhow::Result<()> {
    /// File systems of other machines: NFS, SMB, CIFS, AFS, 9P.
    const REMOTE: [rustix::fs::FsWord; 6] =
        [0x6969, 0x517b, 0xff53_4d42, 0xfe53_4d42, 0x5346_414f, 0x0102_1997];
    let Ok(system) = rustix::fs::statfs(path) else { return Ok(()) };
    if REMOTE.contains(&system.f_type) {
        bail!(HelpfulError::new("the database is on a network file system").help(
            "nothing was changed: locks cannot be trusted there; run foxwedge on the machine \
                 that has the disk"
        ));
    }
    Ok(())
}

#[cfg(not(target_os = "linux"))]
fn check_file_system(_: &Path) -> anyhow::Result<()> {
    Ok(())
}
