//! After a file changed places with a new one: a look at what came back, which goes back to its
//! place if it is not what was read.
//!
//! Somebody may have replaced the file in that very moment, or opened it before and written to it
//! since. All of that is kept: in the file, or aside under a name that the error tells. Nothing is
//! removed but what we wrote ourselves and what is in the backup.

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

/// A file that we wrote, and put in the place of another.
pub(super) struct NewFile {
    /// Open for reading.
    pub(super) file: File,
    pub(super) metadata: Metadata,
    /// What it held when it was ours alone.
    pub(super) content: ContentFingerprint,
}

/// What became of a replacement.
#[derive(PartialEq, Eq, Debug)]
pub(super) enum ReplaceOutcome {
    /// The new file has the name, and what it replaced was what was read.
    Replaced,
    /// Somebody else wrote; what they wrote has the name.
    PutBack,
    /// Somebody else replaced or removed the new file. What was read is in the backup.
    Overtaken,
    /// Several wrote at once. The last has the name; what others wrote lies here.
    LeftAside(Vec<PathBuf>),
}

/// Looks at what lies aside, and puts it back if it is not what was read.
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

/// Whether what lies aside is the file that was read, and nobody can write to it any more. The
/// order matters: a file without a public name that nobody has open stays as it is.
fn is_as_read(old: &FileSnapshot, aside: &DisplacedFile) -> bool {
    aside.metadata().is_ok_and(|metadata| {
        let same = is_same(&metadata, &old.metadata) || is_alike(&metadata, &old.metadata);
        same && writers::find_steady_writer(&metadata).is_none()
    }) && aside.open().and_then(|file| has_content(file, &old.content)).unwrap_or(false)
}

fn is_file_at(metadata: &Metadata, path: &Path) -> bool {
    ops::metadata(path).is_ok_and(|now| is_same(&now, metadata))
}

/// Tries before we give up: each needs somebody who writes in that very moment.
const MAX_ATTEMPTS: usize = 100;

fn put_back(old: &FileSnapshot, new: &NewFile, mut aside: DisplacedFile) -> ReplaceOutcome {
    let Ok(mut there) = aside.metadata() else { return leave_aside(aside) };
    let Ok(file) = new.file.try_clone() else { return leave_aside(aside) };
    let mut displaced = AppendedFile { file, known_prefix: new.content.clone() };
    let is_old = is_same(&there, &old.metadata);
    let mut current = is_old.then(|| AppendedFile::open(aside.path()).ok()).flatten();
    // Somebody filled the new file with something else: that is the newest, and has the name.
    let Ok(more) = displaced.appended_bytes() else { return remove_if_backed_up(old, aside) };
    if let Some(current) = &mut current {
        // While nobody sees the old file, so that the order stays. What fails is tried once more.
        let _ = displaced.append_to(current, &more);
    }
    let mut placed = new.metadata.clone();
    for _ in 0..MAX_ATTEMPTS {
        if aside.swap(&old.path).is_err() {
            // Whoever removed the file did not know of what lies aside.
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
        // Somebody replaced what we had put there. That is newer, and gets the name.
        placed = there;
        there = back;
    }
    leave_aside(aside)
}

/// What was displaced lies aside. It goes, as soon as nobody writes to it and everything that was
/// appended to it stands in the current file, behind what was there and before what came since.
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
        // Where the file is somebody else's, nothing is added to it.
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
            // Somebody replaced the file meanwhile: theirs gets the name again.
            let _ = second.swap(&old.path);
            let is_ours = second.metadata().is_ok_and(|back| merged.is_same_file(&back));
            let mut kept = vec![aside.path().to_owned()];
            match is_ours {
                true => second.remove(),
                false => kept.push(second.path().to_owned()),
            }
            return ReplaceOutcome::LeftAside(kept);
        }
        aside.remove();
        (aside, displaced, current) = (second, file, Some(merged));
    }
    leave_aside(aside)
}

/// Writes what a file held, what was appended to the displaced one, and what was appended to the
/// file since, in this order.
fn write_merged(
    old: &FileSnapshot,
    file: &mut AppendedFile,
    displaced: &[u8],
) -> anyhow::Result<(AppendedFile, DisplacedFile)> {
    let (mut content, since) = file.read()?;
    file.known_prefix = ContentFingerprint::of(&[content.as_slice(), &since].concat());
    content.extend(displaced);
    content.extend(&since);
    let fresh = TemporaryFile::beside(&old.path, FilePrivacy::Owner)?;
    (&fresh.file).write_all(&content)?;
    attributes::copy_attributes(&fresh.file, &old.file, &old.metadata)?;
    fresh.file.sync_all()?;
    let merged =
        AppendedFile { file: fresh.reader()?, known_prefix: ContentFingerprint::of(&content) };
    Ok((merged, fresh.set_aside(&old.path)?))
}

/// The name is somebody else's. What lies aside goes only if it is in the backup.
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

/// A file to which others append, and what of it stands where it belongs.
struct AppendedFile {
    file: File,
    /// How it begins.
    known_prefix: ContentFingerprint,
}

impl AppendedFile {
    /// Opens a file to read and to append.
    fn open(path: &Path) -> io::Result<AppendedFile> {
        let mut file = ops::open_with(OpenOptions::new().read(true).append(true), path)?;
        let known = ContentFingerprint::of_reader(&mut file)?;
        Ok(AppendedFile { file, known_prefix: known })
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

    /// What is known, and what was appended since. Fails if somebody filled it with something else.
    fn read(&mut self) -> io::Result<(Vec<u8>, Vec<u8>)> {
        let mut content = Vec::new();
        self.file.rewind()?;
        self.file.read_to_end(&mut content)?;
        let known = usize::try_from(self.known_prefix.bytes).unwrap_or(usize::MAX);
        if content.len() < known {
            return Err(io::Error::other("it is shorter than before"));
        }
        let since = content.split_off(known);
        match ContentFingerprint::of(&content) == self.known_prefix {
            true => Ok((content, since)),
            false => Err(io::Error::other("it was written anew")),
        }
    }

    /// What was appended since.
    fn appended_bytes(&mut self) -> io::Result<Vec<u8>> {
        Ok(self.read()?.1)
    }

    /// Appends what was appended since to another file.
    fn append_to(&mut self, other: &mut AppendedFile, since: &[u8]) -> io::Result<()> {
        let known = ContentFingerprint::of(&[self.read()?.0.as_slice(), since].concat());
        other.file.write_all(since)?;
        other.file.rewind()?;
        other.known_prefix = ContentFingerprint::of_reader(&mut other.file)?;
        self.known_prefix = known;
        Ok(())
    }
}
