//! The rules of `.gitignore` files. Git itself and its settings are not used.

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

/// Bytes read of a `.gitignore`.
const MAX_FILE_BYTES: u64 = 256 << 10;

/// The rules of the `.gitignore` files from the root down to a folder. A subfolder has a copy with
/// its own rules added.
#[derive(Clone, Debug, Default)]
pub(crate) struct IgnoreRules(Vec<Arc<Gitignore>>);

impl IgnoreRules {
    /// The rules for a folder: those of the folders above it, and its own.
    pub(crate) fn for_folder(root: &Dir, path: &Path) -> IgnoreRules {
        let mut rules = IgnoreRules::default();
        let mut at = PathBuf::new();
        rules.add(root, &at);
        for part in path.components() {
            at.push(part);
            if let Ok(folder) = root.open_dir(&at) {
                rules.add(&folder, &at);
            }
        }
        rules
    }

    /// Adds the rules of a folder, if it has any.
    pub(crate) fn add(&mut self, folder: &Dir, path: &Path) {
        let Ok((file, _)) = open_regular(folder, Path::new(".gitignore")) else { return };
        let mut text = Vec::new();
        if file.take(MAX_FILE_BYTES).read_to_end(&mut text).is_err() {
            return;
        }
        let mut builder = GitignoreBuilder::new(absolute(path));
        for line in String::from_utf8_lossy(&text).lines() {
            // Git ignores an invalid line, too.
            let _ = builder.add_line(None, line);
        }
        if let Ok(rules) = builder.build() {
            self.0.push(Arc::new(rules));
        }
    }

    /// Whether a path is ignored.
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

/// The matcher needs to know where a pattern is anchored; for it the root of the workspace is `/`.
pub(crate) fn absolute(path: &Path) -> PathBuf {
    Path::new("/").join(path)
}
