//! Strings, character by character.

use super::{ArgumentRepair, JsonState, write_escaped};

/// What an escape that is half of a character becomes.
const REPLACEMENT: &str = "fffd";

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct StringPlace {
    pub(super) usage: StringUse,
    quote: char,
    escape: EscapePlace,
    /// The first half of a character, whose other half has to follow.
    high: HighSurrogate,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum StringUse {
    Key,
    Value,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum EscapePlace {
    None,
    Backslash,
    /// How many hexadecimal digits are missing, and the value of the others.
    Unicode {
        missing: u8,
        code: u32,
    },
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum HighSurrogate {
    None,
    /// What is held back begins with its digits.
    Held,
    Sent,
}

impl StringPlace {
    /// The state behind an opening quote.
    pub(super) fn state(usage: StringUse, quote: char) -> JsonState {
        let (escape, high) = (EscapePlace::None, HighSurrogate::None);
        JsonState::String(StringPlace { usage, quote, escape, high })
    }

    /// Treats what is held back as sent.
    pub(super) fn release(&mut self) {
        if self.high == HighSurrogate::Held {
            self.high = HighSurrogate::Sent;
        }
    }
}

impl ArgumentRepair {
    pub(super) fn read_string(&mut self, place: StringPlace, character: char, out: &mut String) {
        let mut next = place;
        match place.escape {
            EscapePlace::None if character == '\\' => {
                next.escape = EscapePlace::Backslash;
                self.write(character, out);
            }
            EscapePlace::None => {
                self.end_high(&mut next, out);
                if character == place.quote {
                    return self.end_string(place.usage, out);
                }
                match character {
                    '"' | '\0'..='\x1f' => write_escaped(character, out),
                    _ => out.push(character),
                }
            }
            EscapePlace::Backslash if character == 'u' => {
                next.escape = EscapePlace::Unicode { missing: 4, code: 0 };
                self.write(character, out);
            }
            EscapePlace::Backslash => {
                self.end_high(&mut next, out);
                next.escape = EscapePlace::None;
                match character {
                    '"' | '\\' | '/' | 'b' | 'f' | 'n' | 'r' | 't' => out.push(character),
                    '\'' => out.push_str("u0027"),
                    _ => {
                        // The backslash stands for itself.
                        out.push('\\');
                        self.state = JsonState::String(next);
                        return self.read(character, out);
                    }
                }
            }
            EscapePlace::Unicode { missing, code } => match character.to_digit(16) {
                Some(digit) => self.read_digit(&mut next, (missing, code), digit, character, out),
                None => {
                    self.pad_escape(&mut next, (missing, code), out);
                    self.state = JsonState::String(next);
                    return self.read(character, out);
                }
            },
        }
        self.state = JsonState::String(next);
    }

    /// Ends a string that has no end.
    pub(super) fn finish_string(&mut self, mut place: StringPlace, out: &mut String) {
        match place.escape {
            EscapePlace::None => {}
            EscapePlace::Backslash => {
                self.end_high(&mut place, out);
                out.push('\\');
            }
            EscapePlace::Unicode { missing, code } => {
                self.pad_escape(&mut place, (missing, code), out);
            }
        }
        self.end_high(&mut place, out);
        self.end_string(place.usage, out);
    }

    pub(super) fn end_string(&mut self, usage: StringUse, out: &mut String) {
        out.push('"');
        match usage {
            StringUse::Key => self.state = JsonState::Colon,
            StringUse::Value => self.end_value(),
        }
    }

    /// Reads a digit of an escape.
    fn read_digit(
        &mut self,
        place: &mut StringPlace,
        (missing, code): (u8, u32),
        digit: u32,
        character: char,
        out: &mut String,
    ) {
        // The first digit of a surrogate.
        match missing == 4 && digit == 0xd {
            true => self.held.push(character),
            false => self.write(character, out),
        }
        match (missing - 1, code * 16 + digit) {
            (0, code) => self.end_escape(place, code, out),
            (missing, code) => place.escape = EscapePlace::Unicode { missing, code },
        }
    }

    /// Appends the digits that an escape lacks.
    fn pad_escape(
        &mut self,
        place: &mut StringPlace,
        (missing, code): (u8, u32),
        out: &mut String,
    ) {
        (0..missing).for_each(|_| self.write('0', out));
        self.end_escape(place, code << (4 * u32::from(missing)), out);
    }

    fn end_escape(&mut self, place: &mut StringPlace, code: u32, out: &mut String) {
        place.escape = EscapePlace::None;
        let digits = self.held.len().saturating_sub(4);
        match code {
            0xd800..=0xdbff => {
                let own = self.held.split_off(digits);
                self.end_high(place, out);
                // Less than four digits: the others were sent.
                let is_held = own.len() == 4;
                self.held = own;
                place.high = if is_held { HighSurrogate::Held } else { HighSurrogate::Sent };
            }
            0xdc00..=0xdfff => {
                if place.high == HighSurrogate::None && self.held.len() == 4 {
                    self.held.replace_range(.., REPLACEMENT);
                }
                place.high = HighSurrogate::None;
                out.push_str(&std::mem::take(&mut self.held));
            }
            _ => self.end_high(place, out),
        }
    }

    /// Writes what is held back, where the other half of a character does not follow its first one.
    fn end_high(&mut self, place: &mut StringPlace, out: &mut String) {
        if place.high == HighSurrogate::Held && self.held.len() >= 4 {
            self.held.replace_range(..4, REPLACEMENT);
        }
        place.high = HighSurrogate::None;
        out.push_str(&std::mem::take(&mut self.held));
    }

    /// Writes a character, behind what is held back.
    fn write(&mut self, character: char, out: &mut String) {
        match self.held.is_empty() {
            true => out.push(character),
            false => self.held.push(character),
        }
    }
}
