//! What was named on the command line, and the files in it.

use std::{
    collections::HashSet,
    fs,
    io::{self, IsTerminal},
    path::{Path, PathBuf},
};

use crate::{outcome::Failure, say::Trouble};

/// One thing to read.
#[derive(Clone, Debug)]
pub(crate) struct Target {
    /// As it is shown.
    pub(crate) shown: String,
    pub(crate) kind: Kind,
}

/// Where a target comes from.
#[derive(Clone, Debug)]
pub(crate) enum Kind {
    Stdin,
    /// Named by the user: has to be a conversation.
    Named(PathBuf),
    /// Found in a folder: may be anything.
    Walked(PathBuf),
    /// A file that is not there, or a folder that cannot be opened.
    Closed(Failure),
}

/// The shown name of stdin.
pub(crate) const STDIN: &str = "<stdin>";

/// Everything that was named, folders opened; each file once.
pub(crate) fn expand(named: &[PathBuf]) -> Result<Vec<Target>, Trouble> {
    let mut targets = Vec::new();
    if named.is_empty() {
        if io::stdin().is_terminal() {
            return Err(Trouble::new("nothing to read").help(
                "name a file or a folder, or pipe a conversation in: \
                 `foxwedge check session.json`, `… | foxwedge check -`",
            ));
        }
        targets.push(stdin());
    }
    for path in named {
        if path.as_os_str() == "-" {
            targets.push(stdin());
            continue;
        }
        match fs::metadata(path) {
            Ok(metadata) if metadata.is_dir() => walk(path, &mut targets),
            Ok(_) => targets.push(file(path.clone(), Kind::Named)),
            Err(error) => {
                let shown = path.to_string_lossy().into_owned();
                targets.push(Target { shown, kind: Kind::Closed(missing(path, &error)) });
            }
        }
    }
    let mut seen = HashSet::new();
    targets.retain(|target| match &target.kind {
        Kind::Closed(_) => true,
        Kind::Stdin => seen.insert(PathBuf::from("-")),
        Kind::Named(path) | Kind::Walked(path) => {
            seen.insert(fs::canonicalize(path).unwrap_or_else(|_| path.clone()))
        }
    });
    Ok(targets)
}

fn stdin() -> Target {
    Target { shown: STDIN.to_owned(), kind: Kind::Stdin }
}

fn file(path: PathBuf, kind: impl FnOnce(PathBuf) -> Kind) -> Target {
    // Files of the folder `.` are shown as one would type them.
    let bare = path.strip_prefix(".").ok().filter(|bare| !bare.as_os_str().is_empty());
    let shown = bare.unwrap_or(&path).to_string_lossy().into_owned();
    Target { shown, kind: kind(path) }
}

fn missing(path: &Path, error: &io::Error) -> Failure {
    if error.kind() != io::ErrorKind::NotFound {
        return Failure::new(format!("cannot be read: {error}"));
    }
    let failure = Failure::new("no such file or folder");
    if let Some(near) = neighbour(path) {
        return failure.help(format!("did you mean `{near}`?"));
    }
    if path.components().count() == 1 && path.extension().is_none() {
        return failure.help(
            "a target is a file, a folder, or `-` for stdin; sessions cannot be named by their \
             id in this version",
        );
    }
    failure.help("a target is a file, a folder, or `-` for stdin")
}

/// A file beside it with nearly the same name.
fn neighbour(path: &Path) -> Option<String> {
    let folder = path.parent()?;
    let open = if folder.as_os_str().is_empty() { Path::new(".") } else { folder };
    let names: Vec<String> = fs::read_dir(open)
        .ok()?
        .take(2000)
        .filter_map(|entry| entry.ok()?.file_name().into_string().ok())
        .collect();
    let typed = path.file_name()?.to_str()?;
    let near = crate::nearest::nearest(typed, names.iter().map(String::as_str))?;
    Some(crate::say::clean(&folder.join(near).to_string_lossy()))
}

/// Collects the files of a folder that may hold conversations. Links are not followed: they may
/// lead in a circle, or to a file that is read anyway. What cannot be opened is a target too: one
/// that fails.
fn walk(folder: &Path, targets: &mut Vec<Target>) {
    let mut open = vec![folder.to_owned()];
    let mut found = Vec::new();
    let mut closed = Vec::new();
    while let Some(folder) = open.pop() {
        if let Err(error) = look_into(&folder, &mut open, &mut found) {
            closed.push((folder, error));
        }
    }
    found.sort();
    targets.extend(found.into_iter().map(|path| file(path, Kind::Walked)));
    closed.sort_by(|(one, _), (two, _)| one.cmp(two));
    targets.extend(closed.into_iter().map(|(folder, error)| {
        let failure = Failure::new(format!("the folder cannot be read: {error}"));
        file(folder, |_| Kind::Closed(failure))
    }));
}

/// Sorts the entries of a folder into folders to open and files to read.
fn look_into(folder: &Path, open: &mut Vec<PathBuf>, found: &mut Vec<PathBuf>) -> io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        let kind = entry.file_type()?;
        let path = entry.path();
        if kind.is_dir() && !is_passed_by(&entry.file_name().to_string_lossy()) {
            open.push(path);
        } else if kind.is_file() && may_hold_conversation(&path) {
            found.push(path);
        }
    }
    Ok(())
}

fn is_passed_by(folder: &str) -> bool {
    folder.starts_with('.') || folder == "node_modules" || folder == "target"
}

fn may_hold_conversation(path: &Path) -> bool {
    let extension = path.extension().and_then(|extension| extension.to_str()).unwrap_or("");
    extension.eq_ignore_ascii_case("json") || extension.eq_ignore_ascii_case("jsonl")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_that_cannot_be_opened_is_not_passed_over() {
        let folder = std::env::temp_dir().join(format!("foxwedge-gone-{}", std::process::id()));
        let mut targets = Vec::new();
        walk(&folder, &mut targets);
        let told: Vec<_> = targets.iter().map(|target| (&*target.shown, &target.kind)).collect();
        assert!(
            matches!(told.as_slice(), [(shown, Kind::Closed(_))] if *shown == folder.to_string_lossy()),
            "{told:?}"
        );
    }
}
