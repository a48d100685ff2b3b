//! The identity of a file, independent of its path.

use std::{fs, path::Path};

/// An existing file. Two are equal if a write to one changes the other.
pub struct FileIdentity {
    path: std::path::PathBuf,
    #[cfg(unix)]
    node: (u64, u64),
}

impl FileIdentity {
    /// The file at a path, with links resolved; `None` if there is none.
    pub fn of(path: &Path) -> Option<FileIdentity> {
        Some(FileIdentity {
            #[cfg(unix)]
            node: node(&fs::metadata(path).ok()?),
            path: fs::canonicalize(path).ok()?,
        })
    }

    /// The file that stdin reads, if stdin is a file.
    #[cfg(unix)]
    pub fn of_stdin() -> Option<FileIdentity> {
        use std::os::fd::AsFd;
        let stdin = fs::File::from(std::io::stdin().as_fd().try_clone_to_owned().ok()?);
        let metadata = stdin.metadata().ok().filter(fs::Metadata::is_file)?;
        Some(FileIdentity { node: node(&metadata), path: std::path::PathBuf::new() })
    }

    /// Not available on this system.
    #[cfg(not(unix))]
    pub fn of_stdin() -> Option<FileIdentity> {
        None
    }
}

impl PartialEq for FileIdentity {
    fn eq(&self, other: &FileIdentity) -> bool {
        // Hard links to one file are the same file.
        #[cfg(unix)]
        if self.node == other.node {
            return true;
        }
        self.path == other.path
    }
}

#[cfg(unix)]
fn node(metadata: &fs::Metadata) -> (u64, u64) {
    use std::os::unix::fs::MetadataExt;
    (metadata.dev(), metadata.ino())
}
