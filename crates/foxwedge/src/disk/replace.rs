//! Replaces a file as a whole: written beside it, proven on disk, and put in its place in one
//! step. Nothing is written if the file changed since it was read.

use std::{
    fs::{self, File, Metadata, OpenOptions},
    io::{self, BufWriter, Write},
    path::{Path, PathBuf},
    time::SystemTime,
};

use anyhow::{Context, bail};

use super::fingerprint::{Fingerprint, Meter};
use crate::say::Trouble;

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
    let mut fresh = Fresh::beside(&snapshot.path)?;
    let mut out = BufWriter::with_capacity(1 << 16, Meter::new(&fresh.file));
    write(&mut out).context("the new content cannot be written")?;
    let meter = out.into_inner().map_err(io::IntoInnerError::into_error);
    let after = meter.context("the new content cannot be written")?.finish();
    own_alike(&fresh.file, &snapshot.metadata);
    fresh.file.set_permissions(snapshot.metadata.permissions())?;
    fresh.file.sync_all().context("the new content cannot be written")?;
    snapshot.check_unchanged()?;
    fs::rename(&fresh.path, &snapshot.path).context("the file cannot be replaced")?;
    fresh.placed = true;
    sync_folder(folder(&snapshot.path));
    Ok(after)
}

/// A file on its way; goes away again unless it was put in place.
struct Fresh {
    path: PathBuf,
    file: File,
    placed: bool,
}

impl Fresh {
    fn beside(path: &Path) -> anyhow::Result<Fresh> {
        let name = path.file_name().map(|name| name.to_string_lossy().into_owned());
        let name = name.unwrap_or_default();
        let fresh = folder(path).join(format!(".{name}.foxwedge-{}.tmp", std::process::id()));
        // What an interrupted process of the same number left behind.
        let _ = fs::remove_file(&fresh);
        let mut options = OpenOptions::new();
        options.write(true).create_new(true);
        #[cfg(unix)]
        std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
        let file = options.open(&fresh).context("no file can be written beside it")?;
        Ok(Fresh { path: fresh, file, placed: false })
    }
}

impl Drop for Fresh {
    fn drop(&mut self) {
        if !self.placed {
            let _ = fs::remove_file(&self.path);
        }
    }
}

fn folder(path: &Path) -> &Path {
    path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."))
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

/// Makes the new name last. Some file systems cannot; the file itself is safe already.
fn sync_folder(folder: &Path) {
    if let Ok(folder) = File::open(folder) {
        let _ = folder.sync_all();
    }
}

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
