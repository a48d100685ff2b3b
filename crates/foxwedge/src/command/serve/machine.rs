//! The environment and the files of this machine, for whoever reads a configuration.

use std::{
    env,
    ffi::OsString,
    fs::File,
    io::{self, Read},
    path::Path,
};

use foxwedge_engine::config::{Exposure, Found, World};

/// A configuration is a page, and a key is a line.
const MOST: u64 = 1 << 20;

/// This machine.
pub(crate) struct Machine;

impl World for Machine {
    fn variable(&self, name: &str) -> Option<OsString> {
        env::var_os(name)
    }

    fn file(&self, path: &Path) -> io::Result<Found> {
        let file = File::open(path)?;
        let metadata = file.metadata()?;
        if metadata.is_dir() {
            return Err(io::Error::new(io::ErrorKind::IsADirectory, "it is a folder"));
        }
        let exposure = exposure(&metadata);
        let mut text = String::new();
        file.take(MOST + 1).read_to_string(&mut text)?;
        if text.len() as u64 > MOST {
            return Err(io::Error::new(io::ErrorKind::FileTooLarge, "it is too large"));
        }
        Ok(Found { text, exposure })
    }
}

#[cfg(unix)]
fn exposure(metadata: &std::fs::Metadata) -> Exposure {
    use std::os::unix::fs::PermissionsExt;
    // What is no file, as the pipe of `<(…)`, is nobody else's.
    match (metadata.is_file(), metadata.permissions().mode()) {
        (false, _) => Exposure::Private,
        (true, mode) if mode & 0o022 != 0 => Exposure::Writable,
        (true, mode) if mode & 0o044 != 0 => Exposure::Readable,
        (true, _) => Exposure::Private,
    }
}

#[cfg(not(unix))]
fn exposure(_: &std::fs::Metadata) -> Exposure {
    Exposure::Private
}
