//! Our own folder: backups and locks, for nobody else's eyes.

use std::{
    env, fs, io,
    path::{Path, PathBuf},
};

use crate::cli_output::CliError;

/// `$FOXWEDGE_STATE_DIR`, `$XDG_STATE_HOME/foxwedge` or `~/.local/state/foxwedge`.
pub(super) fn state_folder() -> Result<PathBuf, CliError> {
    env_path("FOXWEDGE_STATE_DIR")
        .or_else(|| Some(env_path("XDG_STATE_HOME")?.join("foxwedge")))
        .or_else(|| Some(home_folder()?.join(".local/state/foxwedge")))
        .ok_or_else(|| {
            CliError::new("there is no folder for backups")
                .help("set FOXWEDGE_STATE_DIR to a folder that only you can read")
        })
}

/// The user's own folder.
pub(super) fn home_folder() -> Option<PathBuf> {
    env_path("HOME").or_else(|| env_path("USERPROFILE"))
}

/// A path in the environment.
pub(super) fn env_path(name: &str) -> Option<PathBuf> {
    env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from)
}

/// Makes a folder that only its owner can open.
pub(super) fn create_private_folder(folder: &Path) -> io::Result<()> {
    let mut builder = fs::DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(folder)
}

/// How a file is opened that only its owner can read.
pub(super) fn private_options() -> fs::OpenOptions {
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
