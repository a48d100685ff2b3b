//! Writes the changed rows of a session in one transaction.
//!
//! Before it commits, every row is matched by the content that was read, the rows are read again and
//! verified, and the database is checked. If the process is killed at any point, SQLite leaves the
//! old rows or the new ones.

use std::{fs, io::Write, path::Path};

use anyhow::{Context, bail};
use foxwedge_sessions::{RowChange, row_changes};
use rusqlite::{Connection, config::DbConfig, params};

use super::{
    SessionPath,
    copies::copy_once,
    error::{changed_error, explain},
    exclusive::{check_unchanged, data_version, open_exclusive},
    layout::{StoreLayout, check_writable, recognize},
    reading::session_text,
    statements::apply,
    wanted_rows::WantedRows,
};
use crate::{
    disk::{Backup, ContentFingerprint, FileLock},
    output::{HelpfulError, clean},
    user_folders::UserFolders,
};

/// Replaces the content of a session.
///
/// `prepare` gets the content as it is read back before it is committed, and may reject it. It
/// returns the backup of the old content, if it made one.
///
/// # Errors
/// If the database is in use, the session changed since it was read, or the result is rejected. The
/// database is unchanged then.
pub fn replace_session(
    folders: &UserFolders,
    session: &SessionPath,
    before: &[u8],
    write: impl FnOnce(&mut dyn Write) -> std::io::Result<()>,
    prepare: impl FnOnce(&[u8], ContentFingerprint) -> anyhow::Result<Option<Backup>>,
) -> anyhow::Result<Option<Backup>> {
    let mut after = Vec::with_capacity(before.len());
    write(&mut after).context("the new content cannot be written")?;
    let mut made = None;
    let written = write_rows(folders, session, Some(before), &after, |reread| {
        made = prepare(reread, ContentFingerprint::of(reread))?;
        Ok(())
    });
    match written {
        Ok(()) => Ok(made),
        Err(error) => {
            made.into_iter().for_each(Backup::discard);
            Err(error)
        }
    }
}

/// Adds a session to a database. Fails if there is one with this id.
///
/// # Errors
/// If the database is in use or cannot be written. It is unchanged then.
pub fn insert_session(
    folders: &UserFolders,
    session: &SessionPath,
    content: &[u8],
) -> anyhow::Result<()> {
    let _lock = FileLock::acquire(folders, &session.path())?;
    let metadata = fs::metadata(&session.database).context("the database cannot be read")?;
    crate::disk::check_idle(folders, &session.path(), &metadata, None)?;
    write_rows(folders, session, None, content, |_| Ok(()))
}

/// Writes the difference between two texts of a session. Without `before`, the session is new.
fn write_rows(
    folders: &UserFolders,
    session: &SessionPath,
    before: Option<&[u8]>,
    after: &[u8],
    verify: impl FnOnce(&[u8]) -> anyhow::Result<()>,
) -> anyhow::Result<()> {
    let path = &session.database;
    let connection = open_exclusive(path)?;
    let layout = recognize(&connection, path)?;
    check_writable(&connection, layout, path)?;
    disable_triggers(&connection).map_err(|error| explain(path, error))?;
    let version = data_version(&connection).map_err(|error| explain(path, error))?;
    copy_once(folders, &connection, path)?;
    let transaction = connection.unchecked_transaction().map_err(|error| explain(path, error))?;
    if session_text(&transaction, layout, session)?.as_deref() != before {
        bail!(changed_error());
    }
    let mut wanted = WantedRows::read(&transaction, layout, text_of(after)?)?;
    let changes = row_changes(text_of(before.unwrap_or_default())?, &wanted.text(layout))?;
    for change in &changes {
        apply(&transaction, layout, path, change)?;
    }
    wanted.put_in_order(&transaction, layout, session)?;
    if before.is_some() {
        update_count(&transaction, layout, session, &changes)
            .map_err(|error| explain(path, error))?;
    }
    let reread = session_text(&transaction, layout, session)?.unwrap_or_default();
    if !row_changes(text_of(&reread)?, &wanted.text(layout))?.is_empty() {
        bail!("the rows that were written differ from the repaired session; nothing is changed");
    }
    quick_check(&transaction, path)?;
    verify(&reread)?;
    check_unchanged(&transaction, version)?;
    transaction.commit().map_err(|error| explain(path, error))?;
    connection.close().map_err(|(_, error)| explain(path, error))
}

/// Triggers would note the time of a repair in rows, and an undo could not restore them.
fn disable_triggers(connection: &Connection) -> rusqlite::Result<()> {
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_TRIGGER, false).map(|_| ())
}

/// Keeps the number of messages in the row of the session.
fn update_count(
    connection: &Connection,
    layout: &StoreLayout,
    session: &SessionPath,
    changes: &[RowChange],
) -> rusqlite::Result<()> {
    let Some(column) = layout.message_count else { return Ok(()) };
    let added: i64 = changes
        .iter()
        .map(|change| match change {
            RowChange::Insert(_) => 1,
            RowChange::Delete(_) => -1,
            RowChange::Update { .. } => 0,
        })
        .sum();
    if added != 0 {
        let table = &layout.tables.session;
        let query = format!(
            "UPDATE {} SET {column} = max(0, {column} + ?2) WHERE {} = ?1",
            table.name, table.key
        );
        connection.execute(&query, params![session.id, added])?;
    }
    Ok(())
}

fn text_of(content: &[u8]) -> anyhow::Result<&str> {
    std::str::from_utf8(content).context("the text of the session is not UTF-8")
}

/// Fails if the database is damaged.
fn quick_check(connection: &Connection, path: &Path) -> anyhow::Result<()> {
    let verdict: String = connection
        .query_row("PRAGMA quick_check(1)", [], |row| row.get(0))
        .map_err(|error| explain(path, error))?;
    if verdict != "ok" {
        let shown = clean(&path.to_string_lossy());
        bail!(
            HelpfulError::new(format!("the database itself is damaged: {}", clean(&verdict))).help(
                format!("nothing was changed; `sqlite3 {shown} .recover` saves what can be read")
            )
        );
    }
    Ok(())
}
