//! A file as it was when it was read, and whether it still is.

use std::{
    fs::{self, File, Metadata},
    io::{self, Read},
    path::{Path, PathBuf},
    time::SystemTime,
};

use anyhow::{Context, bail};

use super::{ops, temporary_file::parent_folder};
use crate::cli_output::CliError;

/// A file as it was when it was read.
pub(crate) struct FileSnapshot {
    /// The real file, behind every link.
    pub(crate) path: PathBuf,
    pub(crate) content: Vec<u8>,
    pub(crate) metadata: Metadata,
    /// Open for reading, even when the name leads to another file.
    pub(super) file: File,
    modified: Option<SystemTime>,
}

impl FileSnapshot {
    /// Reads a file.
    pub(crate) fn take(path: &Path) -> io::Result<FileSnapshot> {
        let path = fs::canonicalize(path)?;
        let mut file = File::open(&path)?;
        // The metadata first: a change while we read is seen later as a change.
        let metadata = file.metadata()?;
        let modified = metadata.modified().ok();
        let mut content = Vec::with_capacity(usize::try_from(metadata.len()).unwrap_or(0));
        file.read_to_end(&mut content)?;
        Ok(FileSnapshot { path, content, metadata, file, modified })
    }

    /// Whether the file may be replaced at all.
    pub(crate) fn check_writable(&self) -> anyhow::Result<()> {
        let folder = parent_folder(&self.path);
        let locked = fs::metadata(folder).is_ok_and(|folder| folder.permissions().readonly());
        if self.metadata.permissions().readonly() {
            bail!(CliError::new("the file is read-only").help(
                "nothing was changed; make it writable, or give it on stdin: `- <FILE >NEW`"
            ));
        }
        if locked {
            bail!(CliError::new("its folder is read-only").help(
                "nothing was changed; make it writable, or give it on stdin: `- <FILE >NEW`"
            ));
        }
        Ok(())
    }

    /// Fails if the file has other names: they would go on to stand for the old content.
    pub(super) fn check_links(&self) -> anyhow::Result<()> {
        let links = links(&self.file.metadata().context("the file cannot be read again")?);
        if links > 1 {
            bail!(
                CliError::new(format!(
                    "the file has {links} names (hard links), and the others would keep the old content"
                ))
                .help(
                    "nothing was changed; make it a file of its own first: \
                     `cp -p FILE FILE.new && mv FILE.new FILE`"
                )
            );
        }
        Ok(())
    }

    /// Fails if the file is not what was read.
    pub(super) fn check_unchanged(&self) -> anyhow::Result<()> {
        let now = ops::open(&self.path).context("the file cannot be read again")?;
        let metadata = now.metadata().context("the file cannot be read again")?;
        let same = metadata.len() == self.content.len() as u64
            && metadata.modified().ok() == self.modified
            && is_same(&metadata, &self.metadata)
            && has_content(now, &self.content).context("the file cannot be read again")?;
        if same { Ok(()) } else { Err(changed_error().into()) }
    }
}

/// What to say when somebody else wrote meanwhile.
pub(super) fn changed_error() -> CliError {
    CliError::new("the file changed while it was being repaired")
        .help("nothing was written; close whatever writes to it and try again")
}

/// Whether a file holds exactly this.
pub(super) fn has_content(mut file: File, mut content: &[u8]) -> io::Result<bool> {
    let mut buffer = vec![0; 1 << 16];
    loop {
        let read = match file.read(&mut buffer) {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            read => read?,
        };
        if read == 0 {
            return Ok(content.is_empty());
        }
        let piece = buffer.get(..read).unwrap_or_default();
        match content.strip_prefix(piece) {
            Some(rest) => content = rest,
            None => return Ok(false),
        }
    }
}

/// Whether two files are one.
#[cfg(unix)]
pub(super) fn is_same(one: &Metadata, two: &Metadata) -> bool {
    use std::os::unix::fs::MetadataExt;
    (one.dev(), one.ino()) == (two.dev(), two.ino())
}

/// Whether two regular files have the same owner, group, permissions, size and time. In a container,
/// a file that lies in a layer below gets another number when it is renamed.
#[cfg(unix)]
pub(super) fn is_alike(one: &Metadata, two: &Metadata) -> bool {
    use std::os::unix::fs::MetadataExt;
    let outside = |file: &Metadata| {
        (file.uid(), file.gid(), file.mode(), file.len(), file.mtime(), file.mtime_nsec())
    };
    one.is_file() && outside(one) == outside(two)
}

/// Whether two files have the same owner, permissions, size and time: not known here.
#[cfg(not(unix))]
pub(super) fn is_alike(_: &Metadata, _: &Metadata) -> bool {
    false
}

/// How many names a file has.
#[cfg(unix)]
fn links(metadata: &Metadata) -> u64 {
    std::os::unix::fs::MetadataExt::nlink(metadata)
}

/// How many names a file has: not known here.
#[cfg(not(unix))]
fn links(_: &Metadata) -> u64 {
    1
}

/// Whether two files are one: not known here.
#[cfg(not(unix))]
pub(super) fn is_same(_: &Metadata, _: &Metadata) -> bool {
    true
}
