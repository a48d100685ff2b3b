//! Our own folder: backups and locks, for nobody else's eyes.

use std::{
    env, fs, io,
    path::{Path, PathBuf},
};

use crate::say::Trouble;

/// `$FOXWEDGE_STATE_DIR`, `$XDG_STATE_HOME/foxwedge` or `~/.local/state/foxwedge`.
pub(super) fn folder() -> Result<PathBuf, Trouble> {
    set("FOXWEDGE_STATE_DIR")
        .or_else(|| Some(set("XDG_STATE_HOME")?.join("foxwedge")))
        .or_else(|| Some(home()?.join(".local/state/foxwedge")))
        .ok_or_else(|| {
            Trouble::new("there is no folder for backups")
                .help("set FOXWEDGE_STATE_DIR to a folder that only you can read")
        })
}

/// The user's own folder.
pub(super) fn home() -> Option<PathBuf> {
    set("HOME").or_else(|| set("USERPROFILE"))
}

/// A path in the environment.
pub(super) fn set(name: &str) -> Option<PathBuf> {
    env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from)
}

/// Makes a folder that only its owner can open.
pub(super) fn private_folder(folder: &Path) -> io::Result<()> {
    let mut builder = fs::DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(folder)
}

/// How a file is opened that only its owner can read.
pub(super) fn private() -> fs::OpenOptions {
    let mut options = fs::OpenOptions::new();
    options.write(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options
}

/// Makes the names in a folder last. Some file systems cannot; the files are safe already.
pub(super) fn sync_folder(folder: &Path) {
    if let Ok(folder) = fs::File::open(folder) {
        let _ = folder.sync_all();
    }
}
