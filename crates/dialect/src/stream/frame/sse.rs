//! Event streams: lines, and a blank line behind each event.

use memchr::memchr2;

use super::{FrameHandler, frame_text};
use crate::{
    json::JsonScanner,
    stream::{StreamError, StreamFrame},
};

/// Where the search for the end of an event stands.
#[derive(Debug)]
pub(super) struct SseFraming {
    /// The line holds nothing so far.
    blank: bool,
    /// The byte before was a carriage return: a line feed now is the rest of that line's end.
    returned: bool,
    /// The data of an event that has several lines of it.
    joined: Vec<u8>,
}

impl Default for SseFraming {
    fn default() -> SseFraming {
        SseFraming { blank: true, returned: false, joined: Vec::new() }
    }
}

impl SseFraming {
    /// How many bytes there are up to the end of the event's blank line. If that line ends with a
    /// carriage return, nobody waits for a line feed: it would be a blank line more.
    pub(super) fn event_end(&mut self, bytes: &[u8]) -> Option<usize> {
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
    pub(super) fn emit_event(
        &mut self,
        bytes: &[u8],
        at: u64,
        each: &mut FrameHandler<'_>,
    ) -> Result<(), StreamError> {
        let event = self.parse_event(bytes);
        let Some(data) = event.data else { return Ok(()) };
        let data_at = at + data.start as u64;
        let whole = if event.lines == 1 { data.bytes } else { &self.joined };
        if whole.iter().all(u8::is_ascii_whitespace) {
            return Ok(());
        }
        let told = frame_text(whole, data_at).and_then(|data| {
            let name = event.name.map(|line| frame_text(line.bytes, at + line.start as u64));
            each(StreamFrame { name: name.transpose()?, data, at: data_at })
        });
        // What is wrong in a later line of data does not stand as many bytes behind the first
        // line's beginning as it does in the data.
        told.map_err(|error| match error {
            StreamError::Malformed { at: wrong, what } if event.lines > 1 => {
                let offset = usize::try_from(wrong.saturating_sub(data_at)).unwrap_or(usize::MAX);
                StreamError::Malformed { at: at + data_offset(bytes, offset) as u64, what }
            }
            error => error,
        })
    }

    /// Hands out an event behind which the bytes end, if its data is whole.
    pub(super) fn emit_last_event(
        &mut self,
        bytes: &[u8],
        at: u64,
        each: &mut FrameHandler<'_>,
    ) -> Result<(), StreamError> {
        let event = self.parse_event(bytes);
        let Some(data) = event.data else { return Ok(()) };
        let whole = if event.lines == 1 { data.bytes } else { &self.joined };
        let is_whole = simdutf8::basic::from_utf8(whole).is_ok_and(|data| {
            let mut scan = JsonScanner::new(data);
            data.trim() == "[DONE]" || scan.skip().and_then(|_| scan.end()).is_ok()
        });
        if is_whole { self.emit_event(bytes, at, each) } else { Ok(()) }
    }

    /// Reads the fields of an event. Its data is kept aside if it has several lines.
    fn parse_event<'e>(&mut self, bytes: &'e [u8]) -> SseEventFields<'e> {
        let mut event = SseEventFields { name: None, data: None, lines: 0 };
        for line in split_lines(bytes) {
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
struct SseEventFields<'e> {
    name: Option<SseFieldLine<'e>>,
    /// The first line of data.
    data: Option<SseFieldLine<'e>>,
    /// How many lines of data there are.
    lines: usize,
}

/// A line, or a part of one, and where it begins.
#[derive(Clone, Copy)]
struct SseFieldLine<'e> {
    start: usize,
    bytes: &'e [u8],
}

impl<'e> SseFieldLine<'e> {
    /// The value of a field, if the line is that field.
    fn value(self, field: &[u8]) -> Option<SseFieldLine<'e>> {
        let bytes = match self.bytes.strip_prefix(field)? {
            [] => &[],
            [b':', b' ', value @ ..] | [b':', value @ ..] => value,
            _ => return None,
        };
        Some(SseFieldLine { start: self.start + self.bytes.len() - bytes.len(), bytes })
    }
}

/// The lines of an event. Those that hold nothing say nothing, so the two bytes at the end of a line
/// may count as two ends.
fn split_lines(bytes: &[u8]) -> impl Iterator<Item = SseFieldLine<'_>> {
    let mut start = 0;
    std::iter::from_fn(move || {
        let rest = bytes.get(start..).filter(|rest| !rest.is_empty())?;
        let length = memchr2(b'\n', b'\r', rest).unwrap_or(rest.len());
        let line = SseFieldLine { start, bytes: &rest[..length] };
        start += length + 1;
        Some(line)
    })
}

/// Where a byte of the joined data stands in the event.
fn data_offset(bytes: &[u8], offset: usize) -> usize {
    let mut left = offset;
    for data in split_lines(bytes).filter_map(|line| line.value(b"data")) {
        if left <= data.bytes.len() {
            return data.start + left;
        }
        left -= data.bytes.len() + 1;
    }
    bytes.len()
}
