//! Replaces a file as a whole: written beside it, proven on disk, and put in its place in one
//! step. Nothing is written if the file changed since it was read.
//!
//! Whenever we are killed, the file is the old one or the new one. The backup and its manifest are
//! whole before the new one is in its place, so they can be trusted either way.

use std::{
    fs::{self, File, Metadata, OpenOptions},
    io::{self, BufWriter, Write},
    path::Path,
};

use anyhow::{Context, bail};

use super::{
    backup::Backup,
    fingerprint::{Fingerprint, Meter},
    fresh::{Fresh, Privacy},
    late::{Placed, is_quiet},
    snapshot::{Snapshot, changed},
};
use crate::say::{Trouble, buffered};

/// Puts new content in the place of a file.
///
/// `prepare` sees the new content on disk before it is in its place, and may refuse it. It keeps
/// what is replaced, if that is to be kept; whatever fails then, a backup that nobody needs goes.
pub(crate) fn replace(
    snapshot: &Snapshot,
    write: impl FnOnce(&mut dyn Write) -> io::Result<()>,
    prepare: impl FnOnce(&Path, Fingerprint) -> anyhow::Result<Option<Backup>>,
) -> anyhow::Result<Option<Backup>> {
    let fresh = Fresh::beside(&snapshot.path, Privacy::Owner)
        .context("no file can be written beside it")?;
    let mut out = BufWriter::with_capacity(1 << 16, Meter::new(&fresh.file));
    write(&mut out).context("the new content cannot be written")?;
    let meter = out.into_inner().map_err(io::IntoInnerError::into_error);
    let after = meter.context("the new content cannot be written")?.finish();
    dress(&fresh.file, &snapshot.metadata).context("the new content cannot be written")?;
    let file = fresh.reader().context("the new content cannot be read again")?;
    let new = Placed { file, bytes: after.bytes };
    let backup = prepare(fresh.path(), after)?;
    let spare = fresh.spare(&snapshot.path);
    let placed = snapshot
        .check_unchanged()
        .and_then(|()| fresh.place(&snapshot.path).context("the file cannot be replaced"));
    let quiet = match placed {
        Ok(()) => is_quiet(snapshot, new, spare).with_context(|| half_way(backup.as_ref()))?,
        Err(error) => {
            backup.into_iter().for_each(Backup::discard);
            return Err(error);
        }
    };
    if !quiet {
        backup.into_iter().for_each(Backup::discard);
        bail!(changed());
    }
    Ok(backup)
}

fn half_way(backup: Option<&Backup>) -> Trouble {
    let trouble = Trouble::new("somebody wrote to the file while it was being replaced");
    match backup {
        Some(backup) => {
            trouble.help(format!("what it held before is in `{}`", backup.content.display()))
        }
        None => trouble,
    }
}

/// Gives a new file owner, group and permissions of the one it replaces, and makes it last.
pub(super) fn dress(file: &File, metadata: &Metadata) -> io::Result<()> {
    own_alike(file, metadata);
    file.set_permissions(metadata.permissions())?;
    file.sync_all()
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
    use crate::disk::fresh::tests::Kept;

    #[test]
    fn a_file_is_replaced_as_a_whole() {
        let kept = Kept::new("whole", "old");
        let snapshot = Snapshot::take(&kept.file()).unwrap();
        let write = |out: &mut dyn Write| out.write_all(b"new content");
        let seen = |fresh: &Path, after| {
            assert_eq!(fs::read(fresh).unwrap(), b"new content");
            assert_eq!(after, Fingerprint::of(b"new content"));
            Ok(None)
        };
        replace(&snapshot, write, seen).unwrap();
        assert_eq!(kept.holds(), ("new content".to_owned(), 1));
    }

    #[test]
    fn a_file_that_changed_meanwhile_is_left_alone() {
        let kept = Kept::new("changed", "old");
        let snapshot = Snapshot::take(&kept.file()).unwrap();
        let write = |out: &mut dyn Write| {
            // Somebody else writes, with the same length.
            fs::write(kept.file(), "OLD")?;
            out.write_all(b"new")
        };
        let error = replace(&snapshot, write, |_, _| Ok(None));
        assert!(error.unwrap_err().to_string().contains("changed while"));
        assert_eq!(kept.holds(), ("OLD".to_owned(), 1));
    }

    #[test]
    fn a_write_that_fails_leaves_nothing_behind() {
        let kept = Kept::new("fails", "old");
        let snapshot = Snapshot::take(&kept.file()).unwrap();
        let write = |out: &mut dyn Write| {
            out.write_all(b"half")?;
            Err(io::Error::other("disk full"))
        };
        let error = replace(&snapshot, write, |_, _| Ok(None));
        assert!(error.is_err());
        assert_eq!(kept.holds(), ("old".to_owned(), 1));
    }
}
