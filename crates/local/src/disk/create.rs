//! Creates private files atomically: only their owner can read them.

use std::{
    fs::{self, OpenOptions},
    io::{self, Write},
    path::Path,
};

use super::{
    private_files,
    temporary_file::{FilePrivacy, TemporaryFile, parent_folder},
};
use crate::output::write_buffered;

/// Creates a file. Fails if one exists.
pub fn create_private(
    path: &Path,
    write: impl FnOnce(&mut dyn Write) -> io::Result<()>,
) -> io::Result<()> {
    let temporary = write_temporary(path, write)?;
    match fs::hard_link(temporary.path(), path) {
        Ok(()) => {
            private_files::sync_folder(parent_folder(path));
            Ok(())
        }
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Err(error),
        // Some file systems have no hard links.
        Err(_) => temporary.place_new(path),
    }
}

/// Writes a file and replaces an existing one. A pipe or device is written directly.
pub fn write_private(
    path: &Path,
    write: impl FnOnce(&mut dyn Write) -> io::Result<()>,
) -> io::Result<()> {
    match fs::metadata(path) {
        Ok(metadata) if !metadata.is_file() => {
            write_buffered(OpenOptions::new().write(true).open(path)?, write)
        }
        Ok(metadata) if metadata.permissions().readonly() => {
            Err(io::Error::new(io::ErrorKind::PermissionDenied, "it is read-only"))
        }
        // A link stays; its target is replaced.
        Ok(_) => {
            let path = fs::canonicalize(path)?;
            write_temporary(&path, write)?.place(&path)
        }
        Err(_) => write_temporary(path, write)?.place(path),
    }
}

fn write_temporary(
    path: &Path,
    write: impl FnOnce(&mut dyn Write) -> io::Result<()>,
) -> io::Result<TemporaryFile> {
    let temporary = TemporaryFile::beside(path, FilePrivacy::Owner)?;
    write_buffered(&temporary.file, write)?;
    temporary.file.sync_all()?;
    Ok(temporary)
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]
mod tests {
    use super::*;

    #[test]
    fn create_never_overwrites_an_existing_file() {
        let folder = std::env::temp_dir().join(format!("foxwedge-create-{}", std::process::id()));
        fs::create_dir_all(&folder).unwrap();
        let path = folder.join("x.jsonl");
        create_private(&path, |out| out.write_all(b"one")).unwrap();
        let error = create_private(&path, |out| out.write_all(b"two")).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::AlreadyExists);
        assert_eq!(fs::read_to_string(&path).unwrap(), "one");
        assert_eq!(fs::read_dir(&folder).unwrap().count(), 1);
        write_private(&path, |out| out.write_all(b"three")).unwrap();
        assert_eq!(fs::read_to_string(&path).unwrap(), "three");
        fs::remove_dir_all(&folder).unwrap();
    }
}
