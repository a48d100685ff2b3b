//! A list in the terminal to choose one row from: arrows move, typing filters, Enter chooses.

use std::{
    io::{self, IsTerminal as _},
    time::Duration,
};

use anstyle::Style;
use anyhow::{Context, bail};
use crossterm::event::{self, Event};

use super::{
    draw::LiveArea,
    guard::{TerminalGuard, write_terminal},
    keys::{KeySequenceParser, TerminalKey},
    paint::{TerminalColors, TerminalPainter},
    row::StyledRow,
};
use foxwedge_local::{
    language::localize,
    output::{BOLD, DIM, HelpfulError, width},
};

/// Time limit for the rest of an escape sequence.
const ESCAPE_DELAY: Duration = Duration::from_millis(50);

/// A row of the list.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct PickerRow {
    /// The first cell, and its style.
    pub status: (Style, String),
    /// The rest of the row.
    pub text: String,
}

/// What a key ended the choice with.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum PickerEnd {
    Chosen(usize),
    Left,
}

/// Lets the user choose a row; `None` if the user leaves. The cursor begins at row `first`.
///
/// # Errors
/// If stdin or stdout is not a terminal.
pub fn pick(title: &str, rows: &[PickerRow], first: usize) -> anyhow::Result<Option<usize>> {
    if !io::stdin().is_terminal() || !io::stdout().is_terminal() {
        bail!(
            HelpfulError::new("there is no terminal to choose on")
                .help("without -i, the list is printed")
        );
    }
    let _guard = TerminalGuard::take().context("the terminal cannot be used")?;
    let colors = match anstream::AutoStream::choice(&io::stdout()) {
        anstream::ColorChoice::Never => TerminalColors::LeftOut,
        _ => TerminalColors::Shown,
    };
    let mut screen = PickerScreen::new(title, rows, first);
    let mut painter = TerminalPainter::new(colors, screen.width);
    let mut parser = KeySequenceParser::default();
    let end = loop {
        painter.resize(screen.width);
        write_terminal(&painter.paint(&[], &screen.live_area()))?;
        let keys = next_keys(&mut parser, &mut screen)?;
        if let Some(end) = keys.into_iter().find_map(|key| screen.press(&key)) {
            break end;
        }
    };
    write_terminal(&painter.leave(&[]))?;
    Ok(match end {
        PickerEnd::Chosen(row) => Some(row),
        PickerEnd::Left => None,
    })
}

/// Waits for the next event. Returns the keys that are complete with it.
fn next_keys(
    parser: &mut KeySequenceParser,
    screen: &mut PickerScreen<'_>,
) -> io::Result<Vec<TerminalKey>> {
    if parser.is_pending() && !event::poll(ESCAPE_DELAY)? {
        return Ok(parser.expire().into_iter().collect());
    }
    Ok(match event::read()? {
        Event::Key(key) => parser.push(key),
        Event::Paste(text) => vec![TerminalKey::Paste(text)],
        Event::Resize(columns, lines) => {
            (screen.width, screen.height) = (columns.into(), lines.into());
            Vec::new()
        }
        Event::FocusGained | Event::FocusLost | Event::Mouse(_) => Vec::new(),
    })
}

/// What is shown, and what keys do.
struct PickerScreen<'a> {
    title: &'a str,
    rows: &'a [PickerRow],
    filter: String,
    /// Indices of the rows that match the filter.
    matching: Vec<usize>,
    /// The chosen one of them.
    chosen: usize,
    width: usize,
    height: usize,
}

impl<'a> PickerScreen<'a> {
    fn new(title: &'a str, rows: &'a [PickerRow], first: usize) -> PickerScreen<'a> {
        let (width, height) = crossterm::terminal::size().unwrap_or((80, 24));
        PickerScreen {
            title,
            rows,
            filter: String::new(),
            matching: (0..rows.len()).collect(),
            chosen: first.min(rows.len().saturating_sub(1)),
            width: width.into(),
            height: height.into(),
        }
    }

    /// Handles a key. Returns how the choice ended, if it did.
    fn press(&mut self, key: &TerminalKey) -> Option<PickerEnd> {
        let last = self.matching.len().saturating_sub(1);
        match key {
            TerminalKey::Enter | TerminalKey::NewLine => {
                return self.matching.get(self.chosen).map(|&row| PickerEnd::Chosen(row));
            }
            TerminalKey::Interrupt | TerminalKey::EndOfInput => return Some(PickerEnd::Left),
            TerminalKey::Esc if self.filter.is_empty() => return Some(PickerEnd::Left),
            TerminalKey::Esc | TerminalKey::KillToStart => self.set_filter(String::new()),
            TerminalKey::Up => self.chosen = self.chosen.saturating_sub(1),
            TerminalKey::Down | TerminalKey::Tab => self.chosen = (self.chosen + 1).min(last),
            TerminalKey::Home => self.chosen = 0,
            TerminalKey::End => self.chosen = last,
            TerminalKey::Char(c) => self.set_filter(format!("{}{c}", self.filter)),
            TerminalKey::Paste(text) => self.set_filter(format!("{}{}", self.filter, text.trim())),
            TerminalKey::Backspace => {
                let mut filter = self.filter.clone();
                filter.pop();
                self.set_filter(filter);
            }
            TerminalKey::DeleteWordBack => {
                let kept = self.filter.trim_end().rfind(' ').map_or(0, |at| at + 1);
                self.set_filter(self.filter.get(..kept).unwrap_or_default().to_owned());
            }
            _ => {}
        }
        None
    }

    /// Shows the rows that contain every word of the filter.
    fn set_filter(&mut self, filter: String) {
        let words: Vec<String> = filter.split_whitespace().map(str::to_lowercase).collect();
        let contains_all = |row: &PickerRow| {
            let text = format!("{} {}", row.status.1, row.text).to_lowercase();
            words.iter().all(|word| text.contains(word))
        };
        self.matching = self
            .rows
            .iter()
            .enumerate()
            .filter(|(_, row)| contains_all(row))
            .map(|(at, _)| at)
            .collect();
        self.filter = filter;
        self.chosen = 0;
    }

    fn live_area(&self) -> LiveArea {
        // The last column stays free: a terminal may wrap a row that fills it.
        let columns = self.width.saturating_sub(1).max(1);
        let lines = self.height.saturating_sub(3).max(1);
        let first = (self.chosen + 1).saturating_sub(lines);
        let prompt = format!("{} › ", self.title);
        let head = StyledRow::of(BOLD, &prompt).with(Style::new(), &self.filter);
        let mut rows = vec![head.fit(columns)];
        for (at, &row) in self.matching.iter().enumerate().skip(first).take(lines) {
            rows.push(self.draw_row(row, at == self.chosen).fit(columns));
        }
        let keys = localize("↑↓ choose · type to filter · Enter select · Esc leave");
        let count = localize(format!("{} of {}", self.matching.len(), self.rows.len()));
        rows.push(StyledRow::of(DIM, &format!("{count} · {keys}")).fit(columns));
        let column = width(&prompt) + width(&self.filter);
        LiveArea { rows, row: 0, column: column.min(columns) }
    }

    fn draw_row(&self, row: usize, is_chosen: bool) -> StyledRow {
        let Some(PickerRow { status: (style, status), text }) = self.rows.get(row) else {
            return StyledRow::new();
        };
        let (mark, rest) = if is_chosen { ("> ", BOLD) } else { ("  ", Style::new()) };
        StyledRow::of(BOLD, mark).with(*style, status).with(rest, &format!("  {text}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rows(texts: &[&str]) -> Vec<PickerRow> {
        let row = |text: &&str| PickerRow {
            status: (Style::new(), "✓ ok".to_owned()),
            text: (*text).to_owned(),
        };
        texts.iter().map(row).collect()
    }

    fn screen(rows: &[PickerRow]) -> PickerScreen<'_> {
        PickerScreen { width: 40, height: 6, ..PickerScreen::new("Sessions", rows, 0) }
    }

    fn shown(screen: &PickerScreen<'_>) -> Vec<String> {
        screen.live_area().rows.iter().map(StyledRow::plain).collect()
    }

    #[test]
    fn typing_filters_and_enter_chooses() {
        let rows = rows(&["0a claude-code tide", "1b codex shop", "2c codex tide"]);
        let mut screen = screen(&rows);
        for c in "TIDE co".chars() {
            assert_eq!(screen.press(&TerminalKey::Char(c)), None);
        }
        assert_eq!(screen.matching, [0, 2]);
        assert_eq!(screen.press(&TerminalKey::Down), None);
        assert_eq!(screen.press(&TerminalKey::Enter), Some(PickerEnd::Chosen(2)));
        assert_eq!(screen.press(&TerminalKey::Char('x')), None);
        assert_eq!(screen.press(&TerminalKey::Enter), None, "nothing matches");
        // The first Esc removes the filter, the second one leaves.
        assert_eq!(screen.press(&TerminalKey::Esc), None);
        assert_eq!(screen.matching.len(), 3);
        assert_eq!(screen.press(&TerminalKey::Esc), Some(PickerEnd::Left));
    }

    #[test]
    fn the_chosen_row_stays_visible_and_rows_fit_the_width() {
        let long = "a title that is much longer than the terminal is wide";
        let rows = rows(&["one", "two", "three", "four", long]);
        let mut screen = screen(&rows);
        assert_eq!(shown(&screen)[1..4], ["> ✓ ok  one", "  ✓ ok  two", "  ✓ ok  three"]);
        screen.press(&TerminalKey::End);
        let drawn = shown(&screen);
        assert_eq!(drawn.len(), 5);
        assert!(drawn[3].starts_with("> ✓ ok  a title"), "{drawn:?}");
        assert!(drawn.iter().all(|row| width(row) < 40), "{drawn:?}");
    }
}
