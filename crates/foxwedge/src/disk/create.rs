//! New files that only their owner can read: there as a whole, or not at all.

use std::{
    fs::{self, OpenOptions},
    io::{self, Write},
    path::Path,
};

use super::{
    state_folder,
    temporary_file::{FilePrivacy, TemporaryFile, parent_folder},
};
use crate::cli_output::write_buffered;

/// Writes a file that is not there yet; never over one that is.
pub(crate) fn create_private(
    path: &Path,
    write: impl FnOnce(&mut dyn Write) -> io::Result<()>,
) -> io::Result<()> {
    let fresh = write_temporary(path, write)?;
    match fs::hard_link(fresh.path(), path) {
        Ok(()) => {
            state_folder::sync_folder(parent_folder(path));
            Ok(())
        }
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Err(error),
        // Some file systems know one name for a file only.
        Err(_) => fresh.place_new(path),
    }
}

/// Writes a file, in the place of one that may be there. What is no file, as a pipe or a device,
/// is written as it is.
pub(crate) fn write_private(
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
        // A link stays, and its file is written.
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
    let fresh = TemporaryFile::beside(path, FilePrivacy::Owner)?;
    write_buffered(&fresh.file, write)?;
    fresh.file.sync_all()?;
    Ok(fresh)
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]
mod tests {
    use super::*;

    #[test]
    fn a_file_that_is_there_is_never_written_over() {
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
