//! Copies of whole databases, made by SQLite's backup API before the first change.
//!
//! An undo does not need them: it restores rows. They are for the case that a database is damaged as
//! a whole. The newest copy of each database is kept.

use std::{
    collections::HashSet,
    fs,
    path::{Path, PathBuf},
    sync::{Mutex, PoisonError},
    time::{Duration, SystemTime, UNIX_EPOCH},
};

use anyhow::Context;
use rusqlite::{Connection, backup::Backup};

use super::error::explain;
use crate::{
    disk::{ContentFingerprint, create_private},
    user_folders::UserFolders,
};

/// Databases that this process has copied.
static COPIED: Mutex<Option<HashSet<PathBuf>>> = Mutex::new(None);

/// Pages that are copied at a time.
const PAGES: i32 = 4096;

/// Copies a database, once per process. The copy is complete when this returns.
pub(super) fn copy_once(
    folders: &UserFolders,
    connection: &Connection,
    database: &Path,
) -> anyhow::Result<()> {
    let mut copied = COPIED.lock().unwrap_or_else(PoisonError::into_inner);
    let copied = copied.get_or_insert_with(HashSet::new);
    if copied.contains(database) {
        return Ok(());
    }
    let folder = folders.state()?.join("backups/databases");
    let write_error = || format!("cannot write a copy of the database to `{}`", folder.display());
    let name = ContentFingerprint::of(database.as_os_str().as_encoded_bytes()).hash;
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_nanos();
    let unfinished = folder.join(format!("{name}-{now:020}.part"));
    crate::disk::create_private_folder(&folder).with_context(write_error)?;
    create_private(&unfinished, |_| Ok(())).with_context(write_error)?;
    let done = copy_to(connection, &unfinished);
    if let Err(error) = done {
        let _ = fs::remove_file(&unfinished);
        return Err(explain(database, error)).with_context(write_error);
    }
    let finished = unfinished.with_extension("db");
    fs::File::open(&unfinished).and_then(|file| file.sync_all()).with_context(write_error)?;
    fs::rename(&unfinished, &finished).with_context(write_error)?;
    remove_others(&folder, &name, &finished);
    copied.insert(database.to_owned());
    Ok(())
}

fn copy_to(connection: &Connection, path: &Path) -> rusqlite::Result<()> {
    let mut copy = Connection::open(path)?;
    Backup::new(connection, &mut copy)?.run_to_completion(PAGES, Duration::ZERO, None)?;
    // A copy is one file, whatever the journal mode of the original is.
    copy.pragma_update(None, "journal_mode", "DELETE")?;
    copy.close().map_err(|(_, error)| error)
}

/// Removes older copies of the same database, and what a killed process left.
fn remove_others(folder: &Path, name: &str, newest: &Path) {
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let path = entry.path();
        let is_same = entry.file_name().to_str().is_some_and(|other| other.starts_with(name));
        if is_same && path != newest {
            let _ = fs::remove_file(path);
        }
    }
}
