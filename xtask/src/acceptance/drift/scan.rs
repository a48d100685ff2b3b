//! Finds names in the files of a package: bundles, binaries, declarations of types, schemas.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    path::{Path, PathBuf},
};

use regex::bytes::Regex;

use super::packages::WatchedPackage;

/// The names in a package, by what they name.
pub(super) fn scan(
    package: &WatchedPackage,
    folder: &Path,
) -> Result<BTreeMap<String, BTreeSet<String>>, String> {
    let files = files_below(folder)?;
    let is_watched = |path: &&PathBuf| {
        let path = path.strip_prefix(folder).unwrap_or(path).to_string_lossy().replace('\\', "/");
        package.files.iter().any(|pattern| matches_path(&path, pattern))
    };
    let watched: Vec<&PathBuf> = files.iter().filter(is_watched).collect();
    if watched.is_empty() {
        return Err(format!("{}: none of the files {:?}", folder.display(), package.files));
    }
    let mut names: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for path in watched {
        let bytes = fs::read(path).map_err(|error| format!("{}: {error}", path.display()))?;
        for watch in package.watches {
            let found = names.entry(watch.what.to_owned()).or_default();
            found.extend(names_in(watch.pattern, &bytes)?);
        }
    }
    Ok(names)
}

/// The names that a pattern finds: its groups, joined with a point. If its first group is a list of
/// columns (`columns`), each of them is a name.
pub(super) fn names_in(pattern: &str, bytes: &[u8]) -> Result<BTreeSet<String>, String> {
    let pattern = Regex::new(pattern).map_err(|error| error.to_string())?;
    let mut names = BTreeSet::new();
    for found in pattern.captures_iter(bytes) {
        let text = |group: &regex::bytes::Match<'_>| {
            String::from_utf8_lossy(group.as_bytes()).into_owned()
        };
        if let Some(columns) = found.name("columns") {
            let table = found.name("table").map(|table| text(&table)).unwrap_or_default();
            let columns = columns_of(&text(&columns));
            names.extend(columns.into_iter().map(|column| format!("{table}.{column}")));
            continue;
        }
        let groups: Vec<String> =
            found.iter().skip(1).flatten().map(|group| text(&group)).collect();
        names.insert(groups.join("."));
    }
    Ok(names)
}

/// The columns in the parentheses of `CREATE TABLE`.
fn columns_of(definition: &str) -> Vec<String> {
    let definition = definition.replace("\\n", "\n").replace("\\t", " ");
    let (mut depth, mut start, mut pieces) = (0_usize, 0, Vec::new());
    for (at, byte) in definition.bytes().enumerate() {
        match byte {
            b'(' => depth += 1,
            b')' if depth == 0 => {
                pieces.push(&definition[start..at]);
                start = definition.len();
                break;
            }
            b')' => depth -= 1,
            b',' if depth == 0 => {
                pieces.push(&definition[start..at]);
                start = at + 1;
            }
            _ => {}
        }
    }
    pieces.push(&definition[start..]);
    let names = pieces.into_iter().filter_map(|piece| {
        let name = piece.split_whitespace().next()?.trim_matches(['`', '"']);
        let is_name = name.bytes().all(|byte| byte.is_ascii_lowercase() || byte == b'_');
        (is_name && !name.is_empty()).then(|| name.to_owned())
    });
    names.collect()
}

/// Whether a path matches a pattern, in which `*` stands for any text.
fn matches_path(path: &str, pattern: &str) -> bool {
    let mut pieces = pattern.split('*');
    let Some(mut rest) = pieces.next().and_then(|first| path.strip_prefix(first)) else {
        return false;
    };
    let pieces: Vec<&str> = pieces.collect();
    let Some((last, middle)) = pieces.split_last() else { return rest.is_empty() };
    for piece in middle {
        let Some(at) = rest.find(piece) else { return false };
        rest = &rest[at + piece.len()..];
    }
    rest.ends_with(last)
}

fn files_below(folder: &Path) -> Result<Vec<PathBuf>, String> {
    let mut files = Vec::new();
    let entries = fs::read_dir(folder).map_err(|error| format!("{}: {error}", folder.display()))?;
    for entry in entries.flatten() {
        match entry.file_type() {
            Ok(kind) if kind.is_dir() => files.extend(files_below(&entry.path())?),
            Ok(kind) if kind.is_file() => files.push(entry.path()),
            _ => {}
        }
    }
    files.sort();
    Ok(files)
}

#[cfg(test)]
mod tests {
    use super::{super::packages::PACKAGES, *};

    #[test]
    fn columns_are_found_in_statements_as_packages_hold_them() {
        let pattern = r"CREATE TABLE `?(?P<table>part|messages)`? \((?P<columns>[^;]*)";
        let text = b"x CREATE TABLE `part` (\\n  `id` text PRIMARY KEY,\\n `data` text NOT NULL,\\n CONSTRAINT `fk` FOREIGN KEY (`a`) REFERENCES `b`(`c`)\\n)`; y
            CREATE TABLE messages (\n id INTEGER PRIMARY KEY, tokens NUMERIC(1, 2) )\0 other text;";
        let names: Vec<String> = names_in(pattern, text).expect("a pattern").into_iter().collect();
        assert_eq!(names, ["messages.id", "messages.tokens", "part.data", "part.id"]);
    }

    #[test]
    fn groups_are_joined_and_the_patterns_of_packages_are_patterns() {
        let names = names_in(r"ALTER TABLE (\w+) ADD (\w+)", b"ALTER TABLE a ADD b");
        assert_eq!(names, Ok(BTreeSet::from(["a.b".to_owned()])));
        for watch in PACKAGES.iter().flat_map(|package| package.watches) {
            assert!(names_in(watch.pattern, b"").is_ok(), "{}", watch.pattern);
        }
    }

    #[test]
    fn stars_in_paths_stand_for_any_text() {
        let table = [
            ("package/bin/goose", "package/bin/goose", true),
            ("package/dist/a/b.d.ts", "package/dist/*.d.ts", true),
            ("package/dist/a/b.js", "package/dist/*.d.ts", false),
            ("described/.cache/x/schemas/events.json", "described/*/schemas/events.json", true),
            ("package/bin/goose2", "package/bin/goose", false),
        ];
        for (path, pattern, expected) in table {
            assert_eq!(matches_path(path, pattern), expected, "{path} {pattern}");
        }
    }
}
