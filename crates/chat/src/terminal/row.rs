//! A row of styled text. All text in a row is sanitized.

use anstream::adapter::strip_str;
use anstyle::Style;
use unicode_width::UnicodeWidthChar;

use foxwedge_local::{
    language::localize,
    output::{clean, width},
    screen::fit_columns,
};

/// A row of text parts, each with its style.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(super) struct StyledRow(Vec<(Style, String)>);

/// Removes escape sequences and replaces tabs and control characters.
pub(super) fn sanitize(text: &str) -> String {
    let stripped = strip_str(text).to_string();
    clean(&stripped.replace('\t', "    "))
}

impl StyledRow {
    /// An empty row.
    pub(super) fn new() -> StyledRow {
        StyledRow::default()
    }

    /// A row in one style.
    pub(super) fn of(style: Style, text: &str) -> StyledRow {
        StyledRow::new().with(style, text)
    }

    /// A row of our own text, in the language of the user.
    pub(super) fn localized(style: Style, text: &str) -> StyledRow {
        StyledRow::of(style, &localize(text))
    }

    /// Appends a part.
    pub(super) fn with(mut self, style: Style, text: &str) -> StyledRow {
        self.push(style, text);
        self
    }

    /// Appends a part.
    pub(super) fn push(&mut self, style: Style, text: &str) {
        if text.is_empty() {
            return;
        }
        let text = sanitize(text);
        match self.0.last_mut() {
            Some((last, last_text)) if *last == style => last_text.push_str(&text),
            Some(_) | None => self.0.push((style, text)),
        }
    }

    /// The parts with their styles.
    pub(super) fn pieces(&self) -> &[(Style, String)] {
        &self.0
    }

    /// The width in columns.
    pub(super) fn width(&self) -> usize {
        self.0.iter().map(|(_, text)| width(text)).sum()
    }

    /// The text without styles.
    #[cfg(test)]
    pub(super) fn plain(&self) -> String {
        self.0.iter().map(|(_, text)| text.as_str()).collect()
    }

    /// Truncates the row to `max` columns and marks the cut with an ellipsis.
    pub(super) fn fit(&self, max: usize) -> StyledRow {
        if self.width() <= max {
            return self.clone();
        }
        let mut left = max;
        let mut row = StyledRow::new();
        for (style, text) in &self.0 {
            let columns = width(text);
            if columns < left {
                row.0.push((*style, text.clone()));
                left -= columns;
            } else {
                // The ellipsis is needed even where this part alone would fit.
                row.0.push((*style, fit_columns(&format!("{text} "), left)));
                break;
            }
        }
        row
    }

    /// Wraps the row to `max` columns, at spaces where possible. Rows after the first start with
    /// the indent. Only spaces at the breaks are removed.
    pub(super) fn wrap(&self, max: usize, indent: &str) -> Vec<StyledRow> {
        if self.width() <= max {
            return vec![self.clone()];
        }
        let cells: Vec<(Style, char)> =
            self.0.iter().flat_map(|(style, text)| text.chars().map(|c| (*style, c))).collect();
        let mut rows = Vec::new();
        let mut rest = cells.as_slice();
        while !rest.is_empty() {
            let indent = if rows.is_empty() || width(indent) * 2 > max { "" } else { indent };
            let end = row_break(rest, max.saturating_sub(width(indent)).max(1));
            let (line, remaining) = rest.split_at(end);
            let mut row = StyledRow::of(Style::new(), indent);
            for (style, c) in line {
                match row.0.last_mut() {
                    Some((last, text_so_far)) if last == style => text_so_far.push(*c),
                    Some(_) | None => row.0.push((*style, c.to_string())),
                }
            }
            rows.push(row);
            let spaces = remaining.iter().take_while(|(_, c)| *c == ' ').count();
            rest = remaining.get(spaces..).unwrap_or_default();
        }
        rows
    }
}

/// The number of cells that fit into a row: up to a space if possible, and at least one.
fn row_break(cells: &[(Style, char)], max: usize) -> usize {
    let mut used = 0;
    let mut space = None;
    for (at, (_, c)) in cells.iter().enumerate() {
        used += c.width().unwrap_or(0);
        if used > max {
            // A space directly after the row is a break too.
            let at_space = (*c == ' ').then_some(at);
            return at_space.or(space).filter(|end| *end > 0).unwrap_or(at.max(1));
        }
        // Leading spaces are an indent, not a break.
        if *c == ' ' && cells.iter().take(at).any(|(_, c)| *c != ' ') {
            space = Some(at);
        }
    }
    cells.len()
}

#[cfg(test)]
mod tests {
    use super::*;
    use foxwedge_local::output::BOLD;

    #[test]
    fn rows_break_at_words() {
        let table: [(&str, usize, &[&str]); 8] = [
            ("", 5, &[""]),
            ("one two three", 20, &["one two three"]),
            ("one two three", 8, &["one two", "three"]),
            ("one two three", 7, &["one two", "three"]),
            ("  one two", 6, &["  one", "two"]),
            ("abcdefghij", 4, &["abcd", "efgh", "ij"]),
            ("中文中文中", 5, &["中文", "中文", "中"]),
            ("中", 1, &["中"]),
        ];
        for (text, max, expected) in table {
            let rows = StyledRow::of(Style::new(), text).wrap(max, "");
            let rows: Vec<String> = rows.iter().map(StyledRow::plain).collect();
            assert_eq!(rows, expected, "{text} in {max}");
        }
    }

    #[test]
    fn wrapped_rows_keep_styles_and_indent() {
        let row = StyledRow::of(Style::new(), "- one ").with(BOLD, "two three");
        let rows = row.wrap(9, "  ");
        let plain: Vec<String> = rows.iter().map(StyledRow::plain).collect();
        assert_eq!(plain, ["- one two", "  three"]);
        assert_eq!(rows[1].pieces(), [(Style::new(), "  ".into()), (BOLD, "three".into())]);
    }

    #[test]
    fn control_sequences_are_removed_from_rows() {
        let table = [
            ("\u{1b}[31mred\u{1b}[0m", "red"),
            ("\u{1b}]0;title\u{7}text", "text"),
            ("a\tb", "a    b"),
            ("a\rb\u{8}c", "a\u{fffd}bc"),
            ("\u{9b}2J\u{202e}x", "\u{fffd}2J\u{fffd}x"),
        ];
        for (text, expected) in table {
            let plain = StyledRow::of(Style::new(), text).plain();
            assert!(!plain.contains(char::is_control), "{text:?}");
            assert_eq!(plain, expected, "{text:?}");
        }
    }

    #[test]
    fn a_row_is_cut_by_columns() {
        let row = StyledRow::of(BOLD, "abc").with(Style::new(), "defgh");
        let table = [(9, "abcdefgh"), (8, "abcdefgh"), (6, "abcde…"), (3, "ab…"), (1, "…")];
        for (max, expected) in table {
            assert_eq!(row.fit(max).plain(), expected, "{max}");
        }
    }
}
