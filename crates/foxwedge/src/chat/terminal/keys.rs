//! Keys, by what they mean; and sequences of a terminal that came in pieces, put together again.

use crossterm::event::{KeyCode, KeyEvent, KeyEventKind, KeyModifiers};

/// A key, by what it means.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum Key {
    Char(char),
    /// A text in one piece.
    Paste(String),
    Enter,
    NewLine,
    Tab,
    Backspace,
    Delete,
    DeleteWord,
    DeleteWordBack,
    Left,
    Right,
    WordLeft,
    WordRight,
    Up,
    Down,
    Home,
    End,
    KillToEnd,
    KillToStart,
    Yank,
    Esc,
    /// Ctrl-C.
    Interrupt,
    /// Ctrl-D.
    EndOfInput,
    /// Ctrl-L.
    Redraw,
    /// Ctrl-Z.
    Suspend,
    /// Ctrl-O.
    Thoughts,
}

/// The most characters of a sequence that comes in pieces.
const LONGEST: usize = 16;

/// Puts together what came in pieces. A lone Esc and the beginning of a sequence look the same until
/// the next character comes, or does not come.
#[derive(Clone, Debug, Default)]
pub(super) struct Gather {
    /// What came behind an Esc; `None`: no Esc came.
    pending: Option<String>,
}

impl Gather {
    /// Takes a key as it was read.
    pub(super) fn push(&mut self, event: KeyEvent) -> Vec<Key> {
        if event.kind == KeyEventKind::Release {
            return Vec::new();
        }
        let is_esc = event.code == KeyCode::Esc && event.modifiers.is_empty();
        let Some(mut pending) = self.pending.take() else {
            if is_esc {
                self.pending = Some(String::new());
                return Vec::new();
            }
            return key(event).into_iter().collect();
        };
        let plain = event.modifiers.difference(KeyModifiers::SHIFT).is_empty();
        match event.code {
            // The one before was meant.
            KeyCode::Esc if is_esc => {
                self.pending = Some(String::new());
                if pending.is_empty() { vec![Key::Esc] } else { Vec::new() }
            }
            KeyCode::Char(c @ ('[' | 'O')) if plain && pending.is_empty() => {
                self.pending = Some(c.to_string());
                Vec::new()
            }
            KeyCode::Char(c) if plain && !pending.is_empty() => {
                pending.push(c);
                let is_over = ('\u{40}'..='\u{7e}').contains(&c);
                if is_over {
                    return sequence(&pending).into_iter().collect();
                }
                // Too long to be one: it is dropped, as a torn one is.
                self.pending = (pending.len() < LONGEST).then_some(pending);
                Vec::new()
            }
            _ if pending.is_empty() => {
                let modifiers = event.modifiers | KeyModifiers::ALT;
                key(KeyEvent { modifiers, ..event }).into_iter().collect()
            }
            _ => key(event).into_iter().collect(),
        }
    }

    /// Whether it waits for more.
    pub(super) fn waits(&self) -> bool {
        self.pending.is_some()
    }

    /// Nothing more came: an Esc was meant. A torn sequence is nothing.
    pub(super) fn expire(&mut self) -> Option<Key> {
        self.pending.take().filter(String::is_empty).map(|_| Key::Esc)
    }
}

/// What a key means.
fn key(event: KeyEvent) -> Option<Key> {
    let control = event.modifiers.contains(KeyModifiers::CONTROL);
    let alt = event.modifiers.contains(KeyModifiers::ALT);
    Some(match event.code {
        KeyCode::Char(c) if control => match c.to_ascii_lowercase() {
            'a' => Key::Home,
            'b' => Key::Left,
            'c' => Key::Interrupt,
            'd' => Key::EndOfInput,
            'e' => Key::End,
            'f' => Key::Right,
            'h' => Key::Backspace,
            'j' => Key::NewLine,
            'k' => Key::KillToEnd,
            'l' => Key::Redraw,
            'n' => Key::Down,
            'o' => Key::Thoughts,
            'p' => Key::Up,
            'u' => Key::KillToStart,
            'w' => Key::DeleteWordBack,
            'y' => Key::Yank,
            'z' => Key::Suspend,
            _ => return None,
        },
        KeyCode::Char(c) if alt => match c.to_ascii_lowercase() {
            'b' => Key::WordLeft,
            'd' => Key::DeleteWord,
            'f' => Key::WordRight,
            _ => return None,
        },
        KeyCode::Char(c) => Key::Char(c),
        KeyCode::Enter if alt || event.modifiers.contains(KeyModifiers::SHIFT) => Key::NewLine,
        KeyCode::Enter => Key::Enter,
        KeyCode::Tab => Key::Tab,
        KeyCode::Backspace if alt || control => Key::DeleteWordBack,
        KeyCode::Backspace => Key::Backspace,
        KeyCode::Delete if alt || control => Key::DeleteWord,
        KeyCode::Delete => Key::Delete,
        KeyCode::Left if alt || control => Key::WordLeft,
        KeyCode::Left => Key::Left,
        KeyCode::Right if alt || control => Key::WordRight,
        KeyCode::Right => Key::Right,
        KeyCode::Up => Key::Up,
        KeyCode::Down => Key::Down,
        KeyCode::Home => Key::Home,
        KeyCode::End => Key::End,
        KeyCode::Esc => Key::Esc,
        // Keys without a meaning here.
        KeyCode::PageUp
        | KeyCode::PageDown
        | KeyCode::BackTab
        | KeyCode::Insert
        | KeyCode::F(_)
        | KeyCode::Null
        | KeyCode::CapsLock
        | KeyCode::ScrollLock
        | KeyCode::NumLock
        | KeyCode::PrintScreen
        | KeyCode::Pause
        | KeyCode::Menu
        | KeyCode::KeypadBegin
        | KeyCode::Media(_)
        | KeyCode::Modifier(_) => return None,
    })
}

/// What a sequence behind an Esc means.
fn sequence(text: &str) -> Option<Key> {
    Some(match text {
        "[A" | "OA" => Key::Up,
        "[B" | "OB" => Key::Down,
        "[C" | "OC" => Key::Right,
        "[D" | "OD" => Key::Left,
        "[H" | "OH" | "[1~" | "[7~" => Key::Home,
        "[F" | "OF" | "[4~" | "[8~" => Key::End,
        "[3~" => Key::Delete,
        "[1;3C" | "[1;5C" => Key::WordRight,
        "[1;3D" | "[1;5D" => Key::WordLeft,
        "[3;3~" | "[3;5~" => Key::DeleteWord,
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Keys by their characters; `^` is Esc, `.` is a pause.
    fn gathered(story: &str) -> Vec<Key> {
        let mut gather = Gather::default();
        let mut keys = Vec::new();
        for c in story.chars() {
            match c {
                '.' => keys.extend(gather.expire()),
                '^' => keys.extend(gather.push(KeyEvent::new(KeyCode::Esc, KeyModifiers::NONE))),
                '\n' => keys.extend(gather.push(KeyEvent::new(KeyCode::Enter, KeyModifiers::NONE))),
                c => keys.extend(gather.push(KeyEvent::new(KeyCode::Char(c), KeyModifiers::NONE))),
            }
        }
        keys
    }

    #[test]
    fn a_sequence_in_pieces_is_no_esc() {
        let table: [(&str, &[Key]); 12] = [
            ("^.", &[Key::Esc]),
            ("^", &[]),
            ("^^.", &[Key::Esc, Key::Esc]),
            ("^[A", &[Key::Up]),
            ("^OB", &[Key::Down]),
            ("^[1;5D", &[Key::WordLeft]),
            ("^[3~x", &[Key::Delete, Key::Char('x')]),
            ("^[.x", &[Key::Char('x')]),
            ("^[99;99q", &[]),
            ("^b", &[Key::WordLeft]),
            ("^\n", &[Key::NewLine]),
            ("^[A^.", &[Key::Up, Key::Esc]),
        ];
        for (story, expected) in table {
            assert_eq!(gathered(story), expected, "{story:?}");
        }
        // However long it is, it ends.
        let long = format!("^[{}x", "1".repeat(LONGEST));
        assert_eq!(gathered(&long).last(), Some(&Key::Char('x')));
    }

    #[test]
    fn keys_mean_what_people_are_used_to() {
        let control = KeyModifiers::CONTROL;
        let table = [
            (KeyCode::Char('c'), control, Some(Key::Interrupt)),
            (KeyCode::Char('d'), control, Some(Key::EndOfInput)),
            (KeyCode::Char('j'), control, Some(Key::NewLine)),
            (KeyCode::Char('A'), KeyModifiers::SHIFT, Some(Key::Char('A'))),
            (KeyCode::Enter, KeyModifiers::ALT, Some(Key::NewLine)),
            (KeyCode::Left, KeyModifiers::ALT, Some(Key::WordLeft)),
            (KeyCode::Right, control, Some(Key::WordRight)),
            (KeyCode::F(1), KeyModifiers::NONE, None),
            (KeyCode::Char('q'), control, None),
        ];
        for (code, modifiers, expected) in table {
            assert_eq!(key(KeyEvent::new(code, modifiers)), expected, "{code:?} {modifiers:?}");
        }
        let mut gather = Gather::default();
        let mut released = KeyEvent::new(KeyCode::Char('x'), KeyModifiers::NONE);
        released.kind = KeyEventKind::Release;
        assert_eq!(gather.push(released), []);
    }
}
