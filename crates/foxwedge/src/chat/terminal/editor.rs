//! The editor of the prompt: some lines of text, a cursor, and what was typed before.

use unicode_width::UnicodeWidthChar;

use super::keys::Key;
use crate::say::is_harmful;

/// The most bytes that it takes.
const MOST: usize = 16 << 20;
/// The most prompts that it remembers.
const REMEMBERED: usize = 1_000;
/// Bytes around the cursor that are looked at when it is drawn.
const AROUND: usize = 8 << 10;

/// Text with a cursor.
#[derive(Clone, Debug, Default)]
pub(super) struct Editor {
    text: String,
    /// The byte that the cursor stands at; always at a border of characters.
    at: usize,
    /// What was killed last.
    killed: String,
    /// What was typed before, the oldest first.
    history: Vec<String>,
    /// Where in the history we are, and what was being typed when we went there.
    looking: Option<(usize, String)>,
}

/// What became of a key.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Edited {
    /// It is done.
    Yes,
    /// The text is to be sent.
    Sent,
    /// The editor has no use for it.
    No,
    /// It does not fit.
    Full,
}

/// What is drawn of it: rows, and where the cursor stands among them.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct View {
    pub(super) rows: Vec<String>,
    pub(super) row: usize,
    pub(super) column: usize,
}

impl Editor {
    pub(super) fn new(history: Vec<String>) -> Editor {
        Editor { history, ..Editor::default() }
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
        self.at = self.text.len();
        self.looking = None;
    }

    /// Gives the text away, and remembers it.
    pub(super) fn take(&mut self) -> String {
        let text = std::mem::take(&mut self.text);
        self.at = 0;
        self.looking = None;
        self.remember(&text);
        text
    }

    /// Gives the text away, and does not remember it.
    pub(super) fn put_aside(&mut self) -> String {
        self.at = 0;
        self.looking = None;
        std::mem::take(&mut self.text)
    }

    fn remember(&mut self, text: &str) {
        if text.trim().is_empty() || self.history.last().is_some_and(|last| last == text) {
            return;
        }
        self.history.push(text.to_owned());
        if self.history.len() > REMEMBERED {
            self.history.remove(0);
        }
    }

    /// Takes a key.
    pub(super) fn press(&mut self, key: &Key) -> Edited {
        match key {
            Key::Char(c) => return self.insert(c.encode_utf8(&mut [0; 4])),
            Key::Paste(text) => {
                // A terminal pastes lines with what ends them on its side.
                return self.insert(&text.replace("\r\n", "\n").replace('\r', "\n"));
            }
            Key::NewLine => return self.insert("\n"),
            Key::Enter if self.before().ends_with('\\') => {
                self.remove(self.at - 1, self.at);
                return self.insert("\n");
            }
            Key::Enter => return Edited::Sent,
            Key::Backspace => self.remove(self.left(), self.at),
            Key::Delete => self.remove(self.at, self.right()),
            Key::DeleteWordBack => self.kill(self.word_left(), self.at),
            Key::DeleteWord => self.kill(self.at, self.word_right()),
            Key::KillToEnd => {
                let end = self.line_end();
                // At the end of a line, its end is killed.
                self.kill(self.at, if end == self.at { self.right() } else { end });
            }
            Key::KillToStart => self.kill(self.line_start(), self.at),
            Key::Yank => return self.insert(&self.killed.clone()),
            Key::Left => self.at = self.left(),
            Key::Right => self.at = self.right(),
            Key::WordLeft => self.at = self.word_left(),
            Key::WordRight => self.at = self.word_right(),
            Key::Home => self.at = self.line_start(),
            Key::End => self.at = self.line_end(),
            Key::Up => return self.up(),
            Key::Down => return self.down(),
            Key::Tab
            | Key::Esc
            | Key::Interrupt
            | Key::EndOfInput
            | Key::Redraw
            | Key::Suspend
            | Key::Thoughts => return Edited::No,
        }
        Edited::Yes
    }

    fn before(&self) -> &str {
        self.text.get(..self.at).unwrap_or_default()
    }

    fn behind(&self) -> &str {
        self.text.get(self.at..).unwrap_or_default()
    }

    fn insert(&mut self, text: &str) -> Edited {
        if self.text.len() + text.len() > MOST {
            return Edited::Full;
        }
        self.text.insert_str(self.at, text);
        self.at += text.len();
        Edited::Yes
    }

    fn remove(&mut self, from: usize, to: usize) {
        if from < to && self.text.is_char_boundary(from) && self.text.is_char_boundary(to) {
            self.text.replace_range(from..to, "");
            self.at = from;
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
        let mut chars = self.before().char_indices().rev();
        chars.find(|(_, c)| !is_mark(*c)).map_or(0, |(at, _)| at)
    }

    fn right(&self) -> usize {
        let mut chars = self.behind().char_indices().skip(1);
        let next = chars.find(|(_, c)| !is_mark(*c));
        next.map_or(self.text.len(), |(offset, _)| self.at + offset)
    }

    fn word_left(&self) -> usize {
        let before = self.before().trim_end_matches(|c: char| !c.is_alphanumeric());
        before.trim_end_matches(char::is_alphanumeric).len()
    }

    fn word_right(&self) -> usize {
        let behind = self.behind().trim_start_matches(|c: char| !c.is_alphanumeric());
        self.text.len() - behind.trim_start_matches(char::is_alphanumeric).len()
    }

    fn line_start(&self) -> usize {
        self.before().rfind('\n').map_or(0, |at| at + 1)
    }

    fn line_end(&self) -> usize {
        self.behind().find('\n').map_or(self.text.len(), |offset| self.at + offset)
    }

    fn up(&mut self) -> Edited {
        let start = self.line_start();
        if start == 0 {
            return self.look(Look::Back);
        }
        let column = columns(self.text.get(start..self.at).unwrap_or_default());
        let above = self.text.get(..start - 1).unwrap_or_default();
        self.at = at_column(&self.text, above.rfind('\n').map_or(0, |at| at + 1), column);
        Edited::Yes
    }

    fn down(&mut self) -> Edited {
        let end = self.line_end();
        if end == self.text.len() {
            return self.look(Look::Forth);
        }
        let column = columns(self.text.get(self.line_start()..self.at).unwrap_or_default());
        self.at = at_column(&self.text, end + 1, column);
        Edited::Yes
    }

    /// Goes through the history. What was being typed stands behind its end.
    fn look(&mut self, look: Look) -> Edited {
        let here = self.looking.as_ref().map_or(self.history.len(), |(at, _)| *at);
        let there = match look {
            Look::Back => here.checked_sub(1),
            Look::Forth => Some(here + 1).filter(|there| *there <= self.history.len()),
        };
        let Some(there) = there else { return Edited::No };
        let typed = match self.looking.take() {
            Some((_, typed)) => typed,
            None => self.text.clone(),
        };
        self.text = self.history.get(there).cloned().unwrap_or_else(|| typed.clone());
        self.at = self.text.len();
        self.looking = (there < self.history.len()).then_some((there, typed));
        Edited::Yes
    }

    /// What is drawn: at most so many rows of so many columns, around the cursor. Looks at no more
    /// of the text than can be seen, whatever its size.
    pub(super) fn view(&self, width: usize, height: usize) -> View {
        let (width, height) = (width.max(2), height.max(1));
        let around = AROUND.max(width * height);
        let from = border(&self.text, self.at.saturating_sub(around));
        let to = border(&self.text, (self.at + around).min(self.text.len()));
        let mut view = View { rows: vec![String::new()], row: 0, column: 0 };
        let mut used = 0;
        for (offset, c) in self.text.get(from..to).unwrap_or_default().char_indices() {
            let (shown, wide) = shown(c);
            // The last column is for the cursor.
            if c != '\n' && used + wide >= width && used > 0 {
                view.rows.push(String::new());
                used = 0;
            }
            if from + offset == self.at {
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
        if self.at == to {
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
enum Look {
    Back,
    Forth,
}

/// The last border of characters up to a byte.
fn border(text: &str, mut at: usize) -> usize {
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
fn shown(c: char) -> (String, usize) {
    match c {
        '\t' => ("    ".to_owned(), 4),
        c if is_harmful(c) => ("\u{fffd}".to_owned(), 1),
        c => (c.to_string(), c.width().unwrap_or(0)),
    }
}

fn columns(text: &str) -> usize {
    text.chars().map(|c| shown(c).1).sum()
}

/// The place in the line that begins there that has so many columns before it, or its end.
fn at_column(text: &str, start: usize, column: usize) -> usize {
    let mut used = 0;
    for (offset, c) in text.get(start..).unwrap_or_default().char_indices() {
        if c == '\n' || used >= column && !is_mark(c) {
            return start + offset;
        }
        used += shown(c).1;
    }
    text.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The text with the cursor as `|`.
    fn edited(before: &str, keys: &[Key]) -> String {
        let mut editor = editor(before);
        for key in keys {
            editor.press(key);
        }
        marked(&editor)
    }

    fn editor(marked: &str) -> Editor {
        let at = marked.find('|').unwrap_or(marked.len());
        Editor { text: marked.replace('|', ""), at, ..Editor::default() }
    }

    fn marked(editor: &Editor) -> String {
        format!("{}|{}", editor.before(), editor.behind())
    }

    #[test]
    fn keys_change_the_text() {
        let table: [(&str, &[Key], &str); 28] = [
            ("|", &[Key::Char('a'), Key::Char('中')], "a中|"),
            ("ab|c", &[Key::Backspace], "a|c"),
            ("|c", &[Key::Backspace], "|c"),
            ("a|bc", &[Key::Delete], "a|c"),
            ("a|", &[Key::Delete], "a|"),
            ("中文|", &[Key::Left, Key::Left, Key::Left], "|中文"),
            ("e\u{301}|x", &[Key::Left], "|e\u{301}x"),
            ("|e\u{301}x", &[Key::Right], "e\u{301}|x"),
            ("xe\u{301}|", &[Key::Backspace], "x|"),
            ("one two|", &[Key::WordLeft], "one |two"),
            ("one two  |", &[Key::WordLeft, Key::WordLeft], "|one two  "),
            ("|one two", &[Key::WordRight], "one| two"),
            ("one two|", &[Key::DeleteWordBack], "one |"),
            ("|one two", &[Key::DeleteWord], "| two"),
            ("one\ntw|o", &[Key::Home], "one\n|two"),
            ("o|ne\ntwo", &[Key::End], "one|\ntwo"),
            ("o|ne\ntwo", &[Key::KillToEnd], "o|\ntwo"),
            ("one|\ntwo", &[Key::KillToEnd], "one|two"),
            ("one\ntw|o", &[Key::KillToStart], "one\n|o"),
            ("one two|", &[Key::DeleteWordBack, Key::Home, Key::Yank], "two|one "),
            ("one\ntw|o", &[Key::Up], "on|e\ntwo"),
            ("longer\nab|", &[Key::Up, Key::Down], "longer\nab|"),
            ("中文\nabc|", &[Key::Up], "中文|\nabc"),
            ("a\n|", &[Key::Up, Key::Down], "a\n|"),
            ("a|", &[Key::NewLine, Key::Char('b')], "a\nb|"),
            ("a\\|", &[Key::Enter], "a\n|"),
            ("|", &[Key::Paste("a\r\nb\rc".to_owned())], "a\nb\nc|"),
            ("|", &[Key::Up, Key::Down, Key::Yank], "|"),
        ];
        for (before, keys, expected) in table {
            assert_eq!(edited(before, keys), expected, "{before} {keys:?}");
        }
    }

    #[test]
    fn the_history_keeps_what_was_being_typed() {
        let mut editor = Editor::new(vec!["first".to_owned(), "second\nline".to_owned()]);
        editor.set("typed");
        let story = [
            (Key::Up, "second\nline|"),
            (Key::Up, "seco|nd\nline"),
            (Key::Up, "first|"),
            (Key::Up, "first|"),
            (Key::Down, "second\nline|"),
            (Key::Down, "typed|"),
            (Key::Down, "typed|"),
        ];
        for (key, expected) in story {
            editor.press(&key);
            assert_eq!(marked(&editor), *expected);
        }
    }

    #[test]
    fn what_is_sent_is_remembered_once_and_blanks_never() {
        let mut editor = Editor::default();
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
        let mut editor = Editor::default();
        assert_eq!(editor.press(&Key::Paste(text.clone())), Edited::Yes);
        for key in [Key::Left, Key::WordLeft, Key::Up, Key::Char('x'), Key::Home, Key::Delete] {
            for _ in 0..20 {
                editor.press(&key);
                let view = editor.view(80, 10);
                assert!(view.rows.len() <= 10 && view.row < view.rows.len());
            }
        }
        assert_eq!(editor.press(&Key::Paste(text)), Edited::Full);
        let one_line = Editor { text: "x".repeat(1 << 20), at: 1 << 19, ..Editor::default() };
        assert_eq!(one_line.view(20, 5).rows.len(), 5);
    }
}
