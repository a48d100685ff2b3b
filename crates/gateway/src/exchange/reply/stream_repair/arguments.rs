//! Makes the arguments of a call valid JSON while they arrive. Valid JSON stays as it is.
//!
//! The writer never has to take anything back: it knows at every character what may follow, leaves
//! out or completes what does not fit, and holds back a few things only: a comma, which may turn out
//! to be the last one, an empty object, which some servers send before the real one, the escape of a
//! surrogate, and a word that is no JSON value.

mod escape;
mod number;
mod string;
#[cfg(test)]
mod tests;

use escape::write_escaped;
use number::NumberPlace;
use string::{StringPlace, StringUse};

/// Deeper values are not repaired.
const MAX_DEPTH: usize = 256;

/// The longest word that is held back.
const MAX_WORD: usize = 64;

/// Repairs the arguments of one call.
#[derive(Debug, Default)]
pub(super) struct ArgumentRepair {
    stack: Vec<Container>,
    state: JsonState,
    /// A comma or an empty object, with the white space after it, or the escapes of a string from
    /// the digits of a surrogate on.
    held: String,
    /// A word that is no JSON value.
    word: String,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Container {
    Object,
    Array,
}

/// What may come next.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
enum JsonState {
    /// The first value.
    #[default]
    Start,
    /// The first value, after text that is not JSON.
    SkippedStart,
    /// A value, or the end of an empty array.
    FirstItem,
    Value,
    /// A key, or the end of an empty object.
    FirstKey,
    Key,
    Colon,
    /// A comma, or the end of the container.
    Next,
    String(StringPlace),
    Number(NumberPlace),
    /// The rest of `true`, `false` or `null`.
    Literal(&'static str),
    /// A word that becomes a string, unless it is a literal of another language.
    Word(StringUse),
    /// The value is complete.
    Done,
    /// The value is too deep: the rest passes as it is.
    Unread,
}

impl ArgumentRepair {
    /// Reads a fragment and appends what can be sent.
    pub(super) fn push(&mut self, fragment: &str, out: &mut String) {
        fragment.chars().for_each(|character| self.read(character, out));
    }

    /// What is held back: `out` and this are the input, if nothing was repaired.
    pub(super) fn held(&self) -> &str {
        &self.held
    }

    /// Treats what is held back as sent.
    pub(super) fn release(&mut self) {
        self.held.clear();
        if let JsonState::String(place) = &mut self.state {
            place.release();
        }
    }

    /// Whether the value so far is an empty object that is held back.
    pub(super) fn is_placeholder(&self) -> bool {
        self.state == JsonState::Done && !self.held.is_empty()
    }

    /// Whether the value has begun.
    pub(super) fn is_started(&self) -> bool {
        !matches!(self.state, JsonState::Start | JsonState::SkippedStart)
    }

    /// Whether the value is complete.
    pub(super) fn is_complete(&self) -> bool {
        matches!(self.state, JsonState::Done | JsonState::Unread)
    }

    /// Whether the value is complete, or lacks nothing but brackets that close it.
    pub(super) fn is_closable(&self) -> bool {
        self.is_complete() || self.state == JsonState::Next
    }

    /// Whether the end of the value was read: what follows is none of it.
    pub(super) fn is_ended(&self) -> bool {
        self.state == JsonState::Done
    }

    /// The whole arguments, repaired.
    pub(super) fn whole(text: &str) -> String {
        let (mut repair, mut out) = (ArgumentRepair::default(), String::with_capacity(text.len()));
        repair.push(text, &mut out);
        repair.finish(&mut out);
        out
    }

    /// Appends what completes the value.
    pub(super) fn finish(&mut self, out: &mut String) {
        match self.state {
            JsonState::Done => out.push_str(&std::mem::take(&mut self.held)),
            JsonState::String(_) => {}
            // The comma was one too many.
            _ if !std::mem::take(&mut self.held).is_empty() => self.state = JsonState::Next,
            _ => {}
        }
        loop {
            match self.state {
                JsonState::Done | JsonState::Unread => return,
                JsonState::Start | JsonState::SkippedStart => {
                    out.push_str("{}");
                    self.state = JsonState::Done;
                }
                JsonState::FirstItem | JsonState::FirstKey | JsonState::Next => self.close(out),
                // Only after a comma that was sent.
                JsonState::Key => {
                    out.push_str("\"\"");
                    self.state = JsonState::Colon;
                }
                JsonState::Colon => {
                    out.push(':');
                    self.state = JsonState::Value;
                }
                JsonState::Value => {
                    out.push_str("null");
                    self.end_value();
                }
                JsonState::String(place) => self.finish_string(place, out),
                JsonState::Number(place) => {
                    place.complete(out);
                    self.end_value();
                }
                JsonState::Literal(rest) => {
                    out.push_str(rest);
                    self.end_value();
                }
                JsonState::Word(usage) => self.end_word(usage, out),
            }
        }
    }

    fn read(&mut self, character: char, out: &mut String) {
        match self.state {
            JsonState::String(place) => self.read_string(place, character, out),
            JsonState::Number(place) => self.read_number(place, character, out),
            JsonState::Literal(rest) => match rest.strip_prefix(character) {
                Some("") => {
                    out.push(character);
                    self.end_value();
                }
                Some(rest) => {
                    out.push(character);
                    self.state = JsonState::Literal(rest);
                }
                None => {
                    out.push_str(rest);
                    self.end_value();
                    self.read(character, out);
                }
            },
            JsonState::Word(usage) => {
                let goes_on = character.is_alphanumeric() || "_-.$+".contains(character);
                if goes_on && self.word.len() < MAX_WORD {
                    self.word.push(character);
                } else {
                    self.end_word(usage, out);
                    self.read(character, out);
                }
            }
            JsonState::Unread => out.push(character),
            JsonState::Done => self.read_behind(character, out),
            // White space with nothing around it is no JSON, and Anthropic's SDK reads every part.
            JsonState::SkippedStart if " \t\r\n".contains(character) => {}
            _ if " \t\r\n".contains(character) => match self.held.is_empty() {
                true => out.push(character),
                false => self.held.push(character),
            },
            JsonState::Start if "{[\"".contains(character) => self.begin_value(character, out),
            JsonState::SkippedStart if character == '{' => self.begin_value(character, out),
            JsonState::Start | JsonState::SkippedStart => self.state = JsonState::SkippedStart,
            JsonState::FirstItem if character == ']' => self.close_with(character, out),
            JsonState::FirstItem | JsonState::Value => self.read_value(character, out),
            JsonState::FirstKey if character == '}' && self.stack.len() == 1 => {
                self.end_empty_object(out)
            }
            JsonState::FirstKey if character == '}' => self.close_with(character, out),
            JsonState::FirstKey | JsonState::Key => self.read_key(character, out),
            JsonState::Colon => match character {
                ':' => {
                    out.push(':');
                    self.state = JsonState::Value;
                }
                '=' => self.read(':', out),
                '}' | ',' => {
                    out.push_str(":null");
                    self.state = JsonState::Next;
                    self.read(character, out);
                }
                _ => {
                    out.push(':');
                    self.state = JsonState::Value;
                    self.read(character, out);
                }
            },
            JsonState::Next => self.read_next(character, out),
        }
    }

    /// Ends an object without fields. It is held back if none of it was sent.
    fn end_empty_object(&mut self, out: &mut String) {
        if !out.ends_with('{') {
            return self.close_with('}', out);
        }
        out.pop();
        self.held.push_str("{}");
        self.stack.pop();
        self.end_value();
    }

    /// Reads what is behind the value.
    fn read_behind(&mut self, character: char, out: &mut String) {
        let is_held = !self.held.is_empty();
        match character {
            ' ' | '\t' | '\r' | '\n' if is_held => self.held.push(character),
            ' ' | '\t' | '\r' | '\n' => out.push(character),
            // The empty object stood for the arguments that come now.
            '{' if is_held => {
                self.held.clear();
                self.begin_value(character, out);
            }
            // A second value, or text after the value.
            _ => out.push_str(&std::mem::take(&mut self.held)),
        }
    }

    fn read_value(&mut self, character: char, out: &mut String) {
        match character {
            // Only `}`: the array is still empty.
            ']' | '}' if self.state == JsonState::FirstItem => {
                if self.stack.contains(&Container::Object) {
                    self.close(out);
                    self.read(character, out);
                }
            }
            ']' | '}' => {
                // A value is missing, or the comma before it is one too many.
                if self.held.is_empty() {
                    out.push_str("null");
                }
                self.held.clear();
                self.state = JsonState::Next;
                self.read(character, out);
            }
            ',' if self.held.is_empty() && self.state == JsonState::Value => {
                out.push_str("null");
                self.state = JsonState::Next;
                self.read(character, out);
            }
            ',' | ':' => {}
            _ => {
                out.push_str(&std::mem::take(&mut self.held));
                self.begin_value(character, out);
            }
        }
    }

    fn read_key(&mut self, character: char, out: &mut String) {
        match character {
            '}' if !self.held.is_empty() => {
                self.held.clear();
                self.state = JsonState::Next;
                self.read(character, out);
            }
            '}' => {
                // The comma before it was sent.
                out.push_str("\"\":null");
                self.state = JsonState::Next;
                self.read(character, out);
            }
            ',' | ':' | ']' | '{' | '[' => {}
            quote @ ('"' | '\'') => {
                out.push_str(&std::mem::take(&mut self.held));
                out.push('"');
                self.state = StringPlace::state(StringUse::Key, quote);
            }
            _ => {
                out.push_str(&std::mem::take(&mut self.held));
                self.word.push(character);
                self.state = JsonState::Word(StringUse::Key);
            }
        }
    }

    fn read_next(&mut self, character: char, out: &mut String) {
        match (character, self.stack.last()) {
            (',', Some(container)) => {
                self.state = match container {
                    Container::Object => JsonState::Key,
                    Container::Array => JsonState::Value,
                };
                self.held.push(',');
            }
            ('}', Some(Container::Object)) | (']', Some(Container::Array)) => {
                self.close_with(character, out)
            }
            // The end of an outer container: this one was not closed.
            ('}', Some(Container::Array)) if self.stack.contains(&Container::Object) => {
                self.close(out);
                self.read(character, out);
            }
            (']', Some(Container::Object)) if self.stack.contains(&Container::Array) => {
                self.close(out);
                self.read(character, out);
            }
            ('}' | ']' | ':', _) => {}
            // A comma is missing.
            (_, Some(Container::Object)) if character == '"' || character == '\'' => {
                self.held.push(',');
                self.state = JsonState::Key;
                self.read(character, out);
            }
            (_, Some(Container::Array)) => {
                self.held.push(',');
                self.state = JsonState::Value;
                self.read(character, out);
            }
            _ => {}
        }
    }

    fn begin_value(&mut self, character: char, out: &mut String) {
        self.state = match character {
            '{' | '[' if self.stack.len() < MAX_DEPTH => {
                out.push(character);
                let (container, state) = match character {
                    '{' => (Container::Object, JsonState::FirstKey),
                    _ => (Container::Array, JsonState::FirstItem),
                };
                self.stack.push(container);
                state
            }
            '{' | '[' => {
                out.push(character);
                JsonState::Unread
            }
            quote @ ('"' | '\'') => {
                out.push('"');
                StringPlace::state(StringUse::Value, quote)
            }
            '-' | '0'..='9' => {
                out.push(character);
                JsonState::Number(match character {
                    '-' => NumberPlace::Minus,
                    '0' => NumberPlace::Zero,
                    _ => NumberPlace::Integer,
                })
            }
            't' | 'f' | 'n' => {
                out.push(character);
                JsonState::Literal(match character {
                    't' => "rue",
                    'f' => "alse",
                    _ => "ull",
                })
            }
            _ => {
                self.word.push(character);
                JsonState::Word(StringUse::Value)
            }
        };
    }

    fn read_number(&mut self, place: NumberPlace, character: char, out: &mut String) {
        if let Some(next) = place.next(character) {
            out.push(character);
            self.state = JsonState::Number(next);
            return;
        }
        place.complete(out);
        if character.is_alphanumeric() || "_.+-".contains(character) {
            self.state = JsonState::Number(NumberPlace::Skip);
            return;
        }
        self.end_value();
        self.read(character, out);
    }

    fn end_word(&mut self, usage: StringUse, out: &mut String) {
        let word = std::mem::take(&mut self.word);
        let literal = match word.as_str() {
            "True" | "TRUE" => Some("true"),
            "False" | "FALSE" => Some("false"),
            "None" | "Null" | "NULL" | "undefined" | "NaN" | "nil" => Some("null"),
            _ => None,
        };
        match (usage, literal) {
            (StringUse::Value, Some(literal)) => {
                out.push_str(literal);
                self.end_value();
            }
            _ => {
                out.push('"');
                word.chars().for_each(|character| write_escaped(character, out));
                self.end_string(usage, out);
            }
        }
    }

    fn end_value(&mut self) {
        self.state = if self.stack.is_empty() { JsonState::Done } else { JsonState::Next };
    }

    /// Closes the innermost container.
    fn close(&mut self, out: &mut String) {
        match self.stack.pop() {
            Some(Container::Object) => out.push('}'),
            Some(Container::Array) => out.push(']'),
            None => {}
        }
        self.end_value();
    }

    fn close_with(&mut self, character: char, out: &mut String) {
        out.push(character);
        self.stack.pop();
        self.end_value();
    }
}
