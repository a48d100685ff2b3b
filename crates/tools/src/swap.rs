//! Puts a new file in the place of one that was read, if it still is what was read.
//!
//! The two change places, so that whatever was replaced is at hand: if somebody changed or replaced
//! the file in the meantime, theirs goes back.

use std::{
    ffi::OsStr,
    io::{self, Read as _},
};

use cap_std::fs::{Dir, Metadata};

/// What became of a file that was to take another's place.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum SwapOutcome {
    /// It is there, and what it replaced was what had been read.
    Done,
    /// Somebody else had changed the file. Theirs is there, and ours lies beside it.
    Changed,
    /// Several changed it at once. The last has the name, and another lies beside it.
    BothKept,
}

/// Tries before we give up: each needs somebody who replaces the file in that very moment.
const MAX_TRIES: usize = 16;

/// Lets the file `beside`, which we wrote, take the place of `name`, which was read. Afterwards `beside` is what is to be removed,
/// except where it was kept.
pub(crate) fn swap(
    folder: &Dir,
    beside: &str,
    name: &OsStr,
    (read, written): (&[u8], &[u8]),
    act: &mut dyn FnMut(),
) -> io::Result<SwapOutcome> {
    let ours = folder.symlink_metadata(beside)?;
    act();
    match exchange(folder, beside, name) {
        // One look more, and then in one step: what happens between them is not seen.
        Err(error) if error.kind() == io::ErrorKind::Unsupported => {
            return match holds(folder, name, read) {
                true => folder.rename(beside, folder, name).map(|()| SwapOutcome::Done),
                false => Ok(SwapOutcome::Changed),
            };
        }
        done => done?,
    }
    if holds(folder, OsStr::new(beside), read) {
        return Ok(SwapOutcome::Done);
    }
    let (mut placed, mut there) = (ours, folder.symlink_metadata(beside)?);
    for number in 0..MAX_TRIES {
        act();
        if exchange(folder, beside, name).is_err() {
            return Ok(SwapOutcome::BothKept);
        }
        let back = folder.symlink_metadata(beside)?;
        if is_same(&back, &placed) {
            let ours = number == 0 && holds(folder, OsStr::new(beside), written);
            return Ok(if ours { SwapOutcome::Changed } else { SwapOutcome::BothKept });
        }
        // Somebody replaced what we had put there. That is newer, and gets the name.
        placed = there;
        there = back;
    }
    Ok(SwapOutcome::BothKept)
}

/// Whether a regular file holds exactly this.
fn holds(folder: &Dir, name: &OsStr, content: &[u8]) -> bool {
    let is_file = folder.symlink_metadata(name).is_ok_and(|found| found.is_file());
    is_file
        && folder.open(name).is_ok_and(|file| {
            let mut bytes = Vec::new();
            let most = content.len() as u64 + 1;
            file.take(most).read_to_end(&mut bytes).is_ok() && bytes == content
        })
}

/// Lets two names change their files, in one step. `ErrorKind::Unsupported` where the system or the
/// file system cannot.
#[cfg(any(target_os = "linux", target_os = "android", target_vendor = "apple"))]
fn exchange(folder: &Dir, one: &str, two: &OsStr) -> io::Result<()> {
    use rustix::{
        fs::{RenameFlags, renameat_with},
        io::Errno,
    };
    renameat_with(folder, one, folder, two, RenameFlags::EXCHANGE).map_err(|error| match error {
        Errno::NOSYS | Errno::INVAL | Errno::NOTSUP => io::ErrorKind::Unsupported.into(),
        error => error.into(),
    })
}

#[cfg(not(any(target_os = "linux", target_os = "android", target_vendor = "apple")))]
fn exchange(_: &Dir, _: &str, _: &OsStr) -> io::Result<()> {
    Err(io::ErrorKind::Unsupported.into())
}

#[cfg(unix)]
fn is_same(one: &Metadata, two: &Metadata) -> bool {
    use cap_std::fs::MetadataExt as _;
    (one.dev(), one.ino()) == (two.dev(), two.ino())
}

#[cfg(not(unix))]
fn is_same(_: &Metadata, _: &Metadata) -> bool {
    true
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]
mod tests {
    use std::{fs, path::PathBuf};

    use cap_std::ambient_authority;

    use super::*;

    /// What somebody else does.
    #[derive(Clone, Copy, PartialEq, Eq, Debug)]
    enum Act {
        Nothing,
        Replace,
        Append,
        Remove,
    }

    const ACTS: [Act; 4] = [Act::Nothing, Act::Replace, Act::Append, Act::Remove];

    fn act(root: &std::path::Path, act: Act, number: usize) {
        let file = root.join("file");
        match act {
            Act::Nothing => {}
            Act::Replace => {
                fs::write(root.join("theirs"), format!("theirs {number}")).unwrap();
                fs::rename(root.join("theirs"), &file).unwrap();
            }
            Act::Append => {
                if let Ok(old) = fs::read_to_string(&file) {
                    fs::write(&file, format!("{old} and {number}")).unwrap();
                }
            }
            Act::Remove => drop(fs::remove_file(&file)),
        }
    }

    #[test]
    fn a_file_that_changed_since_it_was_read_is_not_overwritten() {
        let root = std::env::temp_dir().join(format!("foxwedge-swap-{}", std::process::id()));
        for (first, second) in ACTS.iter().flat_map(|one| ACTS.iter().map(move |two| (*one, *two)))
        {
            fs::create_dir_all(&root).unwrap();
            fs::write(root.join("file"), "old").unwrap();
            fs::write(root.join("beside"), "new").unwrap();
            let folder = Dir::open_ambient_dir(&root, ambient_authority()).unwrap();
            let mut number = 0;
            let mut acting = || {
                number += 1;
                act(
                    &root,
                    [first, second].get(number - 1).copied().unwrap_or(Act::Nothing),
                    number,
                );
            };
            let done = swap(&folder, "beside", OsStr::new("file"), (b"old", b"new"), &mut acting);
            let read = |name: &str| fs::read_to_string(PathBuf::from(&root).join(name)).ok();
            let (file, beside) = (read("file"), read("beside"));
            let what = format!("{first:?}, {second:?}: {done:?}, {file:?}, {beside:?}");
            match done {
                Ok(SwapOutcome::Done) => {
                    assert_eq!((first, file.as_deref()), (Act::Nothing, Some("new")), "{what}");
                    assert_eq!(beside.as_deref(), Some("old"), "{what}");
                }
                Ok(SwapOutcome::Changed) => {
                    assert_ne!(first, Act::Nothing, "{what}");
                    assert!(file.is_some_and(|file| !file.contains("new")), "{what}");
                    assert_eq!(beside.as_deref(), Some("new"), "{what}");
                }
                Ok(SwapOutcome::BothKept) => {
                    assert!(beside.is_some_and(|it| it != "new"), "{what}")
                }
                Err(_) => {
                    assert_eq!((first, beside.as_deref()), (Act::Remove, Some("new")), "{what}")
                }
            }
            fs::remove_dir_all(&root).unwrap();
        }
    }
}
