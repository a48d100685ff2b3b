//! Follows the arguments of a call as they come: is this a whole JSON value yet?
//!
//! It checks no grammar. It only knows where strings and containers end, which is enough to tell
//! a value that is whole from one that goes on.

/// How far the arguments of a call are.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct ArgumentsTracker {
    state: ArgumentsState,
    depth: usize,
    /// It begins as an object does.
    object: bool,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
enum ArgumentsState {
    /// Nothing but white space.
    #[default]
    Before,
    /// In a container, between strings.
    Inside,
    /// In a string.
    Text,
    /// In a string, behind a backslash.
    Escape,
    /// In a number or a word that stands alone. Where it ends is known behind it.
    Word,
    /// The value is whole.
    Complete,
    /// Something follows the value.
    Trailing,
}

impl ArgumentsTracker {
    /// Takes a piece in the spelling of a JSON string. No escape is cut in two there.
    pub(super) fn push(&mut self, raw: &str) {
        let mut rest = raw.as_bytes();
        loop {
            if self.state == ArgumentsState::Text {
                // A quote is spelled with a backslash, like everything that ends a text.
                let plain = memchr::memchr(b'\\', rest).unwrap_or(rest.len());
                rest = rest.get(plain..).unwrap_or(&[]);
            }
            rest = match rest {
                [] => return,
                [b'\\', b'u', a, b, c, d, rest @ ..] => {
                    self.push_byte(escaped_character([*a, *b, *c, *d]));
                    rest
                }
                [b'\\', escaped, rest @ ..] => {
                    self.push_byte(match escaped {
                        b'n' | b'r' | b't' => b' ',
                        b'b' | b'f' => b'x',
                        other => *other,
                    });
                    rest
                }
                [byte, rest @ ..] => {
                    self.push_byte(*byte);
                    rest
                }
            };
        }
    }

    /// Whether a whole value has come, and nothing but white space behind it.
    pub(super) fn is_complete(self) -> bool {
        self.state == ArgumentsState::Complete
    }

    /// Whether a whole object has come.
    pub(super) fn is_object(self) -> bool {
        self.is_complete() && self.object
    }

    /// Whether nothing but white space has come.
    pub(super) fn is_blank(self) -> bool {
        self.state == ArgumentsState::Before
    }

    fn push_byte(&mut self, byte: u8) {
        let blank = matches!(byte, b' ' | b'\t' | b'\n' | b'\r');
        self.object |= self.state == ArgumentsState::Before && byte == b'{';
        self.state = match (self.state, byte) {
            (ArgumentsState::Before | ArgumentsState::Complete, _) if blank => self.state,
            (ArgumentsState::Before | ArgumentsState::Inside, b'{' | b'[') => {
                self.depth += 1;
                ArgumentsState::Inside
            }
            (ArgumentsState::Before | ArgumentsState::Inside, b'"') => ArgumentsState::Text,
            (ArgumentsState::Before, _) => ArgumentsState::Word,
            (ArgumentsState::Inside, b'}' | b']') => {
                self.depth -= 1;
                self.after_value()
            }
            (ArgumentsState::Inside, _) => ArgumentsState::Inside,
            (ArgumentsState::Text, b'\\') => ArgumentsState::Escape,
            (ArgumentsState::Text, b'"') => self.after_value(),
            (ArgumentsState::Text | ArgumentsState::Escape, _) => ArgumentsState::Text,
            (ArgumentsState::Word, _) if blank => ArgumentsState::Complete,
            (ArgumentsState::Word, _) => ArgumentsState::Word,
            (ArgumentsState::Complete | ArgumentsState::Trailing, _) => ArgumentsState::Trailing,
        };
    }

    /// Behind a string or a container.
    fn after_value(self) -> ArgumentsState {
        if self.depth == 0 { ArgumentsState::Complete } else { ArgumentsState::Inside }
    }
}

/// The character of a wide escape, if it is one that counts here.
fn escaped_character(digits: [u8; 4]) -> u8 {
    let text = std::str::from_utf8(&digits).unwrap_or("");
    u8::from_str_radix(text, 16).ok().filter(u8::is_ascii).unwrap_or(b'x')
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::json::escape_into;

    fn follow(pieces: &[&str]) -> ArgumentsTracker {
        let mut arguments = ArgumentsTracker::default();
        for piece in pieces {
            let mut raw = String::new();
            escape_into(&mut raw, piece);
            arguments.push(&raw);
        }
        arguments
    }

    #[test]
    fn a_value_is_whole_when_its_last_byte_has_come() {
        let whole = [
            r#"{}"#,
            " {\"a\": [1, {\"b\": \"}\"}]}\n",
            r#"{"a":"\"}"}"#,
            r#"{"a\\":"\\"}"#,
            r#"[[],{}]"#,
            r#""text""#,
            "12 ",
            "{\"é\":\"𝄞 \\u007d\"}",
        ];
        for text in whole {
            assert!(follow(&[text]).is_complete(), "{text}");
            let trimmed = text.trim_end();
            for cut in (1..trimmed.len()).filter(|at| text.is_char_boundary(*at)) {
                let (one, two) = text.split_at(cut);
                assert!(!follow(&[one]).is_complete() || one.trim() == trimmed, "{one}");
                assert!(follow(&[one, "", two]).is_complete(), "{one} and {two}");
            }
        }
        for text in ["", "  ", "{", "{\"a\":\"}", "12", "{} x", "{}{}", "}", "nul"] {
            assert!(!follow(&[text]).is_complete(), "{text}");
        }
    }

    #[test]
    fn only_white_space_is_blank() {
        assert!(follow(&["", " ", "\n\t"]).is_blank());
        assert!(!follow(&["", " ", "n"]).is_blank());
    }

    #[test]
    fn escapes_of_the_stream_are_read_as_what_they_stand_for() {
        let mut arguments = ArgumentsTracker::default();
        arguments.push(r#"\u007b\u0022a\u0022: \"\ud83d\ude00\\\u0022"#);
        assert!(!arguments.is_complete());
        arguments.push(r"\u0022}\n");
        assert!(arguments.is_complete());
    }
}
