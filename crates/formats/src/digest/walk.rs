//! The fast path for arguments: reads JSON in its usual encoding in place, either a value of the
//! document or the text inside one of its strings. Unusual input is left to the slow path, which
//! handles everything and computes the same values.

use super::chain::{
    LIST, NUMBER, OBJECT, STRING, TOP, WORD, combine_sum, digest_tagged, index_place, key_place,
};
use foxwedge_json::{StringEnds, unescape_into};

/// How the JSON is embedded in the document.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum JsonQuoting {
    /// Directly.
    Plain,
    /// Inside a JSON string: quotes are escaped as `\"`.
    Quoted,
}

/// The value of the JSON at the start of a text, and where it ends, including white space after it;
/// `None` if it is unusual in any way.
pub(super) fn walk_arguments(
    source: &str,
    place: JsonQuoting,
    scratch: &mut String,
) -> Option<(u128, usize)> {
    let mut walker = ArgumentsWalker {
        source,
        bytes: source.as_bytes(),
        at: 0,
        marks: StringEnds::NONE,
        place,
        scratch,
    };
    let value = walker.value(TOP, 0)?;
    walker.space();
    Some((value, walker.at))
}

struct ArgumentsWalker<'a> {
    source: &'a str,
    bytes: &'a [u8],
    at: usize,
    marks: StringEnds,
    place: JsonQuoting,
    scratch: &'a mut String,
}

/// Maximum nesting of usual arguments.
const MAX_DEPTH: usize = 32;

impl ArgumentsWalker<'_> {
    fn value(&mut self, place: u64, depth: usize) -> Option<u128> {
        self.space();
        match self.peek() {
            b'{' if depth < MAX_DEPTH => self.object(place, depth),
            b'[' if depth < MAX_DEPTH => self.list(place, depth),
            b'"' | b'\\' => self.string(place),
            b'-' | b'0'..=b'9' => self.number(place),
            b't' => self.word("true", place),
            b'f' => self.word("false", place),
            b'n' => self.word("null", place),
            _ => None,
        }
    }

    fn object(&mut self, place: u64, depth: usize) -> Option<u128> {
        let mut sum = 0_u128;
        self.at += 1;
        self.space();
        if self.peek() != b'}' {
            loop {
                self.space();
                let key = self.key()?;
                self.space();
                self.expect(b':')?;
                sum = sum.wrapping_add(self.value(key, depth + 1)?);
                self.space();
                match self.peek() {
                    b',' => self.at += 1,
                    b'}' => break,
                    _ => return None,
                }
            }
        }
        self.at += 1;
        Some(combine_sum(sum, place.wrapping_add(OBJECT)))
    }

    fn list(&mut self, place: u64, depth: usize) -> Option<u128> {
        let mut sum = 0_u128;
        self.at += 1;
        self.space();
        if self.peek() != b']' {
            for index in 0.. {
                sum = sum.wrapping_add(self.value(index_place(index), depth + 1)?);
                self.space();
                match self.peek() {
                    b',' => self.at += 1,
                    b']' => break,
                    _ => return None,
                }
            }
        }
        self.at += 1;
        Some(combine_sum(sum, place.wrapping_add(LIST)))
    }

    /// A key without escapes.
    fn key(&mut self) -> Option<u64> {
        self.quote()?;
        let end = self.marks.next_end(self.bytes, self.at);
        let key = key_place(self.bytes.get(self.at..end)?);
        self.at = end;
        self.quote()?;
        Some(key)
    }

    fn string(&mut self, place: u64) -> Option<u128> {
        self.quote()?;
        let start = self.at;
        let mut escapes = false;
        loop {
            self.at = self.marks.next_end(self.bytes, self.at);
            if self.is_quote() {
                break;
            }
            // An escape that has only one form.
            self.at += match (self.place, self.bytes.get(self.at..)?) {
                (
                    JsonQuoting::Plain,
                    [b'\\', b'"' | b'\\' | b'b' | b'f' | b'n' | b'r' | b't', ..],
                ) => 2,
                (JsonQuoting::Quoted, [b'\\', b'\\', b'b' | b'f' | b'n' | b'r' | b't', ..]) => 3,
                (JsonQuoting::Quoted, [b'\\', b'\\', b'\\', b'"' | b'\\', ..]) => 4,
                _ => return None,
            };
            escapes = true;
        }
        let raw = self.source.get(start..self.at)?;
        self.quote()?;
        if escapes && self.place == JsonQuoting::Quoted {
            self.scratch.clear();
            unescape_into(self.scratch, raw);
            return Some(digest_tagged(self.scratch, place.wrapping_add(STRING)));
        }
        Some(digest_tagged(raw, place.wrapping_add(STRING)))
    }

    /// An integer in its usual form.
    fn number(&mut self, place: u64) -> Option<u128> {
        let rest = self.bytes.get(self.at..)?;
        let sign = usize::from(rest.first() == Some(&b'-'));
        let digits = rest.iter().skip(sign).take_while(|byte| byte.is_ascii_digit()).count();
        let end = sign + digits;
        let odd = match rest.get(sign) {
            Some(b'0') => end > 1,
            _ => digits == 0 || sign > 0 && digits > 15,
        };
        if odd || matches!(rest.get(end), Some(b'.' | b'e' | b'E')) {
            return None;
        }
        let raw = self.source.get(self.at..self.at + end)?;
        self.at += end;
        Some(digest_tagged(raw, place.wrapping_add(NUMBER)))
    }

    fn word(&mut self, literal: &str, place: u64) -> Option<u128> {
        let rest = self.bytes.get(self.at..)?;
        self.at += rest.starts_with(literal.as_bytes()).then_some(literal.len())?;
        Some(digest_tagged(literal, place.wrapping_add(WORD)))
    }

    fn peek(&self) -> u8 {
        self.bytes.get(self.at).copied().unwrap_or(0)
    }

    fn expect(&mut self, byte: u8) -> Option<()> {
        let found = self.peek() == byte;
        self.at += usize::from(found);
        found.then_some(())
    }

    fn is_quote(&self) -> bool {
        match self.place {
            JsonQuoting::Plain => self.peek() == b'"',
            JsonQuoting::Quoted => {
                self.peek() == b'\\' && self.bytes.get(self.at + 1) == Some(&b'"')
            }
        }
    }

    fn quote(&mut self) -> Option<()> {
        let found = self.is_quote();
        self.at += match self.place {
            JsonQuoting::Plain => 1,
            JsonQuoting::Quoted => 2,
        };
        found.then_some(())
    }

    fn space(&mut self) {
        loop {
            match (self.peek(), self.place) {
                (b' ', _) | (b'\n' | b'\r' | b'\t', JsonQuoting::Plain) => self.at += 1,
                (b'\\', JsonQuoting::Quoted)
                    if matches!(self.bytes.get(self.at + 1), Some(b'n' | b'r' | b't')) =>
                {
                    self.at += 2;
                }
                _ => return,
            }
        }
    }
}
