//! The right to write a file: of all our processes, one has it at a time.
//!
//! It is a lock on a file of our own. The system lets it go when its holder dies, however it dies.

use std::{
    fs::{self, File, TryLockError},
    io::{self, Read, Seek, Write},
    path::{Path, PathBuf},
};

use anyhow::{Context, bail};

use super::{fingerprint::Fingerprint, fresh, process, snapshot::is_same, state};
use crate::say::{Trouble, clean};

/// The right to write one file, until it is dropped.
pub(crate) struct Claim {
    lock: PathBuf,
    /// What interrupted repairs left beside the file, and is in no backup.
    strays: Vec<PathBuf>,
    /// Held open: that is the lock.
    _file: File,
}

impl Claim {
    /// Claims the real file behind a path, and takes away what dead processes left beside it.
    pub(crate) fn take(path: &Path) -> anyhow::Result<Claim> {
        let mut claim = Claim::take_in(&state::folder()?.join("locks"), path)?;
        claim.strays = fresh::sweep_aside(path);
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

    fn take_in(folder: &Path, path: &Path) -> anyhow::Result<Claim> {
        let trouble = || {
            Trouble::new(format!("no lock can be taken in `{}`", folder.display()))
                .help("set FOXWEDGE_STATE_DIR to a local folder that you can write to")
        };
        state::private_folder(folder).with_context(trouble)?;
        let name = Fingerprint::of(path.as_os_str().as_encoded_bytes()).hash;
        let lock = folder.join(format!("{name}.lock"));
        loop {
            let mut file = state::private()
                .read(true)
                .create(true)
                .truncate(false)
                .open(&lock)
                .with_context(trouble)?;
            match file.try_lock() {
                Ok(()) if !is_at(&file, &lock) => continue,
                Ok(()) => {
                    // Only a help for whoever has to wait.
                    let _ = sign(&mut file);
                    return Ok(Claim { lock, strays: Vec::new(), _file: file });
                }
                Err(TryLockError::WouldBlock) => bail!(taken(&mut file)),
                Err(TryLockError::Error(error)) => return Err(error).with_context(trouble),
            }
        }
    }
}

impl Drop for Claim {
    fn drop(&mut self) {
        // While it is still locked. Whoever opened it before finds that it is gone.
        if cfg!(unix) {
            let _ = fs::remove_file(&self.lock);
        }
    }
}

fn sign(file: &mut File) -> io::Result<()> {
    file.set_len(0)?;
    write!(file, "{}", std::process::id())
}

fn taken(file: &mut File) -> Trouble {
    let mut text = String::new();
    let signed = file.rewind().and_then(|()| file.take(32).read_to_string(&mut text));
    let who = match (signed, text.trim().parse()) {
        (Ok(_), Ok(number)) => process::described(number),
        _ => "another process".to_owned(),
    };
    Trouble::new(format!("foxwedge is writing this file already: {who}"))
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
        let hold = || Claim::take_in(&folder, Path::new("x.json"));
        let first = hold().unwrap();
        let refused = hold().err().unwrap().to_string();
        assert!(refused.contains(&format!("process {}", std::process::id())), "{refused}");
        assert!(Claim::take_in(&folder, Path::new("y.json")).is_ok());
        drop(first);
        assert!(!cfg!(unix) || fs::read_dir(&folder).unwrap().count() == 0);
        assert!(hold().is_ok());
        let _ = fs::remove_dir_all(folder);
    }
}
