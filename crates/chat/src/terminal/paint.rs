//! Converts rows to bytes for a terminal: finished rows go above, live rows are redrawn in place.
//! Control sequences are created only here.

use std::fmt::Write as _;

use anstyle::Style;

use super::{draw::LiveArea, row::StyledRow};

/// Paints the area below the scrollback, and tracks what it shows.
#[derive(Debug)]
pub(super) struct TerminalPainter {
    colors: TerminalColors,
    shown: Option<LiveArea>,
    width: usize,
    /// The width at the last paint.
    drawn: usize,
}

/// Whether colors are shown.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum TerminalColors {
    Shown,
    LeftOut,
}

impl TerminalPainter {
    pub(super) fn new(colors: TerminalColors, width: usize) -> TerminalPainter {
        TerminalPainter { colors, shown: None, width, drawn: width }
    }

    /// Sets the width of the terminal.
    pub(super) fn resize(&mut self, width: usize) {
        self.width = width.max(1);
    }

    /// Forgets what is shown, after another program used the terminal.
    pub(super) fn forget(&mut self) {
        self.shown = None;
    }

    /// The bytes for finished rows above and live rows below; empty if nothing changed.
    pub(super) fn paint(&mut self, above: &[StyledRow], live: &LiveArea) -> String {
        let same = self.shown.as_ref() == Some(live) && self.drawn == self.width;
        if above.is_empty() && same {
            return String::new();
        }
        // Synchronized output where supported, with the cursor hidden.
        let mut bytes = "\u{1b}[?2026h\u{1b}[?25l".to_owned();
        self.erase(&mut bytes);
        for row in above {
            self.write_row(&mut bytes, row);
            bytes.push_str("\r\n");
        }
        for (at, row) in live.rows.iter().enumerate() {
            if at > 0 {
                bytes.push_str("\r\n");
            }
            self.write_row(&mut bytes, row);
        }
        move_up(&mut bytes, (live.rows.len().saturating_sub(1)).saturating_sub(live.row));
        bytes.push('\r');
        if live.column > 0 {
            let _ = write!(bytes, "\u{1b}[{}C", live.column);
        }
        bytes.push_str("\u{1b}[?25h\u{1b}[?2026l");
        self.shown = Some(live.clone());
        self.drawn = self.width;
        bytes
    }

    /// The bytes that clear the whole screen.
    pub(super) fn clear(&mut self) -> String {
        self.shown = None;
        "\u{1b}[H\u{1b}[2J".to_owned()
    }

    /// The bytes that remove the live rows and print the last finished ones.
    pub(super) fn leave(&mut self, above: &[StyledRow]) -> String {
        let mut bytes = String::new();
        self.erase(&mut bytes);
        for row in above {
            self.write_row(&mut bytes, row);
            bytes.push_str("\r\n");
        }
        self.shown = None;
        bytes.push_str("\u{1b}[?25h");
        bytes
    }

    /// Moves to the first live row and clears from there on.
    fn erase(&self, bytes: &mut String) {
        if let Some(shown) = &self.shown {
            move_up(bytes, self.above_cursor(shown));
        }
        bytes.push_str("\r\u{1b}[J");
    }

    /// Number of live rows above the cursor. A terminal that became narrower has wrapped long ones.
    fn above_cursor(&self, shown: &LiveArea) -> usize {
        if self.width >= self.drawn {
            return shown.row;
        }
        let rows = shown.rows.iter().take(shown.row);
        let above: usize = rows.map(|row| row.width().div_ceil(self.width).max(1)).sum();
        above + shown.column / self.width
    }

    fn write_row(&self, bytes: &mut String, row: &StyledRow) {
        for (style, text) in row.pieces() {
            match self.colors {
                TerminalColors::Shown if *style != Style::new() => {
                    let _ = write!(bytes, "{style}{text}{style:#}");
                }
                TerminalColors::Shown | TerminalColors::LeftOut => bytes.push_str(text),
            }
        }
    }
}

fn move_up(bytes: &mut String, rows: usize) {
    if rows > 0 {
        let _ = write!(bytes, "\u{1b}[{rows}A");
    }
}
