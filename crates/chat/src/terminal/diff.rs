//! The change of a file as lines with numbers and context.

use std::time::{Duration, Instant};

use anstyle::Style;
use foxwedge_tools::FileChange;
use similar::{Algorithm, DiffOp, DiffTag, capture_diff_slices_deadline, group_diff_ops};

use foxwedge_local::{
    language::localize,
    output::{ADDED, DIM, REMOVED, pluralize},
};

/// Lines of context around a change.
const CONTEXT: usize = 3;
/// Size limit of what is compared.
const MAX_BYTES: usize = 1 << 20;
/// Time limit of a comparison; what is too different is shown as one replacement.
const TIMEOUT: Duration = Duration::from_millis(200);

/// Whether a change is small enough to be shown as lines.
pub(super) fn is_comparable(change: &FileChange) -> bool {
    let size = |side: &Option<Vec<u8>>| side.as_deref().unwrap_or_default().len();
    size(&change.before) + size(&change.after) <= MAX_BYTES
}

/// The lines of a change, with their style; empty if nothing changes.
pub(super) fn diff_lines(change: &FileChange) -> Vec<(Style, String)> {
    if !is_comparable(change) {
        return vec![(DIM, localize("too large to be compared").into_owned())];
    }
    let text = |side: &Option<Vec<u8>>| {
        String::from_utf8_lossy(side.as_deref().unwrap_or_default()).into_owned()
    };
    let (before, after) = (text(&change.before), text(&change.after));
    let (old, new): (Vec<&str>, Vec<&str>) = (before.lines().collect(), after.lines().collect());
    let deadline = Instant::now().checked_add(TIMEOUT);
    let ops = capture_diff_slices_deadline(Algorithm::Myers, &old, &new, deadline);
    let digits = old.len().max(new.len()).max(1).to_string().len();
    let line = |style: Style, sign: char, at: usize, text: &str| {
        (style, format!("{:>digits$} {sign} {text}", at + 1).trim_end().to_owned())
    };
    let mut lines = Vec::new();
    for group in group_diff_ops(ops, CONTEXT) {
        if group.iter().all(|op| op.tag() == DiffTag::Equal) {
            continue;
        }
        if !lines.is_empty() {
            lines.push((DIM, format!("{:>digits$}", "⋮")));
        }
        for op in group {
            if let DiffOp::Equal { .. } = op {
                let places = op.new_range().zip(&new[op.new_range()]);
                lines.extend(places.map(|(at, text)| line(DIM, ' ', at, text)));
                continue;
            }
            let removed = op.old_range().zip(&old[op.old_range()]);
            lines.extend(removed.map(|(at, text)| line(REMOVED, '-', at, text)));
            let added = op.new_range().zip(&new[op.new_range()]);
            lines.extend(added.map(|(at, text)| line(ADDED, '+', at, text)));
        }
    }
    lines
}

/// The first lines, and how many more there are.
pub(super) fn limit_lines(mut lines: Vec<(Style, String)>, max: usize) -> Vec<(Style, String)> {
    let hidden = lines.len().saturating_sub(max);
    // A single hidden line takes no more room than the note about it.
    if hidden > 1 {
        lines.truncate(max);
        lines.push((DIM, format!("… {}", localize(pluralize(hidden, "more line")))));
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;
    use insta::assert_snapshot;

    fn shown(before: Option<&str>, after: &str) -> String {
        let bytes = |text: &str| text.as_bytes().to_vec();
        let (before, after) = (before.map(bytes), Some(bytes(after)));
        let lines = diff_lines(&FileChange { path: "a".into(), before, after });
        lines.into_iter().map(|(_, line)| line).collect::<Vec<_>>().join("\n")
    }

    #[test]
    fn lines_have_numbers_and_context() {
        let before: String = (1..=30).map(|n| format!("line {n}\n")).collect();
        let after = before.replace("line 5\n", "five\nand a half\n").replace("line 28\n", "");
        assert_snapshot!(shown(Some(&before), &after), @"
         2   line 2
         3   line 3
         4   line 4
         5 - line 5
         5 + five
         6 + and a half
         7   line 6
         8   line 7
         9   line 8
         ⋮
        26   line 25
        27   line 26
        28   line 27
        28 - line 28
        29   line 29
        30   line 30
        ");
    }

    #[test]
    fn a_new_file_is_all_new() {
        assert_eq!(shown(None, "a\n\nb"), "1 + a\n2 +\n3 + b");
        assert_eq!(shown(Some("a"), "a"), "");
        let large = "x".repeat(MAX_BYTES + 1);
        assert_eq!(shown(None, &large), "too large to be compared");
        let after = Some(large.into_bytes());
        assert!(!is_comparable(&FileChange { path: "a".into(), before: None, after }));
    }
}
