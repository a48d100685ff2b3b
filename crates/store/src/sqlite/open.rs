//! Opens connections: what each of them is told, and what is checked before the first write.

use std::{path::Path, thread, time::Duration};

use rusqlite::{Connection, ErrorCode, OpenFlags, TransactionBehavior, config::DbConfig};

use super::{
    error::{SqliteError, SqliteResult},
    file,
};
use crate::{Result, StoreError};

/// The first version of SQLite whose write-ahead log cannot be reset under a writer's feet.
const OLDEST_ENGINE: i32 = 3_051_003;

/// Marks the file as ours: `Foxw`.
const APPLICATION: i64 = 0x466f_7877;

/// What brings a file from one version to the next; the first makes it.
const MIGRATIONS: [&str; 2] =
    [include_str!("migrations/001.sql"), include_str!("migrations/002.sql")];

/// How many statements stay prepared.
const STATEMENTS: usize = 64;

/// Where the data is.
#[derive(Clone, Debug)]
pub(super) enum SqliteLocation {
    File(Box<Path>),
    Memory,
}

/// What is known about the write-ahead log that is there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum WalState {
    /// Nothing.
    AsFound,
    /// A sync of it has failed: the system may believe that its pages are on disk.
    SyncFailed,
}

/// The connection that writes. Makes or migrates what is there, and refuses what is not ours,
/// newer than this program, or damaged.
pub(super) fn open_writer(place: &SqliteLocation, log: WalState) -> Result<Connection> {
    let unclean = match place {
        SqliteLocation::File(path) => {
            let unclean = file::was_left_open(path);
            file::secure_file(path)?;
            unclean
        }
        SqliteLocation::Memory => false,
    };
    prepare_writer(place, unclean, log).map_err(|fault| with_location(place, fault))
}

/// A connection that reads.
pub(super) fn open_reader(place: &SqliteLocation) -> Result<Connection> {
    let prepare = || -> SqliteResult<Connection> {
        let connection = connect(place)?;
        connection.execute_batch("PRAGMA query_only = ON;")?;
        Ok(connection)
    };
    prepare().map_err(|fault| with_location(place, fault))
}

/// Makes the file as small as it can be, on a connection of its own.
pub(super) fn vacuum(place: &SqliteLocation) -> Result<()> {
    let vacuum = || -> SqliteResult<()> {
        let connection = connect(place)?;
        connection.execute_batch("PRAGMA wal_checkpoint(TRUNCATE); VACUUM; PRAGMA optimize;")?;
        connection.execute_batch("PRAGMA wal_checkpoint(TRUNCATE);")?;
        Ok(())
    };
    vacuum().map_err(|fault| with_location(place, fault))
}

fn prepare_writer(
    place: &SqliteLocation,
    unclean: bool,
    log: WalState,
) -> SqliteResult<Connection> {
    if rusqlite::version_number() < OLDEST_ENGINE {
        let version = rusqlite::version();
        return refuse(format!("SQLite {version} is too old: 3.51.3 is the first that is safe"));
    }
    let mut connection = connect(place)?;
    let version = version_of(&connection)?;
    enable_wal(place, &connection)?;
    if unclean && version > 0 {
        check_integrity(&connection)?;
    }
    if unclean || log == WalState::SyncFailed {
        reset_wal(&connection, log)?;
    }
    migrate(&mut connection)?;
    if let SqliteLocation::File(path) = place {
        file::sync_names(path)?;
    }
    Ok(connection)
}

fn connect(place: &SqliteLocation) -> SqliteResult<Connection> {
    let mut connection = match place {
        // No URIs: a file may be called anything. No creation: its rights were set before.
        SqliteLocation::File(path) => Connection::open_with_flags(
            path,
            OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX,
        )?,
        SqliteLocation::Memory => Connection::open_in_memory()?,
    };
    connection.set_prepared_statement_cache_capacity(STATEMENTS);
    connection.busy_handler(Some(wait_for_others))?;
    // A plan does not depend on values, so that no statement is prepared anew for one.
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

/// Another process writes: waits for about ten seconds in all, often at first.
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

/// The version of a file that is ours; 0 for one that is empty.
fn version_of(connection: &Connection) -> SqliteResult<usize> {
    // One statement sees one state of the file: another process may just be making it.
    let (application, version, objects): (i64, i64, i64) = connection.query_row(
        "SELECT application_id, user_version, (SELECT count(*) FROM sqlite_schema)
         FROM pragma_application_id, pragma_user_version",
        [],
        |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)),
    )?;
    if application != APPLICATION && (application != 0 || version != 0 || objects != 0) {
        return refuse("it is a database of something else".to_owned());
    }
    match usize::try_from(version) {
        Ok(version) if version <= MIGRATIONS.len() => Ok(version),
        Ok(_) | Err(_) => refuse(format!(
            "it was written by a newer program: version {version} of the schema, this one knows {}",
            MIGRATIONS.len()
        )),
    }
}

/// The write-ahead log. Two processes that make the same file are in each other's way here, and
/// SQLite does not wait by itself.
fn enable_wal(place: &SqliteLocation, connection: &Connection) -> SqliteResult<()> {
    let wanted = match place {
        SqliteLocation::File(_) => "wal",
        SqliteLocation::Memory => "memory",
    };
    let mut tries = 0;
    loop {
        match switch_to_wal(connection) {
            Ok(mode) if mode == wanted => return Ok(()),
            Ok(mode) => {
                return refuse(format!("it cannot have a write-ahead log, only `{mode}`"));
            }
            Err(error) if is_busy(&error) && wait_for_others(tries) => tries += 1,
            Err(error) => return Err(error.into()),
        }
    }
}

/// Switches the log on. That is done when the statement ends, not when it tells of it: whoever
/// stops at the row never hears that the switch failed.
fn switch_to_wal(connection: &Connection) -> rusqlite::Result<String> {
    let mut statement = connection.prepare("PRAGMA journal_mode = WAL")?;
    let mut rows = statement.query([])?;
    while rows.next()?.is_some() {}
    connection.pragma_query_value(None, "journal_mode", |row| row.get(0))
}

/// Brings what is in the log over to the database and begins a new log. Pages whose sync failed
/// are never written by a later sync; a log that goes on behind them would have a hole after a
/// power loss. While somebody else works with the file, a log that nobody doubts may stay.
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
    let why = "its log cannot be renewed after a sync that failed";
    Err(StoreError::Unavailable(why.into()).into())
}

fn is_busy(error: &rusqlite::Error) -> bool {
    matches!(error.sqlite_error_code(), Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked))
}

/// Looks through the file after somebody was killed with it.
fn check_integrity(connection: &Connection) -> SqliteResult<()> {
    let found: String = connection.query_row("PRAGMA quick_check(1)", [], |row| row.get(0))?;
    if found != "ok" {
        return Err(StoreError::Corrupt { what: "the database".to_owned(), why: found }.into());
    }
    Ok(())
}

/// Brings the file to the newest version: all steps, or none.
fn migrate(connection: &mut Connection) -> SqliteResult<()> {
    if version_of(connection)? == MIGRATIONS.len() {
        return Ok(());
    }
    let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
    // Somebody else may have been faster.
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

/// Whose error it is.
fn with_location(place: &SqliteLocation, fault: SqliteError) -> StoreError {
    let name = match place {
        SqliteLocation::File(path) => format!("`{}`", path.display()),
        SqliteLocation::Memory => "the memory".to_owned(),
    };
    match StoreError::from(fault) {
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
