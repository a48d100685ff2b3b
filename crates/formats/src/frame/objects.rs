//! Consecutive JSON objects: the elements of one streamed list, or one object per line of a
//! recording.
//!
//! Only brackets and strings are tracked; the reader validates the JSON.

use super::{FrameHandler, frame_text, malformed};
use super::{StreamError, StreamFrame};

/// State of the search for the end of an object.
#[derive(Debug)]
pub(crate) struct ObjectFraming {
    /// The objects are elements of a list.
    listed: bool,
    place: ObjectScanState,
    /// Number of open brackets in the object.
    depth: usize,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum ObjectScanState {
    /// Before the list.
    Before,
    /// Between objects.
    Between,
    /// In an object.
    Inside,
    /// In a string.
    String,
    /// After a backslash.
    Escape,
    /// After the list.
    Behind,
}

impl ObjectFraming {
    pub(crate) fn new(listed: bool) -> ObjectFraming {
        let place = if listed { ObjectScanState::Before } else { ObjectScanState::Between };
        ObjectFraming { listed, place, depth: 0 }
    }

    /// Number of bytes up to the end of the object. The bytes start at `at` in the stream.
    pub(crate) fn object_end(
        &mut self,
        bytes: &[u8],
        at: u64,
    ) -> Result<Option<usize>, StreamError> {
        for (offset, byte) in bytes.iter().enumerate() {
            self.place = match (self.place, byte) {
                (ObjectScanState::Inside, b'"') => ObjectScanState::String,
                (ObjectScanState::Inside, b'{' | b'[') => {
                    self.depth += 1;
                    ObjectScanState::Inside
                }
                (ObjectScanState::Inside, b'}' | b']') => {
                    self.depth -= 1;
                    if self.depth == 0 {
                        self.place = ObjectScanState::Between;
                        return Ok(Some(offset + 1));
                    }
                    ObjectScanState::Inside
                }
                (ObjectScanState::String, b'"') => ObjectScanState::Inside,
                (ObjectScanState::String, b'\\') => ObjectScanState::Escape,
                // Invalid JSON: the object was cut off and must not swallow the next ones. Its
                // reader rejects it.
                (ObjectScanState::String | ObjectScanState::Escape, b'\n') => {
                    (self.place, self.depth) = (ObjectScanState::Between, 0);
                    return Ok(Some(offset + 1));
                }
                (ObjectScanState::Escape, _) => ObjectScanState::String,
                (ObjectScanState::Inside | ObjectScanState::String, _) => self.place,
                (ObjectScanState::Before, b'[') => ObjectScanState::Between,
                (ObjectScanState::Between, b'{') => {
                    self.depth = 1;
                    ObjectScanState::Inside
                }
                (ObjectScanState::Between, b',') if self.listed => ObjectScanState::Between,
                (ObjectScanState::Between, b']') if self.listed => ObjectScanState::Behind,
                (
                    ObjectScanState::Before | ObjectScanState::Between | ObjectScanState::Behind,
                    b' ' | b'\t' | b'\r' | b'\n',
                ) => self.place,
                (ObjectScanState::Before | ObjectScanState::Between, _) => {
                    return Err(malformed(at + offset as u64, "expected an object"));
                }
                (ObjectScanState::Behind, _) => {
                    return Err(malformed(
                        at + offset as u64,
                        "unexpected data after the end of the list",
                    ));
                }
            };
        }
        Ok(None)
    }
}

/// Passes on an object without the separator before it.
pub(crate) fn emit_frame(
    bytes: &[u8],
    at: u64,
    each: &mut FrameHandler<'_>,
) -> Result<(), StreamError> {
    let start = bytes.iter().position(|byte| *byte == b'{').unwrap_or(bytes.len());
    let at = at + start as u64;
    each(StreamFrame { name: None, data: frame_text(&bytes[start..], at)?, at })
}
