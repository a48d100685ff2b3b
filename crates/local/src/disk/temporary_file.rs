//! Temporary files next to the file that they replace, and the removal of leftover ones.
//!
//! A file named `.NAME.foxwedge-PID.tmp` is always ours. Just before it is swapped with another
//! file, it is renamed to `.NAME.foxwedge-PID.old`: from then on it may be another process's file.
//! Leftover `.tmp` files of dead processes are removed. Leftover `.old` files are removed only if
//! their content is in a backup or was written by us.

use std::{
    collections::HashMap,
    fs::{self, File, OpenOptions},
    io,
    path::{Path, PathBuf},
    sync::{Mutex, PoisonError},
};

use super::{
    backup::BackupFolder, displaced_file::DisplacedFile, fingerprint::ContentFingerprint, ops,
    private_files, process, snapshot::is_same,
};
use crate::user_folders::UserFolders;

/// A temporary file. Dropping it removes it unless it was placed.
pub(super) struct TemporaryFile {
    pub(super) file: File,
    path: PathBuf,
    placed: bool,
}

/// Who may read a temporary file.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum FilePrivacy {
    Owner,
    Inherited,
}

impl TemporaryFile {
    /// Creates a temporary file next to a path, and removes leftovers of dead processes there.
    pub(super) fn beside(path: &Path, privacy: FilePrivacy) -> io::Result<TemporaryFile> {
        sweep_folder(parent_folder(path));
        let temporary_path = temporary_name(path, "", END);
        // A leftover of an interrupted process with the same id.
        let _ = fs::remove_file(&temporary_path);
        let mut options = OpenOptions::new();
        options.write(true).create_new(true);
        #[cfg(unix)]
        if privacy == FilePrivacy::Owner {
            std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
        }
        #[cfg(not(unix))]
        let _ = privacy;
        let file = ops::open_with(&options, &temporary_path)?;
        Ok(TemporaryFile { file, path: temporary_path, placed: false })
    }

    /// Renames it to its final path and replaces an existing file.
    pub(super) fn place(self, path: &Path) -> io::Result<()> {
        self.rename_to(path, ops::rename)
    }

    /// Renames it to its final path. Fails if that exists.
    pub(super) fn place_new(self, path: &Path) -> io::Result<()> {
        self.rename_to(path, ops::rename_new)
    }

    /// Renames it to the `.old` name under which it is swapped with a file.
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
        private_files::sync_folder(parent_folder(path));
        Ok(())
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// Opens the same file for reading.
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

pub(super) fn parent_folder(path: &Path) -> &Path {
    path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

const MARK: &str = ".foxwedge-";
const END: &str = ".tmp";
const OLD: &str = ".old";
/// Bytes of the original name that are kept. File systems allow 255, and our suffix needs some.
const MAX_NAME_BYTES: usize = 200;

/// The name of a temporary file next to a file.
fn temporary_name(path: &Path, number: &str, end: &str) -> PathBuf {
    let (name, process) = (short_name(path), std::process::id());
    parent_folder(path).join(format!(".{name}{MARK}{process}{number}{end}"))
}

/// An unused `.old` name next to a file.
pub(super) fn free_name(path: &Path) -> PathBuf {
    let first = temporary_name(path, "", OLD);
    let others = (1..u32::MAX).map(|number| temporary_name(path, &format!("-{number}"), OLD));
    let is_free = |name: &PathBuf| fs::symlink_metadata(name).is_err();
    std::iter::once(first.clone()).chain(others).find(is_free).unwrap_or(first)
}

fn short_name(path: &Path) -> String {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let max = name.len().min(MAX_NAME_BYTES);
    let end = (0..=max).rev().find(|&at| name.is_char_boundary(at)).unwrap_or(0);
    name.get(..end).unwrap_or(&name).to_owned()
}

/// Folders that were swept. Each is read once, however many of its files are repaired.
static SWEPT: Mutex<Option<HashMap<PathBuf, LeftoverFiles>>> = Mutex::new(None);

/// Leftover `.old` files of dead processes in a folder, by the name of the replaced file.
type LeftoverFiles = HashMap<String, Vec<PathBuf>>;

/// Removes the `.tmp` files that dead processes left in a folder.
pub fn sweep_folder(folder: &Path) {
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
            // It may have content that exists nowhere else.
            OLD => found.entry(leftover.name).or_default().push(path),
            _ if entry.file_type().is_ok_and(|kind| kind.is_file()) => {
                let _ = fs::remove_file(path);
            }
            _ => {}
        }
    }
    found
}

/// Removes `.old` files that dead processes left next to a file, if their content is in a backup or
/// was written by us. Returns the others. The caller holds the lock of the file.
pub(super) fn sweep_aside(folders: &UserFolders, path: &Path) -> Vec<PathBuf> {
    sweep_folder(parent_folder(path));
    let mut swept = SWEPT.lock().unwrap_or_else(PoisonError::into_inner);
    let known = swept.get_or_insert_default();
    let left = known.get_mut(parent_folder(path)).and_then(|names| names.remove(&short_name(path)));
    drop(swept);
    match (left, BackupFolder::locate(folders)) {
        (Some(left), Ok(backups)) => remove_known(path, left, &backups),
        (left, _) => left.unwrap_or_default(),
    }
}

/// Removes leftovers whose content is known, and returns the others.
fn remove_known(path: &Path, left: Vec<PathBuf>, backups: &BackupFolder) -> Vec<PathBuf> {
    let mut backups = backups.list().unwrap_or_default();
    backups.retain(|backup| Path::new(&backup.manifest.path) == path);
    let is_known = |aside: &PathBuf| {
        let Some(named) = fs::symlink_metadata(aside).ok().filter(fs::Metadata::is_file) else {
            return false;
        };
        // A hard link to the file itself.
        cfg!(unix) && fs::symlink_metadata(path).is_ok_and(|file| is_same(&named, &file))
            || ContentFingerprint::of_file(aside)
                .is_ok_and(|content| backups.iter().any(|backup| backup.covers(&content)))
    };
    let (known, unknown): (Vec<_>, Vec<_>) = left.into_iter().partition(is_known);
    known.iter().for_each(|aside| drop(fs::remove_file(aside)));
    unknown.into_iter().filter(|aside| fs::symlink_metadata(aside).is_ok()).collect()
}

/// The parts of a temporary file's name.
#[derive(PartialEq, Eq, Debug)]
struct LeftoverName {
    /// The name of the file it was made for.
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

/// Whether a process has ended. If that is unknown, a file unchanged for a day counts as left.
pub(super) fn is_dead(process: u32, path: &Path) -> bool {
    const DAY: u64 = 86400;
    if let Some(alive) = process::is_alive(process) {
        return !alive;
    }
    let modified = fs::metadata(path).and_then(|metadata| metadata.modified()).ok();
    modified.and_then(|modified| modified.elapsed().ok()).is_some_and(|age| age.as_secs() > DAY)
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]
pub(super) mod tests {
    use super::*;

    /// Sweeps as the next process would if this one were dead.
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

    /// A file in its own folder. Dropping it removes the folder.
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

        /// The content of the file, and the number of files in the folder.
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
    fn only_our_own_names_are_recognized() {
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
    fn long_names_are_cut_to_leave_room_for_the_suffix() {
        let name = short_name(Path::new(&format!("x/{}", "中".repeat(80))));
        assert_eq!(name, "中".repeat(66));
        assert_eq!(short_name(Path::new("x/a.json")), "a.json");
    }
}
