//! Names of files, as a model gives them: what may be asked for at all, and how they are shown.
//! That nothing outside is reached is not decided here, but whenever something is opened; here it
//! is only said more clearly.

use std::path::{Component, Path, PathBuf};

use crate::refusal::ToolRefusal;

/// Bytes of a path, and of one name in it.
const MAX_PATH_BYTES: usize = 4000;
const MAX_NAME_BYTES: usize = 255;

/// A path below the root, from what was asked for: names and `..`, or `.` for the root itself. A
/// path that begins with the root is taken for the rest of it.
pub(crate) fn resolve_inside(asked: &str, roots: &[&Path]) -> Result<PathBuf, ToolRefusal> {
    check_text(asked)?;
    let path = Path::new(asked);
    let relative = match path.is_absolute() {
        true => roots.iter().find_map(|root| path.strip_prefix(root).ok()),
        false => Some(path),
    };
    let outside =
        || ToolRefusal(format!("`{}` lies outside of the workspace; {HELP}", shorten_path(asked)));
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

fn check_text(asked: &str) -> Result<(), ToolRefusal> {
    if asked.trim().is_empty() {
        return Err(ToolRefusal(format!("the path is empty; {HELP}")));
    }
    if asked.contains('\0') {
        return Err(ToolRefusal("the path has a NUL character in it".to_owned()));
    }
    if asked.len() > MAX_PATH_BYTES {
        let length = asked.len();
        return Err(ToolRefusal(format!(
            "the path has {length} bytes; it may have {MAX_PATH_BYTES}"
        )));
    }
    if asked == "~" || asked.starts_with("~/") {
        return Err(ToolRefusal(format!("`~` is not known here; {HELP}")));
    }
    Ok(())
}

/// A path in one line of text: what is no text is marked, and nothing moves a cursor.
pub(crate) fn display_path(path: &Path) -> String {
    display_text(&path.to_string_lossy())
}

/// Text in one line, without characters that do something.
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

fn shorten_path(asked: &str) -> String {
    let mut brief: String = display_text(asked).chars().take(200).collect();
    if brief.len() < asked.len() {
        brief.push('…');
    }
    brief
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_paths_below_the_root_are_taken() {
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
        for (asked, expected) in table {
            let roots = [Path::new("/home/x"), Path::new("/real/x")];
            match resolve_inside(asked, &roots) {
                Ok(path) => assert_eq!(path.to_str(), Some(expected), "{asked:?}"),
                Err(ToolRefusal(why)) => assert!(why.contains(expected), "{asked:?}: {why}"),
            }
        }
    }

    #[test]
    fn what_is_shown_is_one_line_of_text() {
        assert_eq!(display_text("a\nb\x1b[31mé"), "a\\nb\\u{1b}[31mé");
    }
}
