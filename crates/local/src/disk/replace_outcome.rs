//! Checks the displaced file after a swap. If it is not the file that was read, it is swapped back.
//!
//! Another process may have replaced the file at that moment, or may have opened it before and
//! written to it since. All such writes are kept: in the file, or in a file next to it that the
//! error names. Only content that we wrote or that is in the backup is removed.

use std::{
    fs::{File, Metadata, OpenOptions},
    io::{self, Read, Seek, Write},
    path::{Path, PathBuf},
};

use super::{
    attributes,
    displaced_file::DisplacedFile,
    fingerprint::ContentFingerprint,
    ops,
    snapshot::{FileSnapshot, has_content, is_alike, is_same},
    temporary_file::{FilePrivacy, TemporaryFile},
    writers,
};

/// The file that we wrote and swapped in.
pub(super) struct NewFile {
    /// Open for reading.
    pub(super) file: File,
    pub(super) metadata: Metadata,
    /// Its content before the swap.
    pub(super) content: ContentFingerprint,
}

/// Result of a replacement.
#[derive(PartialEq, Eq, Debug)]
pub(super) enum ReplaceOutcome {
    /// The new file is in place, and it replaced the file that was read.
    Replaced,
    /// Another process wrote. Its file is in place.
    PutBack,
    /// Another process replaced or removed the new file. The backup has the content that was read.
    Overtaken,
    /// Several processes wrote at once. The last file is in place; the others are at these paths.
    LeftAside(Vec<PathBuf>),
}

/// Checks the displaced file, and puts it back if it is not the file that was read.
pub(super) fn settle_replacement(
    old: &FileSnapshot,
    new: &NewFile,
    aside: DisplacedFile,
) -> ReplaceOutcome {
    if !is_as_read(old, &aside) {
        return put_back(old, new, aside);
    }
    let placed = is_file_at(&new.metadata, &old.path);
    aside.remove();
    if placed { ReplaceOutcome::Replaced } else { ReplaceOutcome::Overtaken }
}

/// Whether the displaced file is the file that was read, and no process can write to it any more.
/// The writers are checked before the content: a displaced file without writers cannot change.
fn is_as_read(old: &FileSnapshot, aside: &DisplacedFile) -> bool {
    aside.metadata().is_ok_and(|metadata| {
        let same = is_same(&metadata, &old.metadata) || is_alike(&metadata, &old.metadata);
        same && writers::find_steady_writer(&metadata).is_none()
    }) && aside.open().and_then(|file| has_content(file, &old.content)).unwrap_or(false)
}

fn is_file_at(metadata: &Metadata, path: &Path) -> bool {
    ops::metadata(path).is_ok_and(|now| is_same(&now, metadata))
}

/// Attempts before we give up. Each one fails only if another process writes at that moment.
const MAX_ATTEMPTS: usize = 100;

fn put_back(old: &FileSnapshot, new: &NewFile, mut aside: DisplacedFile) -> ReplaceOutcome {
    let Ok(mut expected) = aside.metadata() else { return leave_aside(aside) };
    let Ok(file) = new.file.try_clone() else { return leave_aside(aside) };
    let mut displaced = AppendedFile { file, known_prefix: new.content.clone() };
    let is_old = is_same(&expected, &old.metadata);
    let mut current = is_old.then(|| AppendedFile::open(aside.path()).ok()).flatten();
    // Another process overwrote the new file. That content is the newest and stays in place.
    let Ok(more) = displaced.appended_bytes() else { return remove_if_backed_up(old, aside) };
    if let Some(current) = &mut current {
        // Done while the old file has no public name, so that the order is kept. A failure is
        // retried below.
        let _ = displaced.append_to(current, &more);
    }
    let mut placed = new.metadata.clone();
    for _ in 0..MAX_ATTEMPTS {
        if aside.swap(&old.path).is_err() {
            // The process that removed the file did not know of the displaced one.
            return remove_if_backed_up(old, aside);
        }
        let Ok(back) = aside.metadata() else { return leave_aside(aside) };
        let is_new = is_same(&back, &new.metadata);
        if is_same(&back, &placed) && (!is_new || displaced.appended_bytes().is_ok()) {
            return match is_new {
                true => merge_displaced(old, aside, displaced, current),
                false => remove_if_backed_up(old, aside),
            };
        }
        // Another process replaced the file that we had put in place. The newer file goes back.
        placed = expected;
        expected = back;
    }
    leave_aside(aside)
}

/// Removes the displaced file once no process writes to it and the current file has everything
/// that was appended to it. That content goes after the old content of the current file and before
/// what was appended to it since.
fn merge_displaced(
    old: &FileSnapshot,
    mut aside: DisplacedFile,
    mut displaced: AppendedFile,
    mut current: Option<AppendedFile>,
) -> ReplaceOutcome {
    for _ in 0..MAX_ATTEMPTS {
        let Ok(metadata) = displaced.file.metadata() else { return leave_aside(aside) };
        if writers::find_steady_writer(&metadata).is_some() {
            return leave_aside(aside);
        }
        let Ok(more) = displaced.appended_bytes() else { return leave_aside(aside) };
        if more.is_empty() {
            aside.remove();
            return ReplaceOutcome::PutBack;
        }
        // Nothing is added to another process's file.
        let Some(mut file) = current.take().filter(|file| file.is_at(&old.path)) else {
            return leave_aside(aside);
        };
        if file.is_kept_open() {
            if displaced.append_to(&mut file, &more).is_err() || !file.is_at(&old.path) {
                return leave_aside(aside);
            }
            current = Some(file);
            continue;
        }
        let Ok((merged, mut second)) = write_merged(old, &mut file, &more) else {
            return leave_aside(aside);
        };
        if second.swap(&old.path).is_err() {
            second.remove();
            return leave_aside(aside);
        }
        if !second.metadata().is_ok_and(|back| file.is_same_file(&back)) {
            // Another process replaced the file meanwhile. Its file goes back.
            let _ = second.swap(&old.path);
            let is_ours = second.metadata().is_ok_and(|back| merged.is_same_file(&back));
            let mut paths = vec![aside.path().to_owned()];
            match is_ours {
                true => second.remove(),
                false => paths.push(second.path().to_owned()),
            }
            return ReplaceOutcome::LeftAside(paths);
        }
        aside.remove();
        (aside, displaced, current) = (second, file, Some(merged));
    }
    leave_aside(aside)
}

/// Writes the known content of a file, what was appended to the displaced file, and what was
/// appended to the file since, in this order.
fn write_merged(
    old: &FileSnapshot,
    file: &mut AppendedFile,
    displaced: &[u8],
) -> anyhow::Result<(AppendedFile, DisplacedFile)> {
    let (mut content, since) = file.read()?;
    file.known_prefix = ContentFingerprint::of(&[content.as_slice(), &since].concat());
    content.extend(displaced);
    content.extend(&since);
    let temporary = TemporaryFile::beside(&old.path, FilePrivacy::Owner)?;
    (&temporary.file).write_all(&content)?;
    attributes::copy_attributes(&temporary.file, old.file()?, &old.metadata)?;
    temporary.file.sync_all()?;
    let merged =
        AppendedFile { file: temporary.reader()?, known_prefix: ContentFingerprint::of(&content) };
    Ok((merged, temporary.set_aside(&old.path)?))
}

/// Another process's file is in place. The displaced file is removed only if the backup has it.
fn remove_if_backed_up(old: &FileSnapshot, aside: DisplacedFile) -> ReplaceOutcome {
    if is_as_read(old, &aside) {
        aside.remove();
        return ReplaceOutcome::Overtaken;
    }
    leave_aside(aside)
}

fn leave_aside(aside: DisplacedFile) -> ReplaceOutcome {
    ReplaceOutcome::LeftAside(vec![aside.path().to_owned()])
}

/// A file that other processes append to, and the prefix that is already handled.
struct AppendedFile {
    file: File,
    /// Fingerprint of the handled prefix.
    known_prefix: ContentFingerprint,
}

impl AppendedFile {
    /// Opens a file to read and to append.
    fn open(path: &Path) -> io::Result<AppendedFile> {
        let mut file = ops::open_with(OpenOptions::new().read(true).append(true), path)?;
        let known_prefix = ContentFingerprint::of_reader(&mut file)?;
        Ok(AppendedFile { file, known_prefix })
    }

    fn is_same_file(&self, metadata: &Metadata) -> bool {
        self.file.metadata().is_ok_and(|own| is_same(&own, metadata))
    }

    fn is_at(&self, path: &Path) -> bool {
        self.file.metadata().is_ok_and(|own| is_file_at(&own, path))
    }

    fn is_kept_open(&self) -> bool {
        self.file.metadata().is_ok_and(|own| writers::find_steady_writer(&own).is_some())
    }

    /// The known prefix, and what was appended since. Fails if the prefix was overwritten.
    fn read(&mut self) -> io::Result<(Vec<u8>, Vec<u8>)> {
        let mut content = Vec::new();
        self.file.rewind()?;
        self.file.read_to_end(&mut content)?;
        let known = usize::try_from(self.known_prefix.bytes).unwrap_or(usize::MAX);
        if content.len() < known {
            return Err(io::Error::other("the file is shorter than before"));
        }
        let since = content.split_off(known);
        match ContentFingerprint::of(&content) == self.known_prefix {
            true => Ok((content, since)),
            false => Err(io::Error::other("the file was overwritten")),
        }
    }

    /// What was appended after the known prefix.
    fn appended_bytes(&mut self) -> io::Result<Vec<u8>> {
        Ok(self.read()?.1)
    }

    /// Copies what was appended since to another file.
    fn append_to(&mut self, other: &mut AppendedFile, since: &[u8]) -> io::Result<()> {
        let known = ContentFingerprint::of(&[self.read()?.0.as_slice(), since].concat());
        other.file.write_all(since)?;
        other.file.rewind()?;
        other.known_prefix = ContentFingerprint::of_reader(&mut other.file)?;
        self.known_prefix = known;
        Ok(())
    }
}
