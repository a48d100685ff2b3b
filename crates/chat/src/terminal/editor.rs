//! The prompt editor: lines of text, a cursor and a history.

use unicode_width::UnicodeWidthChar;

use super::keys::TerminalKey;
use foxwedge_local::output::is_harmful;

/// Size limit of the text.
const MAX_TEXT_BYTES: usize = 16 << 20;
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
                return self.insert(&text.replace("\r\n", "\n").replace('\r', "\n"));
            }
            TerminalKey::NewLine => return self.insert("\n"),
            TerminalKey::Enter if self.text_before().ends_with('\\') => {
                self.remove(self.cursor - 1, self.cursor);
                return self.insert("\n");
            }
            TerminalKey::Enter => return EditorOutcome::Submit,
            TerminalKey::Backspace => self.remove(self.left(), self.cursor),
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
mod tests {
    use super::*;

    /// The text with the cursor as `|`.
    fn edited(before: &str, keys: &[TerminalKey]) -> String {
        let mut editor = editor(before);
        for key in keys {
            editor.apply_key(key);
        }
        marked(&editor)
    }

    fn editor(marked: &str) -> PromptEditor {
        let at = marked.find('|').unwrap_or(marked.len());
        PromptEditor { text: marked.replace('|', ""), cursor: at, ..PromptEditor::default() }
    }

    fn marked(editor: &PromptEditor) -> String {
        format!("{}|{}", editor.text_before(), editor.text_after())
    }

    #[test]
    fn keys_change_the_text() {
        let table: [(&str, &[TerminalKey], &str); 28] = [
            ("|", &[TerminalKey::Char('a'), TerminalKey::Char('中')], "a中|"),
            ("ab|c", &[TerminalKey::Backspace], "a|c"),
            ("|c", &[TerminalKey::Backspace], "|c"),
            ("a|bc", &[TerminalKey::Delete], "a|c"),
            ("a|", &[TerminalKey::Delete], "a|"),
            ("中文|", &[TerminalKey::Left, TerminalKey::Left, TerminalKey::Left], "|中文"),
            ("e\u{301}|x", &[TerminalKey::Left], "|e\u{301}x"),
            ("|e\u{301}x", &[TerminalKey::Right], "e\u{301}|x"),
            ("xe\u{301}|", &[TerminalKey::Backspace], "x|"),
            ("one two|", &[TerminalKey::WordLeft], "one |two"),
            ("one two  |", &[TerminalKey::WordLeft, TerminalKey::WordLeft], "|one two  "),
            ("|one two", &[TerminalKey::WordRight], "one| two"),
            ("one two|", &[TerminalKey::DeleteWordBack], "one |"),
            ("|one two", &[TerminalKey::DeleteWord], "| two"),
            ("one\ntw|o", &[TerminalKey::Home], "one\n|two"),
            ("o|ne\ntwo", &[TerminalKey::End], "one|\ntwo"),
            ("o|ne\ntwo", &[TerminalKey::KillToEnd], "o|\ntwo"),
            ("one|\ntwo", &[TerminalKey::KillToEnd], "one|two"),
            ("one\ntw|o", &[TerminalKey::KillToStart], "one\n|o"),
            (
                "one two|",
                &[TerminalKey::DeleteWordBack, TerminalKey::Home, TerminalKey::Yank],
                "two|one ",
            ),
            ("one\ntw|o", &[TerminalKey::Up], "on|e\ntwo"),
            ("longer\nab|", &[TerminalKey::Up, TerminalKey::Down], "longer\nab|"),
            ("中文\nabc|", &[TerminalKey::Up], "中文|\nabc"),
            ("a\n|", &[TerminalKey::Up, TerminalKey::Down], "a\n|"),
            ("a|", &[TerminalKey::NewLine, TerminalKey::Char('b')], "a\nb|"),
            ("a\\|", &[TerminalKey::Enter], "a\n|"),
            ("|", &[TerminalKey::Paste("a\r\nb\rc".to_owned())], "a\nb\nc|"),
            ("|", &[TerminalKey::Up, TerminalKey::Down, TerminalKey::Yank], "|"),
        ];
        for (before, keys, expected) in table {
            assert_eq!(edited(before, keys), expected, "{before} {keys:?}");
        }
    }

    #[test]
    fn browsing_the_history_keeps_the_current_text() {
        let mut editor = PromptEditor::new(vec!["first".to_owned(), "second\nline".to_owned()]);
        editor.set("typed");
        let steps = [
            (TerminalKey::Up, "second\nline|"),
            (TerminalKey::Up, "seco|nd\nline"),
            (TerminalKey::Up, "first|"),
            (TerminalKey::Up, "first|"),
            (TerminalKey::Down, "second\nline|"),
            (TerminalKey::Down, "typed|"),
            (TerminalKey::Down, "typed|"),
        ];
        for (key, expected) in steps {
            editor.apply_key(&key);
            assert_eq!(marked(&editor), *expected);
        }
    }

    #[test]
    fn history_skips_repeated_and_blank_texts() {
        let mut editor = PromptEditor::default();
        for text in ["one", "one", "  ", "two"] {
            editor.set(text);
            assert_eq!(editor.take(), text);
        }
        assert_eq!(editor.history, ["one", "two"]);
        assert!(editor.is_empty());
        editor.set("kept elsewhere");
        assert_eq!(editor.put_aside(), "kept elsewhere");
        assert_eq!(editor.history, ["one", "two"]);
    }

    #[test]
    fn view_is_wrapped_and_contains_the_cursor() {
        // The text, width and height, the rows, and the cursor.
        type Case = (&'static str, (usize, usize), &'static [&'static str], (usize, usize));
        let table: [Case; 9] = [
            ("|", (10, 3), &[""], (0, 0)),
            ("abc|", (10, 3), &["abc"], (0, 3)),
            ("abcdef|", (4, 9), &["abc", "def"], (1, 3)),
            ("abc|def", (4, 9), &["abc", "def"], (1, 0)),
            ("a\n|b", (4, 9), &["a", "b"], (1, 0)),
            ("a\n|", (4, 9), &["a", ""], (1, 0)),
            ("中文|", (4, 9), &["中", "文"], (1, 2)),
            ("a\u{1b}[2J\t|", (20, 1), &["a\u{fffd}[2J    "], (0, 9)),
            ("1\n2\n3\n4\n|5\n6\n7", (9, 3), &["4", "5", "6"], (1, 0)),
        ];
        for (text, (width, height), rows, cursor) in table {
            let view = editor(text).view(width, height);
            assert_eq!(view.rows, rows, "{text:?}");
            assert_eq!((view.row, view.column), cursor, "{text:?}");
        }
    }

    #[test]
    fn large_text_is_handled() {
        let text = "many words\nin many lines, and one 中 of them ".repeat(200_000);
        let mut editor = PromptEditor::default();
        assert_eq!(editor.apply_key(&TerminalKey::Paste(text.clone())), EditorOutcome::Handled);
        for key in [
            TerminalKey::Left,
            TerminalKey::WordLeft,
            TerminalKey::Up,
            TerminalKey::Char('x'),
            TerminalKey::Home,
            TerminalKey::Delete,
        ] {
            for _ in 0..20 {
                editor.apply_key(&key);
                let view = editor.view(80, 10);
                assert!(view.rows.len() <= 10 && view.row < view.rows.len());
            }
        }
        assert_eq!(editor.apply_key(&TerminalKey::Paste(text)), EditorOutcome::Full);
        let one_line =
            PromptEditor { text: "x".repeat(1 << 20), cursor: 1 << 19, ..PromptEditor::default() };
        assert_eq!(one_line.view(20, 5).rows.len(), 5);
    }
}
