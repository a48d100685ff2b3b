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
    aside::Aside,
    attributes,
    fingerprint::Fingerprint,
    fresh::{Fresh, Privacy},
    ops,
    snapshot::{Snapshot, holds, is_alike, is_same},
    writers,
};

/// A file that we wrote, and put in the place of another.
pub(super) struct NewFile {
    /// Open for reading.
    pub(super) file: File,
    pub(super) metadata: Metadata,
    /// What it held when it was ours alone.
    pub(super) content: Fingerprint,
}

/// What became of a replacement.
#[derive(PartialEq, Eq, Debug)]
pub(super) enum Settled {
    /// The new file has the name, and what it replaced was what was read.
    Replaced,
    /// Somebody else wrote; what they wrote has the name.
    PutBack,
    /// Somebody else replaced or removed the new file. What was read is in the backup.
    Overtaken,
    /// Several wrote at once. The last has the name; what others wrote lies here.
    Kept(Vec<PathBuf>),
}

/// Looks at what lies aside, and puts it back if it is not what was read.
pub(super) fn settle(old: &Snapshot, new: &NewFile, aside: Aside) -> Settled {
    if !is_as_read(old, &aside) {
        return put_back(old, new, aside);
    }
    let placed = is_at(&new.metadata, &old.path);
    aside.remove();
    if placed { Settled::Replaced } else { Settled::Overtaken }
}

/// Whether what lies aside is the file that was read, and nobody can write to it any more. The
/// order matters: a file without a public name that nobody has open stays as it is.
fn is_as_read(old: &Snapshot, aside: &Aside) -> bool {
    aside.metadata().is_ok_and(|metadata| {
        let same = is_same(&metadata, &old.metadata) || is_alike(&metadata, &old.metadata);
        same && writers::keeper(&metadata).is_none()
    }) && aside.open().and_then(|file| holds(file, &old.content)).unwrap_or(false)
}

fn is_at(metadata: &Metadata, path: &Path) -> bool {
    ops::metadata(path).is_ok_and(|now| is_same(&now, metadata))
}

/// Tries before we give up: each needs somebody who writes in that very moment.
const TRIES: usize = 100;

fn put_back(old: &Snapshot, new: &NewFile, mut aside: Aside) -> Settled {
    let Ok(mut there) = aside.metadata() else { return keep(aside) };
    let Ok(file) = new.file.try_clone() else { return keep(aside) };
    let mut displaced = Lines { file, known: new.content.clone() };
    let is_old = is_same(&there, &old.metadata);
    let mut current = is_old.then(|| Lines::open(aside.path()).ok()).flatten();
    // Somebody filled the new file with something else: that is the newest, and has the name.
    let Ok(more) = displaced.unknown() else { return leave(old, aside) };
    if let Some(current) = &mut current {
        // While nobody sees the old file, so that the order stays. What fails is tried once more.
        let _ = displaced.move_to(current, &more);
    }
    let mut placed = new.metadata.clone();
    for _ in 0..TRIES {
        if aside.swap(&old.path).is_err() {
            // Whoever removed the file did not know of what lies aside.
            return leave(old, aside);
        }
        let Ok(back) = aside.metadata() else { return keep(aside) };
        let is_new = is_same(&back, &new.metadata);
        if is_same(&back, &placed) && (!is_new || displaced.unknown().is_ok()) {
            return match is_new {
                true => finish(old, aside, displaced, current),
                false => leave(old, aside),
            };
        }
        // Somebody replaced what we had put there. That is newer, and gets the name.
        placed = there;
        there = back;
    }
    keep(aside)
}

/// What was displaced lies aside. It goes, as soon as nobody writes to it and everything that was
/// appended to it stands in the current file, behind what was there and before what came since.
fn finish(
    old: &Snapshot,
    mut aside: Aside,
    mut displaced: Lines,
    mut current: Option<Lines>,
) -> Settled {
    for _ in 0..TRIES {
        let Ok(metadata) = displaced.file.metadata() else { return keep(aside) };
        if writers::keeper(&metadata).is_some() {
            return keep(aside);
        }
        let Ok(more) = displaced.unknown() else { return keep(aside) };
        if more.is_empty() {
            aside.remove();
            return Settled::PutBack;
        }
        // Where the file is somebody else's, nothing is added to it.
        let Some(mut file) = current.take().filter(|file| file.is_at(&old.path)) else {
            return keep(aside);
        };
        if file.is_kept_open() {
            if displaced.move_to(&mut file, &more).is_err() || !file.is_at(&old.path) {
                return keep(aside);
            }
            current = Some(file);
            continue;
        }
        let Ok((merged, mut second)) = merge(old, &mut file, &more) else {
            return keep(aside);
        };
        if second.swap(&old.path).is_err() {
            second.remove();
            return keep(aside);
        }
        if !second.metadata().is_ok_and(|back| file.is(&back)) {
            // Somebody replaced the file meanwhile: theirs gets the name again.
            let _ = second.swap(&old.path);
            let is_ours = second.metadata().is_ok_and(|back| merged.is(&back));
            let mut kept = vec![aside.path().to_owned()];
            match is_ours {
                true => second.remove(),
                false => kept.push(second.path().to_owned()),
            }
            return Settled::Kept(kept);
        }
        aside.remove();
        (aside, displaced, current) = (second, file, Some(merged));
    }
    keep(aside)
}

/// Writes what a file held, what was appended to the displaced one, and what was appended to the
/// file since, in this order.
fn merge(old: &Snapshot, file: &mut Lines, displaced: &[u8]) -> anyhow::Result<(Lines, Aside)> {
    let (mut content, since) = file.read()?;
    file.known = Fingerprint::of(&[content.as_slice(), &since].concat());
    content.extend(displaced);
    content.extend(&since);
    let fresh = Fresh::beside(&old.path, Privacy::Owner)?;
    (&fresh.file).write_all(&content)?;
    attributes::keep(&fresh.file, &old.file, &old.metadata)?;
    fresh.file.sync_all()?;
    let merged = Lines { file: fresh.reader()?, known: Fingerprint::of(&content) };
    Ok((merged, fresh.aside(&old.path)?))
}

/// The name is somebody else's. What lies aside goes only if it is in the backup.
fn leave(old: &Snapshot, aside: Aside) -> Settled {
    if is_as_read(old, &aside) {
        aside.remove();
        return Settled::Overtaken;
    }
    keep(aside)
}

fn keep(aside: Aside) -> Settled {
    Settled::Kept(vec![aside.path().to_owned()])
}

/// A file to which others append, and what of it stands where it belongs.
struct Lines {
    file: File,
    /// How it begins.
    known: Fingerprint,
}

impl Lines {
    /// Opens a file to read and to append.
    fn open(path: &Path) -> io::Result<Lines> {
        let mut file = ops::open_with(OpenOptions::new().read(true).append(true), path)?;
        let known = Fingerprint::of_reader(&mut file)?;
        Ok(Lines { file, known })
    }

    fn is(&self, metadata: &Metadata) -> bool {
        self.file.metadata().is_ok_and(|own| is_same(&own, metadata))
    }

    fn is_at(&self, path: &Path) -> bool {
        self.file.metadata().is_ok_and(|own| is_at(&own, path))
    }

    fn is_kept_open(&self) -> bool {
        self.file.metadata().is_ok_and(|own| writers::keeper(&own).is_some())
    }

    /// What is known, and what was appended since. Fails if somebody filled it with something else.
    fn read(&mut self) -> io::Result<(Vec<u8>, Vec<u8>)> {
        let mut content = Vec::new();
        self.file.rewind()?;
        self.file.read_to_end(&mut content)?;
        let known = usize::try_from(self.known.bytes).unwrap_or(usize::MAX);
        if content.len() < known {
            return Err(io::Error::other("it is shorter than before"));
        }
        let since = content.split_off(known);
        match Fingerprint::of(&content) == self.known {
            true => Ok((content, since)),
            false => Err(io::Error::other("it was written anew")),
        }
    }

    /// What was appended since.
    fn unknown(&mut self) -> io::Result<Vec<u8>> {
        Ok(self.read()?.1)
    }

    /// Appends what was appended since to another file.
    fn move_to(&mut self, other: &mut Lines, since: &[u8]) -> io::Result<()> {
        let known = Fingerprint::of(&[self.read()?.0.as_slice(), since].concat());
        other.file.write_all(since)?;
        other.file.rewind()?;
        other.known = Fingerprint::of_reader(&mut other.file)?;
        self.known = known;
        Ok(())
    }
}
