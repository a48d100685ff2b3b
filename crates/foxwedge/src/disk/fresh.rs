//! A file on its way: written beside the one it replaces, under a name that says whose it is.
//!
//! The name is `.NAME.foxwedge-PID.tmp`. Nothing else is ever removed.

use std::{
    collections::HashMap,
    fs::{self, File, OpenOptions},
    io,
    path::{Path, PathBuf},
    process,
    sync::{Mutex, PoisonError},
};

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
        let (folder, name) = (folder(path), short_name(path));
        sweep(folder, &name);
        let fresh = folder.join(format!(".{name}{MARK}{}{END}", process::id()));
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
        // Makes the new name last. Some file systems cannot; the file itself is safe already.
        if let Ok(folder) = File::open(folder(path)) {
            let _ = folder.sync_all();
        }
        Ok(())
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
/// Bytes of a name that are kept: file systems take 255, and ours has more in it.
const NAME: usize = 200;

fn short_name(path: &Path) -> String {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let end = (0..=name.len().min(NAME)).rev().find(|&at| name.is_char_boundary(at)).unwrap_or(0);
    name.get(..end).unwrap_or(&name).to_owned()
}

/// What was left behind, by folder and name. Each folder is read once, however many of its files
/// are repaired.
type Left = HashMap<PathBuf, HashMap<String, Vec<(u32, PathBuf)>>>;
static LEFT: Mutex<Option<Left>> = Mutex::new(None);

/// Removes what dead processes left behind for a name.
fn sweep(folder: &Path, name: &str) {
    let mut left = LEFT.lock().unwrap_or_else(PoisonError::into_inner);
    let known = left.get_or_insert_default();
    if !known.contains_key(folder) {
        known.insert(folder.to_owned(), leftovers(folder));
    }
    let old = known.get_mut(folder).and_then(|names| names.remove(name)).unwrap_or_default();
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
    let (name, process) = file_name.strip_prefix('.')?.strip_suffix(END)?.rsplit_once(MARK)?;
    let process = process.parse::<u32>().ok().filter(|number| number.to_string() == process)?;
    (!name.is_empty()).then_some((name, process))
}

/// Whether a process is gone. Where that cannot be seen, a day without a write has to do.
fn is_dead(process: u32, path: &Path) -> bool {
    const DAY: u64 = 86400;
    if Path::new("/proc/self").exists() {
        return !Path::new("/proc").join(process.to_string()).exists();
    }
    let age = fs::metadata(path).and_then(|metadata| metadata.modified()).ok();
    age.and_then(|modified| modified.elapsed().ok()).is_some_and(|age| age.as_secs() > DAY)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_our_own_names_are_recognised() {
        let table = [
            (".a.json.foxwedge-12.tmp", Some(("a.json", 12))),
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
