//! Walks through folders: in order, never through a link, and only to a given depth.

use std::{
    io,
    path::{Path, PathBuf},
    vec,
};

use cap_std::fs::{Dir, DirEntry};

use crate::{
    ToolWorkspace, dir_entry_kind::DirEntryKind, ignore_rules::IgnoreRules, refusal::ToolRefusal,
};

/// Maximum number of entries read per folder.
pub(crate) const MAX_FOLDER_ENTRIES: usize = 100_000;

/// A walk through folders. A folder comes before its entries.
#[derive(Debug)]
pub(crate) struct FolderWalk {
    /// The folders from the start to the current one.
    folders: Vec<WalkFolder>,
    depth: usize,
    filter: WalkFilter,
    /// What was skipped.
    pub(crate) skipped: SkippedEntries,
}

/// Whether to skip what `.gitignore` files name.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum WalkFilter {
    Ignored,
    Nothing,
}

/// What was skipped.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub(crate) struct SkippedEntries {
    /// Entries that `.gitignore` files name.
    pub(crate) ignored: u64,
    /// Folders that cannot be opened.
    pub(crate) unreadable: u64,
    /// Folders with more entries than the maximum.
    pub(crate) truncated: u64,
}

/// An entry of a folder.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct WalkEntry {
    /// Path from the root.
    pub(crate) path: PathBuf,
    pub(crate) kind: DirEntryKind,
    /// Number of folders between it and the start of the walk.
    pub(crate) depth: usize,
}

#[derive(Debug)]
struct WalkFolder {
    dir: Dir,
    path: PathBuf,
    rest: vec::IntoIter<(std::ffi::OsString, DirEntryKind)>,
    ignored: IgnoreRules,
}

impl FolderWalk {
    /// Starts in a folder. `depth` is the number of levels: 1 for this folder only.
    pub(crate) fn new(
        workspace: &ToolWorkspace,
        path: &Path,
        depth: usize,
        filter: WalkFilter,
    ) -> Result<FolderWalk, ToolRefusal> {
        let refuse = |error: io::Error| ToolRefusal::of(&error, path);
        let root = workspace.folder()?;
        let dir = root.open_dir(path).map_err(refuse)?;
        // Links on the way do not count for ignore rules or for shown paths.
        let path = root.canonicalize(path).map_err(refuse)?;
        let path = if path == Path::new(".") { PathBuf::new() } else { path };
        let ignored = match filter {
            WalkFilter::Ignored => IgnoreRules::for_folder(root, &path),
            WalkFilter::Nothing => IgnoreRules::default(),
        };
        let mut walk =
            FolderWalk { folders: Vec::new(), depth, filter, skipped: SkippedEntries::default() };
        let rest = walk.entries(&dir).map_err(|error| ToolRefusal::of(&error, &path))?;
        walk.folders.push(WalkFolder { dir, path, rest, ignored });
        Ok(walk)
    }

    /// Returns the next entry with its folder.
    pub(crate) fn next(&mut self) -> Option<(WalkEntry, &Dir)> {
        let entry = loop {
            let folder = self.folders.last_mut()?;
            let Some((name, kind)) = folder.rest.next() else {
                self.folders.pop();
                continue;
            };
            let path = folder.path.join(name);
            if folder.ignored.covers(&path, kind == DirEntryKind::Folder) {
                self.skipped.ignored += 1;
                continue;
            }
            break WalkEntry { path, kind, depth: self.folders.len() - 1 };
        };
        let parent = self.folders.len() - 1;
        if entry.kind == DirEntryKind::Folder && self.folders.len() < self.depth {
            self.enter(&entry);
        }
        let folder = self.folders.get(parent)?;
        Some((entry, &folder.dir))
    }

    fn enter(&mut self, entry: &WalkEntry) {
        let Some((parent, name)) = self.folders.last().zip(entry.path.file_name()) else { return };
        let mut ignored = parent.ignored.clone();
        let opened = parent.dir.open_dir(name);
        match opened.and_then(|dir| Ok((self.entries(&dir)?, dir))) {
            Ok((rest, dir)) => {
                if self.filter == WalkFilter::Ignored {
                    ignored.add(&dir, &entry.path);
                }
                self.folders.push(WalkFolder { dir, path: entry.path.clone(), rest, ignored });
            }
            Err(_) => self.skipped.unreadable += 1,
        }
    }

    fn entries(
        &mut self,
        dir: &Dir,
    ) -> io::Result<vec::IntoIter<(std::ffi::OsString, DirEntryKind)>> {
        let mut found = Vec::new();
        for entry in dir.entries()? {
            if found.len() == MAX_FOLDER_ENTRIES {
                self.skipped.truncated += 1;
                break;
            }
            let entry = entry?;
            let name = entry.file_name();
            if name != ".git" {
                found.push((name, entry_kind(&entry)));
            }
        }
        found.sort_unstable();
        Ok(found.into_iter())
    }
}

fn entry_kind(entry: &DirEntry) -> DirEntryKind {
    entry.file_type().map_or(DirEntryKind::Other, DirEntryKind::of)
}
