//! The environment variables and files of this machine, for reading a configuration.

use std::{
    env,
    ffi::OsString,
    fs::File,
    io::{self, Read},
    path::Path,
};

use super::{ConfigEnvironment, ConfigFile, FileExposure};

/// The size limit of a configuration or key file.
const MAX_FILE_BYTES: u64 = 1 << 20;

/// The environment variables and files of this machine.
pub struct LocalEnvironment;

impl ConfigEnvironment for LocalEnvironment {
    fn variable(&self, name: &str) -> Option<OsString> {
        env::var_os(name)
    }

    fn file(&self, path: &Path) -> io::Result<ConfigFile> {
        let file = File::open(path)?;
        let metadata = file.metadata()?;
        if metadata.is_dir() {
            return Err(io::Error::new(io::ErrorKind::IsADirectory, "it is a folder"));
        }
        let exposure = exposure(&metadata);
        let mut text = String::new();
        file.take(MAX_FILE_BYTES + 1).read_to_string(&mut text)?;
        if text.len() as u64 > MAX_FILE_BYTES {
            return Err(io::Error::new(io::ErrorKind::FileTooLarge, "it is too large"));
        }
        Ok(ConfigFile { text, exposure })
    }
}

#[cfg(unix)]
fn exposure(metadata: &std::fs::Metadata) -> FileExposure {
    use std::os::unix::fs::PermissionsExt;
    // A pipe, as from `<(…)`, is private to this process.
    match (metadata.is_file(), metadata.permissions().mode()) {
        (false, _) => FileExposure::Private,
        (true, mode) if mode & 0o022 != 0 => FileExposure::Writable,
        (true, mode) if mode & 0o044 != 0 => FileExposure::Readable,
        (true, _) => FileExposure::Private,
    }
}

#[cfg(not(unix))]
fn exposure(_: &std::fs::Metadata) -> FileExposure {
    FileExposure::Private
}
