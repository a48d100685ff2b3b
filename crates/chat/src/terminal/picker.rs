//! A list in the terminal to choose one row from: arrows move, typing filters, Enter chooses.

use std::{
    io::{self, IsTerminal as _},
    sync::mpsc::{Receiver, TryRecvError},
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

/// How often a list that is not complete looks for more rows.
const ROW_DELAY: Duration = Duration::from_millis(50);

/// A row of the list.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct PickerRow {
    /// The first cell, and its style.
    pub status: (Style, String),
    /// The rest of the row.
    pub text: String,
}

/// The rows of a list. They may come while the list is shown.
#[derive(Debug)]
pub struct PickerRows {
    rows: Vec<PickerRow>,
    /// Where more rows come from; `None` if the list is complete.
    more: Option<Receiver<PickerRow>>,
}

impl PickerRows {
    /// A complete list.
    pub fn complete(rows: Vec<PickerRow>) -> PickerRows {
        PickerRows { rows, more: None }
    }

    /// A list of what a channel sends. Waits for the first row.
    pub fn growing(more: Receiver<PickerRow>) -> PickerRows {
        let rows = more.recv().into_iter().collect();
        PickerRows { rows, more: Some(more) }
    }

    /// Whether there is no row, and none will come.
    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// Takes the rows that are there.
    fn take_ready(&mut self) {
        while let Some(more) = &self.more {
            match more.try_recv() {
                Ok(row) => self.rows.push(row),
                Err(TryRecvError::Empty) => return,
                Err(TryRecvError::Disconnected) => self.more = None,
            }
        }
    }
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
pub fn pick(title: &str, rows: &mut PickerRows, first: usize) -> anyhow::Result<Option<usize>> {
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
        screen.add_ready_rows();
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

/// Waits for the next event, or for more rows. Returns the keys that are complete with it.
fn next_keys(
    parser: &mut KeySequenceParser,
    screen: &mut PickerScreen<'_>,
) -> io::Result<Vec<TerminalKey>> {
    if parser.is_pending() && !event::poll(ESCAPE_DELAY)? {
        return Ok(parser.expire().into_iter().collect());
    }
    if screen.rows.more.is_some() && !event::poll(ROW_DELAY)? {
        return Ok(Vec::new());
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
    rows: &'a mut PickerRows,
    filter: String,
    /// Indices of the rows that match the filter.
    matching: Vec<usize>,
    /// The chosen one of them.
    chosen: usize,
    width: usize,
    height: usize,
}

impl<'a> PickerScreen<'a> {
    fn new(title: &'a str, rows: &'a mut PickerRows, first: usize) -> PickerScreen<'a> {
        let (width, height) = crossterm::terminal::size().unwrap_or((80, 24));
        let count = rows.rows.len();
        PickerScreen {
            title,
            rows,
            filter: String::new(),
            matching: (0..count).collect(),
            chosen: first.min(count.saturating_sub(1)),
            width: width.into(),
            height: height.into(),
        }
    }

    /// Adds the rows that are there by now below the others.
    fn add_ready_rows(&mut self) {
        let known = self.rows.rows.len();
        self.rows.take_ready();
        let new = self.matching_from(known);
        self.matching.extend(new);
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
        self.filter = filter;
        self.matching = self.matching_from(0);
        self.chosen = 0;
    }

    /// The rows from `first` on that contain every word of the filter.
    fn matching_from(&self, first: usize) -> Vec<usize> {
        let words: Vec<String> = self.filter.split_whitespace().map(str::to_lowercase).collect();
        let contains_all = |row: &PickerRow| {
            let text = format!("{} {}", row.status.1, row.text).to_lowercase();
            words.iter().all(|word| text.contains(word))
        };
        let rows = self.rows.rows.iter().enumerate().skip(first);
        rows.filter(|(_, row)| contains_all(row)).map(|(at, _)| at).collect()
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
        let count = localize(format!("{} of {}", self.matching.len(), self.rows.rows.len()));
        // More rows are coming.
        let more = if self.rows.more.is_some() { "…" } else { "" };
        rows.push(StyledRow::of(DIM, &format!("{count}{more} · {keys}")).fit(columns));
        let column = width(&prompt) + width(&self.filter);
        LiveArea { rows, row: 0, column: column.min(columns) }
    }

    fn draw_row(&self, row: usize, is_chosen: bool) -> StyledRow {
        let Some(PickerRow { status: (style, status), text }) = self.rows.rows.get(row) else {
            return StyledRow::new();
        };
        let (mark, rest) = if is_chosen { ("> ", BOLD) } else { ("  ", Style::new()) };
        StyledRow::of(BOLD, mark).with(*style, status).with(rest, &format!("  {text}"))
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc;

    use super::*;

    fn row(text: &str) -> PickerRow {
        PickerRow { status: (Style::new(), "✓ ok".to_owned()), text: text.to_owned() }
    }

    fn rows(texts: &[&str]) -> PickerRows {
        PickerRows::complete(texts.iter().map(|text| row(text)).collect())
    }

    fn screen(rows: &mut PickerRows) -> PickerScreen<'_> {
        PickerScreen { width: 40, height: 6, ..PickerScreen::new("Sessions", rows, 0) }
    }

    fn shown(screen: &PickerScreen<'_>) -> Vec<String> {
        screen.live_area().rows.iter().map(StyledRow::plain).collect()
    }

    #[test]
    fn typing_filters_and_enter_chooses() {
        let mut rows = rows(&["0a claude-code tide", "1b codex shop", "2c codex tide"]);
        let mut screen = screen(&mut rows);
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
        let mut rows = rows(&["one", "two", "three", "four", long]);
        let mut screen = screen(&mut rows);
        assert_eq!(shown(&screen)[1..4], ["> ✓ ok  one", "  ✓ ok  two", "  ✓ ok  three"]);
        screen.press(&TerminalKey::End);
        let drawn = shown(&screen);
        assert_eq!(drawn.len(), 5);
        assert!(drawn[3].starts_with("> ✓ ok  a title"), "{drawn:?}");
        assert!(drawn.iter().all(|row| width(row) < 40), "{drawn:?}");
    }

    #[test]
    fn rows_that_come_later_are_filtered_and_leave_the_choice_where_it_is() {
        let (sender, more) = mpsc::channel();
        let send = |text: &&str| sender.send(row(text)).expect("it is received");
        send(&"one");
        let mut rows = PickerRows::growing(more);
        assert!(!rows.is_empty());
        let mut screen = screen(&mut rows);
        ["two", "three"].iter().for_each(send);
        screen.add_ready_rows();
        screen.press(&TerminalKey::Char('e'));
        screen.press(&TerminalKey::Down);
        ["four", "five"].iter().for_each(send);
        screen.add_ready_rows();
        let drawn = shown(&screen);
        assert_eq!(drawn[1..4], ["  ✓ ok  one", "> ✓ ok  three", "  ✓ ok  five"]);
        assert!(drawn[4].starts_with("3 of 5… · "), "{drawn:?}");
        drop(sender);
        screen.add_ready_rows();
        assert!(shown(&screen)[4].starts_with("3 of 5 · "));
        assert_eq!(screen.press(&TerminalKey::Enter), Some(PickerEnd::Chosen(2)));
        let (sender, more) = mpsc::channel();
        drop(sender);
        assert!(PickerRows::growing(more).is_empty());
    }
}
