//! File paths as a model gives them: which ones are allowed, and how they are shown. Opening a file
//! is what keeps it inside the workspace; this check only gives clearer errors.

use std::path::{Component, Path, PathBuf};

use crate::refusal::ToolRefusal;

/// Bytes of a path, and of one name in it.
const MAX_PATH_BYTES: usize = 4000;
const MAX_NAME_BYTES: usize = 255;

/// Resolves a path below the root: names and `..`, or `.` for the root itself. An absolute path
/// that begins with the root becomes relative to it.
pub(crate) fn resolve_inside(requested: &str, roots: &[&Path]) -> Result<PathBuf, ToolRefusal> {
    check_text(requested)?;
    let path = Path::new(requested);
    let relative = match path.is_absolute() {
        true => roots.iter().find_map(|root| path.strip_prefix(root).ok()),
        false => Some(path),
    };
    let outside = || {
        ToolRefusal(format!("`{}` lies outside of the workspace; {HELP}", shorten_path(requested)))
    };
    let mut depth = 0_usize;
    let mut inside = PathBuf::new();
    for part in relative.ok_or_else(outside)?.components() {
        match part {
            Component::CurDir => continue,
            Component::ParentDir => depth = depth.checked_sub(1).ok_or_else(outside)?,
            Component::Normal(name) if name.len() > MAX_NAME_BYTES => {
                let length = name.len();
                return Err(ToolRefusal(format!(
                    "the path has a name of {length} bytes; a name may have {MAX_NAME_BYTES}"
                )));
            }
            Component::Normal(_) => depth += 1,
            Component::RootDir | Component::Prefix(_) => return Err(outside()),
        }
        inside.push(part);
    }
    Ok(if inside.as_os_str().is_empty() { PathBuf::from(".") } else { inside })
}

const HELP: &str = "use a path that begins at its root, like `src/main.rs`, or `.` for the root";

fn check_text(requested: &str) -> Result<(), ToolRefusal> {
    if requested.trim().is_empty() {
        return Err(ToolRefusal(format!("the path is empty; {HELP}")));
    }
    if requested.contains('\0') {
        return Err(ToolRefusal("the path has a NUL character in it".to_owned()));
    }
    if requested.len() > MAX_PATH_BYTES {
        let length = requested.len();
        return Err(ToolRefusal(format!(
            "the path has {length} bytes; it may have {MAX_PATH_BYTES}"
        )));
    }
    if requested == "~" || requested.starts_with("~/") {
        return Err(ToolRefusal(format!("`~` is not known here; {HELP}")));
    }
    Ok(())
}

/// A path as one line of text: invalid UTF-8 is marked, and control characters are escaped.
pub(crate) fn display_path(path: &Path) -> String {
    display_text(&path.to_string_lossy())
}

/// Text on one line, with control characters escaped.
pub(crate) fn display_text(text: &str) -> String {
    let mut plain = String::with_capacity(text.len());
    for character in text.chars() {
        match character.is_control() {
            true => plain.extend(character.escape_default()),
            false => plain.push(character),
        }
    }
    plain
}

fn shorten_path(requested: &str) -> String {
    let mut short: String = display_text(requested).chars().take(200).collect();
    if short.len() < requested.len() {
        short.push('…');
    }
    short
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_paths_below_the_root_are_accepted() {
        let long = "x".repeat(256);
        let longer = "x/".repeat(2500);
        let table = [
            (".", "."),
            ("./", "."),
            ("a", "a"),
            ("./a//b/./c/", "a/b/c"),
            ("a/../b", "a/../b"),
            ("...", "..."),
            ("a b", "a b"),
            ("./~", "~"),
            ("/home/x", "."),
            ("/home/x/", "."),
            ("/home/x/a", "a"),
            ("/real/x/a/b", "a/b"),
            ("/home/x/../x/a", "outside"),
            ("/home/xy", "outside"),
            ("/home", "outside"),
            ("/", "outside"),
            ("//etc/passwd", "outside"),
            ("/etc/passwd", "outside"),
            ("/proc/self/root", "outside"),
            ("..", "outside"),
            ("../x", "outside"),
            ("a/../../x", "outside"),
            ("a/b/../../../home/x/a", "outside"),
            ("./../a", "outside"),
            ("", "empty"),
            ("  ", "empty"),
            ("a\0b", "NUL"),
            ("\0", "NUL"),
            ("~", "`~`"),
            ("~/.ssh/id", "`~`"),
            (&long, "256 bytes"),
            (&longer, "5000 bytes"),
        ];
        for (requested, expected) in table {
            let roots = [Path::new("/home/x"), Path::new("/real/x")];
            match resolve_inside(requested, &roots) {
                Ok(path) => assert_eq!(path.to_str(), Some(expected), "{requested:?}"),
                Err(ToolRefusal(why)) => assert!(why.contains(expected), "{requested:?}: {why}"),
            }
        }
    }

    #[test]
    fn display_text_is_one_line() {
        assert_eq!(display_text("a\nb\x1b[31mé"), "a\\nb\\u{1b}[31mé");
    }
}
