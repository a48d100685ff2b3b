//! What `.gitignore` files say. Git itself is not asked, nor its own settings.

use std::{
    io::Read as _,
    path::{Path, PathBuf},
    sync::Arc,
};

use cap_std::fs::Dir;
use ignore::{
    Match,
    gitignore::{Gitignore, GitignoreBuilder},
};

use crate::workspace::open_regular;

/// Bytes of a `.gitignore` that are read.
const MAX_FILE_BYTES: u64 = 256 << 10;

/// What the `.gitignore` files from the root down to a folder say. A folder deeper down has a copy
/// with its own added.
#[derive(Clone, Debug, Default)]
pub(crate) struct IgnoreRules(Vec<Arc<Gitignore>>);

impl IgnoreRules {
    /// What counts in a folder: the files of the folders above it, and its own.
    pub(crate) fn for_folder(root: &Dir, path: &Path) -> IgnoreRules {
        let mut ignored = IgnoreRules::default();
        let mut at = PathBuf::new();
        ignored.add(root, &at);
        for part in path.components() {
            at.push(part);
            if let Ok(folder) = root.open_dir(&at) {
                ignored.add(&folder, &at);
            }
        }
        ignored
    }

    /// Adds the file of a folder, if there is one.
    pub(crate) fn add(&mut self, folder: &Dir, path: &Path) {
        let Ok((file, _)) = open_regular(folder, Path::new(".gitignore")) else { return };
        let mut text = Vec::new();
        if file.take(MAX_FILE_BYTES).read_to_end(&mut text).is_err() {
            return;
        }
        let mut builder = GitignoreBuilder::new(absolute(path));
        for line in String::from_utf8_lossy(&text).lines() {
            // A line that means nothing to git, either.
            let _ = builder.add_line(None, line);
        }
        if let Ok(found) = builder.build() {
            self.0.push(Arc::new(found));
        }
    }

    /// Whether something is left out.
    pub(crate) fn covers(&self, path: &Path, is_folder: bool) -> bool {
        let path = absolute(path);
        for file in self.0.iter().rev() {
            match file.matched(&path, is_folder) {
                Match::Ignore(_) => return true,
                Match::Whitelist(_) => return false,
                Match::None => {}
            }
        }
        false
    }
}

/// The matcher wants to know where a pattern is anchored: the root of the workspace is `/` to it.
pub(crate) fn absolute(path: &Path) -> PathBuf {
    Path::new("/").join(path)
}
