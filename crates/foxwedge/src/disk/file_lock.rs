//! The right to write a file: of all our processes, one has it at a time.
//!
//! It is a lock on a file of our own. The system lets it go when its holder dies, however it dies.

use std::{
    fs::{self, File, TryLockError},
    io::{self, Read, Seek, Write},
    path::{Path, PathBuf},
};

use anyhow::{Context, bail};

use super::{
    fingerprint::ContentFingerprint, process, snapshot::is_same, state_folder, temporary_file,
};
use crate::cli_output::{CliError, clean};

/// The right to write one file, until it is dropped.
pub(crate) struct FileLock {
    lock_path: PathBuf,
    /// What interrupted repairs left beside the file, and is in no backup.
    strays: Vec<PathBuf>,
    /// Held open: that is the lock.
    _file: File,
}

impl FileLock {
    /// Claims the real file behind a path, and takes away what dead processes left beside it.
    pub(crate) fn acquire(path: &Path) -> anyhow::Result<FileLock> {
        let mut claim = FileLock::acquire_in(&state_folder::state_folder()?.join("locks"), path)?;
        claim.strays = temporary_file::sweep_aside(path);
        Ok(claim)
    }

    /// What the user should know about what was found beside the file.
    pub(crate) fn notes(&self) -> impl Iterator<Item = String> {
        self.strays.iter().map(|stray| {
            let stray = clean(&stray.to_string_lossy());
            format!(
                "`{stray}` was left by a repair that was interrupted, and holds what is in no \
                 backup; compare it with the file, and remove it when it is not needed"
            )
        })
    }

    fn acquire_in(folder: &Path, path: &Path) -> anyhow::Result<FileLock> {
        let trouble = || {
            CliError::new(format!("no lock can be taken in `{}`", folder.display()))
                .help("set FOXWEDGE_STATE_DIR to a local folder that you can write to")
        };
        state_folder::create_private_folder(folder).with_context(trouble)?;
        let name = ContentFingerprint::of(path.as_os_str().as_encoded_bytes()).hash;
        let lock = folder.join(format!("{name}.lock"));
        loop {
            let mut file = state_folder::private_options()
                .read(true)
                .create(true)
                .truncate(false)
                .open(&lock)
                .with_context(trouble)?;
            match file.try_lock() {
                Ok(()) if !is_at(&file, &lock) => continue,
                Ok(()) => {
                    // Only a help for whoever has to wait.
                    let _ = write_process_id(&mut file);
                    return Ok(FileLock { lock_path: lock, strays: Vec::new(), _file: file });
                }
                Err(TryLockError::WouldBlock) => bail!(locked_error(&mut file)),
                Err(TryLockError::Error(error)) => return Err(error).with_context(trouble),
            }
        }
    }
}

impl Drop for FileLock {
    fn drop(&mut self) {
        // While it is still locked. Whoever opened it before finds that it is gone.
        if cfg!(unix) {
            let _ = fs::remove_file(&self.lock_path);
        }
    }
}

fn write_process_id(file: &mut File) -> io::Result<()> {
    file.set_len(0)?;
    write!(file, "{}", std::process::id())
}

fn locked_error(file: &mut File) -> CliError {
    let mut text = String::new();
    let signed = file.rewind().and_then(|()| file.take(32).read_to_string(&mut text));
    let who = match (signed, text.trim().parse()) {
        (Ok(_), Ok(number)) => process::describe_process(number),
        _ => "another process".to_owned(),
    };
    CliError::new(format!("foxwedge is writing this file already: {who}"))
        .help("nothing was changed; try again when it is done")
}

/// Whether the locked file still is the one under its name.
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
    fn a_claim_excludes_others_and_leaves_nothing() {
        let folder = std::env::temp_dir().join(format!("foxwedge-claim-{}", std::process::id()));
        let hold = || FileLock::acquire_in(&folder, Path::new("x.json"));
        let first = hold().unwrap();
        let refused = hold().err().unwrap().to_string();
        assert!(refused.contains(&format!("process {}", std::process::id())), "{refused}");
        assert!(FileLock::acquire_in(&folder, Path::new("y.json")).is_ok());
        drop(first);
        assert!(!cfg!(unix) || fs::read_dir(&folder).unwrap().count() == 0);
        assert!(hold().is_ok());
        let _ = fs::remove_dir_all(folder);
    }
}
