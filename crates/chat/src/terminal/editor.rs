//! The prompt editor: lines of text, a cursor and a history.

use unicode_width::UnicodeWidthChar;

use super::keys::TerminalKey;
use foxwedge_local::{language::localize, output::is_harmful};

/// Size limit of the text.
const MAX_TEXT_BYTES: usize = 16 << 20;
/// Pasted text beyond this is shown as a label.
const MAX_PASTED_LINES: usize = 5;
const MAX_PASTED_BYTES: usize = 1_000;
/// Maximum number of prompts in the history.
const MAX_HISTORY: usize = 1_000;
/// Bytes around the cursor that are laid out for drawing.
const VIEW_BYTES: usize = 8 << 10;

/// Text with a cursor.
#[derive(Clone, Debug, Default)]
pub(super) struct PromptEditor {
    text: String,
    /// Byte offset of the cursor, always at a character boundary.
    cursor: usize,
    /// The last killed text, for yank.
    killed: String,
    /// Long pasted texts, by the label that stands for each.
    pastes: Vec<(String, String)>,
    /// Earlier texts, oldest first.
    history: Vec<String>,
    /// The position in the history, and the text that was in the editor before browsing.
    browsing: Option<(usize, String)>,
}

/// The result of a key.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum EditorOutcome {
    Handled,
    /// The text is to be sent.
    Submit,
    /// The editor does not handle this key.
    Ignored,
    /// The text would become too long.
    Full,
}

/// The visible part of the editor: rows and the position of the cursor.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct EditorView {
    pub(super) rows: Vec<String>,
    pub(super) row: usize,
    pub(super) column: usize,
}

impl PromptEditor {
    pub(super) fn new(history: Vec<String>) -> PromptEditor {
        PromptEditor { history, ..PromptEditor::default() }
    }

    pub(super) fn text(&self) -> &str {
        &self.text
    }

    pub(super) fn is_empty(&self) -> bool {
        self.text.is_empty()
    }

    /// Replaces the text and puts the cursor at its end.
    pub(super) fn set(&mut self, text: &str) {
        self.text = text.to_owned();
        self.cursor = self.text.len();
        self.browsing = None;
    }

    /// Takes the text and adds it to the history.
    pub(super) fn take(&mut self) -> String {
        let text = std::mem::take(&mut self.text);
        self.cursor = 0;
        self.browsing = None;
        self.remember(&text);
        text
    }

    /// Takes the text without adding it to the history.
    pub(super) fn put_aside(&mut self) -> String {
        self.cursor = 0;
        self.browsing = None;
        std::mem::take(&mut self.text)
    }

    fn remember(&mut self, text: &str) {
        if text.trim().is_empty() || self.history.last().is_some_and(|last| last == text) {
            return;
        }
        self.history.push(text.to_owned());
        if self.history.len() > MAX_HISTORY {
            self.history.remove(0);
        }
    }

    /// Applies a key.
    pub(super) fn apply_key(&mut self, key: &TerminalKey) -> EditorOutcome {
        match key {
            TerminalKey::Char(c) => return self.insert(c.encode_utf8(&mut [0; 4])),
            TerminalKey::Paste(text) => {
                // Terminals paste line breaks as `\r` or `\r\n`.
                return self.paste(text.replace("\r\n", "\n").replace('\r', "\n"));
            }
            TerminalKey::NewLine => return self.insert("\n"),
            TerminalKey::Enter if self.text_before().ends_with('\\') => {
                self.remove(self.cursor - 1, self.cursor);
                return self.insert("\n");
            }
            TerminalKey::Enter => return EditorOutcome::Submit,
            TerminalKey::Backspace => self.remove(self.label_start(), self.cursor),
            TerminalKey::Delete => self.remove(self.cursor, self.right()),
            TerminalKey::DeleteWordBack => self.kill(self.word_left(), self.cursor),
            TerminalKey::DeleteWord => self.kill(self.cursor, self.word_right()),
            TerminalKey::KillToEnd => {
                let end = self.line_end();
                // At the end of a line, the line break is killed.
                self.kill(self.cursor, if end == self.cursor { self.right() } else { end });
            }
            TerminalKey::KillToStart => self.kill(self.line_start(), self.cursor),
            TerminalKey::Yank => return self.insert(&self.killed.clone()),
            TerminalKey::Left => self.cursor = self.left(),
            TerminalKey::Right => self.cursor = self.right(),
            TerminalKey::WordLeft => self.cursor = self.word_left(),
            TerminalKey::WordRight => self.cursor = self.word_right(),
            TerminalKey::Home => self.cursor = self.line_start(),
            TerminalKey::End => self.cursor = self.line_end(),
            TerminalKey::Up => return self.up(),
            TerminalKey::Down => return self.down(),
            TerminalKey::Tab
            | TerminalKey::Esc
            | TerminalKey::Interrupt
            | TerminalKey::EndOfInput
            | TerminalKey::Redraw
            | TerminalKey::Suspend
            | TerminalKey::Thoughts => return EditorOutcome::Ignored,
        }
        EditorOutcome::Handled
    }

    fn text_before(&self) -> &str {
        self.text.get(..self.cursor).unwrap_or_default()
    }

    fn text_after(&self) -> &str {
        self.text.get(self.cursor..).unwrap_or_default()
    }

    fn insert(&mut self, text: &str) -> EditorOutcome {
        if self.text.len() + text.len() > MAX_TEXT_BYTES {
            return EditorOutcome::Full;
        }
        self.text.insert_str(self.cursor, text);
        self.cursor += text.len();
        EditorOutcome::Handled
    }

    /// Inserts pasted text. Many lines are shown as a label, so that they do not fill the screen.
    fn paste(&mut self, text: String) -> EditorOutcome {
        let lines = text.trim_end_matches('\n').split('\n').count();
        if lines <= MAX_PASTED_LINES && text.len() <= MAX_PASTED_BYTES {
            return self.insert(&text);
        }
        if self.expand(&self.text).len() + text.len() > MAX_TEXT_BYTES {
            return EditorOutcome::Full;
        }
        let label = |number: usize| {
            localize(match (number, lines) {
                (1, 1) => format!("[pasted {} characters]", text.chars().count()),
                (1, lines) => format!("[pasted {lines} lines]"),
                (number, lines) => format!("[pasted {lines} lines, {number}]"),
            })
            .into_owned()
        };
        let is_free = |label: &String| self.pastes.iter().all(|(taken, _)| taken != label);
        let label = (1..).map(label).find(is_free).unwrap_or_default();
        let outcome = self.insert(&label);
        self.pastes.push((label, text));
        outcome
    }

    /// A text with what its labels stand for.
    pub(super) fn expand(&self, text: &str) -> String {
        let mut expanded = text.to_owned();
        for (label, pasted) in &self.pastes {
            expanded = expanded.replacen(label.as_str(), pasted, 1);
        }
        expanded
    }

    /// Where the character before the cursor starts, or the label that ends there.
    fn label_start(&self) -> usize {
        let before = self.text_before();
        let label = self.pastes.iter().find(|(label, _)| before.ends_with(label.as_str()));
        label.map_or_else(|| self.left(), |(label, _)| self.cursor - label.len())
    }

    /// The last word before the cursor.
    pub(super) fn word_before(&self) -> &str {
        self.text_before().rsplit(char::is_whitespace).next().unwrap_or_default()
    }

    /// Replaces the last word before the cursor.
    pub(super) fn replace_word(&mut self, word: &str) {
        self.remove(self.cursor - self.word_before().len(), self.cursor);
        self.insert(word);
    }

    fn remove(&mut self, from: usize, to: usize) {
        if from < to && self.text.is_char_boundary(from) && self.text.is_char_boundary(to) {
            self.text.replace_range(from..to, "");
            self.cursor = from;
        }
    }

    fn kill(&mut self, from: usize, to: usize) {
        if let Some(killed) = self.text.get(from..to).filter(|killed| !killed.is_empty()) {
            self.killed = killed.to_owned();
            self.remove(from, to);
        }
    }

    /// The position one character to the left, including its combining marks.
    fn left(&self) -> usize {
        let mut chars = self.text_before().char_indices().rev();
        chars.find(|(_, c)| !is_mark(*c)).map_or(0, |(at, _)| at)
    }

    fn right(&self) -> usize {
        let mut chars = self.text_after().char_indices().skip(1);
        let next = chars.find(|(_, c)| !is_mark(*c));
        next.map_or(self.text.len(), |(offset, _)| self.cursor + offset)
    }

    fn word_left(&self) -> usize {
        let before = self.text_before().trim_end_matches(|c: char| !c.is_alphanumeric());
        before.trim_end_matches(char::is_alphanumeric).len()
    }

    fn word_right(&self) -> usize {
        let after = self.text_after().trim_start_matches(|c: char| !c.is_alphanumeric());
        self.text.len() - after.trim_start_matches(char::is_alphanumeric).len()
    }

    fn line_start(&self) -> usize {
        self.text_before().rfind('\n').map_or(0, |at| at + 1)
    }

    fn line_end(&self) -> usize {
        self.text_after().find('\n').map_or(self.text.len(), |offset| self.cursor + offset)
    }

    fn up(&mut self) -> EditorOutcome {
        let start = self.line_start();
        if start == 0 {
            return self.browse_history(HistoryDirection::Back);
        }
        let column = columns(self.text.get(start..self.cursor).unwrap_or_default());
        let above = self.text.get(..start - 1).unwrap_or_default();
        self.cursor = at_column(&self.text, above.rfind('\n').map_or(0, |at| at + 1), column);
        EditorOutcome::Handled
    }

    fn down(&mut self) -> EditorOutcome {
        let end = self.line_end();
        if end == self.text.len() {
            return self.browse_history(HistoryDirection::Forward);
        }
        let column = columns(self.text.get(self.line_start()..self.cursor).unwrap_or_default());
        self.cursor = at_column(&self.text, end + 1, column);
        EditorOutcome::Handled
    }

    /// Moves through the history. The text before browsing comes after its newest entry.
    fn browse_history(&mut self, direction: HistoryDirection) -> EditorOutcome {
        let current = self.browsing.as_ref().map_or(self.history.len(), |(at, _)| *at);
        let target = match direction {
            HistoryDirection::Back => current.checked_sub(1),
            HistoryDirection::Forward => {
                Some(current + 1).filter(|target| *target <= self.history.len())
            }
        };
        let Some(target) = target else { return EditorOutcome::Ignored };
        let typed = match self.browsing.take() {
            Some((_, typed)) => typed,
            None => self.text.clone(),
        };
        self.text = self.history.get(target).cloned().unwrap_or_else(|| typed.clone());
        self.cursor = self.text.len();
        self.browsing = (target < self.history.len()).then_some((target, typed));
        EditorOutcome::Handled
    }

    /// The rows around the cursor that fit into `width` and `height`. Lays out only what can be
    /// visible, whatever the size of the text.
    pub(super) fn view(&self, width: usize, height: usize) -> EditorView {
        let (width, height) = (width.max(2), height.max(1));
        let around = VIEW_BYTES.max(width * height);
        let from = char_boundary(&self.text, self.cursor.saturating_sub(around));
        let to = char_boundary(&self.text, (self.cursor + around).min(self.text.len()));
        let mut view = EditorView { rows: vec![String::new()], row: 0, column: 0 };
        let mut used = 0;
        for (offset, c) in self.text.get(from..to).unwrap_or_default().char_indices() {
            let (shown, char_width) = display_char(c);
            // The last column is reserved for the cursor.
            if c != '\n' && used + char_width >= width && used > 0 {
                view.rows.push(String::new());
                used = 0;
            }
            if from + offset == self.cursor {
                (view.row, view.column) = (view.rows.len() - 1, used);
            }
            if c == '\n' {
                view.rows.push(String::new());
                used = 0;
            } else if let Some(row) = view.rows.last_mut() {
                row.push_str(shown.as_str());
                used += char_width;
            }
        }
        if self.cursor == to {
            (view.row, view.column) = (view.rows.len() - 1, used);
        }
        // The cursor is in the middle of the view, unless an end of the text is near.
        let first = (view.row + 1).saturating_sub(height.div_ceil(2));
        let first = first.min(view.rows.len().saturating_sub(height));
        view.rows = view.rows.split_off(first);
        view.rows.truncate(height);
        view.row -= first;
        view
    }
}

#[derive(Clone, Copy)]
enum HistoryDirection {
    Back,
    Forward,
}

/// The last character boundary at or before a byte.
fn char_boundary(text: &str, mut at: usize) -> usize {
    while !text.is_char_boundary(at) {
        at -= 1;
    }
    at
}

/// Whether a character combines with the one before it and has no width.
fn is_mark(c: char) -> bool {
    !is_harmful(c) && c.width() == Some(0)
}

/// A character as it is shown, and its width in columns.
fn display_char(c: char) -> (String, usize) {
    match c {
        '\t' => ("    ".to_owned(), 4),
        c if is_harmful(c) => ("\u{fffd}".to_owned(), 1),
        c => (c.to_string(), c.width().unwrap_or(0)),
    }
}

fn columns(text: &str) -> usize {
    text.chars().map(|c| display_char(c).1).sum()
}

/// The byte offset of a column in the line that starts at `start`, or the end of the line.
fn at_column(text: &str, start: usize, column: usize) -> usize {
    let mut used = 0;
    for (offset, c) in text.get(start..).unwrap_or_default().char_indices() {
        if c == '\n' || used >= column && !is_mark(c) {
            return start + offset;
        }
        used += display_char(c).1;
    }
    text.len()
}

#[cfg(test)]
mod tests;
