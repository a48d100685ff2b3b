//! The database file: only its owner may read it, and its name is on disk before it has content.

use std::{
    fs::{self, File, OpenOptions},
    io,
    path::{Path, PathBuf},
};

use crate::{Result, StoreError};

/// Creates the file if it does not exist, and restricts it and its companion files to the owner.
pub(super) fn secure_file(path: &Path) -> Result<()> {
    let folder = folder_of(path);
    make_folder(folder).map_err(|error| refused(folder, &error))?;
    match private().create_new(true).open(path) {
        Ok(file) => {
            let synced = file.sync_all().and_then(|()| sync_folder(folder));
            synced.map_err(|error| refused(path, &error))
        }
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
            narrow(path)?;
            // SQLite creates these with the permissions of the database file; older ones may allow
            // more.
            companions(path)
                .iter()
                .filter(|companion| companion.exists())
                .try_for_each(|companion| narrow(companion))
        }
        Err(error) => Err(refused(path, &error)),
    }
}

/// Syncs the folder, so that the names of the database and its log are on disk. SQLite continues if
/// it cannot do that.
pub(super) fn sync_names(path: &Path) -> Result<()> {
    let folder = folder_of(path);
    sync_folder(folder).map_err(|error| refused(folder, &error))
}

/// Whether the last process that had the file open did not close it.
pub(super) fn was_left_open(path: &Path) -> bool {
    let [log, _] = companions(path);
    fs::metadata(log).is_ok_and(|log| log.len() > 0)
}

/// The write-ahead log and its index.
fn companions(path: &Path) -> [PathBuf; 2] {
    ["-wal", "-shm"].map(|ending| {
        let mut name = path.as_os_str().to_owned();
        name.push(ending);
        PathBuf::from(name)
    })
}

fn folder_of(path: &Path) -> &Path {
    match path.parent() {
        Some(parent) if parent.as_os_str().is_empty() => Path::new("."),
        Some(parent) => parent,
        None => Path::new("."),
    }
}

fn make_folder(folder: &Path) -> io::Result<()> {
    if folder.is_dir() {
        return Ok(());
    }
    let parent = folder_of(folder);
    make_folder(parent)?;
    match private_folder().create(folder) {
        Ok(()) => sync_folder(parent),
        // Another process created it first.
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists && folder.is_dir() => Ok(()),
        Err(error) => Err(error),
    }
}

fn refused(path: &Path, error: &io::Error) -> StoreError {
    StoreError::Unavailable(format!("`{}`: {error}", path.display()).into())
}

#[cfg(unix)]
fn private() -> OpenOptions {
    use std::os::unix::fs::OpenOptionsExt;
    let mut options = OpenOptions::new();
    options.read(true).write(true).mode(0o600);
    options
}

#[cfg(unix)]
fn private_folder() -> fs::DirBuilder {
    use std::os::unix::fs::DirBuilderExt;
    let mut builder = fs::DirBuilder::new();
    builder.mode(0o700);
    builder
}

#[cfg(unix)]
fn narrow(path: &Path) -> Result<()> {
    use std::os::unix::fs::PermissionsExt;
    let metadata = fs::metadata(path).map_err(|error| refused(path, &error))?;
    if !metadata.is_file() {
        return Err(StoreError::Invalid(format!("`{}` is not a file", path.display())));
    }
    if metadata.permissions().mode() & 0o077 == 0 {
        return Ok(());
    }
    fs::set_permissions(path, fs::Permissions::from_mode(0o600)).map_err(|error| {
        StoreError::Invalid(format!(
            "`{}` is readable by others, and its permissions cannot be changed: {error}",
            path.display()
        ))
    })
}

#[cfg(unix)]
fn sync_folder(folder: &Path) -> io::Result<()> {
    File::open(folder)?.sync_all()
}

#[cfg(not(unix))]
fn private() -> OpenOptions {
    let mut options = OpenOptions::new();
    options.read(true).write(true);
    options
}

#[cfg(not(unix))]
fn private_folder() -> fs::DirBuilder {
    fs::DirBuilder::new()
}

#[cfg(not(unix))]
fn narrow(path: &Path) -> Result<()> {
    match File::open(path) {
        Ok(_) => Ok(()),
        Err(error) => Err(refused(path, &error)),
    }
}

#[cfg(not(unix))]
fn sync_folder(_folder: &Path) -> io::Result<()> {
    Ok(())
}
