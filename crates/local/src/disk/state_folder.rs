//! Our state folder with backups and locks. Only its owner can read it.

use std::{
    env, fs, io,
    path::{Path, PathBuf},
};

use crate::output::HelpfulError;

/// `$FOXWEDGE_STATE_DIR`, `$XDG_STATE_HOME/foxwedge` or `~/.local/state/foxwedge`.
pub(super) fn state_folder() -> Result<PathBuf, HelpfulError> {
    env_path("FOXWEDGE_STATE_DIR")
        .or_else(|| Some(env_path("XDG_STATE_HOME")?.join("foxwedge")))
        .or_else(|| Some(home_folder()?.join(".local/state/foxwedge")))
        .ok_or_else(|| {
            HelpfulError::new("no folder for backups is configured")
                .help("set FOXWEDGE_STATE_DIR to a folder that only you can read")
        })
}

/// The home folder of the user.
pub(super) fn home_folder() -> Option<PathBuf> {
    env_path("HOME").or_else(|| env_path("USERPROFILE"))
}

/// A path from an environment variable.
pub(super) fn env_path(name: &str) -> Option<PathBuf> {
    env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from)
}

/// Creates a folder that only its owner can open.
pub(super) fn create_private_folder(folder: &Path) -> io::Result<()> {
    let mut builder = fs::DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(folder)
}

/// Options for a file that only its owner can read.
pub(super) fn private_options() -> fs::OpenOptions {
    let mut options = fs::OpenOptions::new();
    options.write(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options
}

/// Syncs the names in a folder to disk. Some file systems cannot; the files are safe already.
pub(super) fn sync_folder(folder: &Path) {
    if let Ok(folder) = fs::File::open(folder) {
        let _ = folder.sync_all();
    }
}
