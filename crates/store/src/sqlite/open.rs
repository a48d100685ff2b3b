//! Opens connections: their settings, and the checks before the first write.

use std::{path::Path, thread, time::Duration};

use rusqlite::{Connection, ErrorCode, OpenFlags, TransactionBehavior, config::DbConfig};

use super::{
    error::{SqliteError, SqliteResult},
    file,
};
use crate::{Result, StoreError};

/// The first version of SQLite that cannot reset its write-ahead log while a writer uses it.
const OLDEST_ENGINE: i32 = 3_051_003;

/// Marks the file as ours: `Foxw`.
const APPLICATION: i64 = 0x466f_7877;

/// Migrations from one schema version to the next. The first creates the schema.
const MIGRATIONS: [&str; 4] = [
    include_str!("migrations/001.sql"),
    include_str!("migrations/002.sql"),
    include_str!("migrations/003.sql"),
    include_str!("migrations/004.sql"),
];

/// Number of cached prepared statements.
const STATEMENTS: usize = 64;

/// Where the data is.
#[derive(Clone, Debug)]
pub(super) enum SqliteLocation {
    File(Box<Path>),
    Memory,
}

/// What is known about the existing write-ahead log.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum WalState {
    /// No sync of it has failed.
    AsFound,
    /// A sync of it has failed. The operating system may treat its pages as written although they
    /// are not on disk.
    SyncFailed,
}

/// Opens the writing connection. Creates or migrates the database. Refuses one that is not ours, is
/// newer than this program, or is damaged.
pub(super) fn open_writer(location: &SqliteLocation, log: WalState) -> Result<Connection> {
    let was_left_open = match location {
        SqliteLocation::File(path) => {
            let was_left_open = file::was_left_open(path);
            file::secure_file(path)?;
            was_left_open
        }
        SqliteLocation::Memory => false,
    };
    prepare_writer(location, was_left_open, log).map_err(|error| with_location(location, error))
}

/// Opens a reading connection.
pub(super) fn open_reader(location: &SqliteLocation) -> Result<Connection> {
    let prepare = || -> SqliteResult<Connection> {
        let connection = connect(location)?;
        connection.execute_batch("PRAGMA query_only = ON;")?;
        Ok(connection)
    };
    prepare().map_err(|error| with_location(location, error))
}

/// Shrinks the file, on a connection of its own.
pub(super) fn vacuum(location: &SqliteLocation) -> Result<()> {
    let vacuum = || -> SqliteResult<()> {
        let connection = connect(location)?;
        connection.execute_batch("PRAGMA wal_checkpoint(TRUNCATE); VACUUM; PRAGMA optimize;")?;
        connection.execute_batch("PRAGMA wal_checkpoint(TRUNCATE);")?;
        Ok(())
    };
    vacuum().map_err(|error| with_location(location, error))
}

fn prepare_writer(
    location: &SqliteLocation,
    was_left_open: bool,
    log: WalState,
) -> SqliteResult<Connection> {
    if rusqlite::version_number() < OLDEST_ENGINE {
        let version = rusqlite::version();
        return refuse(format!("SQLite {version} is too old: 3.51.3 or newer is required"));
    }
    let mut connection = connect(location)?;
    let version = version_of(&connection)?;
    enable_wal(location, &connection)?;
    if was_left_open && version > 0 {
        check_integrity(&connection)?;
    }
    if was_left_open || log == WalState::SyncFailed {
        reset_wal(&connection, log)?;
    }
    migrate(&mut connection)?;
    if let SqliteLocation::File(path) = location {
        file::sync_names(path)?;
    }
    Ok(connection)
}

fn connect(location: &SqliteLocation) -> SqliteResult<Connection> {
    let mut connection = match location {
        // No URIs, because a file name may contain anything. No creation, because the permissions
        // were set before.
        SqliteLocation::File(path) => Connection::open_with_flags(
            path,
            OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX,
        )?,
        SqliteLocation::Memory => Connection::open_in_memory()?,
    };
    connection.set_prepared_statement_cache_capacity(STATEMENTS);
    connection.busy_handler(Some(wait_for_others))?;
    // Plans do not depend on bound values, so no statement is prepared again for one.
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_QPSG, true)?;
    connection.execute_batch(
        "PRAGMA synchronous = FULL;
         PRAGMA foreign_keys = ON;
         PRAGMA mmap_size = 0;
         PRAGMA temp_store = MEMORY;
         PRAGMA secure_delete = ON;
         PRAGMA trusted_schema = OFF;
         PRAGMA cell_size_check = ON;
         PRAGMA journal_size_limit = 67108864;",
    )?;
    Ok(connection)
}

/// Waits for another process that writes: ten seconds in total, with short pauses at first.
fn wait_for_others(tries: i32) -> bool {
    let pause = match tries {
        0..50 => 1,
        50..500 => 5,
        500..800 => 25,
        _ => return false,
    };
    thread::sleep(Duration::from_millis(pause));
    true
}

/// The schema version of a file that is ours; 0 for an empty file.
fn version_of(connection: &Connection) -> SqliteResult<usize> {
    // One statement sees one state of the file: another process may be creating it right now.
    let (application, version, objects): (i64, i64, i64) = connection.query_row(
        "SELECT application_id, user_version, (SELECT count(*) FROM sqlite_schema)
         FROM pragma_application_id, pragma_user_version",
        [],
        |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)),
    )?;
    if application != APPLICATION && (application != 0 || version != 0 || objects != 0) {
        return refuse("it is a database of another program".to_owned());
    }
    match usize::try_from(version) {
        Ok(version) if version <= MIGRATIONS.len() => Ok(version),
        Ok(_) | Err(_) => refuse(format!(
            "it was written by a newer version: its schema is {version}, this version supports {}",
            MIGRATIONS.len()
        )),
    }
}

/// Turns on the write-ahead log. Two processes that create the same file conflict here, and SQLite
/// does not wait by itself.
fn enable_wal(location: &SqliteLocation, connection: &Connection) -> SqliteResult<()> {
    let expected = match location {
        SqliteLocation::File(_) => "wal",
        SqliteLocation::Memory => "memory",
    };
    let mut tries = 0;
    loop {
        match switch_to_wal(connection) {
            Ok(mode) if mode == expected => return Ok(()),
            Ok(mode) => {
                return refuse(format!("it does not support a write-ahead log, only `{mode}`"));
            }
            Err(error) if is_busy(&error) && wait_for_others(tries) => tries += 1,
            Err(error) => return Err(error.into()),
        }
    }
}

/// Switches the journal mode. SQLite switches when the statement ends, not when it returns the row:
/// a caller that stops at the row does not see a failure.
fn switch_to_wal(connection: &Connection) -> rusqlite::Result<String> {
    let mut statement = connection.prepare("PRAGMA journal_mode = WAL")?;
    let mut rows = statement.query([])?;
    while rows.next()?.is_some() {}
    connection.pragma_query_value(None, "journal_mode", |row| row.get(0))
}

/// Copies the log into the database and starts a new log. A later sync never writes pages whose
/// sync failed, so a log that continues after them would have a gap after a power loss. While
/// another process uses the file, a log without a failed sync may stay.
fn reset_wal(connection: &Connection, log: WalState) -> SqliteResult<()> {
    let mut statement = connection.prepare("PRAGMA wal_checkpoint(TRUNCATE)")?;
    let mut rows = statement.query([])?;
    let mut complete = false;
    while let Some(row) = rows.next()? {
        complete = row.get::<_, i64>(0)? == 0 && row.get::<_, i64>(1)? <= 0;
    }
    if complete || log == WalState::AsFound {
        return Ok(());
    }
    let why = "its log cannot be reopened after a failed sync";
    Err(StoreError::Unavailable(why.into()).into())
}

fn is_busy(error: &rusqlite::Error) -> bool {
    matches!(error.sqlite_error_code(), Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked))
}

/// Checks the file after a process was killed while it had the file open.
fn check_integrity(connection: &Connection) -> SqliteResult<()> {
    let found: String = connection.query_row("PRAGMA quick_check(1)", [], |row| row.get(0))?;
    if found != "ok" {
        return Err(StoreError::Corrupt { what: "the database".to_owned(), why: found }.into());
    }
    Ok(())
}

/// Migrates the file to the newest version: all steps or none.
fn migrate(connection: &mut Connection) -> SqliteResult<()> {
    if version_of(connection)? == MIGRATIONS.len() {
        return Ok(());
    }
    let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
    // Another process may have migrated it meanwhile.
    let version = version_of(&transaction)?;
    for step in MIGRATIONS.iter().skip(version) {
        transaction.execute_batch(step)?;
    }
    transaction.pragma_update(None, "application_id", APPLICATION)?;
    transaction.pragma_update(
        None,
        "user_version",
        i64::try_from(MIGRATIONS.len()).unwrap_or(0),
    )?;
    transaction.commit()?;
    Ok(())
}

fn refuse<T>(why: String) -> SqliteResult<T> {
    Err(StoreError::Invalid(why).into())
}

/// Adds the location to an error.
fn with_location(location: &SqliteLocation, error: SqliteError) -> StoreError {
    let name = match location {
        SqliteLocation::File(path) => format!("`{}`", path.display()),
        SqliteLocation::Memory => "the in-memory database".to_owned(),
    };
    match StoreError::from(error) {
        StoreError::Invalid(why) => StoreError::Invalid(format!("{name}: {why}")),
        StoreError::Corrupt { why, .. } => StoreError::Corrupt { what: name, why },
        StoreError::Unavailable(source) => {
            StoreError::Unavailable(format!("{name}: {source}").into())
        }
        error @ (StoreError::NoSession(_)
        | StoreError::NoRun(_)
        | StoreError::Ended(_)
        | StoreError::Fenced { .. }
        | StoreError::Stale { .. }
        | StoreError::Conflict(_)
        | StoreError::Busy { .. }) => error,
    }
}
