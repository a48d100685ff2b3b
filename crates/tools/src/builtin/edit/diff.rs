//! Shows a change as a short diff.

use similar::{Algorithm, DiffOp, DiffTag, capture_diff_slices, group_diff_ops};

use crate::{ToolLimits, text::display_line};

/// Maximum number of regions, context lines before and after each, and changed lines.
const PLACES: usize = 3;
const AROUND: usize = 2;
const LINES: usize = 20;
/// Maximum number of lines that are aligned, and steps of an alignment that is shown.
const MAX_ALIGNED: usize = 2_000;
const MAX_OPS: usize = 16;

/// Shows the change of replacing text of `length` bytes at all `matches` by `new`.
pub(super) fn diff(
    plain: &[u8],
    matches: &[usize],
    length: usize,
    new: &[u8],
    limits: &ToolLimits,
) -> String {
    let mut text = String::new();
    // How many lines were added so far.
    let mut line_shift = 0_i64;
    let mut rest = matches;
    for _ in 0..PLACES {
        let Some(region) = DiffRegion::first(plain, rest, length) else { break };
        rest = rest.get(region.places.len()..).unwrap_or_default();
        let after = region.after(plain, length, new);
        line_shift += region.show(plain, &after, line_shift, limits, &mut text);
    }
    if !rest.is_empty() {
        text.push_str(&format!("[… and {} more]\n", rest.len()));
    }
    text
}

/// Whole lines with one or more matches.
struct DiffRegion<'a> {
    places: &'a [usize],
    start: usize,
    end: usize,
}

impl<'a> DiffRegion<'a> {
    fn first(plain: &[u8], matches: &'a [usize], length: usize) -> Option<DiffRegion<'a>> {
        let start = line_start(plain, *matches.first()?);
        let mut end = start;
        let mut count = 0;
        for start_of_match in matches {
            if count > 0 && *start_of_match > end {
                break;
            }
            end = line_end(plain, start_of_match + length);
            count += 1;
        }
        Some(DiffRegion { places: matches.get(..count)?, start, end })
    }

    /// Its lines after the change.
    fn after(&self, plain: &[u8], length: usize, new: &[u8]) -> Vec<u8> {
        let mut after = Vec::new();
        let mut done = self.start;
        for place in self.places {
            after.extend_from_slice(plain.get(done..*place).unwrap_or_default());
            after.extend_from_slice(new);
            done = place + length;
        }
        after.extend_from_slice(plain.get(done..self.end).unwrap_or_default());
        after
    }

    /// Shows the region. Returns the number of added lines.
    fn show(
        &self,
        plain: &[u8],
        after: &[u8],
        line_shift: i64,
        limits: &ToolLimits,
        text: &mut String,
    ) -> i64 {
        let start = lines_back(plain, self.start);
        let above = lines(&plain[start..self.start]);
        let below = lines(&plain[self.end..lines_on(plain, self.end)]);
        let with_context = |region| [&above[..], &lines(region), &below].concat();
        let (old, new) = (with_context(&plain[self.start..self.end]), with_context(after));
        let first = memchr::memchr_iter(b'\n', &plain[..start]).count() as i64 + 1 + line_shift;
        for hunk in group_diff_ops(align(&old, &new, (above.len(), below.len())), AROUND) {
            let Some(change) = hunk.iter().find(|op| op.tag() != DiffTag::Equal) else { continue };
            let number = first + change.new_range().start as i64;
            text.push_str(&format!("@@ line {number} @@\n"));
            for op in hunk {
                if op.tag() == DiffTag::Equal {
                    show(" ", &old[op.old_range()], limits, text);
                } else {
                    show("-", &old[op.old_range()], limits, text);
                    show("+", &new[op.new_range()], limits, text);
                }
            }
        }
        new.len() as i64 - old.len() as i64
    }
}

/// Aligns old and new lines. What is too large, or changed in too many places, is one replacement
/// between the lines that both have above and below.
fn align(old: &[&[u8]], new: &[&[u8]], (above, below): (usize, usize)) -> Vec<DiffOp> {
    let (mut above, mut below) = (above, below);
    if old.len() + new.len() <= MAX_ALIGNED {
        let ops = capture_diff_slices(Algorithm::Myers, old, new);
        let equal = |op: Option<&DiffOp>| match op {
            Some(DiffOp::Equal { len, .. }) => *len,
            Some(_) | None => 0,
        };
        (above, below) = (equal(ops.first()), equal(ops.last()));
        if ops.len() <= MAX_OPS {
            return ops;
        }
    }
    let (old_len, new_len) = (old.len() - above - below, new.len() - above - below);
    let (old_index, new_index) = (above + old_len, above + new_len);
    vec![
        DiffOp::Equal { old_index: 0, new_index: 0, len: above },
        DiffOp::Replace { old_index: above, old_len, new_index: above, new_len },
        DiffOp::Equal { old_index, new_index, len: below },
    ]
}

fn show(mark: &str, lines: &[&[u8]], limits: &ToolLimits, text: &mut String) {
    for line in lines.iter().take(LINES) {
        let line = display_line(line, line.len() as u64, limits.line);
        text.push_str(&format!("{mark} {line}\n"));
    }
    if lines.len() > LINES {
        text.push_str(&format!("{mark} [… {} more lines]\n", lines.len() - LINES));
    }
}

/// The lines of a text. A line end at the end starts no new line.
fn lines(text: &[u8]) -> Vec<&[u8]> {
    match text.strip_suffix(b"\n") {
        Some(text) => text.split(|byte| *byte == b'\n').collect(),
        None if text.is_empty() => Vec::new(),
        None => text.split(|byte| *byte == b'\n').collect(),
    }
}

fn line_start(plain: &[u8], at: usize) -> usize {
    let before = plain.get(..at).unwrap_or(plain);
    memchr::memrchr(b'\n', before).map_or(0, |end| end + 1)
}

/// Where the context lines before a line start.
fn lines_back(plain: &[u8], start: usize) -> usize {
    let before = plain.get(..start).unwrap_or(plain);
    memchr::memrchr_iter(b'\n', before).nth(AROUND).map_or(0, |end| end + 1)
}

/// Where the context lines after a line end.
fn lines_on(plain: &[u8], end: usize) -> usize {
    let after = plain.get(end..).unwrap_or_default();
    memchr::memchr_iter(b'\n', after).nth(AROUND - 1).map_or(plain.len(), |at| end + at + 1)
}

/// Where the line of a byte ends, including its line end. Directly after a line end, that is the
/// byte itself.
fn line_end(plain: &[u8], at: usize) -> usize {
    if at == 0 || plain.get(at - 1) == Some(&b'\n') {
        return at;
    }
    let after = plain.get(at..).unwrap_or_default();
    memchr::memchr(b'\n', after).map_or(plain.len(), |end| at + end + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn removed_and_added_lines_are_shown_with_context() {
        let table = [
            ("a\nb\nc\nd\ne\n", "c", "x", "@@ line 3 @@\n  a\n  b\n- c\n+ x\n  d\n  e\n"),
            ("a\nb\n", "a\n", "", "@@ line 1 @@\n- a\n  b\n"),
            ("a\nb\n", "b\n", "b\nc\n", "@@ line 3 @@\n  a\n  b\n+ c\n"),
            ("a\nb", "a\nb", "a\nx\nb", "@@ line 2 @@\n  a\n+ x\n  b\n"),
            ("a a\nb\n", "a", "x", "@@ line 1 @@\n- a a\n+ x x\n  b\n"),
            (
                "a\n-\n-\na\n",
                "a",
                "x\ny",
                "@@ line 1 @@\n- a\n+ x\n+ y\n  -\n  -\n@@ line 5 @@\n  -\n  -\n- a\n+ x\n+ y\n",
            ),
            // A change that joins two lines.
            ("a\nb\nc\n", "\nb", "b", "@@ line 1 @@\n- a\n- b\n+ ab\n  c\n"),
            ("a", "a", "", "@@ line 1 @@\n- a\n"),
        ];
        for (plain, old, new, expected) in table {
            let matches: Vec<usize> = memchr::memmem::find_iter(plain.as_bytes(), old).collect();
            let limits = ToolLimits::default();
            let plain = plain.as_bytes();
            let diff = diff(plain, &matches, old.len(), new.as_bytes(), &limits);
            assert_eq!(diff, expected, "{plain:?} {old:?}");
        }
    }

    #[test]
    fn long_diffs_are_cut() {
        let plain = "a\nb\n".repeat(50);
        let matches: Vec<usize> = memchr::memmem::find_iter(plain.as_bytes(), "a").collect();
        let limits = ToolLimits::default();
        let text = diff(plain.as_bytes(), &matches, 1, b"x", &limits);
        assert!(text.ends_with("[… and 47 more]\n"), "{text}");
        let text = diff(b"a\n", &[0], 1, "x\n".repeat(100).as_bytes(), &limits);
        assert!(text.contains("+ [… 81 more lines]\n"), "{text}");
    }

    #[test]
    fn changes_of_one_edit_are_shown_where_they_are() {
        let limits = ToolLimits::default();
        let edit =
            |old: &str, new: &str| diff(old.as_bytes(), &[0], old.len(), new.as_bytes(), &limits);
        assert_eq!(edit("a\nb\nc\n", "x\nb\ny\n"), "@@ line 1 @@\n- a\n+ x\n  b\n- c\n+ y\n");
        let (old, new) = ("a\n1\n2\n3\n4\n5\nb\n", "x\ny\n1\n2\n3\n4\n5\n");
        let expected = "@@ line 1 @@\n- a\n+ x\n+ y\n  1\n  2\n@@ line 8 @@\n  4\n  5\n- b\n";
        assert_eq!(edit(old, new), expected);
        // Too many places, and too many lines: the common last line is known only for the first.
        for (count, more) in [(50, 79), (600, 1_180)] {
            let text = edit(&"a\nb\n".repeat(count), &"x\nb\n".repeat(count));
            assert!(text.starts_with("@@ line 1 @@\n- a\n- b\n- a\n"), "{text}");
            assert!(text.contains(&format!("+ [… {more} more lines]\n")), "{text}");
        }
    }
}
