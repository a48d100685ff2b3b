//! Cuts the bytes of a stream into frames.
//!
//! There are three framings: server-sent events, consecutive JSON objects (in a list or without
//! one), and Amazon's binary messages. The first byte decides which. A frame that is complete in
//! one chunk is passed on without a copy; the beginning of a split frame is buffered until its end
//! arrives. The output does not depend on where the bytes are cut.

mod sse;
mod objects;
pub(crate) mod binary;

use foxwedge_core::Format;

/// One frame of a stream.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct StreamFrame<'f> {
    /// The name of the event, if the framing has names.
    pub(crate) name: Option<&'f str>,
    /// Its data.
    pub(crate) data: &'f str,
    /// Offset of its data in the stream.
    pub(crate) at: u64,
}

/// Why a stream cannot be read any further. Every variant has a byte offset from the start of the
/// stream.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StreamError {
    /// A frame does not follow the format.
    #[error("byte {at}: {what}")]
    Malformed {
        /// Byte offset.
        at: u64,
        /// What is wrong.
        what: String,
    },
    /// The stream exceeds a memory limit.
    #[error("byte {at}: more than {most} bytes would have to be buffered")]
    TooLarge {
        /// Byte offset.
        at: u64,
        /// The limit in bytes.
        most: usize,
    },
}

/// Receives frames.
pub(crate) type FrameHandler<'e> = dyn FnMut(StreamFrame<'_>) -> Result<(), StreamError> + 'e;

/// Cuts a stream into frames.
#[derive(Debug)]
pub(crate) struct StreamFramer {
    format: Format,
    /// Maximum size of a frame in bytes.
    max_frame: usize,
    /// `None` until the first significant byte.
    framing: Option<StreamFraming>,
    /// The beginning of a split frame.
    partial: Vec<u8>,
    /// Offset of the next frame in the stream, or of the buffered one.
    at: u64,
}

#[derive(Debug)]
enum StreamFraming {
    Sse(sse::SseFraming),
    Objects(objects::ObjectFraming),
    Binary(binary::BinaryFraming),
}

impl StreamFramer {
    pub(crate) fn new(format: Format, max_frame: usize) -> StreamFramer {
        StreamFramer { format, max_frame, framing: None, partial: Vec::new(), at: 0 }
    }

    /// The format of the stream.
    pub(crate) fn format(&self) -> Format {
        self.format
    }

    /// Reads more bytes of the stream.
    ///
    /// # Errors
    /// If the bytes are not frames, if a frame is too large, or if `each` fails. Nothing can be
    /// read after an error.
    pub(crate) fn push(
        &mut self,
        bytes: &[u8],
        each: &mut FrameHandler<'_>,
    ) -> Result<(), StreamError> {
        let mut rest = if self.framing.is_some() { bytes } else { self.recognize_framing(bytes) };
        while let Some(framing) = &mut self.framing
            && !rest.is_empty()
        {
            // Do not search beyond the size limit of a frame.
            let available = self.max_frame.saturating_sub(self.partial.len()).min(rest.len());
            let Some(end) = framing.end(&self.partial, &rest[..available], self.at)? else {
                if available < rest.len() {
                    let at = self.at + self.max_frame as u64;
                    return Err(StreamError::TooLarge { at, most: self.max_frame });
                }
                self.partial.extend_from_slice(rest);
                return Ok(());
            };
            let (head, tail) = rest.split_at(end);
            let at = self.at;
            self.at += (self.partial.len() + end) as u64;
            rest = tail;
            if self.partial.is_empty() {
                framing.emit_frame(head, at, each)?;
            } else {
                self.partial.extend_from_slice(head);
                framing.emit_frame(&self.partial, at, each)?;
                self.partial.clear();
            }
        }
        Ok(())
    }

    /// Ends the stream. A last frame without its terminator counts if it is otherwise complete.
    ///
    /// # Errors
    /// If `each` fails.
    pub(crate) fn finish(&mut self, each: &mut FrameHandler<'_>) -> Result<(), StreamError> {
        let buffered = std::mem::take(&mut self.partial);
        match &mut self.framing {
            Some(StreamFraming::Sse(lines)) => lines.emit_last_event(&buffered, self.at, each),
            // Without its last byte an object is incomplete, and a message has no checksum.
            Some(StreamFraming::Objects(_) | StreamFraming::Binary(_)) | None => Ok(()),
        }
    }

    /// Number of bytes buffered for a split frame.
    #[cfg(test)]
    pub(crate) fn memory_bytes(&self) -> usize {
        self.partial.capacity()
    }

    /// Detects the framing. Returns the bytes left to read.
    fn recognize_framing<'b>(&mut self, bytes: &'b [u8]) -> &'b [u8] {
        // Skip white space and a byte-order mark. No framing begins with such a byte.
        let blank = |byte: &u8| b" \t\r\n\xef\xbb\xbf".contains(byte);
        let skipped = bytes.iter().position(|byte| !blank(byte)).unwrap_or(bytes.len());
        self.at += skipped as u64;
        let rest = &bytes[skipped..];
        self.framing = rest.first().map(|first| match first {
            b'[' | b'{' => StreamFraming::Objects(objects::ObjectFraming::new(*first == b'[')),
            // The first of four length bytes is 0, because no message reaches sixteen megabytes.
            0 if self.format == Format::Bedrock => StreamFraming::Binary(binary::BinaryFraming),
            _ => StreamFraming::Sse(sse::SseFraming::default()),
        });
        rest
    }
}

impl StreamFraming {
    /// Number of bytes that complete the buffered frame. `None` if it continues after them. The
    /// frame starts at `at` in the stream.
    fn end(
        &mut self,
        buffered: &[u8],
        bytes: &[u8],
        at: u64,
    ) -> Result<Option<usize>, StreamError> {
        match self {
            StreamFraming::Sse(lines) => Ok(lines.event_end(bytes)),
            StreamFraming::Objects(objects) => {
                objects.object_end(bytes, at + buffered.len() as u64)
            }
            StreamFraming::Binary(_) => binary::message_end(buffered, bytes, at),
        }
    }

    /// Passes on the frame in these bytes, unless it is empty.
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

/// The bytes of a frame as text. They start at `at` in the stream.
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
