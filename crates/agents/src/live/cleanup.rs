//! The files of an agent process, and their removal. Every file is first listed in a list file,
//! which its owner keeps locked. If the owner dies, the lock is released, and the next gateway
//! removes what is listed.

use std::{
    fs::{self, File},
    io::{self, Read, Seek as _, SeekFrom, Write as _},
    path::{Path, PathBuf},
    time::Duration,
};

use serde::{Deserialize, Serialize};

/// Prefix of our folder names.
const FOLDER_PREFIX: &str = "foxwedge-agent-";
/// The list file and the working folder inside such a folder.
const LIST_FILE: &str = "list";
const WORK_FOLDER: &str = "work";
/// Maximum size of a list file.
const MAX_LIST_BYTES: u64 = 1 << 20;
/// A folder whose list is empty is abandoned after this time. Before that, its owner may be about
/// to lock it.
const UNFINISHED_GRACE: Duration = Duration::from_secs(600);
/// How often to retry if another process removes a folder at the same moment.
const MAX_CREATE_ATTEMPTS: usize = 16;

/// Files and folders of one agent process. Dropping it removes them.
#[derive(Debug)]
pub(super) struct CleanupJournal {
    /// Removed with everything in it.
    folder: PathBuf,
    list_file: File,
    entries: CleanupList,
}

/// Files and folders outside our own folder.
#[derive(Serialize, Deserialize, Debug, Default)]
struct CleanupList {
    files: Vec<PathBuf>,
    /// Folders created for the files, outermost first; removed if empty.
    around: Vec<PathBuf>,
    /// Files that the agent writes itself: a folder to search, and the session name.
    traces: Option<(PathBuf, String)>,
}

impl CleanupJournal {
    /// Creates an empty journal in the temporary folder.
    ///
    /// # Errors
    /// If its folder cannot be created.
    pub(super) fn new() -> io::Result<CleanupJournal> {
        CleanupJournal::in_folder(&std::env::temp_dir())
    }

    fn in_folder(folder: &Path) -> io::Result<CleanupJournal> {
        let number = getrandom::u64().map_err(io::Error::other)?;
        let own = folder.join(format!("{FOLDER_PREFIX}{number:016x}"));
        create_private_folder(&own)?;
        let entries = CleanupList::default();
        let list = create_private_file(&own.join(LIST_FILE))
            .inspect_err(|_| remove_listed(&own, &entries))?;
        // A concurrent cleanup may hold the lock for a moment.
        list.lock()?;
        let mut journal = CleanupJournal { folder: own, list_file: list, entries };
        journal.write_list()?;
        Ok(journal)
    }

    /// The working folder, with symbolic links resolved: the given one, or a private one.
    ///
    /// # Errors
    /// If it does not exist or cannot be created.
    pub(super) fn work_folder(&mut self, configured: Option<&Path>) -> io::Result<PathBuf> {
        if let Some(configured) = configured {
            return fs::canonicalize(configured);
        }
        let path = self.folder.join(WORK_FOLDER);
        create_private_folder(&path)?;
        fs::canonicalize(path)
    }

    /// Writes a file that only its owner may read. An existing file is not changed.
    ///
    /// # Errors
    /// If the file exists or cannot be written.
    pub(super) fn write(&mut self, path: &Path, text: &str) -> io::Result<()> {
        if path.exists() {
            return Err(io::ErrorKind::AlreadyExists.into());
        }
        self.entries.files.push(path.to_owned());
        let mut attempts = 0;
        let mut file = loop {
            attempts += 1;
            let created = path.parent().map_or(Ok(()), |folder| self.create_folder(folder));
            self.write_list()?;
            match created.and_then(|()| create_private_file(path)) {
                // Another process has removed the folder, because it created it and it was empty.
                Err(error)
                    if error.kind() == io::ErrorKind::NotFound
                        && attempts < MAX_CREATE_ATTEMPTS => {}
                file => break file?,
            }
        };
        file.write_all(text.as_bytes())
    }

    /// Lists the files that the agent writes for a session itself: `NAME.jsonl` and `NAME` in a
    /// subfolder of `folder`.
    ///
    /// # Errors
    /// If the list cannot be written.
    pub(super) fn track_session(&mut self, folder: PathBuf, name: String) -> io::Result<()> {
        self.entries.traces = Some((folder, name));
        self.write_list()
    }

    fn create_folder(&mut self, folder: &Path) -> io::Result<()> {
        if folder.is_dir() {
            return Ok(());
        }
        if let Some(outer) = folder.parent() {
            self.create_folder(outer)?;
        }
        match create_private_folder(folder) {
            Ok(()) => {
                self.entries.around.push(folder.to_owned());
                Ok(())
            }
            // Another process was faster.
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(()),
            Err(error) => Err(error),
        }
    }

    /// Writes the list. This must happen before the listed files are created.
    fn write_list(&mut self) -> io::Result<()> {
        let text = serde_json::to_vec(&self.entries)?;
        self.list_file.set_len(0)?;
        self.list_file.seek(SeekFrom::Start(0))?;
        self.list_file.write_all(&text)
    }
}

impl Drop for CleanupJournal {
    fn drop(&mut self) {
        remove_listed(&self.folder, &self.entries);
    }
}

/// Removes the files of gateways that were killed.
pub(super) fn remove_abandoned() {
    remove_abandoned_in(&std::env::temp_dir());
}

fn remove_abandoned_in(folder: &Path) {
    let Ok(folders) = fs::read_dir(folder) else { return };
    for folder_entry in folders.flatten() {
        if folder_entry.file_name().to_string_lossy().starts_with(FOLDER_PREFIX) {
            // Skips folders that are not ours or still in use.
            drop(open_abandoned(&folder_entry.path()));
        }
    }
}

/// Opens an abandoned folder. The temporary folder is shared, so only folders of this user are
/// accepted.
fn open_abandoned(own: &Path) -> io::Result<CleanupJournal> {
    if !is_ours(own)? {
        return Err(io::ErrorKind::PermissionDenied.into());
    }
    let mut list = File::open(own.join(LIST_FILE))?;
    list.try_lock()?;
    let mut text = String::new();
    Read::take(&mut list, MAX_LIST_BYTES).read_to_string(&mut text)?;
    let age = list.metadata()?.modified()?.elapsed().unwrap_or_default();
    if text.is_empty() && age < UNFINISHED_GRACE {
        return Err(io::ErrorKind::WouldBlock.into());
    }
    let entries = serde_json::from_str(&text).unwrap_or_default();
    Ok(CleanupJournal { folder: own.to_owned(), list_file: list, entries })
}

/// Whether the folder belongs to this user and only this user can write to it.
#[cfg(unix)]
fn is_ours(folder: &Path) -> io::Result<bool> {
    use std::os::unix::fs::MetadataExt as _;
    let metadata = fs::symlink_metadata(folder)?;
    let user = rustix::process::geteuid().as_raw();
    Ok(metadata.is_dir() && metadata.uid() == user && metadata.mode() & 0o077 == 0)
}

#[cfg(not(unix))]
fn is_ours(_: &Path) -> io::Result<bool> {
    Ok(false)
}

/// Removes everything that is listed. Errors are ignored: there is no other way to remove it.
fn remove_listed(own: &Path, entries: &CleanupList) {
    for file in &entries.files {
        let _ = fs::remove_file(file);
    }
    if let Some((folder, name)) = &entries.traces {
        remove_session_traces(folder, name);
    }
    for folder in entries.around.iter().rev() {
        let _ = fs::remove_dir(folder);
    }
    let _ = fs::remove_dir_all(own);
}

/// Removes the session's files that the agent wrote, and folders that become empty.
fn remove_session_traces(folder: &Path, name: &str) {
    let Ok(folders) = fs::read_dir(folder) else { return };
    for folder_entry in folders.flatten() {
        let path = folder_entry.path();
        let file = fs::remove_file(path.join(format!("{name}.jsonl")));
        let more = fs::remove_dir_all(path.join(name));
        if file.is_ok() || more.is_ok() {
            let _ = fs::remove_dir(path);
        }
    }
}

/// Creates a file that only its owner may read.
fn create_private_file(path: &Path) -> io::Result<File> {
    let mut options = fs::OpenOptions::new();
    options.read(true).write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options.open(path)
}

/// Creates a folder that only its owner may enter.
fn create_private_folder(path: &Path) -> io::Result<()> {
    let mut builder = fs::DirBuilder::new();
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(path)
}

#[cfg(all(test, unix))]
mod tests {
    use std::os::unix::fs::PermissionsExt as _;

    use super::*;

    fn mode(path: &Path) -> io::Result<u32> {
        fs::metadata(path).map(|it| it.permissions().mode() & 0o777)
    }

    #[test]
    fn only_created_files_are_removed() -> io::Result<()> {
        let mut outer = CleanupJournal::new()?;
        let base = outer.work_folder(None)?;
        let mut journal = CleanupJournal::in_folder(&base)?;
        let own = journal.work_folder(None)?;
        fs::write(own.join("left"), "by the agent")?;
        journal.write(&base.join("a/b/one.json"), "1")?;
        journal.write(&base.join("a/two.json"), "2")?;
        journal.write(&base.join("c/three.json"), "3")?;
        fs::write(base.join("a/stranger"), "not ours")?;
        assert!(journal.write(&base.join("a/stranger"), "over it").is_err());
        for (place, name) in [("p", "s1"), ("p", "s2"), ("q", "s1")] {
            fs::create_dir_all(base.join("projects").join(place).join(name))?;
            fs::write(base.join("projects").join(place).join(format!("{name}.jsonl")), "{}")?;
        }
        journal.track_session(base.join("projects"), "s1".to_owned())?;
        assert_eq!(mode(&base.join("a/two.json"))?, 0o600);
        assert_eq!((mode(&base.join("a"))?, mode(&own)?), (0o700, 0o700));
        drop(journal);
        assert!(!own.exists() && !base.join("c").exists() && !base.join("a/b").exists());
        assert_eq!(fs::read_to_string(base.join("a/stranger"))?, "not ours");
        let left = base.join("projects/p");
        assert!(left.join("s2.jsonl").exists() && left.join("s2").exists());
        assert!(!left.join("s1.jsonl").exists() && !left.join("s1").exists());
        assert!(!base.join("projects/q").exists());
        drop(outer);
        assert!(!base.exists());
        Ok(())
    }

    #[test]
    fn abandoned_files_are_removed_and_locked_ones_stay() -> io::Result<()> {
        let mut outer = CleanupJournal::new()?;
        let base = outer.work_folder(None)?;
        let mut locked = CleanupJournal::in_folder(&base)?;
        locked.write(&base.join("x/kept.json"), "1")?;
        let mut abandoned = CleanupJournal::in_folder(&base)?;
        abandoned.write(&base.join("y/left.json"), "1")?;
        let own = abandoned.folder.clone();
        // Simulates a killed process: only the lock is released.
        abandoned.list_file.unlock()?;
        std::mem::forget(abandoned);
        let strange = base.join(format!("{FOLDER_PREFIX}strange"));
        fs::create_dir(&strange)?;
        fs::set_permissions(&strange, fs::Permissions::from_mode(0o755))?;
        fs::write(
            strange.join(LIST_FILE),
            format!(r#"{{"files":[{:?}],"around":[]}}"#, base.join("z")),
        )?;
        fs::write(base.join("z"), "not ours")?;
        remove_abandoned_in(&base);
        assert!(base.join("x/kept.json").exists());
        assert!(!base.join("y").exists() && !own.exists());
        assert!(base.join("z").exists() && strange.exists());
        drop(locked);
        assert!(!base.join("x").exists());
        Ok(())
    }

    #[test]
    fn folders_under_construction_are_not_removed() -> io::Result<()> {
        let mut outer = CleanupJournal::new()?;
        let base = outer.work_folder(None)?;
        // Created, but not locked yet.
        let young = base.join(format!("{FOLDER_PREFIX}young"));
        create_private_folder(&young)?;
        create_private_file(&young.join(LIST_FILE))?;
        remove_abandoned_in(&base);
        assert!(young.exists());
        let old = std::time::SystemTime::now() - UNFINISHED_GRACE;
        File::options().write(true).open(young.join(LIST_FILE))?.set_modified(old)?;
        remove_abandoned_in(&base);
        assert!(!young.exists());

        let over = std::sync::atomic::AtomicBool::new(false);
        std::thread::scope(|scope| {
            scope.spawn(|| {
                while !over.load(std::sync::atomic::Ordering::Relaxed) {
                    remove_abandoned_in(&base);
                }
            });
            let created = (0..500).try_for_each(|_| {
                let folder = CleanupJournal::in_folder(&base)?.work_folder(None)?;
                // The folder exists until its owner is dropped.
                if folder.exists() {
                    Err(io::Error::other("the folder was not removed"))
                } else {
                    Ok(())
                }
            });
            over.store(true, std::sync::atomic::Ordering::Relaxed);
            created
        })
    }

    #[test]
    fn journals_that_share_a_folder_do_not_remove_it_from_each_other() -> io::Result<()> {
        let mut outer = CleanupJournal::new()?;
        let base = outer.work_folder(None)?;
        let both = |name: &'static str| {
            let base = &base;
            move || {
                (0..300).try_for_each(|_| {
                    CleanupJournal::in_folder(base)?.write(&base.join(format!("a/b/{name}")), "1")
                })
            }
        };
        std::thread::scope(|scope| {
            let other = scope.spawn(both("other"));
            both("one")()?;
            other.join().map_err(|_| io::Error::other("the other thread panicked"))?
        })
    }
}
