//! Collects the files in a folder.

use std::{
    fs, io,
    path::{Path, PathBuf},
};

use super::{CheckTarget, TargetKind, file_target};
use foxwedge_local::outcome::TargetFailure;

/// Collects the files of a folder that may contain conversations. Links are not followed: they may
/// be circular, or point to a file that is read anyway. A folder that cannot be opened becomes a
/// target that fails.
pub(super) fn walk(folder: &Path, targets: &mut Vec<CheckTarget>) {
    let mut open = vec![folder.to_owned()];
    let mut found = Vec::new();
    let mut unreadable = Vec::new();
    while let Some(folder) = open.pop() {
        if let Err(error) = scan_folder(&folder, &mut open, &mut found) {
            unreadable.push((folder, error));
        }
    }
    found.sort();
    targets.extend(found.into_iter().map(|path| file_target(path, TargetKind::FromFolder)));
    unreadable.sort_by(|(one, _), (two, _)| one.cmp(two));
    targets.extend(unreadable.into_iter().map(|(folder, error)| {
        let failure = TargetFailure::new(format!("the folder cannot be read: {error}"));
        file_target(folder, |_| TargetKind::Unreadable(failure))
    }));
}

/// Adds the subfolders of a folder to `open` and its files to `found`.
fn scan_folder(folder: &Path, open: &mut Vec<PathBuf>, found: &mut Vec<PathBuf>) -> io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        let kind = entry.file_type()?;
        let path = entry.path();
        if kind.is_dir() && !is_skipped(&entry.file_name().to_string_lossy()) {
            open.push(path);
        } else if kind.is_file() && may_hold_conversation(&path) {
            found.push(path);
        }
    }
    Ok(())
}

fn is_skipped(folder: &str) -> bool {
    folder.starts_with('.') || folder == "node_modules" || folder == "target"
}

fn may_hold_conversation(path: &Path) -> bool {
    let name = path.file_name().unwrap_or_default().to_string_lossy().to_ascii_lowercase();
    [".json", ".jsonl", ".jsonl.zst"].iter().any(|end| name.ends_with(end))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_unreadable_folder_is_a_failed_target() {
        let folder = std::env::temp_dir().join(format!("foxwedge-gone-{}", std::process::id()));
        let mut targets = Vec::new();
        walk(&folder, &mut targets);
        let kinds: Vec<_> =
            targets.iter().map(|target| (&*target.display_name, &target.kind)).collect();
        assert!(
            matches!(
                kinds.as_slice(),
                [(name, TargetKind::Unreadable(_))] if *name == folder.to_string_lossy()
            ),
            "{kinds:?}"
        );
    }
}
