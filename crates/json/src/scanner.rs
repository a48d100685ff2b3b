//! The scanner: one pass over the text, no recursion, no values built.

use std::borrow::Cow;

use crate::Span;

use super::{ScanError, ScanResult, StringEnds, StringSpan, number, strings, unescape};

/// Deepest nesting of containers. Deeper input is refused, as every provider refuses it.
const MAX_DEPTH: usize = 512;

/// The kind of a JSON value, as its first byte shows it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum JsonShape {
    /// `{…}`
    Object,
    /// `[…]`
    Array,
    /// `"…"`
    String,
    /// A number.
    Number,
    /// `true` or `false`.
    Bool,
    /// `null`
    Null,
}

/// Reads a JSON text from front to back, checks its grammar and returns spans.
///
/// A method that reads a value starts at the current position and moves behind the value. After an
/// error the position is where reading stopped.
pub struct JsonScanner<'a> {
    pub(super) source: &'a str,
    pub(super) bytes: &'a [u8],
    pub(super) at: usize,
    depth: usize,
    /// The key that was read last.
    key: StringSpan,
    /// Finds the ends of strings.
    pub(super) marks: StringEnds,
    /// One span for each string read so far that has lone surrogates: from the first such escape
    /// to the last.
    pub lone_surrogates: Vec<Span>,
    /// Whether a string read so far has an escape that can be written in another way: `\u` or `\/`.
    pub has_rewritable_escapes: bool,
    /// How many array elements [`JsonScanner::array`] may still read before it fails. Unlimited at
    /// first.
    pub remaining_elements: usize,
}

impl<'a> JsonScanner<'a> {
    /// A scanner at the start of a text.
    #[inline]
    pub fn new(source: &'a str) -> JsonScanner<'a> {
        let bytes = source.as_bytes();
        let lone_surrogates = Vec::new();
        JsonScanner {
            source,
            bytes,
            at: 0,
            depth: 0,
            key: StringSpan { span: Span::new(0, 0), escaped: false },
            marks: StringEnds::NONE,
            lone_surrogates,
            has_rewritable_escapes: false,
            remaining_elements: usize::MAX,
        }
    }

    /// A scanner for a part of a text. The spans that it returns are relative to the whole text.
    #[inline]
    pub fn within(source: &'a str, span: Span) -> JsonScanner<'a> {
        let end = (span.end as usize).min(source.len());
        let source = source.get(..end).unwrap_or("");
        JsonScanner { at: (span.start as usize).min(end), ..JsonScanner::new(source) }
    }

    /// The current position and depth, for [`JsonScanner::reset`].
    #[inline]
    pub fn checkpoint(&self) -> (usize, usize) {
        (self.at, self.depth)
    }

    /// Returns to a position from [`JsonScanner::checkpoint`].
    #[inline]
    pub fn reset(&mut self, (at, depth): (usize, usize)) {
        (self.at, self.depth) = (at, depth);
    }

    /// The text. It ends where the scanner stops reading.
    #[inline]
    pub fn source(&self) -> &'a str {
        self.source
    }

    /// Byte offset of the current position.
    #[inline]
    pub fn position(&self) -> usize {
        self.at
    }

    /// The next byte; NUL at the end of the text. JSON has no NUL outside strings, so callers
    /// refuse the end as they refuse any other unexpected byte.
    #[inline]
    pub(super) fn peek(&self) -> u8 {
        self.bytes.get(self.at).copied().unwrap_or(0)
    }

    /// Skips white space. Most places have none, and one comparison shows that.
    #[inline(always)]
    pub(super) fn space(&mut self) {
        if self.peek() <= b' ' {
            self.skip_space();
        }
    }

    #[inline(never)]
    fn skip_space(&mut self) {
        while let b' ' | b'\n' | b'\r' | b'\t' = self.peek() {
            self.at += 1;
        }
    }

    /// An error at the current position.
    pub fn fail<T>(&self, message: impl Into<Cow<'static, str>>) -> ScanResult<T> {
        Err(ScanError::new(self.at, message))
    }

    fn unexpected<T>(&self, wanted: &str) -> ScanResult<T> {
        if self.at >= self.bytes.len() {
            return self.fail(format!("unexpected end of text, expected {wanted}"));
        }
        let found = self.source.get(self.at..).and_then(|rest| rest.chars().next()).unwrap_or('?');
        self.fail(format!("unexpected `{}`, expected {wanted}", found.escape_debug()))
    }

    /// The kind of the next value. Skips white space, but does not read the value.
    #[inline]
    pub fn shape(&mut self) -> ScanResult<JsonShape> {
        self.space();
        match self.peek() {
            b'{' => Ok(JsonShape::Object),
            b'[' => Ok(JsonShape::Array),
            b'"' => Ok(JsonShape::String),
            b'-' | b'0'..=b'9' => Ok(JsonShape::Number),
            b't' | b'f' => Ok(JsonShape::Bool),
            b'n' => Ok(JsonShape::Null),
            _ => self.unexpected("a value"),
        }
    }

    /// Fails unless only white space follows.
    #[inline]
    pub fn end(&mut self) -> ScanResult<()> {
        self.space();
        if self.at < self.bytes.len() { self.unexpected("the end") } else { Ok(()) }
    }

    /// Reads an object. Calls `each` with the unescaped key and the span of the key with its
    /// quotes; `each` must read the value. Returns the span of the object.
    pub fn object(
        &mut self,
        mut each: impl FnMut(&mut Self, &[u8], Span) -> ScanResult<()>,
    ) -> ScanResult<Span> {
        self.space();
        let start = self.at;
        self.enter(b'{', b'}', "an object")?;
        while !self.is_behind(b'}') {
            self.field_key()?;
            let StringSpan { span, escaped } = self.key;
            let name = Span { start: span.start - 1, end: span.end.saturating_add(1) };
            let unescaped;
            let key = if escaped {
                unescaped = unescape(span.of(self.source));
                unescaped.as_bytes()
            } else {
                self.bytes.get(span.start as usize..span.end as usize).unwrap_or(b"")
            };
            each(self, key, name)?;
            self.next_item(b'}', "`,` or `}`")?;
        }
        Ok(Span::new(start, self.at))
    }

    /// Reads an array. Calls `each` with the index of each element; `each` must read the element.
    /// Returns the span of the array.
    pub fn array(
        &mut self,
        mut each: impl FnMut(&mut Self, usize) -> ScanResult<()>,
    ) -> ScanResult<Span> {
        self.space();
        let start = self.at;
        self.enter(b'[', b']', "a list")?;
        let mut index = 0;
        while !self.is_behind(b']') {
            self.count_element()?;
            each(self, index)?;
            index += 1;
            self.next_item(b']', "`,` or `]`")?;
        }
        Ok(Span::new(start, self.at))
    }

    // The steps of the two readers above, which are instantiated for every caller. Where the compiler optimizes for size,
    // the steps stay functions, so they return nothing but an error: WebAssembly returns more than that through memory.

    /// Opens a container, and leaves it if it is empty.
    #[inline]
    fn enter(&mut self, first: u8, last: u8, wanted: &str) -> ScanResult<()> {
        self.open(first, wanted)?;
        self.space();
        if self.peek() == last {
            self.leave();
        }
        Ok(())
    }

    /// Reads a key and its colon. The key is then in `self.key`.
    #[inline]
    fn field_key(&mut self) -> ScanResult<()> {
        self.space();
        if self.peek() != b'"' {
            return self.unexpected("a string");
        }
        self.at += 1;
        let start = self.at;
        let escaped = strings::skip(self)?;
        self.key = StringSpan { span: Span::new(start, self.at), escaped };
        self.at += 1;
        self.space();
        self.expect(b':', "`:`")?;
        self.space();
        Ok(())
    }

    /// Fails if the array has more elements than are allowed.
    #[inline]
    fn count_element(&mut self) -> ScanResult<()> {
        self.space();
        match self.remaining_elements.checked_sub(1) {
            Some(remaining) => self.remaining_elements = remaining,
            None => return self.fail("more messages and parts than allowed"),
        }
        Ok(())
    }

    /// Moves behind a comma, or leaves the container.
    #[inline]
    fn next_item(&mut self, last: u8, wanted: &str) -> ScanResult<()> {
        self.space();
        match self.peek() {
            b',' => self.at += 1,
            byte if byte == last => self.leave(),
            _ => return self.unexpected(wanted),
        }
        Ok(())
    }

    /// Skips the last byte of a container.
    #[inline]
    fn leave(&mut self) {
        self.at += 1;
        self.depth -= 1;
    }

    /// Whether the byte before the current position is this one.
    #[inline]
    fn is_behind(&self, last: u8) -> bool {
        self.bytes.get(self.at.wrapping_sub(1)) == Some(&last)
    }

    #[inline]
    fn open(&mut self, byte: u8, wanted: &str) -> ScanResult<()> {
        self.expect(byte, wanted)?;
        self.depth += 1;
        if self.depth > MAX_DEPTH {
            return self.fail(format!("nested deeper than {MAX_DEPTH} levels"));
        }
        Ok(())
    }

    #[inline]
    fn expect(&mut self, byte: u8, wanted: &str) -> ScanResult<()> {
        if self.peek() != byte {
            return self.unexpected(wanted);
        }
        self.at += 1;
        Ok(())
    }

    /// Reads a string. White space in front of it is not skipped.
    #[inline]
    pub fn string(&mut self) -> ScanResult<StringSpan> {
        if self.peek() != b'"' {
            return self.unexpected("a string");
        }
        self.at += 1;
        let start = self.at;
        let escaped = strings::skip(self)?;
        let end = self.at;
        self.at += 1;
        Ok(StringSpan { span: Span::new(start, end), escaped })
    }

    /// Skips one value of any kind, with a check of its grammar. Returns its span.
    pub fn skip(&mut self) -> ScanResult<Span> {
        self.space();
        let start = self.at;
        if self.peek() == b'"' {
            self.string()?;
            return Ok(Span::new(start, self.at));
        }
        // One bit for each open container of this value: set for objects.
        let mut kinds = [0_u64; MAX_DEPTH.div_ceil(64)];
        let mut open = 0_usize;
        loop {
            self.space();
            match self.peek() {
                b'"' => {
                    self.at += 1;
                    strings::skip(self)?;
                    self.at += 1;
                }
                byte @ (b'{' | b'[') => {
                    self.at += 1;
                    if self.depth + open >= MAX_DEPTH {
                        return self.fail(format!("nested deeper than {MAX_DEPTH} levels"));
                    }
                    let (word, bit) = (open / 64, 1_u64 << (open % 64));
                    open += 1;
                    self.space();
                    if byte == b'{' {
                        kinds[word] |= bit;
                        if self.peek() != b'}' {
                            self.key()?;
                            continue;
                        }
                    } else {
                        kinds[word] &= !bit;
                        if self.peek() != b']' {
                            continue;
                        }
                    }
                    self.at += 1;
                    open -= 1;
                }
                b'-' | b'0'..=b'9' => number::skip(self)?,
                b't' => self.literal("true")?,
                b'f' => self.literal("false")?,
                b'n' => self.literal("null")?,
                _ => return self.unexpected("a value"),
            }
            // A value has ended. Close the containers that end here, or go on to the next value.
            loop {
                if open == 0 {
                    return Ok(Span::new(start, self.at));
                }
                let inner = open - 1;
                let object = kinds[inner / 64] & (1 << (inner % 64)) != 0;
                self.space();
                match (self.peek(), object) {
                    (b',', true) => {
                        self.at += 1;
                        self.space();
                        self.key()?;
                        break;
                    }
                    (b',', false) => {
                        self.at += 1;
                        break;
                    }
                    (b'}', true) | (b']', false) => {
                        self.at += 1;
                        open -= 1;
                    }
                    (_, true) => return self.unexpected("`,` or `}`"),
                    (_, false) => return self.unexpected("`,` or `]`"),
                }
            }
        }
    }

    /// Skips a key and its colon.
    #[inline]
    fn key(&mut self) -> ScanResult<()> {
        if self.peek() != b'"' {
            return self.unexpected("a key");
        }
        self.at += 1;
        strings::skip(self)?;
        self.at += 1;
        self.space();
        self.expect(b':', "`:`")
    }

    fn literal(&mut self, word: &str) -> ScanResult<()> {
        if self.bytes.get(self.at..self.at + word.len()) != Some(word.as_bytes()) {
            return self.unexpected(&format!("`{word}`"));
        }
        self.at += word.len();
        Ok(())
    }
}

impl JsonScanner<'_> {
    /// Whether a container that was read before has only white space between its brackets.
    pub fn is_blank_inside(&self, span: Span) -> bool {
        let inside = self.bytes.get(span.start as usize + 1..(span.end as usize).saturating_sub(1));
        inside.is_some_and(|bytes| bytes.iter().all(u8::is_ascii_whitespace))
    }
}
