//! Lines that somebody appended to a file in the very moment it was replaced.
//!
//! An agent opens its file, appends a line and closes it, without asking anybody. If it opened the
//! file just before we put another in its place, its line goes to the old one and would be gone.
//! So the old one is looked at once more. If there is more in it than we knew, it is put back with
//! all that was appended to either, in order.

use std::{
    fs::{self, File, Metadata, OpenOptions},
    io::{self, Read, Seek, SeekFrom, Write},
    path::Path,
};

use super::{
    fresh::{Fresh, Privacy, Spare},
    replace::dress,
    snapshot::{Snapshot, is_same},
    writers,
};

/// A file that we put in the place of another.
pub(super) struct Placed {
    /// Open for reading.
    pub(super) file: File,
    /// How long it was when it was ours alone.
    pub(super) bytes: u64,
}

/// Whether a replaced file was left in peace. If not, it is in its place again, and nothing that
/// anybody appended is lost.
pub(super) fn is_quiet(old: &Snapshot, new: Placed, spare: Option<Spare>) -> io::Result<bool> {
    let known = old.content.len() as u64;
    if writers::keeper(&old.metadata).is_some()
        && let Some(spare) = spare
    {
        // It goes on writing to the old file, so that one has to be the file.
        spare.place(&old.path)?;
        let appended = behind(&new.file, new.bytes)?;
        OpenOptions::new().append(true).open(&old.path)?.write_all(&appended)?;
        return Ok(false);
    }
    let late = behind(&old.file, known)?;
    if late.is_empty() {
        return Ok(true);
    }
    put_back(&old.path, &old.metadata, [old.content.as_slice(), &late].concat(), new)?;
    Ok(false)
}

/// Tries before we give up: each needs somebody who appends in that very moment.
const TRIES: usize = 1000;

/// Puts content in the place of a file of ours, with what was appended to that.
fn put_back(
    path: &Path,
    metadata: &Metadata,
    mut content: Vec<u8>,
    mut ours: Placed,
) -> io::Result<()> {
    for _ in 0..TRIES {
        if !is_same(&ours.file.metadata()?, &fs::metadata(path)?) {
            return Err(io::Error::other("somebody else replaced it too"));
        }
        let appended = behind(&ours.file, ours.bytes)?;
        let known = ours.bytes + appended.len() as u64;
        content.extend(appended);
        let fresh = Fresh::beside(path, Privacy::Owner)?;
        (&fresh.file).write_all(&content)?;
        dress(&fresh.file, metadata)?;
        let next = Placed { file: fresh.reader()?, bytes: content.len() as u64 };
        fresh.place(path)?;
        writers::keeper(&ours.file.metadata()?);
        let late = behind(&ours.file, known)?;
        if late.is_empty() {
            return Ok(());
        }
        content.extend(late);
        ours = next;
    }
    Err(io::Error::other("somebody never stops writing"))
}

/// What stands in a file behind what is known of it.
fn behind(mut file: &File, known: u64) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    file.seek(SeekFrom::Start(known))?;
    file.read_to_end(&mut bytes)?;
    Ok(bytes)
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]
mod tests {
    use super::*;
    use crate::disk::fresh::tests::Kept;

    fn append(path: &Path, text: &str) {
        OpenOptions::new().append(true).open(path).unwrap().write_all(text.as_bytes()).unwrap();
    }

    /// Puts `new` in the place of `old`; returns whether that was seen as quiet.
    fn replaced(kept: &Kept, late: &str, after: &str) -> bool {
        let path = kept.file();
        let old = Snapshot::take(&path).unwrap();
        // Opened in time, written too late.
        let mut writer = OpenOptions::new().append(true).open(&path).unwrap();
        let fresh = Fresh::beside(&path, Privacy::Owner).unwrap();
        (&fresh.file).write_all(b"new\n").unwrap();
        let new = Placed { file: fresh.reader().unwrap(), bytes: 4 };
        fresh.place(&path).unwrap();
        writer.write_all(late.as_bytes()).unwrap();
        drop(writer);
        append(&path, after);
        is_quiet(&old, new, None).unwrap()
    }

    #[test]
    fn a_line_that_went_to_the_old_file_was_lost() {
        let kept = Kept::new("late", "old\n");
        assert!(replaced(&kept, "", "after\n"));
        assert_eq!(kept.holds(), ("new\nafter\n".to_owned(), 1));
        let kept = Kept::new("later", "old\n");
        assert!(!replaced(&kept, "late\n", "after\n"));
        assert_eq!(kept.holds(), ("old\nlate\nafter\n".to_owned(), 1));
    }
}
