//! Tracks the streamed arguments of a call: are they a complete JSON value yet?
//!
//! It does not check the grammar. It only tracks strings and containers, which is enough to detect
//! the end of a value.

/// Tells whether the streamed arguments of a call are a complete JSON value.
#[derive(Clone, Copy, Debug, Default)]
pub struct ArgumentsTracker {
    state: ArgumentsState,
    depth: usize,
    /// The value starts with `{`.
    object: bool,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
enum ArgumentsState {
    /// Only white space so far.
    #[default]
    Before,
    /// In a container, between strings.
    Inside,
    /// In a string.
    Text,
    /// In a string, after a backslash.
    Escape,
    /// In a top-level number or literal. Only the byte after it ends it.
    Word,
    /// The value is complete.
    Complete,
    /// Something other than white space follows the value.
    Trailing,
}

impl ArgumentsTracker {
    /// Reads a JSON-escaped delta. Deltas never split an escape.
    pub(super) fn push(&mut self, raw: &str) {
        let mut rest = raw.as_bytes();
        loop {
            if self.state == ArgumentsState::Text {
                // In escaped text, every byte that can end a string follows a backslash.
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

    /// Reads a delta without escapes of a JSON string.
    pub fn push_text(&mut self, text: &str) {
        text.bytes().for_each(|byte| self.push_byte(byte));
    }

    /// Whether the value is complete, with only white space after it.
    pub fn is_complete(self) -> bool {
        self.state == ArgumentsState::Complete
    }

    /// Whether the value is a complete object.
    pub(super) fn is_object(self) -> bool {
        self.is_complete() && self.object
    }

    /// Whether there is only white space so far.
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

    /// The state after a string or a container.
    fn after_value(self) -> ArgumentsState {
        if self.depth == 0 { ArgumentsState::Complete } else { ArgumentsState::Inside }
    }
}

/// The ASCII character of a `\u` escape; `x` for any other character.
fn escaped_character(digits: [u8; 4]) -> u8 {
    let text = std::str::from_utf8(&digits).unwrap_or("");
    u8::from_str_radix(text, 16).ok().filter(u8::is_ascii).unwrap_or(b'x')
}

#[cfg(test)]
mod tests {
    use super::*;
    use foxwedge_json::escape_into;

    fn track(deltas: &[&str]) -> ArgumentsTracker {
        let mut arguments = ArgumentsTracker::default();
        for delta in deltas {
            let mut raw = String::new();
            escape_into(&mut raw, delta);
            arguments.push(&raw);
        }
        arguments
    }

    #[test]
    fn value_is_complete_after_its_last_byte() {
        let values = [
            r#"{}"#,
            " {\"a\": [1, {\"b\": \"}\"}]}\n",
            r#"{"a":"\"}"}"#,
            r#"{"a\\":"\\"}"#,
            r#"[[],{}]"#,
            r#""text""#,
            "12 ",
            "{\"é\":\"𝄞 \\u007d\"}",
        ];
        for text in values {
            assert!(track(&[text]).is_complete(), "{text}");
            let mut plain = ArgumentsTracker::default();
            plain.push_text(text);
            assert!(plain.is_complete(), "{text}");
            let trimmed = text.trim_end();
            for cut in (1..trimmed.len()).filter(|at| text.is_char_boundary(*at)) {
                let (one, two) = text.split_at(cut);
                assert!(!track(&[one]).is_complete() || one.trim() == trimmed, "{one}");
                assert!(track(&[one, "", two]).is_complete(), "{one} and {two}");
            }
        }
        for text in ["", "  ", "{", "{\"a\":\"}", "12", "{} x", "{}{}", "}", "nul"] {
            assert!(!track(&[text]).is_complete(), "{text}");
        }
    }

    #[test]
    fn only_white_space_is_blank() {
        assert!(track(&["", " ", "\n\t"]).is_blank());
        assert!(!track(&["", " ", "n"]).is_blank());
    }

    #[test]
    fn stream_escapes_are_decoded() {
        let mut arguments = ArgumentsTracker::default();
        arguments.push(r#"\u007b\u0022a\u0022: \"\ud83d\ude00\\\u0022"#);
        assert!(!arguments.is_complete());
        arguments.push(r"\u0022}\n");
        assert!(arguments.is_complete());
    }
}
