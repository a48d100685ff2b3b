//! Streams the model's text to rows: complete lines become rows, the last line waits. Some Markdown
//! is styled; no character is removed.

use anstyle::Style;

use super::row::StyledRow;
use foxwedge_local::output::{BOLD, DIM, HELP};

/// Size limit of a waiting line. Rows of a longer line are emitted before it ends.
const MAX_LINE_BYTES: usize = 4 << 10;

/// A streamed text.
#[derive(Clone, Debug, Default)]
pub(super) struct MarkdownFlow {
    /// The incomplete line.
    line: String,
    /// The fence that ends the current code block.
    fence: Option<String>,
    /// Empty lines that wait for the next line, so that a text does not end in empty lines.
    empty: usize,
    /// Whether any row was emitted.
    begun: bool,
}

impl MarkdownFlow {
    /// Appends a delta and returns the complete rows.
    pub(super) fn push(&mut self, delta: &str, width: usize) -> Vec<StyledRow> {
        let mut rows = Vec::new();
        for part in delta.split_inclusive('\n') {
            self.line.push_str(part);
            if part.ends_with('\n') {
                let line = std::mem::take(&mut self.line);
                self.finish_line(line.trim_end(), width, &mut rows);
            } else if self.line.len() > MAX_LINE_BYTES {
                let mut wrapped = style_line(&self.line).wrap(width, "");
                // The last row may still grow.
                let last = wrapped.pop().unwrap_or_default();
                rows.append(&mut self.take_empty_rows());
                rows.append(&mut wrapped);
                self.line = last.pieces().iter().map(|(_, text)| text.as_str()).collect();
            }
        }
        rows
    }

    /// Ends the text and returns the remaining rows.
    pub(super) fn close(&mut self, width: usize) -> Vec<StyledRow> {
        let mut rows = Vec::new();
        let line = std::mem::take(&mut self.line);
        self.finish_line(line.trim_end(), width, &mut rows);
        *self = MarkdownFlow::default();
        rows
    }

    /// The rows of the incomplete line so far.
    pub(super) fn live_rows(&self, width: usize) -> Vec<StyledRow> {
        let line = self.line.trim_end();
        if line.is_empty() { Vec::new() } else { style_line(line).wrap(width, &wrap_indent(line)) }
    }

    fn finish_line(&mut self, line: &str, width: usize, rows: &mut Vec<StyledRow>) {
        if line.is_empty() {
            self.empty += usize::from(self.begun);
            return;
        }
        rows.append(&mut self.take_empty_rows());
        let trimmed = line.trim_start();
        match &self.fence {
            Some(fence) => {
                // Lines of code are not wrapped, so that they can be copied.
                let ends =
                    trimmed.starts_with(fence) && trimmed.trim_matches(['`', '~']).is_empty();
                rows.push(StyledRow::of(if ends { DIM } else { Style::new() }, line));
                if ends {
                    self.fence = None;
                }
            }
            None => match fence_mark(trimmed) {
                Some(mark) => {
                    rows.push(StyledRow::of(DIM, line));
                    self.fence = Some(mark);
                }
                None => rows.append(&mut style_line(line).wrap(width, &wrap_indent(line))),
            },
        }
    }

    /// Takes the waiting empty lines.
    fn take_empty_rows(&mut self) -> Vec<StyledRow> {
        self.begun = true;
        vec![StyledRow::new(); std::mem::take(&mut self.empty)]
    }
}

/// The fence of a line that starts a code block.
fn fence_mark(line: &str) -> Option<String> {
    let mark = line.chars().next().filter(|c| matches!(c, '`' | '~'))?;
    let length = line.chars().take_while(|c| *c == mark).count();
    (length >= 3).then(|| mark.to_string().repeat(length))
}

/// The indent of wrapped rows: aligns the text of list items.
fn wrap_indent(line: &str) -> String {
    let bare = line.trim_start();
    let spaces = line.len() - bare.len();
    let mark = match bare.split_once(' ') {
        Some(("-" | "*" | "+" | ">", _)) => 2,
        Some((number, _)) if is_number(number) => number.len() + 1,
        Some(_) | None => 0,
    };
    " ".repeat((spaces + mark).min(16))
}

/// `1.` or `1)`.
fn is_number(word: &str) -> bool {
    let digits = word.strip_suffix(['.', ')']).unwrap_or_default();
    (1..=3).contains(&digits.len()) && digits.bytes().all(|byte| byte.is_ascii_digit())
}

/// Styles headings, bold text and inline code. The characters stay the same.
fn style_line(line: &str) -> StyledRow {
    let bare = line.trim_start_matches('#');
    if (1..=6).contains(&(line.len() - bare.len())) && bare.starts_with(' ') {
        return StyledRow::of(BOLD, line);
    }
    let mut row = StyledRow::new();
    let mut rest = line;
    while let Some(at) = rest.find(['`', '*']) {
        let (before, from) = rest.split_at(at);
        row.push(Style::new(), before);
        let marks = from.len() - from.trim_start_matches(['`', '*']).len();
        let mark = from.get(..marks).unwrap_or_default();
        let inside = from.get(marks..).unwrap_or_default();
        let style = match mark {
            "`" | "``" => Some(HELP),
            "**" => Some(BOLD),
            _ => None,
        };
        let end = inside.find(mark).filter(|end| *end > 0 && !inside.starts_with(' '));
        let (text, style) = match (style, end) {
            (Some(style), Some(end)) => (from.get(..marks + end + marks), style),
            (Some(_), None) | (None, _) => (Some(mark), Style::new()),
        };
        let text = text.unwrap_or(from);
        row.push(style, text);
        rest = from.get(text.len()..).unwrap_or_default();
    }
    row.push(Style::new(), rest);
    row
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plain(rows: &[StyledRow]) -> Vec<String> {
        rows.iter().map(StyledRow::plain).collect()
    }

    fn whole(text: &str, width: usize) -> Vec<String> {
        let mut flow = MarkdownFlow::default();
        let mut rows = flow.push(text, width);
        rows.extend(flow.close(width));
        plain(&rows)
    }

    #[test]
    fn lines_are_emitted_when_complete() {
        let mut flow = MarkdownFlow::default();
        let steps: [(&str, &[&str], &[&str]); 6] = [
            ("\n\nHel", &[], &["Hel"]),
            ("lo", &[], &["Hello"]),
            (" world\nand", &["Hello", "world"], &["and"]),
            (" more\n", &["and more"], &[]),
            ("\n\n", &[], &[]),
            ("end", &[], &["end"]),
        ];
        for (delta, settled, live) in steps {
            assert_eq!(plain(&flow.push(delta, 8)), settled, "{delta:?}");
            assert_eq!(plain(&flow.live_rows(8)), live, "{delta:?}");
        }
        assert_eq!(plain(&flow.close(8)), ["", "", "end"]);
        assert_eq!(plain(&flow.close(8)), [""; 0]);
    }

    #[test]
    fn code_is_not_broken_and_lists_are_indented() {
        let text = "- one two three\n12. one two\n```rust\nfn main() { long }\n```\nand so on\n";
        let rows =
            ["- one two", "  three", "12. one", "    two", "```rust", "fn main() { long }", "```"];
        assert_eq!(whole(text, 9), [&rows[..], &["and so on"]].concat());
    }

    #[test]
    fn styling_keeps_all_characters() {
        let table: [(&str, &[(Style, &str)]); 9] = [
            ("plain", &[(Style::new(), "plain")]),
            ("# Head `x`", &[(BOLD, "# Head `x`")]),
            ("#not", &[(Style::new(), "#not")]),
            ("a **b** c", &[(Style::new(), "a "), (BOLD, "**b**"), (Style::new(), " c")]),
            ("`x`", &[(HELP, "`x`")]),
            ("``", &[(Style::new(), "``")]),
            ("2 * 3 ** 4", &[(Style::new(), "2 * 3 ** 4")]),
            ("**open", &[(Style::new(), "**open")]),
            ("`a", &[(Style::new(), "`a")]),
        ];
        for (line, expected) in table {
            let row = style_line(line);
            let found: Vec<(Style, &str)> =
                row.pieces().iter().map(|(style, text)| (*style, text.as_str())).collect();
            assert_eq!(found, expected, "{line}");
        }
    }

    #[test]
    fn endless_line_is_emitted_in_rows() {
        let mut flow = MarkdownFlow::default();
        let mut shown = 0;
        for _ in 0..2_000 {
            for row in flow.push("word and more, ", 40) {
                shown += row.plain().len();
            }
            assert!(flow.line.len() <= MAX_LINE_BYTES);
        }
        assert!(shown > 20_000);
    }
}
