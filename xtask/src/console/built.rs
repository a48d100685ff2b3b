//! The build that is kept beside the sources, so that whoever builds the gateway needs no Node.

use std::{
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
};

use crate::workspace;

/// Where it is kept.
const KEPT: &str = "console/dist";

/// Fails if what is kept is not what the sources make.
pub(super) fn compare(fresh: &Path) -> Result<(), String> {
    let (kept, fresh) = (files(&workspace::root().join(KEPT))?, files(fresh)?);
    match difference(&kept, &fresh) {
        None => Ok(()),
        Some(name) => Err(format!(
            "{KEPT}/{name} is not what the sources make; run `cargo xtask console --write`"
        )),
    }
}

/// Keeps a new build.
pub(super) fn write(fresh: &Path) -> Result<(), String> {
    let kept = workspace::root().join(KEPT);
    let files = files(fresh)?;
    let _ = fs::remove_dir_all(&kept);
    for (name, bytes) in files {
        let path = kept.join(&name);
        let folder = path.parent().unwrap_or(&kept);
        fs::create_dir_all(folder)
            .and_then(|()| fs::write(&path, bytes))
            .map_err(|error| format!("{KEPT}/{name}: {error}"))?;
    }
    Ok(())
}

type Files = BTreeMap<String, Vec<u8>>;

/// The first name under which there is not the same in both.
fn difference<'f>(kept: &'f Files, fresh: &'f Files) -> Option<&'f str> {
    let mut names: Vec<&String> = kept.keys().chain(fresh.keys()).collect();
    names.sort();
    names.into_iter().find(|name| kept.get(*name) != fresh.get(*name)).map(String::as_str)
}

fn files(folder: &Path) -> Result<Files, String> {
    let mut found = Files::new();
    let mut open: Vec<(PathBuf, String)> = vec![(folder.to_owned(), String::new())];
    while let Some((folder, prefix)) = open.pop() {
        let cannot = |error| format!("{}: {error}", folder.display());
        for entry in fs::read_dir(&folder).map_err(cannot)? {
            let path = entry.map_err(cannot)?.path();
            let name = path.file_name().unwrap_or_default().to_string_lossy();
            if path.is_dir() {
                open.push((path.clone(), format!("{prefix}{name}/")));
            } else {
                found.insert(format!("{prefix}{name}"), fs::read(&path).map_err(cannot)?);
            }
        }
    }
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_that_are_missing_new_or_different_are_found() {
        let table = [
            ("a=1 b=2", "a=1 b=2", None),
            ("a=1", "a=1 b=2", Some("b")),
            ("a=1 b=2", "b=2", Some("a")),
            ("a=1 b=2", "a=1 b=3", Some("b")),
        ];
        let files = |text: &str| -> Files {
            let pairs = text.split(' ').filter_map(|pair| pair.split_once('='));
            pairs.map(|(name, it)| (name.to_owned(), it.as_bytes().to_vec())).collect()
        };
        for (kept, fresh, expected) in table {
            let (kept, fresh) = (files(kept), files(fresh));
            assert_eq!(difference(&kept, &fresh), expected);
        }
    }
}
