//! Finds what in a file is most similar to a text that is not in it. Cheap rather than clever.

use std::collections::HashSet;

use crate::text::display_line as show;

/// Maximum number of lines that are compared, and bytes of each.
const LINES: usize = 20_000;
const WIDTH: usize = 200;
/// Maximum number of positions that are compared in detail.
const PLACES: usize = 50;
/// Minimum similarity of two lines for a hint.
const LIKE: f64 = 0.5;

/// A hint for a text that was not found.
pub(super) fn nearest(plain: &[u8], old: &str) -> Option<String> {
    if old.lines().all(is_numbered) {
        return Some("leave out the line numbers that `read` shows, and the tab".to_owned());
    }
    if old.contains('\u{fffd}') {
        return Some(
            "what is shown as `\u{fffd}` are bytes that are no text; leave them out".into(),
        );
    }
    let old: Vec<&[u8]> = old.lines().map(str::as_bytes).collect();
    let blank = old.iter().take_while(|line| line.trim_ascii().is_empty()).count();
    let old = old.get(blank..).filter(|old| !old.is_empty())?;
    let plain = plain.strip_suffix(b"\n").unwrap_or(plain);
    let lines: Vec<&[u8]> = plain.split(|byte| *byte == b'\n').take(LINES).collect();
    best_place(&lines, old).or_else(|| closest_line(&lines, old.first()?))
}

fn is_numbered(line: &str) -> bool {
    let number = line.trim_start().split_once('\t').map(|(number, _)| number);
    number.is_some_and(|number| !number.is_empty() && number.bytes().all(|b| b.is_ascii_digit()))
}

/// The position where most of its lines match in order, ignoring white space around them.
fn best_place(lines: &[&[u8]], old: &[&[u8]]) -> Option<String> {
    let same = |one: &[u8], other: &[u8]| one.trim_ascii() == other.trim_ascii();
    let first = *old.first()?;
    let starts = lines.iter().enumerate().filter(|(_, line)| same(line, first)).take(PLACES);
    let matching_lines = |start: usize| {
        let rest = lines.get(start..).unwrap_or_default();
        rest.iter().zip(old).take_while(|(line, old)| same(line, old)).count()
    };
    let (start, matching_lines) = starts
        .map(|(start, _)| (start, matching_lines(start)))
        .max_by_key(|(start, matching_lines)| (*matching_lines, std::cmp::Reverse(*start)))?;
    let number = start + matching_lines + 1;
    Some(match (lines.get(start + matching_lines), old.get(matching_lines)) {
        (_, None) => format!(
            "from line {} on the same text stands there, but with other white space",
            start + 1
        ),
        (Some(line), Some(old)) => {
            format!("line {number} is `{}` where `old` has `{}`", quote_line(line), quote_line(old))
        }
        (None, Some(old)) => format!("the file ends where `old` has `{}`", quote_line(old)),
    })
}

/// The most similar line.
fn closest_line(lines: &[&[u8]], old: &[u8]) -> Option<String> {
    let old_pairs = pairs(old);
    let score = |line: &[u8]| {
        let pairs = pairs(line);
        let both = pairs.intersection(&old_pairs).count();
        2.0 * both as f64 / (pairs.len() + old_pairs.len()).max(1) as f64
    };
    let scores = lines.iter().enumerate().map(|(at, line)| (score(line), at, line));
    let (best, at, line) =
        scores.max_by(|one, other| one.0.total_cmp(&other.0).then(other.1.cmp(&one.1)))?;
    let number = at + 1;
    (best >= LIKE).then(|| format!("the nearest is line {number}: `{}`", quote_line(line)))
}

fn pairs(line: &[u8]) -> HashSet<(u8, u8)> {
    let line = line.trim_ascii();
    let line = line.get(..WIDTH).unwrap_or(line);
    line.iter().copied().zip(line.iter().copied().skip(1)).collect()
}

fn quote_line(line: &[u8]) -> String {
    show(line, line.len() as u64, WIDTH)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nearest_text_is_reported() {
        let file = b"fn main() {\n    let x = 1;\n    print(x);\n}\n";
        let table = [
            ("  let x = 1;\n  print(x);", "from line 2 on the same text stands there"),
            ("let x = 1;\nprint(y);", "line 3 is `    print(x);` where `old` has `print(y);`"),
            ("print(x);\n}\nmore", "the file ends where `old` has `more`"),
            ("}\n\n\n", "the file ends where `old` has ``"),
            ("let x = 2;", "the nearest is line 2: `    let x = 1;`"),
            ("     1\tfn main() {", "leave out the line numbers"),
            ("a\u{fffd}", "bytes that are no text"),
        ];
        for (old, expected) in table {
            let hint = nearest(file, old).unwrap_or_default();
            assert!(hint.contains(expected), "{old:?}: {hint}");
        }
        assert_eq!(nearest(file, "something else entirely"), None);
        assert_eq!(nearest(file, "\n \n"), None);
        assert_eq!(nearest(b"", "x"), None);
    }
}
