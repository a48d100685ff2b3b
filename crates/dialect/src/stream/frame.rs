//! Bytes, cut anywhere, into frames.
//!
//! Three framings are in use: the lines of an event stream, JSON objects behind each other (in a
//! list or without one), and Amazon's binary messages. The first byte tells which. A frame that lies
//! whole in a chunk is handed out where it lies; of a torn one the beginning is kept until its end
//! comes. What comes out never depends on where the bytes were cut.

mod sse;
mod objects;
pub(crate) mod binary;

use foxwedge_core::Format;

use super::{StreamError, StreamFrame};

/// Takes frames.
pub(crate) type FrameHandler<'e> = dyn FnMut(StreamFrame<'_>) -> Result<(), StreamError> + 'e;

/// Cuts a stream into frames.
#[derive(Debug)]
pub(crate) struct StreamFramer {
    wire: Format,
    /// The most bytes that a frame may have.
    largest: usize,
    /// `None` until a byte says which.
    form: Option<StreamFraming>,
    /// The beginning of a torn frame.
    partial: Vec<u8>,
    /// Where the next frame begins in the stream, or the one whose beginning is kept.
    at: u64,
}

#[derive(Debug)]
enum StreamFraming {
    Sse(sse::SseFraming),
    Objects(objects::ObjectFraming),
    Binary(binary::BinaryFraming),
}

impl StreamFramer {
    pub(crate) fn new(wire: Format, largest: usize) -> StreamFramer {
        StreamFramer { wire, largest, form: None, partial: Vec::new(), at: 0 }
    }

    /// The format of the stream.
    pub(crate) fn wire(&self) -> Format {
        self.wire
    }

    /// Takes more bytes of the stream.
    ///
    /// # Errors
    /// If they are no frames, if a frame is too large, or as `each` says. Nothing can be read
    /// behind an error.
    pub(crate) fn push(
        &mut self,
        bytes: &[u8],
        each: &mut FrameHandler<'_>,
    ) -> Result<(), StreamError> {
        let mut rest = if self.form.is_some() { bytes } else { self.recognize_framing(bytes) };
        while let Some(form) = &mut self.form
            && !rest.is_empty()
        {
            // Nobody looks behind the last byte that a frame may have.
            let room = self.largest.saturating_sub(self.partial.len()).min(rest.len());
            let Some(end) = form.end(&self.partial, &rest[..room], self.at)? else {
                if room < rest.len() {
                    let at = self.at + self.largest as u64;
                    return Err(StreamError::TooLarge { at, most: self.largest });
                }
                self.partial.extend_from_slice(rest);
                return Ok(());
            };
            let (head, tail) = rest.split_at(end);
            let at = self.at;
            self.at += (self.partial.len() + end) as u64;
            rest = tail;
            if self.partial.is_empty() {
                form.emit_frame(head, at, each)?;
            } else {
                self.partial.extend_from_slice(head);
                form.emit_frame(&self.partial, at, each)?;
                self.partial.clear();
            }
        }
        Ok(())
    }

    /// The bytes have ended. A last frame whose end is missing counts if it is whole otherwise.
    ///
    /// # Errors
    /// As `each` says.
    pub(crate) fn finish(&mut self, each: &mut FrameHandler<'_>) -> Result<(), StreamError> {
        let kept = std::mem::take(&mut self.partial);
        match &mut self.form {
            Some(StreamFraming::Sse(lines)) => lines.emit_last_event(&kept, self.at, each),
            // Without its last byte an object is no object, and a message has no checksum.
            Some(StreamFraming::Objects(_) | StreamFraming::Binary(_)) | None => Ok(()),
        }
    }

    /// How many bytes of a torn frame are kept.
    #[cfg(test)]
    pub(super) fn kept(&self) -> usize {
        self.partial.capacity()
    }

    /// Finds out which framing it is, and what is left to read.
    fn recognize_framing<'b>(&mut self, bytes: &'b [u8]) -> &'b [u8] {
        // White space and a byte-order mark say nothing. No framing begins with a byte of either.
        let blank = |byte: &u8| b" \t\r\n\xef\xbb\xbf".contains(byte);
        let skipped = bytes.iter().position(|byte| !blank(byte)).unwrap_or(bytes.len());
        self.at += skipped as u64;
        let rest = &bytes[skipped..];
        self.form = rest.first().map(|first| match first {
            b'[' | b'{' => StreamFraming::Objects(objects::ObjectFraming::new(*first == b'[')),
            // The length of a message: four bytes, and none is as long as sixteen megabytes.
            0 if self.wire == Format::Bedrock => StreamFraming::Binary(binary::BinaryFraming),
            _ => StreamFraming::Sse(sse::SseFraming::default()),
        });
        rest
    }
}

impl StreamFraming {
    /// How many of the bytes belong to the frame whose beginning is kept; `None` if it goes on
    /// behind them. The frame begins at `at` in the stream.
    fn end(&mut self, kept: &[u8], bytes: &[u8], at: u64) -> Result<Option<usize>, StreamError> {
        match self {
            StreamFraming::Sse(lines) => Ok(lines.event_end(bytes)),
            StreamFraming::Objects(objects) => objects.object_end(bytes, at + kept.len() as u64),
            StreamFraming::Binary(_) => binary::message_end(kept, bytes, at),
        }
    }

    /// Hands out the frame that these bytes are, if there is anything in it.
    fn emit_frame(
        &mut self,
        bytes: &[u8],
        at: u64,
        each: &mut FrameHandler<'_>,
    ) -> Result<(), StreamError> {
        match self {
            StreamFraming::Sse(lines) => lines.emit_event(bytes, at, each),
            StreamFraming::Objects(_) => objects::emit_frame(bytes, at, each),
            StreamFraming::Binary(_) => binary::emit_frame(bytes, at, each),
        }
    }
}

/// A frame's bytes as text. They begin at `at` in the stream.
fn frame_text(bytes: &[u8], at: u64) -> Result<&str, StreamError> {
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
