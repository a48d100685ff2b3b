//! The layout of a table: columns as wide as their content, narrower where the page is.

use anstyle::Style;
use pulldown_cmark::Alignment;

use crate::terminal::row::StyledRow;
use foxwedge_local::{
    output::{BOLD, DIM},
    runs::draw::SignSet,
};

/// Minimum width of a column; with less room, rows become lists.
const MIN_COLUMNS: usize = 5;

/// A table whose rows are collected.
pub(super) struct TableLayout {
    alignments: Vec<Alignment>,
    /// The head, then the rows.
    rows: Vec<Vec<StyledRow>>,
}

impl TableLayout {
    pub(super) fn new(alignments: Vec<Alignment>) -> TableLayout {
        TableLayout { alignments, rows: Vec::new() }
    }

    pub(super) fn start_row(&mut self) {
        self.rows.push(Vec::new());
    }

    pub(super) fn add_cell(&mut self, cell: StyledRow) {
        let is_head = self.rows.len() == 1;
        if let Some(row) = self.rows.last_mut() {
            row.push(if is_head { embolden(&cell) } else { cell });
        }
    }

    /// The rows of the table in this width.
    pub(super) fn rows(&self, width: usize, signs: SignSet) -> Vec<StyledRow> {
        let count = self.alignments.len();
        if count == 0 || count * (MIN_COLUMNS + 3) > width + 3 {
            return self.list_rows();
        }
        let (bar, line, cross) = match signs {
            SignSet::Unicode => (" │ ", "─", "─┼─"),
            SignSet::Ascii => (" | ", "-", "-+-"),
        };
        let widths = self.widths(width - 3 * (count - 1));
        let mut rows = Vec::new();
        for (at, cells) in self.rows.iter().enumerate() {
            let wrapped: Vec<Vec<StyledRow>> = cells
                .iter()
                .zip(&widths)
                .map(|(cell, width)| cell.wrap((*width).max(1), ""))
                .collect();
            let height = wrapped.iter().map(Vec::len).max().unwrap_or(0);
            for part in 0..height {
                let mut row = StyledRow::new();
                for (column, width) in widths.iter().enumerate() {
                    if column > 0 {
                        row.push(DIM, bar);
                    }
                    let cell = wrapped.get(column).and_then(|cell| cell.get(part));
                    let cell = cell.cloned().unwrap_or_default();
                    let space = width.saturating_sub(cell.width());
                    let before = match self.alignments.get(column) {
                        Some(Alignment::Right) => space,
                        Some(Alignment::Center) => space / 2,
                        Some(Alignment::Left | Alignment::None) | None => 0,
                    };
                    row.push(Style::new(), &" ".repeat(before));
                    cell.pieces().iter().for_each(|(style, text)| row.push(*style, text));
                    if column + 1 < widths.len() {
                        row.push(Style::new(), &" ".repeat(space - before));
                    }
                }
                rows.push(row);
            }
            if at == 0 {
                let lines: Vec<String> = widths.iter().map(|width| line.repeat(*width)).collect();
                rows.push(StyledRow::of(DIM, &lines.join(cross)));
            }
        }
        rows
    }

    /// The widths of the columns: the widest ones are narrowed until all fit.
    fn widths(&self, room: usize) -> Vec<usize> {
        let widest = |column: usize| {
            let cells = self.rows.iter().filter_map(|row| row.get(column));
            cells.map(StyledRow::width).max().unwrap_or(0).max(1)
        };
        let mut widths: Vec<usize> = (0..self.alignments.len()).map(widest).collect();
        while widths.iter().sum::<usize>() > room {
            let Some(widest) = widths.iter_mut().max() else { break };
            *widest -= 1;
        }
        widths
    }

    /// Each row as lines of `head: cell`.
    fn list_rows(&self) -> Vec<StyledRow> {
        let Some((head, body)) = self.rows.split_first() else { return Vec::new() };
        let mut rows = Vec::new();
        for (at, cells) in body.iter().enumerate() {
            if at > 0 {
                rows.push(StyledRow::new());
            }
            for (name, cell) in head.iter().zip(cells) {
                let mut row = name.clone().with(Style::new(), ": ");
                cell.pieces().iter().for_each(|(style, text)| row.push(*style, text));
                rows.push(row);
            }
        }
        rows
    }
}

fn embolden(cell: &StyledRow) -> StyledRow {
    let mut bold = StyledRow::new();
    cell.pieces().iter().for_each(|(style, text)| bold.push(*style | BOLD.get_effects(), text));
    bold
}
