//! The content and metadata of a file at the time it was read, and checks for changes since then.

use std::{
    fs::{self, File, Metadata},
    io::{self, Read},
    path::{Path, PathBuf},
    time::SystemTime,
};

use anyhow::{Context, bail};

use super::{ops, temporary_file::parent_folder};
use crate::{
    database::{self, SessionPath},
    output::HelpfulError,
    read_only,
};

/// A file at the time it was read.
pub struct FileSnapshot {
    /// Canonical path.
    pub path: PathBuf,
    /// The content.
    pub content: Vec<u8>,
    /// The metadata at the time of reading.
    pub metadata: Metadata,
    /// The session, if it is one in a database. The other fields are those of the database then.
    pub session: Option<SessionPath>,
    /// Open for reading, unless it is a session in a database. Stays the same file when the path is
    /// replaced.
    file: Option<File>,
    modified: Option<SystemTime>,
}

impl FileSnapshot {
    /// Reads a file, or a session in a database.
    pub fn take(path: &Path) -> io::Result<FileSnapshot> {
        let path = database::canonicalize(path)?;
        if let Some(session) = SessionPath::parse(&path) {
            let metadata = fs::metadata(&session.database)?;
            let (modified, content) = (metadata.modified().ok(), database::read(&path)?);
            let session = Some(session);
            return Ok(FileSnapshot { path, content, metadata, session, file: None, modified });
        }
        let mut file = File::open(&path)?;
        // Metadata first, so that a change during the read is detected later.
        let metadata = file.metadata()?;
        let modified = metadata.modified().ok();
        let mut content = Vec::with_capacity(usize::try_from(metadata.len()).unwrap_or(0));
        file.read_to_end(&mut content)?;
        let content = read_only::session_text(&path, content).map_err(io::Error::other)?;
        let (session, file) = (None, Some(file));
        Ok(FileSnapshot { path, content, metadata, session, file, modified })
    }

    /// Fails if the file or its folder is read-only.
    pub fn check_writable(&self) -> anyhow::Result<()> {
        let file = database::file_of(&self.path);
        let folder = parent_folder(&file);
        let is_folder_locked =
            fs::metadata(folder).is_ok_and(|folder| folder.permissions().readonly());
        let help = match self.session {
            Some(_) => "nothing was changed; make the file and its folder writable, or copy it",
            None => {
                "nothing was changed; make it writable, or write a repaired copy: \
                 `foxwedge fix - <FILE >NEW`"
            }
        };
        if self.metadata.permissions().readonly() {
            bail!(HelpfulError::new("the file is read-only").help(help));
        }
        if is_folder_locked {
            bail!(HelpfulError::new("its folder is read-only").help(help));
        }
        Ok(())
    }

    /// The file as it was opened.
    pub(super) fn file(&self) -> anyhow::Result<&File> {
        self.file.as_ref().context("a session in a database is not a file")
    }

    /// Fails if the file has other hard links: they would keep the old content.
    pub(super) fn check_links(&self) -> anyhow::Result<()> {
        let links = links(&self.file()?.metadata().context("the file cannot be read again")?);
        if links > 1 {
            bail!(
                HelpfulError::new(format!(
                    "the file has {links} hard links, and the others would keep the old content"
                ))
                .help(
                    "nothing was changed; make it a separate file first: \
                     `cp -p FILE FILE.new && mv FILE.new FILE`"
                )
            );
        }
        Ok(())
    }

    /// Fails if the file changed since it was read.
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

/// Error for a file that another process changed.
pub(super) fn changed_error() -> HelpfulError {
    HelpfulError::new("the file changed while it was being repaired")
        .help("nothing was written; stop the program that writes to it and try again")
}

/// Whether a file has exactly this content.
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
        let chunk = buffer.get(..read).unwrap_or_default();
        match content.strip_prefix(chunk) {
            Some(rest) => content = rest,
            None => return Ok(false),
        }
    }
}

/// Whether both are the same file.
#[cfg(unix)]
pub(super) fn is_same(one: &Metadata, two: &Metadata) -> bool {
    use std::os::unix::fs::MetadataExt;
    (one.dev(), one.ino()) == (two.dev(), two.ino())
}

/// Whether two regular files have the same owner, group, permissions, size and time. In a
/// container, a file from a lower layer gets another inode number when it is renamed.
#[cfg(unix)]
pub(super) fn is_alike(one: &Metadata, two: &Metadata) -> bool {
    use std::os::unix::fs::MetadataExt;
    let attributes = |file: &Metadata| {
        (file.uid(), file.gid(), file.mode(), file.len(), file.mtime(), file.mtime_nsec())
    };
    one.is_file() && attributes(one) == attributes(two)
}

/// Not available on this system.
#[cfg(not(unix))]
pub(super) fn is_alike(_: &Metadata, _: &Metadata) -> bool {
    false
}

/// Number of hard links.
#[cfg(unix)]
fn links(metadata: &Metadata) -> u64 {
    std::os::unix::fs::MetadataExt::nlink(metadata)
}

/// Not available on this system: assumes one.
#[cfg(not(unix))]
fn links(_: &Metadata) -> u64 {
    1
}

/// Not available on this system: assumes that they are.
#[cfg(not(unix))]
pub(super) fn is_same(_: &Metadata, _: &Metadata) -> bool {
    true
}
