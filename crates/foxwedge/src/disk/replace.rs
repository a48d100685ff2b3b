//! Replaces a file as a whole: written beside it, proven on disk, and put in its place in one
//! step. Nothing is written if the file changed since it was read.

use std::{
    fs::{self, File, Metadata, OpenOptions},
    io::{self, BufWriter, Write},
    path::{Path, PathBuf},
    time::SystemTime,
};

use anyhow::{Context, bail};

use super::{
    fingerprint::{Fingerprint, Meter},
    fresh::{Fresh, Privacy, folder},
};
use crate::say::{Trouble, buffered};

/// A file as it was when it was read.
pub(crate) struct Snapshot {
    /// The real file, behind every link.
    pub(crate) path: PathBuf,
    pub(crate) content: Vec<u8>,
    metadata: Metadata,
    modified: Option<SystemTime>,
}

impl Snapshot {
    /// Reads a file.
    pub(crate) fn take(path: &Path) -> io::Result<Snapshot> {
        let path = fs::canonicalize(path)?;
        // The metadata first: a change while we read is seen later as a change.
        let metadata = fs::metadata(&path)?;
        let modified = metadata.modified().ok();
        let content = fs::read(&path)?;
        Ok(Snapshot { path, content, metadata, modified })
    }

    /// Whether the file may be replaced at all.
    pub(crate) fn check_writable(&self) -> anyhow::Result<()> {
        let folder = folder(&self.path);
        let locked = fs::metadata(folder).is_ok_and(|folder| folder.permissions().readonly());
        if self.metadata.permissions().readonly() {
            bail!(
                Trouble::new("the file is read-only").help(
                    "nothing was changed; make it writable, or use `foxwedge fix - <FILE >NEW`"
                )
            );
        }
        if locked {
            bail!(
                Trouble::new("its folder is read-only").help(
                    "nothing was changed; make it writable, or use `foxwedge fix - <FILE >NEW`"
                )
            );
        }
        Ok(())
    }

    /// Fails if the file is not what was read.
    fn check_unchanged(&self) -> anyhow::Result<()> {
        let now = fs::metadata(&self.path).context("the file cannot be read again")?;
        let same = now.len() == self.content.len() as u64
            && now.modified().ok() == self.modified
            && Fingerprint::of_file(&self.path)? == Fingerprint::of(&self.content);
        if !same {
            bail!(
                Trouble::new("the file changed while it was being repaired")
                    .help("nothing was written; close whatever writes to it and try again")
            );
        }
        Ok(())
    }
}

/// Puts new content in the place of a file; returns what was written.
pub(crate) fn replace(
    snapshot: &Snapshot,
    write: impl FnOnce(&mut dyn Write) -> io::Result<()>,
) -> anyhow::Result<Fingerprint> {
    let fresh = Fresh::beside(&snapshot.path, Privacy::Owner)
        .context("no file can be written beside it")?;
    let mut out = BufWriter::with_capacity(1 << 16, Meter::new(&fresh.file));
    write(&mut out).context("the new content cannot be written")?;
    let meter = out.into_inner().map_err(io::IntoInnerError::into_error);
    let after = meter.context("the new content cannot be written")?.finish();
    own_alike(&fresh.file, &snapshot.metadata);
    fresh.file.set_permissions(snapshot.metadata.permissions())?;
    fresh.file.sync_all().context("the new content cannot be written")?;
    snapshot.check_unchanged()?;
    fresh.place(&snapshot.path).context("the file cannot be replaced")?;
    Ok(after)
}

/// Writes a file that is nobody's input: as a whole, or not at all. What is no file, as a pipe or
/// a device, is written as it is.
pub(crate) fn write_whole(
    path: &Path,
    write: impl FnOnce(&mut dyn Write) -> io::Result<()>,
) -> io::Result<()> {
    let metadata = fs::metadata(path).ok();
    if metadata.as_ref().is_some_and(|metadata| !metadata.is_file()) {
        return buffered(OpenOptions::new().write(true).open(path)?, write);
    }
    if metadata.as_ref().is_some_and(|metadata| metadata.permissions().readonly()) {
        return Err(io::Error::new(io::ErrorKind::PermissionDenied, "it is read-only"));
    }
    // A link stays, and its file is written.
    let path = fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
    let fresh = Fresh::beside(&path, Privacy::Usual)?;
    buffered(&fresh.file, write)?;
    if let Some(metadata) = metadata {
        own_alike(&fresh.file, &metadata);
        fresh.file.set_permissions(metadata.permissions())?;
    }
    fresh.place(&path)
}

/// Keeps owner and group where we may.
#[cfg(unix)]
fn own_alike(file: &File, metadata: &Metadata) {
    use std::os::unix::fs::MetadataExt;
    let ours = file.metadata().map(|ours| (ours.uid(), ours.gid())).ok();
    if ours != Some((metadata.uid(), metadata.gid())) {
        let _ = std::os::unix::fs::fchown(file, Some(metadata.uid()), Some(metadata.gid()));
    }
}

#[cfg(not(unix))]
fn own_alike(_: &File, _: &Metadata) {}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]
mod tests {
    use super::*;

    /// A file in a folder of its own, which goes away with it.
    struct Kept(PathBuf);

    impl Kept {
        fn new(name: &str) -> Kept {
            let folder =
                std::env::temp_dir().join(format!("foxwedge-{name}-{}", std::process::id()));
            fs::create_dir_all(&folder).unwrap();
            fs::write(folder.join("x.json"), "old").unwrap();
            Kept(folder)
        }

        fn file(&self) -> PathBuf {
            self.0.join("x.json")
        }

        fn holds(&self) -> (String, usize) {
            let content = fs::read_to_string(self.file()).unwrap();
            (content, fs::read_dir(&self.0).unwrap().count())
        }
    }

    impl Drop for Kept {
        fn drop(&mut self) {
            let _ = fs::remove_dir_all(&self.0);
        }
    }

    #[test]
    fn a_file_is_replaced_as_a_whole() {
        let kept = Kept::new("whole");
        let snapshot = Snapshot::take(&kept.file()).unwrap();
        let after = replace(&snapshot, |out| out.write_all(b"new content")).unwrap();
        assert_eq!(after, Fingerprint::of(b"new content"));
        assert_eq!(kept.holds(), ("new content".to_owned(), 1));
    }

    #[test]
    fn a_file_that_changed_meanwhile_is_left_alone() {
        let kept = Kept::new("changed");
        let snapshot = Snapshot::take(&kept.file()).unwrap();
        let error = replace(&snapshot, |out| {
            // Somebody else writes, with the same length.
            fs::write(kept.file(), "OLD")?;
            out.write_all(b"new")
        });
        assert!(error.unwrap_err().to_string().contains("changed while"));
        assert_eq!(kept.holds(), ("OLD".to_owned(), 1));
    }

    #[test]
    fn a_write_that_fails_leaves_nothing_behind() {
        let kept = Kept::new("fails");
        let snapshot = Snapshot::take(&kept.file()).unwrap();
        let error = replace(&snapshot, |out| {
            out.write_all(b"half")?;
            Err(io::Error::other("disk full"))
        });
        assert!(error.is_err());
        assert_eq!(kept.holds(), ("old".to_owned(), 1));
    }
}
