//! The files of the workspace.

use std::{
    fs,
    path::{Path, PathBuf},
};

/// The folder of the workspace.
pub(crate) fn root() -> PathBuf {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    here.parent().unwrap_or(here).to_owned()
}

/// A file with its path inside the workspace, spelled with `/` on every system.
pub(crate) struct File {
    pub(crate) path: String,
    pub(crate) text: String,
}

impl File {
    /// Whether it is Rust.
    pub(crate) fn is_rust(&self) -> bool {
        self.path.ends_with(".rs")
    }

    /// Whether it holds nothing but tests.
    pub(crate) fn is_test(&self) -> bool {
        self.path.contains("/tests/")
            || self.path.contains("/benches/")
            || self.path.ends_with("/tests.rs")
    }
}

/// Every text file of the workspace, in order; built and hidden-by-git things are left out.
pub(crate) fn files() -> Result<Vec<File>, String> {
    let root = root();
    let mut paths = Vec::new();
    walk(&root, &mut paths)?;
    paths.sort();
    let mut files = Vec::new();
    for path in paths {
        let bytes = fs::read(&path).map_err(|error| format!("{}: {error}", path.display()))?;
        // What is not text (a fixture of broken bytes, an image) has nothing for us to check.
        if let Ok(text) = String::from_utf8(bytes) {
            files.push(File { path: inside(&root, &path), text });
        }
    }
    Ok(files)
}

fn walk(folder: &Path, paths: &mut Vec<PathBuf>) -> Result<(), String> {
    let entries = fs::read_dir(folder).map_err(|error| format!("{}: {error}", folder.display()))?;
    for entry in entries {
        let entry = entry.map_err(|error| format!("{}: {error}", folder.display()))?;
        let path = entry.path();
        let name = entry.file_name();
        if path.is_dir() {
            if !["target", ".git"].contains(&name.to_string_lossy().as_ref()) {
                walk(&path, paths)?;
            }
        } else {
            paths.push(path);
        }
    }
    Ok(())
}

fn inside(root: &Path, path: &Path) -> String {
    let inner = path.strip_prefix(root).unwrap_or(path);
    let names: Vec<String> =
        inner.components().map(|name| name.as_os_str().to_string_lossy().into_owned()).collect();
    names.join("/")
}
