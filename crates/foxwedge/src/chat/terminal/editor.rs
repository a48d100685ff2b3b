//! The editor of the prompt: some lines of text, a cursor, and what was typed before.

use unicode_width::UnicodeWidthChar;

use super::keys::TerminalKey;
use crate::cli_output::is_harmful;

/// The most bytes that it takes.
const MAX_TEXT_BYTES: usize = 16 << 20;
/// The most prompts that it remembers.
const MAX_HISTORY: usize = 1_000;
/// Bytes around the cursor that are looked at when it is drawn.
const VIEW_BYTES: usize = 8 << 10;

/// Text with a cursor.
#[derive(Clone, Debug, Default)]
pub(super) struct PromptEditor {
    text: String,
    /// The byte that the cursor stands at; always at a border of characters.
    cursor: usize,
    /// What was killed last.
    killed: String,
    /// What was typed before, the oldest first.
    history: Vec<String>,
    /// Where in the history we are, and what was being typed when we went there.
    browsing: Option<(usize, String)>,
}

/// What became of a key.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum EditorOutcome {
    /// It is done.
    Handled,
    /// The text is to be sent.
    Submit,
    /// The editor has no use for it.
    Ignored,
    /// It does not fit.
    Full,
}

/// What is drawn of it: rows, and where the cursor stands among them.
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

    /// Holds this text from now on, with the cursor at its end.
    pub(super) fn set(&mut self, text: &str) {
        self.text = text.to_owned();
        self.cursor = self.text.len();
        self.browsing = None;
    }

    /// Gives the text away, and remembers it.
    pub(super) fn take(&mut self) -> String {
        let text = std::mem::take(&mut self.text);
        self.cursor = 0;
        self.browsing = None;
        self.remember(&text);
        text
    }

    /// Gives the text away, and does not remember it.
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

    /// Takes a key.
    pub(super) fn apply_key(&mut self, key: &TerminalKey) -> EditorOutcome {
        match key {
            TerminalKey::Char(c) => return self.insert(c.encode_utf8(&mut [0; 4])),
            TerminalKey::Paste(text) => {
                // A terminal pastes lines with what ends them on its side.
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
                // At the end of a line, its end is killed.
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

    /// One character to the left, with the marks that stand on it.
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
        let behind = self.text_after().trim_start_matches(|c: char| !c.is_alphanumeric());
        self.text.len() - behind.trim_start_matches(char::is_alphanumeric).len()
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

    /// Goes through the history. What was being typed stands behind its end.
    fn browse_history(&mut self, look: HistoryDirection) -> EditorOutcome {
        let here = self.browsing.as_ref().map_or(self.history.len(), |(at, _)| *at);
        let there = match look {
            HistoryDirection::Back => here.checked_sub(1),
            HistoryDirection::Forward => {
                Some(here + 1).filter(|there| *there <= self.history.len())
            }
        };
        let Some(there) = there else { return EditorOutcome::Ignored };
        let typed = match self.browsing.take() {
            Some((_, typed)) => typed,
            None => self.text.clone(),
        };
        self.text = self.history.get(there).cloned().unwrap_or_else(|| typed.clone());
        self.cursor = self.text.len();
        self.browsing = (there < self.history.len()).then_some((there, typed));
        EditorOutcome::Handled
    }

    /// What is drawn: at most so many rows of so many columns, around the cursor. Looks at no more
    /// of the text than can be seen, whatever its size.
    pub(super) fn view(&self, width: usize, height: usize) -> EditorView {
        let (width, height) = (width.max(2), height.max(1));
        let around = VIEW_BYTES.max(width * height);
        let from = char_boundary(&self.text, self.cursor.saturating_sub(around));
        let to = char_boundary(&self.text, (self.cursor + around).min(self.text.len()));
        let mut view = EditorView { rows: vec![String::new()], row: 0, column: 0 };
        let mut used = 0;
        for (offset, c) in self.text.get(from..to).unwrap_or_default().char_indices() {
            let (shown, wide) = display_char(c);
            // The last column is for the cursor.
            if c != '\n' && used + wide >= width && used > 0 {
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
                used += wide;
            }
        }
        if self.cursor == to {
            (view.row, view.column) = (view.rows.len() - 1, used);
        }
        // The cursor stands in the middle of what is shown, unless an end is near.
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

/// The last border of characters up to a byte.
fn char_boundary(text: &str, mut at: usize) -> usize {
    while !text.is_char_boundary(at) {
        at -= 1;
    }
    at
}

/// Stands on the character before it and takes no room.
fn is_mark(c: char) -> bool {
    !is_harmful(c) && c.width() == Some(0)
}

/// A character as it is shown, and its columns.
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

/// The place in the line that begins there that has so many columns before it, or its end.
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
    fn the_history_keeps_what_was_being_typed() {
        let mut editor = PromptEditor::new(vec!["first".to_owned(), "second\nline".to_owned()]);
        editor.set("typed");
        let story = [
            (TerminalKey::Up, "second\nline|"),
            (TerminalKey::Up, "seco|nd\nline"),
            (TerminalKey::Up, "first|"),
            (TerminalKey::Up, "first|"),
            (TerminalKey::Down, "second\nline|"),
            (TerminalKey::Down, "typed|"),
            (TerminalKey::Down, "typed|"),
        ];
        for (key, expected) in story {
            editor.apply_key(&key);
            assert_eq!(marked(&editor), *expected);
        }
    }

    #[test]
    fn what_is_sent_is_remembered_once_and_blanks_never() {
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
    fn a_view_is_wrapped_and_has_the_cursor() {
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
    fn much_text_is_no_trouble() {
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
