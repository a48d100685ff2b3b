//! Files stay short, finished, and free of the machine they were written on.

use super::{Complaint, complaint};
use crate::{tokens::tokens, workspace::File};

/// Past this a file usually has two ideas in it.
const LINES: usize = 500;

/// The word of unfinished work. Put together here, so that this file does not hold it itself.
const NOTE: &str = concat!("FIX", "ME");

/// Folders of one machine.
const FOLDERS: [&str; 2] = [concat!("/", "work/"), concat!("/", "root/")];

pub(super) fn check(files: &[File]) -> Vec<Complaint> {
    files.iter().flat_map(complaints).collect()
}

fn complaints(file: &File) -> Vec<Complaint> {
    let mut found = Vec::new();
    for (at, line) in file.text.lines().enumerate() {
        let place = format!("{}:{}", file.path, at + 1);
        for folder in FOLDERS.iter().filter(|folder| names_folder(line, folder)) {
            found.push(complaint(&place, format!("`{folder}` is a folder of one machine")));
        }
        if file.is_rust() && line.contains(NOTE) {
            found.push(complaint(&place, format!("`{NOTE}`: finish it, or say what is missing")));
        }
    }
    if !file.is_rust() {
        return found;
    }
    let tokens = tokens(&file.text);
    for (at, token) in tokens.iter().enumerate() {
        let next = tokens.get(at + 1).map_or("", |next| next.text);
        let what = match (token.text, next) {
            ("todo" | "unimplemented", "!") => format!("`{}!`: finish it", token.text),
            ("[" | ",", "ignore") if is_attribute(&tokens, at) => {
                "no test is ignored: assert today's answer and say why".to_owned()
            }
            _ => continue,
        };
        found.push(complaint(format!("{}:{}", file.path, token.line), what));
    }
    let lines = file.text.lines().count();
    if lines > LINES && !file.is_test() {
        let what = format!("{lines} lines; past {LINES} a file usually has two ideas in it");
        found.push(complaint(&file.path, what));
    }
    found
}

/// `#[ignore` or `#[cfg_attr(…, ignore`.
fn is_attribute(tokens: &[crate::tokens::Token<'_>], at: usize) -> bool {
    let before = tokens.get(..at + 1).unwrap_or(&[]);
    let open = before.iter().rposition(|token| token.text == "[");
    open.is_some_and(|open| {
        let inside = before.get(open..).unwrap_or(&[]);
        let start = open.checked_sub(1).and_then(|at| before.get(at)).map_or("", |t| t.text);
        start == "#" && inside.iter().all(|token| token.text != "]")
    })
}

/// Whether a line holds the folder as the start of an absolute path.
fn names_folder(line: &str, folder: &str) -> bool {
    line.match_indices(folder).any(|(at, _)| {
        let before = line.get(..at).and_then(|head| head.chars().next_back());
        before.is_none_or(|c| !(c.is_alphanumeric() || "._-*/".contains(c)))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unfinished_and_local_things_are_found() {
        let table = [
            (concat!("tod", "o!()"), "`todo!`: finish it"),
            ("#[ignore] fn f() {}", "no test is ignored: assert today's answer and say why"),
            ("#[cfg_attr(x, ignore)]", "no test is ignored: assert today's answer and say why"),
            ("f(a, ignore); let x = [ignore];", ""),
            (concat!("// see ", "/", "root/x"), concat!("`/", "root/` is a folder of one machine")),
            ("// see crates/core/work/x", ""),
        ];
        for (text, expected) in table {
            let file = File { path: "a.rs".to_owned(), text: text.to_owned() };
            let found: Vec<String> =
                complaints(&file).into_iter().map(|found| found.what).collect();
            assert_eq!(found.join("\n"), expected, "{text}");
        }
    }
}
