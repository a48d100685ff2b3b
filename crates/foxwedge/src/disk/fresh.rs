//! A file on its way: written beside the one it replaces, under a name that says whose it is.
//!
//! The name is `.NAME.foxwedge-PID.tmp`, or `.old` for a second name of the file that goes. Nothing
//! else is ever removed.

use std::{
    collections::HashMap,
    fs::{self, File, OpenOptions},
    io,
    path::{Path, PathBuf},
    sync::{Mutex, PoisonError},
};

use super::{process, state};

/// A file on its way; goes away again unless it was put in place.
pub(super) struct Fresh {
    pub(super) file: File,
    path: PathBuf,
    placed: bool,
}

/// Who may read a fresh file before it is in its place.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Privacy {
    Owner,
    Usual,
}

impl Fresh {
    /// Opens one beside a path, and takes away what dead processes left there for that path.
    pub(super) fn beside(path: &Path, privacy: Privacy) -> io::Result<Fresh> {
        sweep_beside(path);
        let fresh = ours(path, END);
        // What an interrupted process of the same number left behind.
        let _ = fs::remove_file(&fresh);
        let mut options = OpenOptions::new();
        options.write(true).create_new(true);
        #[cfg(unix)]
        if privacy == Privacy::Owner {
            std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
        }
        #[cfg(not(unix))]
        let _ = privacy;
        Ok(Fresh { file: options.open(&fresh)?, path: fresh, placed: false })
    }

    /// Puts it in its place, in one step.
    pub(super) fn place(mut self, path: &Path) -> io::Result<()> {
        fs::rename(&self.path, path)?;
        self.placed = true;
        state::sync_folder(folder(path));
        Ok(())
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// The same file, open for reading.
    pub(super) fn reader(&self) -> io::Result<File> {
        File::open(&self.path)
    }

    /// A second name of the file that is about to be replaced, where the file system has that.
    pub(super) fn spare(&self, path: &Path) -> Option<Spare> {
        let spare = ours(path, OLD);
        let _ = fs::remove_file(&spare);
        fs::hard_link(path, &spare).ok()?;
        Some(Spare(spare))
    }
}

/// A second name of a file; goes away again unless it becomes the only one.
pub(super) struct Spare(PathBuf);

impl Spare {
    /// Puts the file in its place again.
    pub(super) fn place(self, path: &Path) -> io::Result<()> {
        fs::rename(&self.0, path)?;
        state::sync_folder(folder(path));
        Ok(())
    }
}

impl Drop for Spare {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.0);
    }
}

impl Drop for Fresh {
    fn drop(&mut self) {
        if !self.placed {
            let _ = fs::remove_file(&self.path);
        }
    }
}

/// The folder of a file.
pub(super) fn folder(path: &Path) -> &Path {
    path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

const MARK: &str = ".foxwedge-";
const END: &str = ".tmp";
const OLD: &str = ".old";
/// Bytes of a name that are kept: file systems take 255, and ours has more in it.
const NAME: usize = 200;

/// A name of ours for a file beside another.
fn ours(path: &Path, end: &str) -> PathBuf {
    let (name, process) = (short_name(path), std::process::id());
    folder(path).join(format!(".{name}{MARK}{process}{end}"))
}

fn short_name(path: &Path) -> String {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let end = (0..=name.len().min(NAME)).rev().find(|&at| name.is_char_boundary(at)).unwrap_or(0);
    name.get(..end).unwrap_or(&name).to_owned()
}

/// What was left behind, by folder and name. Each folder is read once, however many of its files
/// are repaired.
type Left = HashMap<PathBuf, HashMap<String, Vec<(u32, PathBuf)>>>;
static LEFT: Mutex<Option<Left>> = Mutex::new(None);

/// Removes what dead processes left beside a file.
pub(super) fn sweep_beside(path: &Path) {
    let (folder, name) = (folder(path), short_name(path));
    let mut left = LEFT.lock().unwrap_or_else(PoisonError::into_inner);
    let known = left.get_or_insert_default();
    if !known.contains_key(folder) {
        known.insert(folder.to_owned(), leftovers(folder));
    }
    let old = known.get_mut(folder).and_then(|names| names.remove(&name)).unwrap_or_default();
    drop(left);
    for (_, path) in old.into_iter().filter(|(process, path)| is_dead(*process, path)) {
        let _ = fs::remove_file(path);
    }
}

fn leftovers(folder: &Path) -> HashMap<String, Vec<(u32, PathBuf)>> {
    let mut found: HashMap<String, Vec<(u32, PathBuf)>> = HashMap::new();
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        if let Some((name, process)) = entry.file_name().to_str().and_then(parse)
            && entry.file_type().is_ok_and(|kind| kind.is_file())
        {
            found.entry(name.to_owned()).or_default().push((process, entry.path()));
        }
    }
    found
}

/// The name and the process in the name of a fresh file.
fn parse(file_name: &str) -> Option<(&str, u32)> {
    let ours = file_name.strip_prefix('.')?;
    let ours = ours.strip_suffix(END).or_else(|| ours.strip_suffix(OLD))?;
    let (name, process) = ours.rsplit_once(MARK)?;
    let process = process.parse::<u32>().ok().filter(|number| number.to_string() == process)?;
    (!name.is_empty()).then_some((name, process))
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

    /// A file in a folder of its own, which goes away with it.
    pub(crate) struct Kept(PathBuf);

    impl Kept {
        pub(crate) fn new(name: &str, content: &str) -> Kept {
            let folder =
                std::env::temp_dir().join(format!("foxwedge-{name}-{}", std::process::id()));
            fs::create_dir_all(&folder).unwrap();
            fs::write(folder.join("x.json"), content).unwrap();
            Kept(folder)
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

    impl Drop for Kept {
        fn drop(&mut self) {
            let _ = fs::remove_dir_all(&self.0);
        }
    }

    #[test]
    fn only_our_own_names_are_recognised() {
        let table = [
            (".a.json.foxwedge-12.tmp", Some(("a.json", 12))),
            (".a.json.foxwedge-12.old", Some(("a.json", 12))),
            (".a.foxwedge-1.tmp.foxwedge-2.tmp", Some(("a.foxwedge-1.tmp", 2))),
            ("a.json.foxwedge-12.tmp", None),
            (".a.json.foxwedge-12.tmp.bak", None),
            (".a.json.foxwedge-.tmp", None),
            (".a.json.foxwedge-012.tmp", None),
            (".a.json.foxwedge-1x.tmp", None),
            ("..foxwedge-12.tmp", None),
        ];
        for (file_name, expected) in table {
            assert_eq!(parse(file_name), expected, "{file_name}");
        }
    }

    #[test]
    fn long_names_leave_room_for_ours() {
        let name = short_name(Path::new(&format!("x/{}", "中".repeat(80))));
        assert_eq!(name, "中".repeat(66));
        assert_eq!(short_name(Path::new("x/a.json")), "a.json");
    }
}
