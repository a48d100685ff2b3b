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

/// The paths in a folder, in order.
pub(crate) fn sorted_entries(folder: &Path) -> Result<Vec<PathBuf>, String> {
    let complain = |error: std::io::Error| format!("{}: {error}", folder.display());
    let entries = fs::read_dir(folder).map_err(complain)?;
    let paths: Result<Vec<PathBuf>, _> = entries.map(|it| it.map(|it| it.path())).collect();
    let mut paths = paths.map_err(complain)?;
    paths.sort();
    Ok(paths)
}

/// A file with its path inside the workspace, with `/` on every system.
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

/// Folders that hold what was built or fetched, wherever they are. Git does not keep them, either, but
/// for the build of the console.
const BUILT: [&str; 4] = ["node_modules", "dist", "build", ".git"];

/// What cargo builds. Only in the folder of the workspace: elsewhere it is a name like any other.
const TARGET: &str = "target";

/// Every text file of the workspace, in order; what was built or fetched is left out.
pub(crate) fn files() -> Result<Vec<File>, String> {
    let root = root();
    let mut paths = Vec::new();
    walk(&root, &root, &mut paths)?;
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

fn walk(root: &Path, folder: &Path, paths: &mut Vec<PathBuf>) -> Result<(), String> {
    let entries = fs::read_dir(folder).map_err(|error| format!("{}: {error}", folder.display()))?;
    for entry in entries {
        let entry = entry.map_err(|error| format!("{}: {error}", folder.display()))?;
        let path = entry.path();
        if path.is_dir() {
            if !is_built(&inside(root, &path)) {
                walk(root, &path, paths)?;
            }
        } else if entry.file_name() != ".git" {
            // A linked work tree has a file of that name.
            paths.push(path);
        }
    }
    Ok(())
}

fn is_built(folder: &str) -> bool {
    let name = folder.rsplit('/').next().unwrap_or(folder);
    folder == TARGET || BUILT.contains(&name)
}

fn inside(root: &Path, path: &Path) -> String {
    let inner = path.strip_prefix(root).unwrap_or(path);
    let names: Vec<String> =
        inner.components().map(|name| name.as_os_str().to_string_lossy().into_owned()).collect();
    names.join("/")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_built_or_fetched_is_left_out_wherever_it_is() {
        let root = std::env::temp_dir().join(format!("foxwedge-workspace-{}", std::process::id()));
        let kept =
            ["build.rs", "clients/dist.ts", "crates/a/src/build.rs", "crates/a/src/target/b.rs"];
        let left_out = [
            ".git/config",
            "target/debug/a.rs",
            "clients/typescript/node_modules/b/c.rs",
            "clients/typescript/dist/d.js",
            "clients/typescript/build/deep/e.rs",
        ];
        for file in kept.iter().chain(&left_out) {
            let path = root.join(file);
            fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
            fs::write(path, "").expect("a file");
        }
        let mut paths = Vec::new();
        walk(&root, &root, &mut paths).expect("the files");
        let mut found: Vec<String> = paths.iter().map(|path| inside(&root, path)).collect();
        found.sort();
        fs::remove_dir_all(&root).expect("the folder goes");
        assert_eq!(found, kept);
    }

    #[test]
    fn git_keeps_nothing_in_a_folder_that_is_left_out() {
        let listed = std::process::Command::new("git").arg("ls-files").current_dir(root()).output();
        let Ok(listed) = listed else { return };
        let listed = String::from_utf8_lossy(&listed.stdout);
        // The console's build is kept on purpose: cargo embeds it, and `cargo xtask console` compares it.
        let is_left_out = |path: &&str| {
            !path.starts_with("console/dist/")
                && path.match_indices('/').any(|(at, _)| is_built(&path[..at]))
        };
        assert_eq!(listed.lines().filter(is_left_out).collect::<Vec<_>>(), Vec::<&str>::new());
    }
}
