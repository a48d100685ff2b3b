//! What tools change in files: the newest change of each call for the screen, and copies of the files
//! for `/undo`.

use std::{
    collections::HashMap,
    fs, io,
    path::{Path, PathBuf},
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
    time::{Duration, SystemTime},
};

use base64::{Engine as _, engine::general_purpose::STANDARD};
use foxwedge_local::{disk, user_folders::UserFolders};
use foxwedge_tools::{FileChange, FileChangeObserver, RestoreError, ToolWorkspace};
use serde_json::{Value, json};

/// Maximum number of copies of a session; the oldest ones go first.
const MAX_COPIES: usize = 500;
/// How long copies are kept.
const MAX_AGE: Duration = Duration::from_secs(30 * 24 * 3600);
/// Maximum number of changes that wait to be shown.
const MAX_RECENT: usize = 64;

/// Changes that were not shown yet, by call. Clones share state.
#[derive(Clone, Debug, Default)]
pub(crate) struct RecentChanges(Arc<Mutex<HashMap<String, FileChange>>>);

impl RecentChanges {
    /// Takes the change of a call.
    pub(crate) fn take(&self, call: &str) -> Option<FileChange> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).remove(call)
    }

    fn insert(&self, call: &str, change: FileChange) {
        let mut changes = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if changes.len() >= MAX_RECENT {
            changes.clear();
        }
        // Of several changes by one call, the first content and the last one count.
        let before = changes.remove(call).filter(|old| old.path == change.path);
        let before = before.map_or(change.before, |old| old.before);
        changes.insert(call.to_owned(), FileChange { before, ..change });
    }
}

/// Keeps copies of files before tools write them.
#[derive(Debug)]
pub(crate) struct FileJournal {
    pub(crate) recent: RecentChanges,
    /// The folder of all copies; `None` if there is no place for them.
    root: Option<PathBuf>,
    session: Mutex<String>,
    count: AtomicU64,
}

/// A file that `/undo` restored, or why it did not.
pub(crate) type RestoredFile = (PathBuf, Result<(), RestoreError>);

impl FileJournal {
    /// A journal in the state folder of the user.
    pub(crate) fn here() -> FileJournal {
        let root = copies_root();
        if let Some(root) = &root {
            remove_old(root);
        }
        FileJournal::at(root)
    }

    /// A journal that keeps no copies.
    #[cfg(test)]
    pub(crate) fn in_memory() -> FileJournal {
        FileJournal::at(None)
    }

    fn at(root: Option<PathBuf>) -> FileJournal {
        let (session, count) = (Mutex::default(), AtomicU64::new(0));
        FileJournal { recent: RecentChanges::default(), root, session, count }
    }

    /// Keeps the following copies for this session.
    pub(crate) fn set_session(&self, session: &str) {
        *self.session.lock().unwrap_or_else(PoisonError::into_inner) = session.to_owned();
    }

    /// How many files these calls changed.
    pub(crate) fn count_files(&self, calls: &[String]) -> usize {
        let mut paths: Vec<PathBuf> =
            self.changes(calls).into_iter().map(|(_, change)| change.path).collect();
        paths.sort();
        paths.dedup();
        paths.len()
    }

    /// Takes back what these calls changed, the newest change first.
    pub(crate) fn restore(&self, calls: &[String], workspace: &ToolWorkspace) -> Vec<RestoredFile> {
        let mut restored: Vec<RestoredFile> = Vec::new();
        for (copy, change) in self.changes(calls).into_iter().rev() {
            // A file that stays as it is stays so for older changes too.
            if restored.iter().any(|(path, result)| *path == change.path && result.is_err()) {
                continue;
            }
            let result = workspace.restore(&change);
            if result.is_ok() {
                let _ = fs::remove_file(copy);
            }
            restored.retain(|(path, _)| *path != change.path);
            restored.push((change.path, result));
        }
        restored.reverse();
        restored
    }

    /// The copies of these calls, the oldest first.
    fn changes(&self, calls: &[String]) -> Vec<(PathBuf, FileChange)> {
        let copies = self.folder().map(|folder| list_copies(&folder)).unwrap_or_default();
        let read = |copy: PathBuf| {
            let (call, change) = read_copy(&copy)?;
            calls.contains(&call).then_some((copy, change))
        };
        copies.into_iter().filter_map(read).collect()
    }

    fn folder(&self) -> Option<PathBuf> {
        let session = self.session.lock().unwrap_or_else(PoisonError::into_inner).clone();
        session_folder(self.root.as_deref()?, &session)
    }

    fn write_copy(&self, call: &str, change: &FileChange) -> io::Result<()> {
        let Some(folder) = self.folder() else { return Ok(()) };
        disk::create_private_folder(&folder)?;
        let encode = |side: &Option<Vec<u8>>| side.as_ref().map(|bytes| STANDARD.encode(bytes));
        let copy = json!({
            "call": call,
            "path": change.path.to_string_lossy(),
            "before": encode(&change.before),
            "after": encode(&change.after),
        });
        let time = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
        let count = self.count.fetch_add(1, Ordering::Relaxed);
        let name = format!("{:013}-{count:06}.json", time.as_millis());
        let text = copy.to_string();
        disk::write_private(&folder.join(name), |file| file.write_all(text.as_bytes()))?;
        let copies = list_copies(&folder);
        for old in copies.iter().take(copies.len().saturating_sub(MAX_COPIES)) {
            fs::remove_file(old)?;
        }
        Ok(())
    }
}

impl FileChangeObserver for FileJournal {
    fn before_write(&self, call_id: &str, change: FileChange) {
        // Without a copy the file is not restored later; that is no reason not to write it now.
        let _ = self.write_copy(call_id, &change);
        self.recent.insert(call_id, change);
    }
}

/// Removes the copies of files that a deleted session kept for `/undo files`.
///
/// # Errors
/// If they cannot be removed.
pub fn remove_file_copies(session: &str) -> io::Result<()> {
    let folder = copies_root().and_then(|root| session_folder(&root, session));
    match folder.map(fs::remove_dir_all) {
        Some(Err(error)) if error.kind() != io::ErrorKind::NotFound => Err(error),
        Some(_) | None => Ok(()),
    }
}

/// The folder of all copies; `None` if there is no place for them.
fn copies_root() -> Option<PathBuf> {
    UserFolders::Environment.state().ok().map(|state| state.join("chat-files"))
}

/// The folder of a session; `None` if its name is not that of a folder.
fn session_folder(root: &Path, session: &str) -> Option<PathBuf> {
    let is_name = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_');
    (!session.is_empty() && session.chars().all(is_name)).then(|| root.join(session))
}

/// The copies in a folder, the oldest first.
fn list_copies(folder: &Path) -> Vec<PathBuf> {
    let Ok(entries) = fs::read_dir(folder) else { return Vec::new() };
    let mut copies: Vec<PathBuf> = entries.filter_map(|entry| Some(entry.ok()?.path())).collect();
    copies.retain(|path| path.extension().is_some_and(|extension| extension == "json"));
    copies.sort();
    copies
}

fn read_copy(path: &Path) -> Option<(String, FileChange)> {
    let copy: Value = serde_json::from_slice(&fs::read(path).ok()?).ok()?;
    let side = |name: &str| match copy.get(name)? {
        Value::Null => Some(None),
        bytes => Some(Some(STANDARD.decode(bytes.as_str()?).ok()?)),
    };
    let (before, after) = (side("before")?, side("after")?);
    let path = PathBuf::from(copy.get("path")?.as_str()?);
    Some((copy.get("call")?.as_str()?.to_owned(), FileChange { path, before, after }))
}

/// Removes the folders of sessions whose newest copy is old.
fn remove_old(root: &Path) {
    let Ok(sessions) = fs::read_dir(root) else { return };
    for folder in sessions.filter_map(|entry| Some(entry.ok()?.path())) {
        let newest = list_copies(&folder).pop();
        let modified =
            fs::metadata(newest.as_ref().unwrap_or(&folder)).and_then(|it| it.modified());
        let age = modified.ok().and_then(|at| at.elapsed().ok());
        if age.is_some_and(|age| age > MAX_AGE) {
            let _ = fs::remove_dir_all(&folder);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn change(path: &str, before: Option<&str>, after: &str) -> FileChange {
        let bytes = |text: &str| text.as_bytes().to_vec();
        FileChange { path: path.into(), before: before.map(bytes), after: Some(bytes(after)) }
    }

    #[test]
    fn files_are_restored_from_their_oldest_copy() {
        let folder = std::env::temp_dir().join(format!("foxwedge-journal-{}", std::process::id()));
        let work = folder.join("work");
        fs::create_dir_all(&work).expect("a folder for the test");
        let workspace = ToolWorkspace::open(&work).expect("a workspace");
        let journal = FileJournal::at(Some(folder.join("state")));
        journal.set_session("chat-1");
        journal.before_write("a", change("x", None, "1"));
        journal.before_write("b", change("x", Some("1"), "2"));
        journal.before_write("b", change("y", Some("old"), "new"));
        journal.before_write("c", change("z", Some("1"), "2"));
        for (name, text) in [("x", "2"), ("y", "changed by hand"), ("z", "2")] {
            fs::write(work.join(name), text).expect("a file for the test");
        }
        let calls = ["a".to_owned(), "b".to_owned()];
        assert_eq!(journal.count_files(&calls), 2);
        let restored = journal.restore(&calls, &workspace);
        let there = |name: &str| fs::read_to_string(work.join(name)).ok();
        assert_eq!(restored.len(), 2);
        assert!(restored.contains(&("x".into(), Ok(()))));
        assert!(restored.contains(&("y".into(), Err(RestoreError::ChangedLater))));
        assert_eq!((there("x"), there("y")), (None, Some("changed by hand".to_owned())));
        assert_eq!(there("z").as_deref(), Some("2"), "another call");
        assert_eq!(journal.recent.take("a"), Some(change("x", None, "1")));
        assert_eq!(journal.recent.take("a"), None);
        let _ = fs::remove_dir_all(&folder);
    }

    #[test]
    fn a_session_with_a_strange_name_keeps_no_copies() {
        let journal = FileJournal::at(Some(PathBuf::from("/nowhere")));
        for name in ["", "..", "a/b", "a\\b"] {
            journal.set_session(name);
            assert_eq!(journal.folder(), None, "{name}");
        }
    }
}
