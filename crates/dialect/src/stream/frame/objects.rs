//! JSON objects behind each other: the elements of one list that is written piece by piece, or one
//! on each line of a recording.
//!
//! Only brackets and strings are looked at; whether an object is JSON is for its reader to say.

use super::{Each, malformed, text};
use crate::stream::{Frame, StreamError};

/// Where the search for the end of an object stands.
#[derive(Debug)]
pub(super) struct Objects {
    /// They are elements of a list.
    listed: bool,
    place: Place,
    /// Brackets that are open in the object.
    depth: usize,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Place {
    /// Before the list.
    Before,
    /// Between objects.
    Between,
    /// In an object.
    Inside,
    /// In a string.
    String,
    /// Behind a backslash.
    Escape,
    /// Behind the list.
    Behind,
}

impl Objects {
    pub(super) fn new(listed: bool) -> Objects {
        let place = if listed { Place::Before } else { Place::Between };
        Objects { listed, place, depth: 0 }
    }

    /// How many bytes there are up to the end of the object. The bytes begin at `at` in the stream.
    pub(super) fn end(&mut self, bytes: &[u8], at: u64) -> Result<Option<usize>, StreamError> {
        for (offset, byte) in bytes.iter().enumerate() {
            self.place = match (self.place, byte) {
                (Place::Inside, b'"') => Place::String,
                (Place::Inside, b'{' | b'[') => {
                    self.depth += 1;
                    Place::Inside
                }
                (Place::Inside, b'}' | b']') => {
                    self.depth -= 1;
                    if self.depth == 0 {
                        self.place = Place::Between;
                        return Ok(Some(offset + 1));
                    }
                    Place::Inside
                }
                (Place::String, b'"') => Place::Inside,
                (Place::String, b'\\') => Place::Escape,
                // No JSON: the object was cut off, and must not swallow the ones behind it. Its
                // reader refuses it.
                (Place::String | Place::Escape, b'\n') => {
                    (self.place, self.depth) = (Place::Between, 0);
                    return Ok(Some(offset + 1));
                }
                (Place::Escape, _) => Place::String,
                (Place::Inside | Place::String, _) => self.place,
                (Place::Before, b'[') => Place::Between,
                (Place::Between, b'{') => {
                    self.depth = 1;
                    Place::Inside
                }
                (Place::Between, b',') if self.listed => Place::Between,
                (Place::Between, b']') if self.listed => Place::Behind,
                (Place::Before | Place::Between | Place::Behind, b' ' | b'\t' | b'\r' | b'\n') => {
                    self.place
                }
                (Place::Before | Place::Between, _) => {
                    return Err(malformed(at + offset as u64, "no object where one should be"));
                }
                (Place::Behind, _) => {
                    return Err(malformed(at + offset as u64, "more behind the end of the list"));
                }
            };
        }
        Ok(None)
    }
}

/// Hands out an object; what stands between it and the one before is cut off.
pub(super) fn hand_out(bytes: &[u8], at: u64, each: &mut Each<'_>) -> Result<(), StreamError> {
    let start = bytes.iter().position(|byte| *byte == b'{').unwrap_or(bytes.len());
    let at = at + start as u64;
    each(Frame { name: None, data: text(&bytes[start..], at)?, at })
}
