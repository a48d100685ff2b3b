//! Keys by meaning, and the parser for escape sequences that arrive in several reads.

use crossterm::event::{KeyCode, KeyEvent, KeyEventKind, KeyModifiers};

/// A key by its meaning.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum TerminalKey {
    Char(char),
    /// Pasted text.
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

/// Maximum length of a split sequence.
const MAX_SEQUENCE_CHARS: usize = 16;

/// Reassembles escape sequences that arrive in several reads. A lone Esc and the start of a
/// sequence look the same until the next character arrives or the time limit passes.
#[derive(Clone, Debug, Default)]
pub(super) struct KeySequenceParser {
    /// The characters after an Esc; `None` if no Esc is pending.
    pending: Option<String>,
}

impl KeySequenceParser {
    /// Handles a key event. Returns the keys that are complete.
    pub(super) fn push(&mut self, event: KeyEvent) -> Vec<TerminalKey> {
        if event.kind == KeyEventKind::Release {
            return Vec::new();
        }
        let is_esc = event.code == KeyCode::Esc && event.modifiers.is_empty();
        let Some(mut pending) = self.pending.take() else {
            if is_esc {
                self.pending = Some(String::new());
                return Vec::new();
            }
            return key_of_event(event).into_iter().collect();
        };
        let plain = event.modifiers.difference(KeyModifiers::SHIFT).is_empty();
        match event.code {
            // The previous Esc was a key of its own.
            KeyCode::Esc if is_esc => {
                self.pending = Some(String::new());
                if pending.is_empty() { vec![TerminalKey::Esc] } else { Vec::new() }
            }
            KeyCode::Char(c @ ('[' | 'O')) if plain && pending.is_empty() => {
                self.pending = Some(c.to_string());
                Vec::new()
            }
            KeyCode::Char(c) if plain && !pending.is_empty() => {
                pending.push(c);
                let is_over = ('\u{40}'..='\u{7e}').contains(&c);
                if is_over {
                    return key_of_sequence(&pending).into_iter().collect();
                }
                // A sequence that is too long is dropped, like an incomplete one.
                self.pending = (pending.len() < MAX_SEQUENCE_CHARS).then_some(pending);
                Vec::new()
            }
            _ if pending.is_empty() => {
                let modifiers = event.modifiers | KeyModifiers::ALT;
                key_of_event(KeyEvent { modifiers, ..event }).into_iter().collect()
            }
            _ => key_of_event(event).into_iter().collect(),
        }
    }

    /// Whether a sequence is incomplete.
    pub(super) fn is_pending(&self) -> bool {
        self.pending.is_some()
    }

    /// Ends a pending sequence: a lone Esc becomes a key, an incomplete sequence is dropped.
    pub(super) fn expire(&mut self) -> Option<TerminalKey> {
        self.pending.take().filter(String::is_empty).map(|_| TerminalKey::Esc)
    }
}

/// The meaning of a key event.
fn key_of_event(event: KeyEvent) -> Option<TerminalKey> {
    let control = event.modifiers.contains(KeyModifiers::CONTROL);
    let alt = event.modifiers.contains(KeyModifiers::ALT);
    Some(match event.code {
        KeyCode::Char(c) if control => match c.to_ascii_lowercase() {
            'a' => TerminalKey::Home,
            'b' => TerminalKey::Left,
            'c' => TerminalKey::Interrupt,
            'd' => TerminalKey::EndOfInput,
            'e' => TerminalKey::End,
            'f' => TerminalKey::Right,
            'h' => TerminalKey::Backspace,
            'j' => TerminalKey::NewLine,
            'k' => TerminalKey::KillToEnd,
            'l' => TerminalKey::Redraw,
            'n' => TerminalKey::Down,
            'o' => TerminalKey::Thoughts,
            'p' => TerminalKey::Up,
            'u' => TerminalKey::KillToStart,
            'w' => TerminalKey::DeleteWordBack,
            'y' => TerminalKey::Yank,
            'z' => TerminalKey::Suspend,
            _ => return None,
        },
        KeyCode::Char(c) if alt => match c.to_ascii_lowercase() {
            'b' => TerminalKey::WordLeft,
            'd' => TerminalKey::DeleteWord,
            'f' => TerminalKey::WordRight,
            _ => return None,
        },
        KeyCode::Char(c) => TerminalKey::Char(c),
        KeyCode::Enter if alt || event.modifiers.contains(KeyModifiers::SHIFT) => {
            TerminalKey::NewLine
        }
        KeyCode::Enter => TerminalKey::Enter,
        KeyCode::Tab => TerminalKey::Tab,
        KeyCode::Backspace if alt || control => TerminalKey::DeleteWordBack,
        KeyCode::Backspace => TerminalKey::Backspace,
        KeyCode::Delete if alt || control => TerminalKey::DeleteWord,
        KeyCode::Delete => TerminalKey::Delete,
        KeyCode::Left if alt || control => TerminalKey::WordLeft,
        KeyCode::Left => TerminalKey::Left,
        KeyCode::Right if alt || control => TerminalKey::WordRight,
        KeyCode::Right => TerminalKey::Right,
        KeyCode::Up => TerminalKey::Up,
        KeyCode::Down => TerminalKey::Down,
        KeyCode::Home => TerminalKey::Home,
        KeyCode::End => TerminalKey::End,
        KeyCode::Esc => TerminalKey::Esc,
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

/// The meaning of a sequence after an Esc.
fn key_of_sequence(text: &str) -> Option<TerminalKey> {
    Some(match text {
        "[A" | "OA" => TerminalKey::Up,
        "[B" | "OB" => TerminalKey::Down,
        "[C" | "OC" => TerminalKey::Right,
        "[D" | "OD" => TerminalKey::Left,
        "[H" | "OH" | "[1~" | "[7~" => TerminalKey::Home,
        "[F" | "OF" | "[4~" | "[8~" => TerminalKey::End,
        "[3~" => TerminalKey::Delete,
        "[1;3C" | "[1;5C" => TerminalKey::WordRight,
        "[1;3D" | "[1;5D" => TerminalKey::WordLeft,
        "[3;3~" | "[3;5~" => TerminalKey::DeleteWord,
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Keys by their characters; `^` is Esc, `.` is a pause.
    fn parsed_keys(input: &str) -> Vec<TerminalKey> {
        let mut parser = KeySequenceParser::default();
        let mut keys = Vec::new();
        for c in input.chars() {
            match c {
                '.' => keys.extend(parser.expire()),
                '^' => keys.extend(parser.push(KeyEvent::new(KeyCode::Esc, KeyModifiers::NONE))),
                '\n' => keys.extend(parser.push(KeyEvent::new(KeyCode::Enter, KeyModifiers::NONE))),
                c => keys.extend(parser.push(KeyEvent::new(KeyCode::Char(c), KeyModifiers::NONE))),
            }
        }
        keys
    }

    #[test]
    fn split_sequence_is_not_an_esc() {
        let table: [(&str, &[TerminalKey]); 12] = [
            ("^.", &[TerminalKey::Esc]),
            ("^", &[]),
            ("^^.", &[TerminalKey::Esc, TerminalKey::Esc]),
            ("^[A", &[TerminalKey::Up]),
            ("^OB", &[TerminalKey::Down]),
            ("^[1;5D", &[TerminalKey::WordLeft]),
            ("^[3~x", &[TerminalKey::Delete, TerminalKey::Char('x')]),
            ("^[.x", &[TerminalKey::Char('x')]),
            ("^[99;99q", &[]),
            ("^b", &[TerminalKey::WordLeft]),
            ("^\n", &[TerminalKey::NewLine]),
            ("^[A^.", &[TerminalKey::Up, TerminalKey::Esc]),
        ];
        for (input, expected) in table {
            assert_eq!(parsed_keys(input), expected, "{input:?}");
        }
        // A sequence of any length ends.
        let long = format!("^[{}x", "1".repeat(MAX_SEQUENCE_CHARS));
        assert_eq!(parsed_keys(&long).last(), Some(&TerminalKey::Char('x')));
    }

    #[test]
    fn keys_have_their_usual_meaning() {
        let control = KeyModifiers::CONTROL;
        let table = [
            (KeyCode::Char('c'), control, Some(TerminalKey::Interrupt)),
            (KeyCode::Char('d'), control, Some(TerminalKey::EndOfInput)),
            (KeyCode::Char('j'), control, Some(TerminalKey::NewLine)),
            (KeyCode::Char('A'), KeyModifiers::SHIFT, Some(TerminalKey::Char('A'))),
            (KeyCode::Enter, KeyModifiers::ALT, Some(TerminalKey::NewLine)),
            (KeyCode::Left, KeyModifiers::ALT, Some(TerminalKey::WordLeft)),
            (KeyCode::Right, control, Some(TerminalKey::WordRight)),
            (KeyCode::F(1), KeyModifiers::NONE, None),
            (KeyCode::Char('q'), control, None),
        ];
        for (code, modifiers, expected) in table {
            assert_eq!(
                key_of_event(KeyEvent::new(code, modifiers)),
                expected,
                "{code:?} {modifiers:?}"
            );
        }
        let mut parser = KeySequenceParser::default();
        let mut released = KeyEvent::new(KeyCode::Char('x'), KeyModifiers::NONE);
        released.kind = KeyEventKind::Release;
        assert_eq!(parser.push(released), []);
    }
}
