//! Renders Markdown to rows.

use anstyle::{AnsiColor, Style};
use pulldown_cmark::{CodeBlockKind, Event, HeadingLevel, Parser, Tag, TagEnd};

use super::{
    MarkdownPage,
    blocks::{language_of, line_start, options},
    highlight::CodeHighlighter,
    table::TableLayout,
};
use crate::terminal::row::StyledRow;
use foxwedge_local::{
    output::{BOLD, DIM},
    runs::draw::SignSet,
};

/// Inline code.
const CODE: Style = AnsiColor::Cyan.on_default();
/// Maximum width of a rule.
const MAX_RULE_COLUMNS: usize = 40;

/// The rows of a text. `number` replaces the number of the first list item.
pub(super) fn render(text: &str, page: MarkdownPage, number: Option<u64>) -> Vec<StyledRow> {
    let mut renderer = MarkdownRenderer {
        text,
        page,
        number,
        rows: Vec::new(),
        line: StyledRow::new(),
        styles: Vec::new(),
        containers: Vec::new(),
        lists: Vec::new(),
        links: Vec::new(),
        code: None,
        table: None,
        gap_line: 0,
    };
    for (event, range) in Parser::new_ext(text, options()).into_offset_iter() {
        renderer.add(event, range.start);
    }
    renderer.end_line();
    renderer.rows
}

/// The row above or below a code block.
pub(super) fn code_edge(page: MarkdownPage, language: &str) -> StyledRow {
    let line = if page.signs == SignSet::Ascii { "---" } else { "───" };
    StyledRow::of(DIM, format!("{line} {language}").trim_end())
}

struct MarkdownRenderer<'t> {
    text: &'t str,
    page: MarkdownPage,
    number: Option<u64>,
    rows: Vec<StyledRow>,
    /// The current line.
    line: StyledRow,
    styles: Vec<Style>,
    containers: Vec<MarkdownContainer>,
    /// The next number of each list; `None` for bullets.
    lists: Vec<Option<u64>>,
    /// The address of each open link, and the text of it so far.
    links: Vec<(String, String)>,
    /// The language and the text of a code block.
    code: Option<(String, String)>,
    table: Option<TableLayout>,
    /// The last line that was checked for a blank line above it.
    gap_line: usize,
}

enum MarkdownContainer {
    Quote,
    /// An item; its mark is taken by its first row.
    Item {
        mark: Option<String>,
        columns: usize,
    },
}

impl MarkdownRenderer<'_> {
    fn add(&mut self, event: Event<'_>, at: usize) {
        match event {
            Event::Start(tag) => self.start(tag, at),
            Event::End(tag) => self.end(tag),
            Event::Text(text) => match &mut self.code {
                Some((_, code)) => code.push_str(&text),
                None => self.push_text(self.style(), &text),
            },
            Event::Code(text) => self.push_text(self.style().fg_color(CODE.get_fg_color()), &text),
            Event::InlineHtml(html) if html.starts_with("<br") => self.end_line(),
            Event::Html(html) | Event::InlineHtml(html) => {
                for line in html.split_inclusive('\n') {
                    self.push_text(self.style(), line.trim_end());
                    if line.ends_with('\n') {
                        self.end_line();
                    }
                }
            }
            // Line breaks of the author stay.
            Event::SoftBreak | Event::HardBreak => match self.table {
                Some(_) => self.push_text(Style::new(), " "),
                None => self.end_line(),
            },
            Event::Rule => {
                self.push_gap(at);
                let line = if self.page.signs == SignSet::Ascii { "-" } else { "─" };
                let row = StyledRow::of(DIM, &line.repeat(self.page.width.min(MAX_RULE_COLUMNS)));
                self.push_row(&row);
            }
            Event::TaskListMarker(done) => {
                let sign = match (self.page.signs, done) {
                    (SignSet::Ascii, true) => "[x] ",
                    (SignSet::Ascii, false) => "[ ] ",
                    (SignSet::Unicode, true) => "☑ ",
                    (SignSet::Unicode, false) => "☐ ",
                };
                self.push_text(Style::new(), sign);
            }
            // Extensions that are not switched on.
            Event::FootnoteReference(text) | Event::InlineMath(text) | Event::DisplayMath(text) => {
                self.push_text(self.style(), &text)
            }
        }
    }

    fn start(&mut self, tag: Tag<'_>, at: usize) {
        match tag {
            Tag::Paragraph | Tag::HtmlBlock => self.start_block(at),
            Tag::Heading { level, .. } => {
                self.start_block(at);
                self.styles.push(match level {
                    HeadingLevel::H1 => BOLD.underline(),
                    _ => BOLD,
                });
            }
            Tag::BlockQuote(_) => {
                self.start_block(at);
                self.containers.push(MarkdownContainer::Quote);
            }
            Tag::CodeBlock(kind) => {
                self.start_block(at);
                let language = match kind {
                    CodeBlockKind::Fenced(info) => language_of(&info).to_owned(),
                    CodeBlockKind::Indented => String::new(),
                };
                self.code = Some((language, String::new()));
            }
            Tag::List(number) => {
                self.start_block(at);
                let number = number.map(|number| self.number.take().unwrap_or(number));
                self.lists.push(number);
            }
            Tag::Item => {
                self.start_block(at);
                let mark = match self.lists.last_mut() {
                    Some(Some(number)) => {
                        *number += 1;
                        format!("{}. ", *number - 1)
                    }
                    _ if self.page.signs == SignSet::Ascii => "- ".to_owned(),
                    _ => "• ".to_owned(),
                };
                let columns = mark.chars().count();
                self.containers.push(MarkdownContainer::Item { mark: Some(mark), columns });
            }
            Tag::Table(alignments) => {
                self.start_block(at);
                self.table = Some(TableLayout::new(alignments));
            }
            Tag::TableHead | Tag::TableRow => {
                if let Some(table) = &mut self.table {
                    table.start_row();
                }
            }
            Tag::TableCell => self.line = StyledRow::new(),
            Tag::Emphasis => self.styles.push(Style::new().italic()),
            Tag::Strong => self.styles.push(BOLD),
            Tag::Strikethrough => self.styles.push(Style::new().strikethrough()),
            Tag::Link { dest_url, .. } => {
                self.links.push((dest_url.to_string(), String::new()));
                self.styles.push(Style::new().underline());
            }
            Tag::Image { dest_url, .. } => {
                self.links.push((dest_url.to_string(), String::new()));
                self.styles.push(Style::new().italic());
            }
            _ => {}
        }
    }

    fn end(&mut self, tag: TagEnd) {
        match tag {
            TagEnd::Paragraph | TagEnd::HtmlBlock => self.end_line(),
            TagEnd::Heading(_) => {
                self.end_line();
                self.styles.pop();
            }
            TagEnd::BlockQuote(_) => {
                self.end_line();
                self.containers.pop();
            }
            TagEnd::CodeBlock => self.end_code(),
            TagEnd::List(_) => drop(self.lists.pop()),
            TagEnd::Item => {
                self.end_line();
                if let Some(MarkdownContainer::Item { mark: Some(_), .. }) = self.containers.last()
                {
                    self.push_row(&StyledRow::new());
                }
                self.containers.pop();
            }
            TagEnd::Table => {
                let room = self.page.width.saturating_sub(self.indent_columns()).max(1);
                let table = self.table.take();
                for row in table.map(|table| table.rows(room, self.page.signs)).unwrap_or_default()
                {
                    self.push_row(&row);
                }
            }
            TagEnd::TableCell => {
                let cell = std::mem::take(&mut self.line);
                if let Some(table) = &mut self.table {
                    table.add_cell(cell);
                }
            }
            TagEnd::Emphasis | TagEnd::Strong | TagEnd::Strikethrough => drop(self.styles.pop()),
            TagEnd::Link | TagEnd::Image => {
                self.styles.pop();
                if let Some((address, text)) = self.links.pop()
                    && !address.is_empty()
                    && address != text
                    && address.strip_prefix("mailto:") != Some(&text)
                {
                    self.line.push(DIM, &format!(" ({address})"));
                }
            }
            _ => {}
        }
    }

    fn end_code(&mut self) {
        let Some((language, code)) = self.code.take() else { return };
        let mut highlighter = CodeHighlighter::new(&language);
        self.push_row(&code_edge(self.page, &language));
        for line in code.lines() {
            let row = highlighter.row(line);
            self.push_unwrapped(&row);
        }
        self.push_row(&code_edge(self.page, ""));
    }

    fn style(&self) -> Style {
        self.styles.iter().fold(Style::new(), |all, style| {
            let color = style.get_fg_color().or(all.get_fg_color());
            (all | style.get_effects()).fg_color(color)
        })
    }

    fn push_text(&mut self, style: Style, text: &str) {
        for (_, link_text) in &mut self.links {
            link_text.push_str(text);
        }
        self.line.push(style, text);
    }

    /// Starts a block in a new row.
    fn start_block(&mut self, at: usize) {
        self.end_line();
        self.push_gap(at);
    }

    /// Keeps a blank line above a block as one blank row.
    fn push_gap(&mut self, at: usize) {
        let line = line_start(self.text, at);
        if line == self.gap_line {
            return;
        }
        self.gap_line = line;
        let above = self.text.get(..line).and_then(|above| above.lines().next_back());
        let is_blank = above.is_some_and(|above| above.trim_matches([' ', '>']).is_empty());
        if is_blank && !self.rows.is_empty() {
            // A new item has no part in the row above it.
            self.push_row(&StyledRow::new());
        }
    }

    fn end_line(&mut self) {
        if self.table.is_some() || self.line.pieces().is_empty() {
            return;
        }
        let line = std::mem::take(&mut self.line);
        self.push_row(&line);
    }

    /// Adds a row inside the containers, wrapped.
    fn push_row(&mut self, row: &StyledRow) {
        let room = self.page.width.saturating_sub(self.indent_columns()).max(1);
        for row in row.wrap(room, "") {
            self.push_unwrapped(&row);
        }
    }

    /// Adds a row inside the containers.
    fn push_unwrapped(&mut self, row: &StyledRow) {
        let (ascii, indented) = (self.page.signs == SignSet::Ascii, self.indent_columns() > 0);
        let mut whole = StyledRow::new();
        let is_blank = row.pieces().is_empty();
        for container in self.containers.iter_mut().filter(|_| indented) {
            match container {
                MarkdownContainer::Quote => whole.push(DIM, if ascii { "| " } else { "│ " }),
                MarkdownContainer::Item { mark, columns } => match mark.take() {
                    Some(mark) => whole.push(DIM, &mark),
                    None if is_blank => {}
                    None => whole.push(Style::new(), &" ".repeat(*columns)),
                },
            }
        }
        row.pieces().iter().for_each(|(style, text)| whole.push(*style, text));
        self.rows.push(whole);
    }

    /// Columns of the containers; none if they would take most of the width.
    fn indent_columns(&self) -> usize {
        let columns = |container: &MarkdownContainer| match container {
            MarkdownContainer::Quote => 2,
            MarkdownContainer::Item { columns, .. } => *columns,
        };
        let all: usize = self.containers.iter().map(columns).sum();
        if all * 2 > self.page.width { 0 } else { all }
    }
}
