//! Event streams: lines, and a blank line behind each event.

use memchr::memchr2;

use super::{Each, text};
use crate::{
    json::Scanner,
    stream::{Frame, StreamError},
};

/// Where the search for the end of an event stands.
#[derive(Debug)]
pub(super) struct Sse {
    /// The line holds nothing so far.
    blank: bool,
    /// The byte before was a carriage return: a line feed now is the rest of that line's end.
    returned: bool,
    /// The data of an event that has several lines of it.
    joined: Vec<u8>,
}

impl Default for Sse {
    fn default() -> Sse {
        Sse { blank: true, returned: false, joined: Vec::new() }
    }
}

impl Sse {
    /// How many bytes there are up to the end of the event's blank line. If that line ends with a
    /// carriage return, nobody waits for a line feed: it would be a blank line more.
    pub(super) fn end(&mut self, bytes: &[u8]) -> Option<usize> {
        let mut at = 0;
        while let Some(length) = memchr2(b'\n', b'\r', &bytes[at..]) {
            let is_return = bytes[at + length] == b'\r';
            at += length + 1;
            if length > 0 {
                (self.blank, self.returned) = (false, false);
            } else if self.returned && !is_return {
                self.returned = false;
                continue;
            }
            if self.blank {
                self.returned = false;
                return Some(at);
            }
            (self.blank, self.returned) = (true, is_return);
        }
        if at < bytes.len() {
            (self.blank, self.returned) = (false, false);
        }
        None
    }

    /// Hands out an event, if it has data.
    pub(super) fn hand_out(
        &mut self,
        bytes: &[u8],
        at: u64,
        each: &mut Each<'_>,
    ) -> Result<(), StreamError> {
        let event = self.event(bytes);
        let Some(data) = event.data else { return Ok(()) };
        let data_at = at + data.start as u64;
        let whole = if event.lines == 1 { data.bytes } else { &self.joined };
        if whole.iter().all(u8::is_ascii_whitespace) {
            return Ok(());
        }
        let told = text(whole, data_at).and_then(|data| {
            let name = event.name.map(|line| text(line.bytes, at + line.start as u64));
            each(Frame { name: name.transpose()?, data, at: data_at })
        });
        // What is wrong in a later line of data does not stand as many bytes behind the first
        // line's beginning as it does in the data.
        told.map_err(|error| match error {
            StreamError::Malformed { at: wrong, what } if event.lines > 1 => {
                let offset = usize::try_from(wrong.saturating_sub(data_at)).unwrap_or(usize::MAX);
                StreamError::Malformed { at: at + place(bytes, offset) as u64, what }
            }
            error => error,
        })
    }

    /// Hands out an event behind which the bytes end, if its data is whole.
    pub(super) fn hand_out_last(
        &mut self,
        bytes: &[u8],
        at: u64,
        each: &mut Each<'_>,
    ) -> Result<(), StreamError> {
        let event = self.event(bytes);
        let Some(data) = event.data else { return Ok(()) };
        let whole = if event.lines == 1 { data.bytes } else { &self.joined };
        let is_whole = simdutf8::basic::from_utf8(whole).is_ok_and(|data| {
            let mut scan = Scanner::new(data);
            data.trim() == "[DONE]" || scan.skip().and_then(|_| scan.end()).is_ok()
        });
        if is_whole { self.hand_out(bytes, at, each) } else { Ok(()) }
    }

    /// Reads the fields of an event. Its data is kept aside if it has several lines.
    fn event<'e>(&mut self, bytes: &'e [u8]) -> Event<'e> {
        let mut event = Event { name: None, data: None, lines: 0 };
        for line in lines(bytes) {
            if let Some(data) = line.value(b"data") {
                event.lines += 1;
                match (event.lines, event.data) {
                    (2, Some(first)) => {
                        self.joined.clear();
                        self.joined.extend_from_slice(first.bytes);
                    }
                    _ => event.data = event.data.or(Some(data)),
                }
                if event.lines > 1 {
                    self.joined.push(b'\n');
                    self.joined.extend_from_slice(data.bytes);
                }
            } else if let Some(name) = line.value(b"event") {
                event.name = Some(name).filter(|name| !name.bytes.is_empty());
            }
            // Comments, ids and retry times are for clients that connect again.
        }
        event
    }
}

/// The fields of an event that matter.
struct Event<'e> {
    name: Option<Line<'e>>,
    /// The first line of data.
    data: Option<Line<'e>>,
    /// How many lines of data there are.
    lines: usize,
}

/// A line, or a part of one, and where it begins.
#[derive(Clone, Copy)]
struct Line<'e> {
    start: usize,
    bytes: &'e [u8],
}

impl<'e> Line<'e> {
    /// The value of a field, if the line is that field.
    fn value(self, field: &[u8]) -> Option<Line<'e>> {
        let bytes = match self.bytes.strip_prefix(field)? {
            [] => &[],
            [b':', b' ', value @ ..] | [b':', value @ ..] => value,
            _ => return None,
        };
        Some(Line { start: self.start + self.bytes.len() - bytes.len(), bytes })
    }
}

/// The lines of an event. Those that hold nothing say nothing, so the two bytes at the end of a line
/// may count as two ends.
fn lines(bytes: &[u8]) -> impl Iterator<Item = Line<'_>> {
    let mut start = 0;
    std::iter::from_fn(move || {
        let rest = bytes.get(start..).filter(|rest| !rest.is_empty())?;
        let length = memchr2(b'\n', b'\r', rest).unwrap_or(rest.len());
        let line = Line { start, bytes: &rest[..length] };
        start += length + 1;
        Some(line)
    })
}

/// Where a byte of the joined data stands in the event.
fn place(bytes: &[u8], offset: usize) -> usize {
    let mut left = offset;
    for data in lines(bytes).filter_map(|line| line.value(b"data")) {
        if left <= data.bytes.len() {
            return data.start + left;
        }
        left -= data.bytes.len() + 1;
    }
    bytes.len()
}
