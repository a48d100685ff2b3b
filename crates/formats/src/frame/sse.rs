//! Server-sent events: lines, with a blank line after each event.

use memchr::memchr2;

use super::{FrameHandler, frame_text};
use super::{StreamError, StreamFrame};
use foxwedge_json::JsonScanner;

/// State of the search for the end of an event.
#[derive(Debug)]
pub(crate) struct SseFraming {
    /// The line is empty so far.
    blank: bool,
    /// The previous byte was a carriage return: a line feed now belongs to the same line end.
    returned: bool,
    /// The joined data of an event with several data lines.
    joined: Vec<u8>,
}

impl Default for SseFraming {
    fn default() -> SseFraming {
        SseFraming { blank: true, returned: false, joined: Vec::new() }
    }
}

impl SseFraming {
    /// Number of bytes up to the end of the event's blank line. If that line ends with a carriage
    /// return, a line feed after it counts as another blank line.
    pub(crate) fn event_end(&mut self, bytes: &[u8]) -> Option<usize> {
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

    /// Passes on an event, if it has data.
    pub(crate) fn emit_event(
        &mut self,
        bytes: &[u8],
        at: u64,
        each: &mut FrameHandler<'_>,
    ) -> Result<(), StreamError> {
        let event = self.parse_event(bytes);
        let Some(data) = event.data else { return Ok(()) };
        let data_at = at + data.start as u64;
        let event_data = if event.lines == 1 { data.bytes } else { &self.joined };
        if event_data.iter().all(u8::is_ascii_whitespace) {
            return Ok(());
        }
        let result = frame_text(event_data, data_at).and_then(|data| {
            let name = event.name.map(|line| frame_text(line.bytes, at + line.start as u64));
            each(StreamFrame { name: name.transpose()?, data, at: data_at })
        });
        // An offset in joined data lines is not an offset in the stream, so map it.
        result.map_err(|error| match error {
            StreamError::Malformed { at: error_at, what } if event.lines > 1 => {
                let offset =
                    usize::try_from(error_at.saturating_sub(data_at)).unwrap_or(usize::MAX);
                StreamError::Malformed { at: at + data_offset(bytes, offset) as u64, what }
            }
            error => error,
        })
    }

    /// Passes on the last event of the stream, if its data is complete.
    pub(crate) fn emit_last_event(
        &mut self,
        bytes: &[u8],
        at: u64,
        each: &mut FrameHandler<'_>,
    ) -> Result<(), StreamError> {
        let event = self.parse_event(bytes);
        let Some(data) = event.data else { return Ok(()) };
        let event_data = if event.lines == 1 { data.bytes } else { &self.joined };
        let is_complete = simdutf8::basic::from_utf8(event_data).is_ok_and(|data| {
            let mut scan = JsonScanner::new(data);
            data.trim() == "[DONE]" || scan.skip().and_then(|_| scan.end()).is_ok()
        });
        if is_complete { self.emit_event(bytes, at, each) } else { Ok(()) }
    }

    /// Parses the fields of an event. Joins its data if there are several lines.
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
            // Comments, ids and retry times only matter to clients that reconnect.
        }
        event
    }
}

/// The event fields that readers need.
struct SseEventFields<'e> {
    name: Option<SseFieldLine<'e>>,
    /// The first line of data.
    data: Option<SseFieldLine<'e>>,
    /// Number of data lines.
    lines: usize,
}

/// A line or a part of one, with its offset in the event.
#[derive(Clone, Copy)]
struct SseFieldLine<'e> {
    start: usize,
    bytes: &'e [u8],
}

impl<'e> SseFieldLine<'e> {
    /// The value of the field, if this is a line of that field.
    fn value(self, field: &[u8]) -> Option<SseFieldLine<'e>> {
        let bytes = match self.bytes.strip_prefix(field)? {
            [] => &[],
            [b':', b' ', value @ ..] | [b':', value @ ..] => value,
            _ => return None,
        };
        Some(SseFieldLine { start: self.start + self.bytes.len() - bytes.len(), bytes })
    }
}

/// The lines of an event. Empty lines carry no fields, so CR LF may count as two line ends.
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

/// Maps an offset in the joined data to an offset in the event.
fn data_offset(bytes: &[u8], offset: usize) -> usize {
    let mut remaining = offset;
    for data in split_lines(bytes).filter_map(|line| line.value(b"data")) {
        if remaining <= data.bytes.len() {
            return data.start + remaining;
        }
        remaining -= data.bytes.len() + 1;
    }
    bytes.len()
}
