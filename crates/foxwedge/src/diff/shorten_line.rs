//! Shortens long messages to one line.

/// Max characters of a line.
const LINE: usize = 160;
/// Characters kept at the beginning of a line: they show the role of the message.
const HEAD: usize = 48;
/// Characters kept on each side of a difference.
const SIDE: usize = 24;

/// Puts a message on one line. Line breaks in JSON are layout, never content.
pub(super) fn flatten_message(message: &str) -> String {
    let lines = message.lines().map(str::trim);
    let mut text = String::with_capacity(message.len());
    for line in lines.filter(|line| !line.is_empty()) {
        let joined = text.is_empty() || text.ends_with(['{', '[']) || line.starts_with(['}', ']']);
        if !joined {
            text.push(' ');
        }
        text.push_str(line);
    }
    text
}

/// Cuts a long line in the middle. The difference from the other line stays visible.
pub(super) fn shorten_line(line: &str, other: Option<&str>) -> String {
    let chars: Vec<char> = line.chars().collect();
    if chars.len() <= LINE {
        return line.to_owned();
    }
    let (start, end) = match other {
        Some(other) => differing_range(&chars, other),
        None => (chars.len(), chars.len()),
    };
    let end = end.min(start + LINE - HEAD - 2 * SIDE);
    let window = (start.saturating_sub(SIDE), (end + SIDE).min(chars.len()));
    let tail = chars.len() - SIDE;
    let mut text = String::new();
    let mut done = 0;
    for (from, to) in [(0, HEAD), window, (tail, chars.len())] {
        let from = from.max(done);
        if from >= to {
            continue;
        }
        if from > done {
            text.push_str(&format!(" …{}… ", from - done));
        }
        text.extend(&chars[from..to]);
        done = to;
    }
    text
}

/// The range of characters that differs from the other line.
fn differing_range(chars: &[char], other: &str) -> (usize, usize) {
    let same = chars.iter().zip(other.chars()).take_while(|(a, b)| **a == *b).count();
    let left = chars.len() - same;
    let other_left = other.chars().count().saturating_sub(same);
    let back = chars.iter().rev().zip(other.chars().rev()).take_while(|(a, b)| **a == *b).count();
    (same, chars.len() - back.min(left).min(other_left))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn layout_is_flattened() {
        assert_eq!(
            flatten_message("{\n  \"a\": 1,\r\n  \"b\": [\n    2\n  ]\n}"),
            "{\"a\": 1, \"b\": [2]}"
        );
    }

    #[test]
    fn difference_stays_visible() {
        let old = format!("{}OLD{}", "x".repeat(500), "y".repeat(500));
        let new = format!("{}NEW{}", "x".repeat(500), "y".repeat(500));
        let shown = shorten_line(&old, Some(&new));
        assert!(shown.contains("OLD") && shown.chars().count() < LINE, "{shown}");
        assert!(shorten_line(&old, None).chars().count() < LINE);
        assert_eq!(shorten_line("short", None), "short");
    }
}
