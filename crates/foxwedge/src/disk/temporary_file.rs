//! A file on its way: written beside the one it replaces, under a name that says whose it is.
//!
//! The name is `.NAME.foxwedge-PID.tmp`, and what it stands for is ours alone. Just before it changes
//! places with another file it is renamed to `.NAME.foxwedge-PID.old`: from then on it may be
//! somebody else's. What dead processes left under the first name is removed, under the second only
//! if it is in a backup or was made by us.

use std::{
    collections::HashMap,
    fs::{self, File, OpenOptions},
    io,
    path::{Path, PathBuf},
    sync::{Mutex, PoisonError},
};

use super::{
    backup::BackupFolder, displaced_file::DisplacedFile, fingerprint::ContentFingerprint, ops,
    process, snapshot::is_same, state_folder,
};

/// A file on its way; goes away again unless it was put in place.
pub(super) struct TemporaryFile {
    pub(super) file: File,
    path: PathBuf,
    placed: bool,
}

/// Who may read a fresh file before it is in its place.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum FilePrivacy {
    Owner,
    Inherited,
}

impl TemporaryFile {
    /// Opens one beside a path, and takes away what dead processes left in that folder.
    pub(super) fn beside(path: &Path, privacy: FilePrivacy) -> io::Result<TemporaryFile> {
        sweep_folder(parent_folder(path));
        let fresh = temporary_name(path, "", END);
        // What an interrupted process of the same number left behind.
        let _ = fs::remove_file(&fresh);
        let mut options = OpenOptions::new();
        options.write(true).create_new(true);
        #[cfg(unix)]
        if privacy == FilePrivacy::Owner {
            std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
        }
        #[cfg(not(unix))]
        let _ = privacy;
        Ok(TemporaryFile { file: ops::open_with(&options, &fresh)?, path: fresh, placed: false })
    }

    /// Puts it in its place, in one step, whatever is there.
    pub(super) fn place(self, path: &Path) -> io::Result<()> {
        self.rename_to(path, ops::rename)
    }

    /// Puts it in its place, in one step, if nothing is there.
    pub(super) fn place_new(self, path: &Path) -> io::Result<()> {
        self.rename_to(path, ops::rename_new)
    }

    /// Gives it the name under which it changes places with a file.
    pub(super) fn set_aside(self, path: &Path) -> io::Result<DisplacedFile> {
        let aside = free_name(path);
        self.rename_to(&aside, ops::rename_new)?;
        Ok(DisplacedFile::new(aside))
    }

    fn rename_to(
        mut self,
        path: &Path,
        rename: fn(&Path, &Path) -> io::Result<()>,
    ) -> io::Result<()> {
        rename(&self.path, path)?;
        self.placed = true;
        state_folder::sync_folder(parent_folder(path));
        Ok(())
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// The same file, open for reading.
    pub(super) fn reader(&self) -> io::Result<File> {
        ops::open(&self.path)
    }
}

impl Drop for TemporaryFile {
    fn drop(&mut self) {
        if !self.placed {
            let _ = ops::remove(&self.path);
        }
    }
}

/// The folder of a file.
pub(super) fn parent_folder(path: &Path) -> &Path {
    path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

const MARK: &str = ".foxwedge-";
const END: &str = ".tmp";
const OLD: &str = ".old";
/// Bytes of a name that are kept: file systems take 255, and ours has more in it.
const NAME: usize = 200;

/// A name of ours for a file beside another.
fn temporary_name(path: &Path, number: &str, end: &str) -> PathBuf {
    let (name, process) = (short_name(path), std::process::id());
    parent_folder(path).join(format!(".{name}{MARK}{process}{number}{end}"))
}

/// A name beside a file that nothing has, for what may be somebody else's.
pub(super) fn free_name(path: &Path) -> PathBuf {
    let first = temporary_name(path, "", OLD);
    let others = (1..u32::MAX).map(|number| temporary_name(path, &format!("-{number}"), OLD));
    let is_free = |name: &PathBuf| fs::symlink_metadata(name).is_err();
    std::iter::once(first.clone()).chain(others).find(is_free).unwrap_or(first)
}

fn short_name(path: &Path) -> String {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let end = (0..=name.len().min(NAME)).rev().find(|&at| name.is_char_boundary(at)).unwrap_or(0);
    name.get(..end).unwrap_or(&name).to_owned()
}

/// Folders that were looked at: each is read once, however many of its files are repaired.
static SWEPT: Mutex<Option<HashMap<PathBuf, LeftoverFiles>>> = Mutex::new(None);

/// What dead processes left aside in a folder, by the name of the file they worked on.
type LeftoverFiles = HashMap<String, Vec<PathBuf>>;

/// Removes the unfinished files that dead processes left in a folder.
pub(crate) fn sweep_folder(folder: &Path) {
    let folder = if folder.as_os_str().is_empty() { Path::new(".") } else { folder };
    let mut swept = SWEPT.lock().unwrap_or_else(PoisonError::into_inner);
    let known = swept.get_or_insert_default();
    if !known.contains_key(folder) {
        known.insert(folder.to_owned(), sweep_now(folder));
    }
}

fn sweep_now(folder: &Path) -> LeftoverFiles {
    let mut found = LeftoverFiles::new();
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let Some(leftover) = entry.file_name().to_str().and_then(parse_leftover) else { continue };
        let path = entry.path();
        if !is_dead(leftover.process, &path) {
            continue;
        }
        match leftover.end {
            // It may be anything.
            OLD => found.entry(leftover.name).or_default().push(path),
            _ if entry.file_type().is_ok_and(|kind| kind.is_file()) => {
                let _ = fs::remove_file(path);
            }
            _ => {}
        }
    }
    found
}

/// Removes what dead processes left aside when they replaced a file, if it is in a backup or was
/// made by us. Returns what has to stay. The file is claimed.
pub(super) fn sweep_aside(path: &Path) -> Vec<PathBuf> {
    sweep_folder(parent_folder(path));
    let mut swept = SWEPT.lock().unwrap_or_else(PoisonError::into_inner);
    let known = swept.get_or_insert_default();
    let left = known.get_mut(parent_folder(path)).and_then(|names| names.remove(&short_name(path)));
    drop(swept);
    match (left, BackupFolder::locate()) {
        (Some(left), Ok(backups)) => remove_known(path, left, &backups),
        (left, _) => left.unwrap_or_default(),
    }
}

/// Removes what needs no other copy, and returns the rest.
fn remove_known(path: &Path, left: Vec<PathBuf>, backups: &BackupFolder) -> Vec<PathBuf> {
    let mut backups = backups.list().unwrap_or_default();
    backups.retain(|backup| Path::new(&backup.manifest.path) == path);
    let is_known = |aside: &PathBuf| {
        let Some(named) = fs::symlink_metadata(aside).ok().filter(fs::Metadata::is_file) else {
            return false;
        };
        // A second name of the file itself.
        cfg!(unix) && fs::symlink_metadata(path).is_ok_and(|file| is_same(&named, &file))
            || ContentFingerprint::of_file(aside)
                .is_ok_and(|content| backups.iter().any(|backup| backup.covers(&content)))
    };
    let (known, strange): (Vec<_>, Vec<_>) = left.into_iter().partition(is_known);
    known.iter().for_each(|aside| drop(fs::remove_file(aside)));
    strange.into_iter().filter(|aside| fs::symlink_metadata(aside).is_ok()).collect()
}

/// What the name of a file of ours says.
#[derive(PartialEq, Eq, Debug)]
struct LeftoverName {
    /// The file it was made for.
    name: String,
    process: u32,
    end: &'static str,
}

fn parse_leftover(file_name: &str) -> Option<LeftoverName> {
    let ours = file_name.strip_prefix('.')?;
    let (ours, end) = [END, OLD].iter().find_map(|end| Some((ours.strip_suffix(end)?, *end)))?;
    let (name, process) = ours.rsplit_once(MARK)?;
    let process = match process.split_once('-') {
        Some((process, number)) if end == OLD && number.parse::<u32>().is_ok() => process,
        Some(_) => return None,
        None => process,
    };
    let process = process.parse::<u32>().ok().filter(|number| number.to_string() == process)?;
    (!name.is_empty()).then(|| LeftoverName { name: name.to_owned(), process, end })
}

/// Whether a process is gone. Where that cannot be seen, a day without a write has to do.
pub(super) fn is_dead(process: u32, path: &Path) -> bool {
    const DAY: u64 = 86400;
    if let Some(alive) = process::is_alive(process) {
        return !alive;
    }
    let age = fs::metadata(path).and_then(|metadata| metadata.modified()).ok();
    age.and_then(|modified| modified.elapsed().ok()).is_some_and(|age| age.as_secs() > DAY)
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]
pub(super) mod tests {
    use super::*;

    /// What the next process does first, if this one is dead.
    pub(crate) fn sweep_as_next(path: &Path, backups: &BackupFolder) -> Vec<PathBuf> {
        let (ours, dead) = (format!("{MARK}{}", std::process::id()), format!("{MARK}{}", u32::MAX));
        for entry in fs::read_dir(parent_folder(path)).unwrap().flatten() {
            let name = entry.file_name().into_string().unwrap();
            if name.contains(&ours) {
                let dead = entry.path().with_file_name(name.replace(&ours, &dead));
                fs::rename(entry.path(), dead).unwrap();
            }
        }
        let left = sweep_now(parent_folder(path)).remove(&short_name(path)).unwrap_or_default();
        remove_known(path, left, backups)
    }

    /// A file in a folder of its own, which goes away with it.
    pub(crate) struct ScratchFile(PathBuf);

    impl ScratchFile {
        pub(crate) fn new(name: &str, content: &str) -> ScratchFile {
            let folder =
                std::env::temp_dir().join(format!("foxwedge-{name}-{}", std::process::id()));
            fs::create_dir_all(&folder).unwrap();
            fs::write(folder.join("x.json"), content).unwrap();
            ScratchFile(folder)
        }

        pub(crate) fn file(&self) -> PathBuf {
            self.0.join("x.json")
        }

        /// The content of the file, and how many files there are.
        pub(crate) fn holds(&self) -> (String, usize) {
            let content = fs::read_to_string(self.file()).unwrap();
            (content, fs::read_dir(&self.0).unwrap().count())
        }
    }

    impl Drop for ScratchFile {
        fn drop(&mut self) {
            let _ = fs::remove_dir_all(&self.0);
        }
    }

    #[test]
    fn only_our_own_names_are_recognised() {
        let table = [
            (".a.json.foxwedge-12.tmp", Some(("a.json", 12, END))),
            (".a.json.foxwedge-12.old", Some(("a.json", 12, OLD))),
            (".a.json.foxwedge-12-3.old", Some(("a.json", 12, OLD))),
            (".a.foxwedge-1.tmp.foxwedge-2.tmp", Some(("a.foxwedge-1.tmp", 2, END))),
            (".a.json.foxwedge-12-3.tmp", None),
            (".a.json.foxwedge-12-x.old", None),
            ("a.json.foxwedge-12.tmp", None),
            (".a.json.foxwedge-12.tmp.bak", None),
            (".a.json.foxwedge-.tmp", None),
            (".a.json.foxwedge-012.tmp", None),
            (".a.json.foxwedge-1x.tmp", None),
            ("..foxwedge-12.tmp", None),
        ];
        for (file_name, expected) in table {
            let expected = expected.map(|(name, process, end)| LeftoverName {
                name: name.to_owned(),
                process,
                end,
            });
            assert_eq!(parse_leftover(file_name), expected, "{file_name}");
        }
    }

    #[test]
    fn long_names_leave_room_for_ours() {
        let name = short_name(Path::new(&format!("x/{}", "中".repeat(80))));
        assert_eq!(name, "中".repeat(66));
        assert_eq!(short_name(Path::new("x/a.json")), "a.json");
    }
}
