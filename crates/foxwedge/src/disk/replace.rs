//! Replaces a file as a whole: written beside it, proven on disk, and put in its place in one
//! step. Nothing is written if the file changed since it was read.
//!
//! The two files change places, so that what was replaced is at hand: if it is not what was read,
//! it goes back. Whenever we are killed, the file is the old one or the new one. The backup and its
//! manifest are whole before the new one is in its place, so they can be trusted either way.

use std::{
    fs::{self, OpenOptions},
    io::{self, BufWriter, Write},
    path::{Path, PathBuf},
};

use anyhow::Context;

use super::{
    attributes,
    backup::Backup,
    fingerprint::{ContentFingerprint, FingerprintWriter},
    replace_outcome::{NewFile, ReplaceOutcome, settle_replacement},
    snapshot::{FileSnapshot, changed_error},
    temporary_file::{FilePrivacy, TemporaryFile},
};
use crate::cli_output::{CliError, clean, write_buffered};

/// Puts new content in the place of a file.
///
/// `prepare` sees the new content on disk before it is in its place, and may refuse it. It keeps
/// what is replaced, if that is to be kept; whatever fails then, a backup that nobody needs goes.
pub(crate) fn replace(
    snapshot: &FileSnapshot,
    write: impl FnOnce(&mut dyn Write) -> io::Result<()>,
    prepare: impl FnOnce(&Path, ContentFingerprint) -> anyhow::Result<Option<Backup>>,
) -> anyhow::Result<Option<Backup>> {
    snapshot.check_links()?;
    let fresh = TemporaryFile::beside(&snapshot.path, FilePrivacy::Owner)
        .context("no file can be written beside it")?;
    let mut out = BufWriter::with_capacity(1 << 16, FingerprintWriter::new(&fresh.file));
    write(&mut out).context("the new content cannot be written")?;
    let meter = out.into_inner().map_err(io::IntoInnerError::into_error);
    let content = meter.context("the new content cannot be written")?.finish();
    attributes::copy_attributes(&fresh.file, &snapshot.file, &snapshot.metadata)?;
    fresh.file.sync_all().context("the new content cannot be written")?;
    let file = fresh.reader().context("the new content cannot be read again")?;
    let metadata = file.metadata().context("the new content cannot be read again")?;
    let new = NewFile { file, metadata, content: content.clone() };
    let backup = prepare(fresh.path(), content)?;
    if let Err(error) = swap_in(snapshot, fresh, &new, backup.as_ref()) {
        if !error.keeps_backup {
            backup.into_iter().for_each(Backup::discard);
        }
        return Err(error.error);
    }
    Ok(backup)
}

/// Why a file was not replaced.
struct ReplaceFailure {
    error: anyhow::Error,
    /// Whether the backup may hold what is nowhere else.
    keeps_backup: bool,
}

impl<E: Into<anyhow::Error>> From<E> for ReplaceFailure {
    fn from(error: E) -> ReplaceFailure {
        ReplaceFailure { error: error.into(), keeps_backup: false }
    }
}

fn swap_in(
    snapshot: &FileSnapshot,
    fresh: TemporaryFile,
    new: &NewFile,
    backup: Option<&Backup>,
) -> Result<(), ReplaceFailure> {
    snapshot.check_unchanged()?;
    let mut aside = fresh.set_aside(&snapshot.path).context("the file cannot be replaced")?;
    if let Err(error) = aside.swap(&snapshot.path) {
        aside.remove();
        return Err(anyhow::Error::new(error).context("the file cannot be replaced").into());
    }
    let error = match settle_replacement(snapshot, new, aside) {
        ReplaceOutcome::Replaced => return Ok(()),
        ReplaceOutcome::PutBack => return Err(changed_error().into()),
        ReplaceOutcome::Overtaken => overtaken_error(backup),
        ReplaceOutcome::LeftAside(paths) => left_aside_error(&paths),
    };
    Err(ReplaceFailure { error: error.into(), keeps_backup: true })
}

fn overtaken_error(backup: Option<&Backup>) -> CliError {
    let trouble = CliError::new("somebody else replaced or removed the file right after");
    match backup {
        Some(backup) => {
            let backup = clean(&backup.content.to_string_lossy());
            trouble.help(format!("theirs was left alone; what it held before is in `{backup}`"))
        }
        None => trouble.help("theirs was left alone"),
    }
}

fn left_aside_error(paths: &[PathBuf]) -> CliError {
    let paths: Vec<String> =
        paths.iter().map(|path| format!("`{}`", clean(&path.to_string_lossy()))).collect();
    CliError::new("several others wrote the file while it was being replaced").help(format!(
        "the last of them has the name; what was written before is in {}",
        paths.join(" and ")
    ))
}

/// Writes a file that is nobody's input: as a whole, or not at all. What is no file, as a pipe or
/// a device, is written as it is.
pub(crate) fn write_whole(
    path: &Path,
    write: impl FnOnce(&mut dyn Write) -> io::Result<()>,
) -> io::Result<()> {
    let metadata = fs::metadata(path).ok();
    if metadata.as_ref().is_some_and(|metadata| !metadata.is_file()) {
        return write_buffered(OpenOptions::new().write(true).open(path)?, write);
    }
    if metadata.as_ref().is_some_and(|metadata| metadata.permissions().readonly()) {
        return Err(io::Error::new(io::ErrorKind::PermissionDenied, "it is read-only"));
    }
    // A link stays, and its file is written.
    let path = fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
    let fresh = TemporaryFile::beside(&path, FilePrivacy::Inherited)?;
    write_buffered(&fresh.file, write)?;
    if let Some(metadata) = metadata {
        attributes::keep_ownership(&fresh.file, &metadata).ok();
        fresh.file.set_permissions(metadata.permissions())?;
    }
    fresh.place(&path)
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]
mod tests {
    use super::*;
    use crate::disk::temporary_file::tests::ScratchFile;

    #[test]
    fn a_file_is_replaced_as_a_whole() {
        let kept = ScratchFile::new("whole", "old");
        let snapshot = FileSnapshot::take(&kept.file()).unwrap();
        let write = |out: &mut dyn Write| out.write_all(b"new content");
        let seen = |fresh: &Path, after| {
            assert_eq!(fs::read(fresh).unwrap(), b"new content");
            assert_eq!(after, ContentFingerprint::of(b"new content"));
            Ok(None)
        };
        replace(&snapshot, write, seen).unwrap();
        assert_eq!(kept.holds(), ("new content".to_owned(), 1));
    }

    #[test]
    fn a_file_that_changed_meanwhile_is_left_alone() {
        let kept = ScratchFile::new("changed", "old");
        let snapshot = FileSnapshot::take(&kept.file()).unwrap();
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
        let kept = ScratchFile::new("fails", "old");
        let snapshot = FileSnapshot::take(&kept.file()).unwrap();
        let write = |out: &mut dyn Write| {
            out.write_all(b"half")?;
            Err(io::Error::other("disk full"))
        };
        let error = replace(&snapshot, write, |_, _| Ok(None));
        assert!(error.is_err());
        assert_eq!(kept.holds(), ("old".to_owned(), 1));
    }
}
