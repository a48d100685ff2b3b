//! Streams the model's Markdown to rows: finished blocks become rows at once and stay, the open block
//! is rendered again with every delta. Lines of code are rows as soon as they are complete, and so
//! are the finished items of a list.

mod blocks;
mod highlight;
mod render;
mod table;

use blocks::{MarkdownBlock, MarkdownBlockKind, split_blocks};
use highlight::CodeHighlighter;
use render::{code_edge, render};

use super::row::{StyledRow, sanitize};
use foxwedge_local::{output::DIM, runs::draw::SignSet};

/// Size limit of an incomplete line. A longer one is printed before it ends.
const MAX_LINE_BYTES: usize = 4 << 10;
/// Size limit of an open block. A longer one is printed before it ends.
const MAX_OPEN_BYTES: usize = 16 << 10;

/// Where Markdown is rendered.
#[derive(Clone, Copy, Debug)]
pub(super) struct MarkdownPage {
    pub(super) width: usize,
    pub(super) signs: SignSet,
}

/// A streamed text.
#[derive(Clone, Debug, Default)]
pub(super) struct MarkdownFlow {
    /// The complete lines of the open block, sanitized.
    open: String,
    /// The incomplete line.
    line: String,
    /// The code block that the lines belong to.
    code: Option<OpenCode>,
    /// The number of the first item in `open`, if earlier items of its list were printed.
    number: Option<u64>,
    /// Whether a blank row separates `open` from what was printed.
    gap: bool,
    /// Whether any row was printed.
    begun: bool,
}

/// A fenced code block whose end has not come.
#[derive(Clone, Debug)]
struct OpenCode {
    fence: String,
    indent: usize,
    highlighter: CodeHighlighter,
}

impl MarkdownFlow {
    /// Appends a delta and returns the finished rows.
    pub(super) fn push(&mut self, delta: &str, page: MarkdownPage) -> Vec<StyledRow> {
        let mut rows = Vec::new();
        for part in delta.split_inclusive('\n') {
            self.line.push_str(part);
            if part.ends_with('\n') {
                self.finish_line(page, &mut rows);
                if self.code.is_none() {
                    self.print_finished(page, &mut rows);
                }
            } else if self.line.len() > MAX_LINE_BYTES {
                self.print_long_line(page, &mut rows);
            }
        }
        rows
    }

    /// Ends the text and returns the remaining rows.
    pub(super) fn close(&mut self, page: MarkdownPage) -> Vec<StyledRow> {
        let mut rows = Vec::new();
        if !self.line.is_empty() {
            self.finish_line(page, &mut rows);
            self.print_finished(page, &mut rows);
        }
        if self.code.take().is_some() {
            rows.push(code_edge(page, ""));
        }
        self.print(self.open.len(), page, &mut rows);
        *self = MarkdownFlow::default();
        rows
    }

    /// The rows of the open block so far.
    pub(super) fn live_rows(&self, page: MarkdownPage) -> Vec<StyledRow> {
        let line = sanitize(self.line.trim_end());
        if let Some(code) = &self.code {
            let row = code.highlighter.clone().row(strip_indent(&line, code.indent));
            return if line.is_empty() { Vec::new() } else { vec![row.fit(page.width)] };
        }
        let text = format!("{}{line}", self.open);
        let mut rows = render(&text, page, self.number);
        if self.begun && self.gap && !rows.is_empty() {
            rows.insert(0, StyledRow::new());
        }
        rows.iter().map(|row| row.fit(page.width)).collect()
    }

    /// Ends the incomplete line: adds it to the open block, or prints it as code.
    fn finish_line(&mut self, page: MarkdownPage, rows: &mut Vec<StyledRow>) {
        let line = std::mem::take(&mut self.line);
        let line = sanitize(line.trim_end_matches(['\n', '\r']));
        let Some(code) = &mut self.code else {
            self.open.push_str(line.trim_end_matches('\r'));
            self.open.push('\n');
            return;
        };
        if ends_code(&line, &code.fence) {
            self.code = None;
            rows.push(code_edge(page, ""));
        } else {
            rows.push(code.highlighter.row(strip_indent(&line, code.indent)));
        }
    }

    /// Prints what later lines cannot change.
    fn print_finished(&mut self, page: MarkdownPage, rows: &mut Vec<StyledRow>) {
        if self.open.len() > MAX_OPEN_BYTES {
            return self.print(self.open.len(), page, rows);
        }
        let Some(MarkdownBlock { start, kind }) = split_blocks(&self.open).pop() else {
            // Only blank lines.
            self.gap |= !self.open.is_empty();
            self.open.clear();
            return;
        };
        self.print(start, page, rows);
        let blank_below = self.open.ends_with("\n\n");
        match kind {
            MarkdownBlockKind::Line => self.print(self.open.len(), page, rows),
            MarkdownBlockKind::UntilBlank if blank_below => self.print(self.open.len(), page, rows),
            MarkdownBlockKind::List { item, index, number } if item > start => {
                let next = number.map(|number| self.number.unwrap_or(number) + index);
                self.print(item - start, page, rows);
                self.number = next;
            }
            MarkdownBlockKind::Code { language } => self.open_code(&language, page, rows),
            MarkdownBlockKind::UntilBlank
            | MarkdownBlockKind::List { .. }
            | MarkdownBlockKind::Other => {}
        }
    }

    /// Prints the first bytes of the open block.
    fn print(&mut self, end: usize, page: MarkdownPage, rows: &mut Vec<StyledRow>) {
        let rest = self.open.split_off(end);
        let text = std::mem::replace(&mut self.open, rest);
        if text.is_empty() {
            return;
        }
        let mut new = render(&text, page, self.number.take());
        if !new.is_empty() {
            self.print_gap(rows);
            rows.append(&mut new);
        }
        self.gap |= text.ends_with("\n\n");
    }

    fn print_gap(&mut self, rows: &mut Vec<StyledRow>) {
        if std::mem::take(&mut self.gap) && self.begun {
            rows.push(StyledRow::new());
        }
        self.begun = true;
    }

    /// Starts the code block that the open text begins with.
    fn open_code(&mut self, language: &str, page: MarkdownPage, rows: &mut Vec<StyledRow>) {
        let open = std::mem::take(&mut self.open);
        let mut lines = open.lines();
        let head = lines.next().unwrap_or_default();
        let bare = head.trim_start();
        let mark = if bare.starts_with('~') { '~' } else { '`' };
        self.print_gap(rows);
        rows.push(code_edge(page, language));
        self.code = Some(OpenCode {
            fence: bare.chars().take_while(|c| *c == mark).collect(),
            indent: head.len() - bare.len(),
            highlighter: CodeHighlighter::new(language),
        });
        for line in lines {
            self.line = format!("{line}\n");
            self.finish_line(page, rows);
        }
    }

    /// Prints the part of a very long line that ends at a space.
    fn print_long_line(&mut self, page: MarkdownPage, rows: &mut Vec<StyledRow>) {
        let end = self.line.rfind(' ').map_or(self.line.len(), |at| at + 1);
        let rest = self.line.split_off(end);
        self.finish_line(page, rows);
        if self.code.is_none() {
            self.print(self.open.len(), page, rows);
        }
        self.line = rest;
    }
}

/// Rows that show a whole text.
pub(super) fn render_text(text: &str, page: MarkdownPage) -> Vec<StyledRow> {
    let mut flow = MarkdownFlow::default();
    let mut rows = flow.push(text, page);
    rows.extend(flow.close(page));
    rows
}

/// Rows of dimmed text, for thoughts.
pub(super) fn dim_row(mark: &str, row: &StyledRow) -> StyledRow {
    let mut dimmed = StyledRow::of(DIM, mark);
    row.pieces().iter().for_each(|(_, text)| dimmed.push(DIM, text));
    dimmed
}

/// Whether a line ends the code block of a fence.
fn ends_code(line: &str, fence: &str) -> bool {
    let bare = line.trim();
    let mark = fence.chars().next().unwrap_or('`');
    bare.starts_with(fence) && bare.chars().all(|c| c == mark)
}

/// Removes the indent that the fence has, as far as the line has it.
fn strip_indent(line: &str, indent: usize) -> &str {
    let spaces = line.len() - line.trim_start_matches(' ').len();
    line.get(spaces.min(indent)..).unwrap_or_default()
}

#[cfg(test)]
mod tests;
