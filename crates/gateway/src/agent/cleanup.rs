//! What a process needs on disk, and what is removed with it, also if nobody was there any more to
//! do so: everything is written down in a file that is locked for as long as somebody cares.

use std::{
    fs::{self, File},
    io::{self, Read, Seek as _, SeekFrom, Write as _},
    path::{Path, PathBuf},
    time::Duration,
};

use serde::{Deserialize, Serialize};

/// What the names of our folders begin with.
const FOLDER_PREFIX: &str = "foxwedge-agent-";
/// The file in it that lists everything else, and the folder in it to work in.
const LIST_FILE: &str = "list";
const WORK_FOLDER: &str = "work";
/// A list is not longer than that.
const MAX_LIST_BYTES: u64 = 1 << 20;
/// A folder whose list is still empty after that was left by somebody who is gone; before that,
/// somebody may be about to lock it.
const UNFINISHED_GRACE: Duration = Duration::from_secs(600);
/// So often a folder that another process removed in the same moment is made again.
const MAX_CREATE_ATTEMPTS: usize = 16;

/// Files and folders that were made for one process. Dropping it removes them.
#[derive(Debug)]
pub(super) struct CleanupJournal {
    /// Removed with everything in it.
    folder: PathBuf,
    list_file: File,
    entries: CleanupList,
}

/// What lies elsewhere.
#[derive(Serialize, Deserialize, Debug, Default)]
struct CleanupList {
    files: Vec<PathBuf>,
    /// Folders that had to be made for them, the outermost first; removed if nothing is in them.
    around: Vec<PathBuf>,
    /// What an agent writes by itself: in folders of that folder, under that name.
    traces: Option<(PathBuf, String)>,
}

impl CleanupJournal {
    /// Nothing yet.
    ///
    /// # Errors
    /// If there is no room.
    pub(super) fn new() -> io::Result<CleanupJournal> {
        CleanupJournal::in_folder(&std::env::temp_dir())
    }

    fn in_folder(folder: &Path) -> io::Result<CleanupJournal> {
        let number = getrandom::u64().map_err(io::Error::other)?;
        let own = folder.join(format!("{FOLDER_PREFIX}{number:016x}"));
        create_private_folder(&own)?;
        let listed = CleanupList::default();
        let list = create_private_file(&own.join(LIST_FILE))
            .inspect_err(|_| remove_listed(&own, &listed))?;
        // Whoever sweeps may hold it for a moment, to see that it is new.
        list.lock()?;
        let mut litter = CleanupJournal { folder: own, list_file: list, entries: listed };
        litter.write_list()?;
        Ok(litter)
    }

    /// The folder to work in, without links in its path: the one that is named, or a private one.
    ///
    /// # Errors
    /// If it is not there or cannot be made.
    pub(super) fn work_folder(&mut self, named: Option<&Path>) -> io::Result<PathBuf> {
        if let Some(named) = named {
            return fs::canonicalize(named);
        }
        let path = self.folder.join(WORK_FOLDER);
        create_private_folder(&path)?;
        fs::canonicalize(path)
    }

    /// Writes a file that only its owner may read. One that is there already is left alone.
    ///
    /// # Errors
    /// If it is there, or cannot be written.
    pub(super) fn write(&mut self, path: &Path, text: &str) -> io::Result<()> {
        if path.exists() {
            return Err(io::ErrorKind::AlreadyExists.into());
        }
        self.entries.files.push(path.to_owned());
        let mut tries = 0;
        let mut file = loop {
            tries += 1;
            let made = path.parent().map_or(Ok(()), |folder| self.create_folder(folder));
            self.write_list()?;
            match made.and_then(|()| create_private_file(path)) {
                // Another process has removed a folder that it had made, since it was empty.
                Err(error)
                    if error.kind() == io::ErrorKind::NotFound && tries < MAX_CREATE_ATTEMPTS => {}
                file => break file?,
            }
        };
        file.write_all(text.as_bytes())
    }

    /// An agent writes about a session by itself: `NAME.jsonl` and `NAME` in some folder of this one.
    ///
    /// # Errors
    /// If that cannot be written down.
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

    /// Writes down what is to be removed, before it is there.
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

/// Removes what processes left that were ended without a word.
pub(super) fn remove_abandoned() {
    remove_abandoned_in(&std::env::temp_dir());
}

fn remove_abandoned_in(folder: &Path) {
    let Ok(inside) = fs::read_dir(folder) else { return };
    for one in inside.flatten() {
        if one.file_name().to_string_lossy().starts_with(FOLDER_PREFIX) {
            // What cannot be read is not ours, or not whole.
            drop(open_abandoned(&one.path()));
        }
    }
}

/// What somebody left who is gone. Others may write where this lies: only what is our own counts.
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
    let listed = serde_json::from_str(&text).unwrap_or_default();
    Ok(CleanupJournal { folder: own.to_owned(), list_file: list, entries: listed })
}

/// Whether only we may have written there.
#[cfg(unix)]
fn is_ours(folder: &Path) -> io::Result<bool> {
    use std::os::unix::fs::MetadataExt as _;
    let about = fs::symlink_metadata(folder)?;
    let me = rustix::process::geteuid().as_raw();
    Ok(about.is_dir() && about.uid() == me && about.mode() & 0o077 == 0)
}

#[cfg(not(unix))]
fn is_ours(_: &Path) -> io::Result<bool> {
    Ok(false)
}

/// Whatever cannot be removed stays: nobody could do anything about it.
fn remove_listed(own: &Path, listed: &CleanupList) {
    for file in &listed.files {
        let _ = fs::remove_file(file);
    }
    if let Some((folder, name)) = &listed.traces {
        remove_session_traces(folder, name);
    }
    for folder in listed.around.iter().rev() {
        let _ = fs::remove_dir(folder);
    }
    let _ = fs::remove_dir_all(own);
}

/// Removes what was written about a session, and a folder that held nothing else.
fn remove_session_traces(folder: &Path, name: &str) {
    let Ok(inside) = fs::read_dir(folder) else { return };
    for one in inside.flatten() {
        let path = one.path();
        let file = fs::remove_file(path.join(format!("{name}.jsonl")));
        let more = fs::remove_dir_all(path.join(name));
        if file.is_ok() || more.is_ok() {
            let _ = fs::remove_dir(path);
        }
    }
}

/// A new file that only its owner may read.
fn create_private_file(path: &Path) -> io::Result<File> {
    let mut options = fs::OpenOptions::new();
    options.read(true).write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options.open(path)
}

/// Makes a folder that only its owner may enter.
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
    fn everything_that_was_made_is_removed_and_nothing_else() -> io::Result<()> {
        let mut outer = CleanupJournal::new()?;
        let base = outer.work_folder(None)?;
        let mut litter = CleanupJournal::in_folder(&base)?;
        let own = litter.work_folder(None)?;
        fs::write(own.join("left"), "by the agent")?;
        litter.write(&base.join("a/b/one.json"), "1")?;
        litter.write(&base.join("a/two.json"), "2")?;
        litter.write(&base.join("c/three.json"), "3")?;
        fs::write(base.join("a/stranger"), "not ours")?;
        assert!(litter.write(&base.join("a/stranger"), "over it").is_err());
        for (place, name) in [("p", "s1"), ("p", "s2"), ("q", "s1")] {
            fs::create_dir_all(base.join("projects").join(place).join(name))?;
            fs::write(base.join("projects").join(place).join(format!("{name}.jsonl")), "{}")?;
        }
        litter.track_session(base.join("projects"), "s1".to_owned())?;
        assert_eq!(mode(&base.join("a/two.json"))?, 0o600);
        assert_eq!((mode(&base.join("a"))?, mode(&own)?), (0o700, 0o700));
        drop(litter);
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
    fn what_somebody_left_is_removed_later_unless_somebody_cares() -> io::Result<()> {
        let mut outer = CleanupJournal::new()?;
        let base = outer.work_folder(None)?;
        let mut lives = CleanupJournal::in_folder(&base)?;
        lives.write(&base.join("x/kept.json"), "1")?;
        let mut gone = CleanupJournal::in_folder(&base)?;
        gone.write(&base.join("y/left.json"), "1")?;
        let own = gone.folder.clone();
        // As if its process had been killed: the lock goes, and nothing else.
        gone.list_file.unlock()?;
        std::mem::forget(gone);
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
        drop(lives);
        assert!(!base.join("x").exists());
        Ok(())
    }

    #[test]
    fn nothing_that_is_being_made_is_swept_away() -> io::Result<()> {
        let mut outer = CleanupJournal::new()?;
        let base = outer.work_folder(None)?;
        // Between the folder and its lock.
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
            let made = (0..500).try_for_each(|_| {
                let folder = CleanupJournal::in_folder(&base)?.work_folder(None)?;
                // It was there until its owner left.
                if folder.exists() { Err(io::Error::other("it stays")) } else { Ok(()) }
            });
            over.store(true, std::sync::atomic::Ordering::Relaxed);
            made
        })
    }

    #[test]
    fn two_that_share_a_folder_do_not_remove_it_under_each_other() -> io::Result<()> {
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
            other.join().map_err(|_| io::Error::other("the other one panicked"))?
        })
    }
}
