//! A walk through folders: in order, never through a link, and no deeper than told.

use std::{
    io,
    path::{Path, PathBuf},
    vec,
};

use cap_std::fs::{Dir, DirEntry};

use crate::{Workspace, ignored::Ignored, kind::Kind, refusal::Refusal};

/// Entries of one folder that are looked at.
pub(crate) const MOST_IN_FOLDER: usize = 100_000;

/// A walk through folders. Folders come before what is in them.
#[derive(Debug)]
pub(crate) struct Walk {
    /// The folders on the way to where it is.
    folders: Vec<Folder>,
    depth: usize,
    hide: Hide,
    /// What was passed by.
    pub(crate) passed: Passed,
}

/// Whether what `.gitignore` files name is passed by.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Hide {
    Ignored,
    Nothing,
}

/// What was passed by.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub(crate) struct Passed {
    /// Entries that `.gitignore` files name.
    pub(crate) ignored: u64,
    /// Folders that cannot be opened.
    pub(crate) closed: u64,
    /// Folders with more entries than are looked at.
    pub(crate) endless: u64,
}

/// Something in a folder.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Entry {
    /// From the root.
    pub(crate) path: PathBuf,
    pub(crate) kind: Kind,
    /// How many folders lie between it and where the walk began.
    pub(crate) depth: usize,
}

#[derive(Debug)]
struct Folder {
    dir: Dir,
    path: PathBuf,
    rest: vec::IntoIter<(std::ffi::OsString, Kind)>,
    ignored: Ignored,
}

impl Walk {
    /// Begins in a folder. `depth` is how many folders deep it looks: 1 for this one alone.
    pub(crate) fn new(
        workspace: &Workspace,
        path: &Path,
        depth: usize,
        hide: Hide,
    ) -> Result<Walk, Refusal> {
        let told = |error: io::Error| Refusal::of(&error, path);
        let root = workspace.folder()?;
        let dir = root.open_dir(path).map_err(told)?;
        // Links on the way there do not count for what is ignored, nor for what is shown.
        let path = root.canonicalize(path).map_err(told)?;
        let path = if path == Path::new(".") { PathBuf::new() } else { path };
        let ignored = match hide {
            Hide::Ignored => Ignored::down_to(root, &path),
            Hide::Nothing => Ignored::default(),
        };
        let mut walk = Walk { folders: Vec::new(), depth, hide, passed: Passed::default() };
        let rest = walk.entries(&dir).map_err(|error| Refusal::of(&error, &path))?;
        walk.folders.push(Folder { dir, path, rest, ignored });
        Ok(walk)
    }

    /// The next entry, with the folder it is in.
    pub(crate) fn next(&mut self) -> Option<(Entry, &Dir)> {
        let entry = loop {
            let folder = self.folders.last_mut()?;
            let Some((name, kind)) = folder.rest.next() else {
                self.folders.pop();
                continue;
            };
            let path = folder.path.join(name);
            if folder.ignored.covers(&path, kind == Kind::Folder) {
                self.passed.ignored += 1;
                continue;
            }
            break Entry { path, kind, depth: self.folders.len() - 1 };
        };
        let parent = self.folders.len() - 1;
        if entry.kind == Kind::Folder && self.folders.len() < self.depth {
            self.enter(&entry);
        }
        let folder = self.folders.get(parent)?;
        Some((entry, &folder.dir))
    }

    fn enter(&mut self, entry: &Entry) {
        let Some((parent, name)) = self.folders.last().zip(entry.path.file_name()) else { return };
        let mut ignored = parent.ignored.clone();
        let opened = parent.dir.open_dir(name);
        match opened.and_then(|dir| Ok((self.entries(&dir)?, dir))) {
            Ok((rest, dir)) => {
                if self.hide == Hide::Ignored {
                    ignored.add(&dir, &entry.path);
                }
                self.folders.push(Folder { dir, path: entry.path.clone(), rest, ignored });
            }
            Err(_) => self.passed.closed += 1,
        }
    }

    fn entries(&mut self, dir: &Dir) -> io::Result<vec::IntoIter<(std::ffi::OsString, Kind)>> {
        let mut found = Vec::new();
        for entry in dir.entries()? {
            if found.len() == MOST_IN_FOLDER {
                self.passed.endless += 1;
                break;
            }
            let entry = entry?;
            let name = entry.file_name();
            if name != ".git" {
                found.push((name, kind(&entry)));
            }
        }
        found.sort_unstable();
        Ok(found.into_iter())
    }
}

fn kind(entry: &DirEntry) -> Kind {
    entry.file_type().map_or(Kind::Other, Kind::of)
}
