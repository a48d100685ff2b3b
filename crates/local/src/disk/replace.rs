//! Replaces a file atomically: the new content is written to a temporary file, verified there, and
//! swapped in. Nothing is written if the file changed since it was read.
//!
//! The swap keeps the replaced file: if it is not what was read, it is swapped back. If the process
//! is killed at any point, the file is the old one or the new one. The backup and its manifest are
//! complete before the swap, so they are valid either way.

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
use crate::output::{HelpfulError, clean, write_buffered};

/// Replaces the content of a file.
///
/// `prepare` gets the new content on disk before the swap, and may reject it. It returns the backup
/// of the old content, if it made one. If a later step fails, an unneeded backup is removed.
pub fn replace(
    snapshot: &FileSnapshot,
    write: impl FnOnce(&mut dyn Write) -> io::Result<()>,
    prepare: impl FnOnce(&Path, ContentFingerprint) -> anyhow::Result<Option<Backup>>,
) -> anyhow::Result<Option<Backup>> {
    snapshot.check_links()?;
    let temporary = TemporaryFile::beside(&snapshot.path, FilePrivacy::Owner)
        .context("cannot create a temporary file in its folder")?;
    let mut out = BufWriter::with_capacity(1 << 16, FingerprintWriter::new(&temporary.file));
    write(&mut out).context("the new content cannot be written")?;
    let writer = out.into_inner().map_err(io::IntoInnerError::into_error);
    let content = writer.context("the new content cannot be written")?.finish();
    attributes::copy_attributes(&temporary.file, snapshot.file()?, &snapshot.metadata)?;
    attributes::keep_time(&temporary.file, &snapshot.metadata);
    temporary.file.sync_all().context("the new content cannot be written")?;
    let file = temporary.reader().context("the new content cannot be read again")?;
    let metadata = file.metadata().context("the new content cannot be read again")?;
    let new = NewFile { file, metadata, content: content.clone() };
    let backup = prepare(temporary.path(), content)?;
    if let Err(error) = swap_in(snapshot, temporary, &new, backup.as_ref()) {
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
    /// Whether the backup may be the only copy of some content.
    keeps_backup: bool,
}

impl<E: Into<anyhow::Error>> From<E> for ReplaceFailure {
    fn from(error: E) -> ReplaceFailure {
        ReplaceFailure { error: error.into(), keeps_backup: false }
    }
}

fn swap_in(
    snapshot: &FileSnapshot,
    temporary: TemporaryFile,
    new: &NewFile,
    backup: Option<&Backup>,
) -> Result<(), ReplaceFailure> {
    snapshot.check_unchanged()?;
    let mut aside = temporary.set_aside(&snapshot.path).context("the file cannot be replaced")?;
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

fn overtaken_error(backup: Option<&Backup>) -> HelpfulError {
    let error = HelpfulError::new(
        "another process replaced or removed the file right after it was written",
    );
    match backup {
        Some(backup) => {
            let backup = clean(&backup.content.to_string_lossy());
            error.help(format!("its change was kept; the original content is in `{backup}`"))
        }
        None => error.help("its change was kept"),
    }
}

fn left_aside_error(paths: &[PathBuf]) -> HelpfulError {
    let paths: Vec<String> =
        paths.iter().map(|path| format!("`{}`", clean(&path.to_string_lossy()))).collect();
    HelpfulError::new("other processes wrote the file while it was being replaced").help(format!(
        "the file has the last of these writes; the earlier ones are in {}",
        paths.join(" and ")
    ))
}

/// Writes an output file atomically. A pipe or device is written directly.
pub fn write_whole(
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
    // A link stays; its target is replaced.
    let path = fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
    let temporary = TemporaryFile::beside(&path, FilePrivacy::Inherited)?;
    write_buffered(&temporary.file, write)?;
    if let Some(metadata) = metadata {
        attributes::keep_ownership(&temporary.file, &metadata).ok();
        temporary.file.set_permissions(metadata.permissions())?;
    }
    temporary.place(&path)
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]
mod tests {
    use super::*;
    use crate::disk::temporary_file::tests::ScratchFile;

    #[test]
    fn replace_writes_the_whole_file_and_leaves_no_other() {
        let scratch = ScratchFile::new("whole", "old");
        let snapshot = FileSnapshot::take(&scratch.file()).unwrap();
        let write = |out: &mut dyn Write| out.write_all(b"new content");
        let verify = |temporary: &Path, after| {
            assert_eq!(fs::read(temporary).unwrap(), b"new content");
            assert_eq!(after, ContentFingerprint::of(b"new content"));
            Ok(None)
        };
        replace(&snapshot, write, verify).unwrap();
        assert_eq!(scratch.holds(), ("new content".to_owned(), 1));
    }

    #[test]
    fn a_file_that_changed_meanwhile_is_not_replaced() {
        let scratch = ScratchFile::new("changed", "old");
        let snapshot = FileSnapshot::take(&scratch.file()).unwrap();
        let write = |out: &mut dyn Write| {
            // Another writer, with content of the same length.
            fs::write(scratch.file(), "OLD")?;
            out.write_all(b"new")
        };
        let error = replace(&snapshot, write, |_, _| Ok(None));
        assert!(error.unwrap_err().to_string().contains("changed while"));
        assert_eq!(scratch.holds(), ("OLD".to_owned(), 1));
    }

    #[test]
    fn a_write_that_fails_leaves_nothing_behind() {
        let scratch = ScratchFile::new("fails", "old");
        let snapshot = FileSnapshot::take(&scratch.file()).unwrap();
        let write = |out: &mut dyn Write| {
            out.write_all(b"half")?;
            Err(io::Error::other("disk full"))
        };
        let error = replace(&snapshot, write, |_, _| Ok(None));
        assert!(error.is_err());
        assert_eq!(scratch.holds(), ("old".to_owned(), 1));
    }
}
