//! Locks a file against other Foxwedge processes.
//!
//! The lock is on a file in our state folder. The system releases it when the process ends,
//! however it ends.

use std::{
    fs::{self, File, TryLockError},
    io::{self, Read, Seek, Write},
    path::{Path, PathBuf},
    thread,
    time::{Duration, Instant},
};

use anyhow::{Context, bail};

use super::{
    fingerprint::ContentFingerprint, private_files, process, snapshot::is_same, temporary_file,
};
use crate::{
    database,
    output::{HelpfulError, clean},
    user_folders::UserFolders,
};

/// How long a process waits for others that write other sessions of the same database.
const DATABASE_WAIT: Duration = Duration::from_secs(30);

/// Exclusive right to write one file, until dropped.
pub struct FileLock {
    lock_path: PathBuf,
    /// Files that interrupted repairs left next to the file, with content that no backup has.
    strays: Vec<PathBuf>,
    /// The lock lasts while this is open.
    _file: File,
}

impl FileLock {
    /// Locks the file at a path, and removes what dead processes left next to it.
    ///
    /// All sessions of a database share one lock. Threads of this process wait for each other.
    pub fn acquire(folders: &UserFolders, path: &Path) -> anyhow::Result<FileLock> {
        let (folder, file) = (folders.state()?.join("locks"), database::file_of(path));
        let began = Instant::now();
        let mut lock = loop {
            match FileLock::acquire_in(&folder, &file) {
                Err(_) if file != path && began.elapsed() < DATABASE_WAIT => {
                    thread::sleep(Duration::from_millis(20));
                }
                acquired => break acquired?,
            }
        };
        lock.strays = temporary_file::sweep_aside(folders, path);
        Ok(lock)
    }

    /// Notes for the user about files left by interrupted repairs.
    pub fn notes(&self) -> impl Iterator<Item = String> {
        self.strays.iter().map(|stray| {
            let stray = clean(&stray.to_string_lossy());
            format!(
                "an interrupted repair left `{stray}`, and no backup has its content; compare it \
                 with the file, and remove it when it is not needed"
            )
        })
    }

    fn acquire_in(folder: &Path, path: &Path) -> anyhow::Result<FileLock> {
        let lock_error = || {
            HelpfulError::new(format!("cannot create a lock in `{}`", folder.display()))
                .help("set FOXWEDGE_STATE_DIR to a local folder that you can write to")
        };
        private_files::create_private_folder(folder).with_context(lock_error)?;
        let name = ContentFingerprint::of(path.as_os_str().as_encoded_bytes()).hash;
        let lock_path = folder.join(format!("{name}.lock"));
        loop {
            let mut file = private_files::private_options()
                .read(true)
                .create(true)
                .truncate(false)
                .open(&lock_path)
                .with_context(lock_error)?;
            match file.try_lock() {
                Ok(()) if !is_at(&file, &lock_path) => continue,
                Ok(()) => {
                    // Best effort: the id is only for error messages of waiting processes.
                    let _ = write_process_id(&mut file);
                    return Ok(FileLock { lock_path, strays: Vec::new(), _file: file });
                }
                Err(TryLockError::WouldBlock) => bail!(locked_error(&mut file)),
                Err(TryLockError::Error(error)) => return Err(error).with_context(lock_error),
            }
        }
    }
}

impl Drop for FileLock {
    fn drop(&mut self) {
        // Removed while still locked. A process that opened it before sees that it is gone.
        if cfg!(unix) {
            let _ = fs::remove_file(&self.lock_path);
        }
    }
}

fn write_process_id(file: &mut File) -> io::Result<()> {
    file.set_len(0)?;
    write!(file, "{}", std::process::id())
}

fn locked_error(file: &mut File) -> HelpfulError {
    let mut text = String::new();
    let read = file.rewind().and_then(|()| file.take(32).read_to_string(&mut text));
    let owner = match (read, text.trim().parse()) {
        (Ok(_), Ok(number)) => process::describe_process(number),
        _ => "another process".to_owned(),
    };
    HelpfulError::new(format!("another foxwedge process is writing this file: {owner}"))
        .help("nothing was changed; try again when it is done")
}

/// Whether the locked file is still the file at its path.
fn is_at(file: &File, path: &Path) -> bool {
    match (file.metadata(), fs::metadata(path)) {
        (Ok(locked), Ok(named)) => is_same(&locked, &named),
        _ => false,
    }
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]
mod tests {
    use super::*;

    #[test]
    fn a_lock_excludes_others_and_leaves_no_file() {
        let folder = std::env::temp_dir().join(format!("foxwedge-claim-{}", std::process::id()));
        let acquire = || FileLock::acquire_in(&folder, Path::new("x.json"));
        let first = acquire().unwrap();
        let refused = acquire().err().unwrap().to_string();
        assert!(refused.contains(&format!("process {}", std::process::id())), "{refused}");
        assert!(FileLock::acquire_in(&folder, Path::new("y.json")).is_ok());
        drop(first);
        assert!(!cfg!(unix) || fs::read_dir(&folder).unwrap().count() == 0);
        assert!(acquire().is_ok());
        let _ = fs::remove_dir_all(folder);
    }
}
