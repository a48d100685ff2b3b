//! Replaces a file that was read, if its content is still the same.
//!
//! The two files are exchanged, so the replaced one is at hand. If another process changed or
//! replaced the file meanwhile, its version is put back.

use std::{
    ffi::OsStr,
    io::{self, Read as _},
};

use cap_std::fs::{Dir, Metadata};

/// Result of a swap.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum SwapOutcome {
    /// The new file is in place, and the replaced content was the one that was read.
    Done,
    /// Another process had changed the file. Its version is in place, ours is the sibling.
    Changed,
    /// Several processes changed it at once. The last version has the name, another one is the
    /// sibling.
    BothKept,
}

/// Maximum number of tries. Each needs another process that replaces the file at that very moment.
const MAX_TRIES: usize = 16;

/// Puts the file `sibling`, which we wrote, in the place of `name`, which was read. Afterwards the
/// caller deletes `sibling`, unless both were kept.
pub(crate) fn swap(
    folder: &Dir,
    sibling: &str,
    name: &OsStr,
    (read, written): (&[u8], &[u8]),
    before_exchange: &mut dyn FnMut(),
) -> io::Result<SwapOutcome> {
    let ours = folder.symlink_metadata(sibling)?;
    before_exchange();
    match exchange(folder, sibling, name) {
        // Check once more, then rename. A change in between is not detected.
        Err(error) if error.kind() == io::ErrorKind::Unsupported => {
            return match holds(folder, name, read) {
                true => folder.rename(sibling, folder, name).map(|()| SwapOutcome::Done),
                false => Ok(SwapOutcome::Changed),
            };
        }
        result => result?,
    }
    if holds(folder, OsStr::new(sibling), read) {
        return Ok(SwapOutcome::Done);
    }
    let (mut placed, mut returned) = (ours, folder.symlink_metadata(sibling)?);
    for number in 0..MAX_TRIES {
        before_exchange();
        if exchange(folder, sibling, name).is_err() {
            return Ok(SwapOutcome::BothKept);
        }
        let current = folder.symlink_metadata(sibling)?;
        if is_same(&current, &placed) {
            let ours = number == 0 && holds(folder, OsStr::new(sibling), written);
            return Ok(if ours { SwapOutcome::Changed } else { SwapOutcome::BothKept });
        }
        // Another process replaced the file that we put there. Its version is newer and gets the
        // name.
        placed = returned;
        returned = current;
    }
    Ok(SwapOutcome::BothKept)
}

/// Whether a regular file has exactly this content.
fn holds(folder: &Dir, name: &OsStr, content: &[u8]) -> bool {
    let is_file = folder.symlink_metadata(name).is_ok_and(|found| found.is_file());
    is_file
        && folder.open(name).is_ok_and(|file| {
            let mut bytes = Vec::new();
            let max = content.len() as u64 + 1;
            file.take(max).read_to_end(&mut bytes).is_ok() && bytes == content
        })
}

/// Exchanges two files atomically. Returns `ErrorKind::Unsupported` where the system or the file
/// system cannot.
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

    /// What another process does.
    #[derive(Clone, Copy, PartialEq, Eq, Debug)]
    enum OtherAction {
        Nothing,
        Replace,
        Append,
        Remove,
    }

    const OTHER_ACTIONS: [OtherAction; 4] =
        [OtherAction::Nothing, OtherAction::Replace, OtherAction::Append, OtherAction::Remove];

    fn perform(root: &std::path::Path, action: OtherAction, number: usize) {
        let file = root.join("file");
        match action {
            OtherAction::Nothing => {}
            OtherAction::Replace => {
                fs::write(root.join("theirs"), format!("theirs {number}")).unwrap();
                fs::rename(root.join("theirs"), &file).unwrap();
            }
            OtherAction::Append => {
                if let Ok(old) = fs::read_to_string(&file) {
                    fs::write(&file, format!("{old} and {number}")).unwrap();
                }
            }
            OtherAction::Remove => drop(fs::remove_file(&file)),
        }
    }

    #[test]
    fn a_file_that_changed_since_it_was_read_is_not_overwritten() {
        let root = std::env::temp_dir().join(format!("foxwedge-swap-{}", std::process::id()));
        for (first, second) in
            OTHER_ACTIONS.iter().flat_map(|one| OTHER_ACTIONS.iter().map(move |two| (*one, *two)))
        {
            fs::create_dir_all(&root).unwrap();
            fs::write(root.join("file"), "old").unwrap();
            fs::write(root.join("beside"), "new").unwrap();
            let folder = Dir::open_ambient_dir(&root, ambient_authority()).unwrap();
            let mut number = 0;
            let mut interfere = || {
                number += 1;
                perform(
                    &root,
                    [first, second].get(number - 1).copied().unwrap_or(OtherAction::Nothing),
                    number,
                );
            };
            let result =
                swap(&folder, "beside", OsStr::new("file"), (b"old", b"new"), &mut interfere);
            let read = |name: &str| fs::read_to_string(PathBuf::from(&root).join(name)).ok();
            let (file, sibling) = (read("file"), read("beside"));
            let what = format!("{first:?}, {second:?}: {result:?}, {file:?}, {sibling:?}");
            match result {
                Ok(SwapOutcome::Done) => {
                    assert_eq!(
                        (first, file.as_deref()),
                        (OtherAction::Nothing, Some("new")),
                        "{what}"
                    );
                    assert_eq!(sibling.as_deref(), Some("old"), "{what}");
                }
                Ok(SwapOutcome::Changed) => {
                    assert_ne!(first, OtherAction::Nothing, "{what}");
                    assert!(file.is_some_and(|file| !file.contains("new")), "{what}");
                    assert_eq!(sibling.as_deref(), Some("new"), "{what}");
                }
                Ok(SwapOutcome::BothKept) => {
                    assert!(sibling.is_some_and(|content| content != "new"), "{what}")
                }
                Err(_) => {
                    assert_eq!(
                        (first, sibling.as_deref()),
                        (OtherAction::Remove, Some("new")),
                        "{what}"
                    )
                }
            }
            fs::remove_dir_all(&root).unwrap();
        }
    }
}
