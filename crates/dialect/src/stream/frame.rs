//! Bytes, cut anywhere, into frames.
//!
//! Three framings are in use: the lines of an event stream, JSON objects behind each other (in a
//! list or without one), and Amazon's binary messages. The first byte tells which. A frame that lies
//! whole in a chunk is handed out where it lies; of a torn one the beginning is kept until its end
//! comes. What comes out never depends on where the bytes were cut.

mod sse;
mod objects;
pub(crate) mod binary;

use foxwedge_core::Wire;

use super::{Frame, StreamError};

/// Takes frames.
pub(crate) type Each<'e> = dyn FnMut(Frame<'_>) -> Result<(), StreamError> + 'e;

/// Cuts a stream into frames.
#[derive(Debug)]
pub(crate) struct Framer {
    wire: Wire,
    /// The most bytes that a frame may have.
    largest: usize,
    /// `None` until a byte says which.
    form: Option<Form>,
    /// The beginning of a torn frame.
    kept: Vec<u8>,
    /// Where the next frame begins in the stream, or the one whose beginning is kept.
    at: u64,
}

#[derive(Debug)]
enum Form {
    Sse(sse::Sse),
    Objects(objects::Objects),
    Binary(binary::Binary),
}

impl Framer {
    pub(crate) fn new(wire: Wire, largest: usize) -> Framer {
        Framer { wire, largest, form: None, kept: Vec::new(), at: 0 }
    }

    /// The format of the stream.
    pub(crate) fn wire(&self) -> Wire {
        self.wire
    }

    /// Takes more bytes of the stream.
    ///
    /// # Errors
    /// If they are no frames, if a frame is too large, or as `each` says. Nothing can be read
    /// behind an error.
    pub(crate) fn push(&mut self, bytes: &[u8], each: &mut Each<'_>) -> Result<(), StreamError> {
        let mut rest = if self.form.is_some() { bytes } else { self.recognise(bytes) };
        while let Some(form) = &mut self.form
            && !rest.is_empty()
        {
            // Nobody looks behind the last byte that a frame may have.
            let room = self.largest.saturating_sub(self.kept.len()).min(rest.len());
            let Some(end) = form.end(&self.kept, &rest[..room], self.at)? else {
                if room < rest.len() {
                    let at = self.at + self.largest as u64;
                    return Err(StreamError::TooLarge { at, most: self.largest });
                }
                self.kept.extend_from_slice(rest);
                return Ok(());
            };
            let (head, tail) = rest.split_at(end);
            let at = self.at;
            self.at += (self.kept.len() + end) as u64;
            rest = tail;
            if self.kept.is_empty() {
                form.hand_out(head, at, each)?;
            } else {
                self.kept.extend_from_slice(head);
                form.hand_out(&self.kept, at, each)?;
                self.kept.clear();
            }
        }
        Ok(())
    }

    /// The bytes have ended. A last frame whose end is missing counts if it is whole otherwise.
    ///
    /// # Errors
    /// As `each` says.
    pub(crate) fn finish(&mut self, each: &mut Each<'_>) -> Result<(), StreamError> {
        let kept = std::mem::take(&mut self.kept);
        match &mut self.form {
            Some(Form::Sse(lines)) => lines.hand_out_last(&kept, self.at, each),
            // Without its last byte an object is no object, and a message has no checksum.
            Some(Form::Objects(_) | Form::Binary(_)) | None => Ok(()),
        }
    }

    /// How many bytes of a torn frame are kept.
    #[cfg(test)]
    pub(super) fn kept(&self) -> usize {
        self.kept.capacity()
    }

    /// Finds out which framing it is, and what is left to read.
    fn recognise<'b>(&mut self, bytes: &'b [u8]) -> &'b [u8] {
        // White space and a byte-order mark say nothing. No framing begins with a byte of either.
        let blank = |byte: &u8| b" \t\r\n\xef\xbb\xbf".contains(byte);
        let skipped = bytes.iter().position(|byte| !blank(byte)).unwrap_or(bytes.len());
        self.at += skipped as u64;
        let rest = &bytes[skipped..];
        self.form = rest.first().map(|first| match first {
            b'[' | b'{' => Form::Objects(objects::Objects::new(*first == b'[')),
            // The length of a message: four bytes, and none is as long as sixteen megabytes.
            0 if self.wire == Wire::Bedrock => Form::Binary(binary::Binary),
            _ => Form::Sse(sse::Sse::default()),
        });
        rest
    }
}

impl Form {
    /// How many of the bytes belong to the frame whose beginning is kept; `None` if it goes on
    /// behind them. The frame begins at `at` in the stream.
    fn end(&mut self, kept: &[u8], bytes: &[u8], at: u64) -> Result<Option<usize>, StreamError> {
        match self {
            Form::Sse(lines) => Ok(lines.end(bytes)),
            Form::Objects(objects) => objects.end(bytes, at + kept.len() as u64),
            Form::Binary(_) => binary::end(kept, bytes, at),
        }
    }

    /// Hands out the frame that these bytes are, if there is anything in it.
    fn hand_out(&mut self, bytes: &[u8], at: u64, each: &mut Each<'_>) -> Result<(), StreamError> {
        match self {
            Form::Sse(lines) => lines.hand_out(bytes, at, each),
            Form::Objects(_) => objects::hand_out(bytes, at, each),
            Form::Binary(_) => binary::hand_out(bytes, at, each),
        }
    }
}

/// A frame's bytes as text. They begin at `at` in the stream.
fn text(bytes: &[u8], at: u64) -> Result<&str, StreamError> {
    simdutf8::basic::from_utf8(bytes).map_err(|_| {
        let valid = std::str::from_utf8(bytes).map_or_else(|error| error.valid_up_to(), str::len);
        malformed(at + valid as u64, "the bytes are not UTF-8")
    })
}

fn malformed(at: u64, what: impl Into<String>) -> StreamError {
    StreamError::Malformed { at, what: what.into() }
}

#[cfg(test)]
mod tests;
