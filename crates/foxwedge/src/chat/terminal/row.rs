//! A row of text in colours. Whatever is put into one is harmless afterwards.

use anstream::adapter::strip_str;
use anstyle::Style;
use unicode_width::UnicodeWidthChar;

use crate::{
    cli_output::{clean, width},
    screen::fit_columns,
};

/// A row: pieces, each in its colour.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(super) struct StyledRow(Vec<(Style, String)>);

/// Text without colours of its own, without tabs, and without anything that a terminal obeys.
pub(super) fn sanitize(text: &str) -> String {
    let stripped = strip_str(text).to_string();
    clean(&stripped.replace('\t', "    "))
}

impl StyledRow {
    /// An empty row.
    pub(super) fn new() -> StyledRow {
        StyledRow::default()
    }

    /// A row in one colour.
    pub(super) fn of(style: Style, text: &str) -> StyledRow {
        StyledRow::new().with(style, text)
    }

    /// Adds a piece.
    pub(super) fn with(mut self, style: Style, text: &str) -> StyledRow {
        self.push(style, text);
        self
    }

    /// Adds a piece.
    pub(super) fn push(&mut self, style: Style, text: &str) {
        if text.is_empty() {
            return;
        }
        let text = sanitize(text);
        match self.0.last_mut() {
            Some((last, piece)) if *last == style => piece.push_str(&text),
            Some(_) | None => self.0.push((style, text)),
        }
    }

    /// The pieces.
    pub(super) fn pieces(&self) -> &[(Style, String)] {
        &self.0
    }

    /// Its columns.
    pub(super) fn width(&self) -> usize {
        self.0.iter().map(|(_, text)| width(text)).sum()
    }

    /// Its text.
    #[cfg(test)]
    pub(super) fn plain(&self) -> String {
        self.0.iter().map(|(_, text)| text.as_str()).collect()
    }

    /// At most so many columns; what is cut shows as an ellipsis.
    pub(super) fn fit(&self, most: usize) -> StyledRow {
        if self.width() <= most {
            return self.clone();
        }
        let mut left = most;
        let mut row = StyledRow::new();
        for (style, text) in &self.0 {
            let wide = width(text);
            if wide < left {
                row.0.push((*style, text.clone()));
                left -= wide;
            } else {
                // Something is left out even where this piece would just fit.
                row.0.push((*style, fit_columns(&format!("{text} "), left)));
                break;
            }
        }
        row
    }

    /// As rows of so many columns at most, broken at spaces where there are some. The rows behind
    /// the first begin with the indent. No character is lost but the spaces at the breaks.
    pub(super) fn wrap(&self, most: usize, indent: &str) -> Vec<StyledRow> {
        if self.width() <= most {
            return vec![self.clone()];
        }
        let cells: Vec<(Style, char)> =
            self.0.iter().flat_map(|(style, text)| text.chars().map(|c| (*style, c))).collect();
        let mut rows = Vec::new();
        let mut rest = cells.as_slice();
        while !rest.is_empty() {
            let indent = if rows.is_empty() || width(indent) * 2 > most { "" } else { indent };
            let end = row_break(rest, most.saturating_sub(width(indent)).max(1));
            let (line, behind) = rest.split_at(end);
            let mut row = StyledRow::of(Style::new(), indent);
            for (style, c) in line {
                match row.0.last_mut() {
                    Some((last, piece)) if last == style => piece.push(*c),
                    Some(_) | None => row.0.push((*style, c.to_string())),
                }
            }
            rows.push(row);
            let spaces = behind.iter().take_while(|(_, c)| *c == ' ').count();
            rest = behind.get(spaces..).unwrap_or_default();
        }
        rows
    }
}

/// How many cells fit into a row: up to a space if there is one, and never none.
fn row_break(cells: &[(Style, char)], most: usize) -> usize {
    let mut used = 0;
    let mut space = None;
    for (at, (_, c)) in cells.iter().enumerate() {
        used += c.width().unwrap_or(0);
        if used > most {
            // A space that would be the first thing behind the row is a break too.
            let at_space = (*c == ' ').then_some(at);
            return at_space.or(space).filter(|end| *end > 0).unwrap_or(at.max(1));
        }
        // Spaces in front are an indent and no place to break.
        if *c == ' ' && cells.iter().take(at).any(|(_, c)| *c != ' ') {
            space = Some(at);
        }
    }
    cells.len()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli_output::BOLD;

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
        for (text, most, expected) in table {
            let rows = StyledRow::of(Style::new(), text).wrap(most, "");
            let rows: Vec<String> = rows.iter().map(StyledRow::plain).collect();
            assert_eq!(rows, expected, "{text} in {most}");
        }
    }

    #[test]
    fn colours_survive_a_break_and_the_indent_is_kept() {
        let row = StyledRow::of(Style::new(), "- one ").with(BOLD, "two three");
        let rows = row.wrap(9, "  ");
        let plain: Vec<String> = rows.iter().map(StyledRow::plain).collect();
        assert_eq!(plain, ["- one two", "  three"]);
        assert_eq!(rows[1].pieces(), [(Style::new(), "  ".into()), (BOLD, "three".into())]);
    }

    #[test]
    fn what_a_terminal_would_obey_does_not_get_into_a_row() {
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
        for (most, expected) in table {
            assert_eq!(row.fit(most).plain(), expected, "{most}");
        }
    }
}
