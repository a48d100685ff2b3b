//! What the documents name exists: files, folders and tests.

use super::{Complaint, complaint};
use crate::workspace::{self, File};

const DOCUMENTS: [&str; 4] = ["ARCHITECTURE.md", "CONTRIBUTING.md", "README.md", "README.zh-CN.md"];

/// Where our own paths start; what starts elsewhere is a user's file.
const ROOTS: [&str; 5] = ["crates/", "docs/", "xtask/", "fixtures/", "bench/"];

pub(super) fn check(files: &[File]) -> Vec<Complaint> {
    let mut complaints = Vec::new();
    for document in DOCUMENTS {
        let Some(file) = files.iter().find(|file| file.path == document) else {
            complaints.push(complaint(document, "is missing"));
            continue;
        };
        for (at, line) in file.text.lines().enumerate() {
            for name in quoted(line).into_iter().chain(linked(line)) {
                if let Some(what) = missing(name, files) {
                    complaints.push(complaint(format!("{document}:{}", at + 1), what));
                }
            }
        }
    }
    complaints
}

/// What stands between backticks in a line.
fn quoted(line: &str) -> Vec<&str> {
    line.split('`').skip(1).step_by(2).collect()
}

/// Where the links of a line lead, if not to the web.
fn linked(line: &str) -> Vec<&str> {
    let ends = line.split("](").skip(1).filter_map(|rest| rest.split(')').next());
    let local = ends.filter(|end| !end.contains("://") && !end.starts_with('#'));
    local.map(|end| end.split('#').next().unwrap_or(end)).collect()
}

/// Says what is missing, if the name is one of ours and does not exist.
fn missing(name: &str, files: &[File]) -> Option<String> {
    let is_word = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_';
    if ROOTS.iter().any(|root| name.starts_with(root)) && !name.contains(['<', '*', ' ']) {
        let known = files.iter().any(|file| match name.strip_suffix('/') {
            Some(_) => file.path.starts_with(name),
            None => file.path == name,
        });
        // Pictures are no text, and nobody read them.
        let drawn = name.ends_with(".png") && workspace::root().join(name).is_file();
        return (!known && !drawn).then(|| format!("`{name}` does not exist"));
    }
    // A test is a sentence: a name with at least three underscores.
    if name.matches('_').count() >= 3 && name.chars().all(is_word) {
        let definition = format!("fn {name}(");
        let known = files.iter().any(|file| file.is_rust() && file.text.contains(&definition));
        return (!known).then(|| format!("there is no test `{name}`"));
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_that_lead_nowhere_are_found() {
        let rust = "fn the_laws_hold_for_all() {}".to_owned();
        let files = [File { path: "crates/core/src/a.rs".to_owned(), text: rust }];
        let line = "`crates/core/src/` `crates/core/src/b.rs` `the_laws_hold_for_all` \
                    `the_laws_hold_for_none` `crates/<name>` `a_b` [x](docs/x.md#y) [z](http://z) \
                    ![p](docs/no-such-picture.png)";
        let names = quoted(line).into_iter().chain(linked(line));
        let found: Vec<String> = names.filter_map(|name| missing(name, &files)).collect();
        let expected = [
            "`crates/core/src/b.rs` does not exist",
            "there is no test `the_laws_hold_for_none`",
            "`docs/x.md` does not exist",
            "`docs/no-such-picture.png` does not exist",
        ];
        assert_eq!(found, expected);
    }
}
