//! A walk through folders: in order, never through a link, and no deeper than told.

use std::{
    io,
    path::{Path, PathBuf},
    vec,
};

use cap_std::fs::{Dir, DirEntry};

use crate::{
    ToolWorkspace, dir_entry_kind::DirEntryKind, ignore_rules::IgnoreRules, refusal::ToolRefusal,
};

/// Entries of one folder that are looked at.
pub(crate) const MAX_FOLDER_ENTRIES: usize = 100_000;

/// A walk through folders. Folders come before what is in them.
#[derive(Debug)]
pub(crate) struct FolderWalk {
    /// The folders on the way to where it is.
    folders: Vec<WalkFolder>,
    depth: usize,
    filter: WalkFilter,
    /// What was passed by.
    pub(crate) skipped: SkippedEntries,
}

/// Whether what `.gitignore` files name is passed by.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum WalkFilter {
    Ignored,
    Nothing,
}

/// What was passed by.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub(crate) struct SkippedEntries {
    /// Entries that `.gitignore` files name.
    pub(crate) ignored: u64,
    /// Folders that cannot be opened.
    pub(crate) unreadable: u64,
    /// Folders with more entries than are looked at.
    pub(crate) truncated: u64,
}

/// Something in a folder.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct WalkEntry {
    /// From the root.
    pub(crate) path: PathBuf,
    pub(crate) kind: DirEntryKind,
    /// How many folders lie between it and where the walk began.
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
    /// Begins in a folder. `depth` is how many folders deep it looks: 1 for this one alone.
    pub(crate) fn new(
        workspace: &ToolWorkspace,
        path: &Path,
        depth: usize,
        hide: WalkFilter,
    ) -> Result<FolderWalk, ToolRefusal> {
        let told = |error: io::Error| ToolRefusal::of(&error, path);
        let root = workspace.folder()?;
        let dir = root.open_dir(path).map_err(told)?;
        // Links on the way there do not count for what is ignored, nor for what is shown.
        let path = root.canonicalize(path).map_err(told)?;
        let path = if path == Path::new(".") { PathBuf::new() } else { path };
        let ignored = match hide {
            WalkFilter::Ignored => IgnoreRules::for_folder(root, &path),
            WalkFilter::Nothing => IgnoreRules::default(),
        };
        let mut walk = FolderWalk {
            folders: Vec::new(),
            depth,
            filter: hide,
            skipped: SkippedEntries::default(),
        };
        let rest = walk.entries(&dir).map_err(|error| ToolRefusal::of(&error, &path))?;
        walk.folders.push(WalkFolder { dir, path, rest, ignored });
        Ok(walk)
    }

    /// The next entry, with the folder it is in.
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
