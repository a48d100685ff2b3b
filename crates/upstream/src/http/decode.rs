//! Removes the framing of a body: a number of bytes, chunks, or everything until the connection
//! closes. It has no socket: bytes may be split anywhere, and it keeps its position.

use crate::http::HttpErrorKind;

/// Maximum bytes of a chunk-size line.
const MAX_CHUNK_LINE: u32 = 4 << 10;
/// Maximum bytes of the trailers.
const MAX_TRAILERS: u32 = 64 << 10;

/// Position in a body.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum BodyDecoder {
    /// Remaining bytes.
    Length(u64),
    /// Chunks.
    Chunked(ChunkPosition),
    /// Everything until the connection closes.
    UntilClose,
    /// The body is complete.
    Ended,
    /// It cannot be read any further.
    Broken(ResponseReadError),
}

/// Position in a chunked body.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum ChunkPosition {
    /// Before the first digit of a length.
    Start,
    /// After a digit of a length.
    Size(u64),
    /// After the length, in spaces that some servers add.
    Space(u64, u32),
    /// In an extension, which is ignored.
    Extension(u64, u32),
    /// Before the line feed of that line.
    SizeEnd(u64),
    /// Remaining bytes of the chunk.
    Data(u64),
    /// After the bytes.
    DataEnd,
    /// Before the line feed after the bytes.
    DataFeed,
    /// After the last chunk, at the start of a line.
    Trailer(u32),
    /// In a line after the last chunk.
    TrailerLine(u32),
    /// Before the line feed of such a line.
    TrailerFeed(u32),
    /// Before the very last line feed.
    LastFeed,
}

/// Why a response cannot be read.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct ResponseReadError {
    pub(super) kind: HttpErrorKind,
    pub(super) detail: &'static str,
}

impl ResponseReadError {
    pub(super) const fn malformed(detail: &'static str) -> ResponseReadError {
        ResponseReadError { kind: HttpErrorKind::Malformed, detail }
    }

    pub(super) const fn too_large(detail: &'static str) -> ResponseReadError {
        ResponseReadError { kind: HttpErrorKind::TooLarge, detail }
    }
}

/// Decoded bytes: content in `start..end`; `used` bytes were consumed.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(super) struct DecodedRange {
    pub(super) start: usize,
    pub(super) end: usize,
    pub(super) used: usize,
}

impl BodyDecoder {
    /// A body in chunks.
    pub(super) const CHUNKED: BodyDecoder = BodyDecoder::Chunked(ChunkPosition::Start);

    /// Removes the framing. The contents of several chunks are moved together, over the framing
    /// between them. Content before an error is returned first, the error by the next call.
    pub(super) fn decode(&mut self, bytes: &mut [u8]) -> Result<DecodedRange, ResponseReadError> {
        match self {
            BodyDecoder::Length(left) => {
                let take = bounded_length(*left, bytes.len());
                *left -= take as u64;
                if *left == 0 {
                    *self = BodyDecoder::Ended;
                }
                Ok(DecodedRange { start: 0, end: take, used: take })
            }
            BodyDecoder::UntilClose => {
                Ok(DecodedRange { start: 0, end: bytes.len(), used: bytes.len() })
            }
            BodyDecoder::Chunked(_) => {
                let found = self.decode_chunks(bytes);
                match self {
                    BodyDecoder::Broken(error) if found.start == found.end => Err(*error),
                    BodyDecoder::Broken(_)
                    | BodyDecoder::Chunked(_)
                    | BodyDecoder::Ended
                    | BodyDecoder::Length(_)
                    | BodyDecoder::UntilClose => Ok(found),
                }
            }
            BodyDecoder::Ended => Ok(DecodedRange::default()),
            BodyDecoder::Broken(error) => Err(*error),
        }
    }

    /// Handles a closed connection. Fails if the body is incomplete.
    pub(super) fn close(&mut self) -> Result<(), ResponseReadError> {
        match self {
            BodyDecoder::UntilClose | BodyDecoder::Ended => {
                *self = BodyDecoder::Ended;
                Ok(())
            }
            BodyDecoder::Length(_) | BodyDecoder::Chunked(_) => Err(ResponseReadError {
                kind: HttpErrorKind::Closed,
                detail: "the connection was closed before its end",
            }),
            BodyDecoder::Broken(error) => Err(*error),
        }
    }

    fn decode_chunks(&mut self, bytes: &mut [u8]) -> DecodedRange {
        let BodyDecoder::Chunked(mut chunk) = *self else { return DecodedRange::default() };
        let mut found = DecodedRange::default();
        while let Some(&byte) = bytes.get(found.used) {
            if let ChunkPosition::Data(left) = chunk {
                let take = bounded_length(left, bytes.len() - found.used);
                found.append_chunk(bytes, take);
                let left = left - take as u64;
                chunk = if left == 0 { ChunkPosition::DataEnd } else { ChunkPosition::Data(left) };
                continue;
            }
            found.used += 1;
            match chunk.next_position(byte) {
                Ok(Some(next)) => chunk = next,
                Ok(None) => {
                    *self = BodyDecoder::Ended;
                    return found;
                }
                Err(error) => {
                    *self = BodyDecoder::Broken(error);
                    return found;
                }
            }
        }
        *self = BodyDecoder::Chunked(chunk);
        found
    }
}

impl DecodedRange {
    /// Appends the next bytes to the content.
    fn append_chunk(&mut self, bytes: &mut [u8], count: usize) {
        if self.start == self.end {
            (self.start, self.end) = (self.used, self.used);
        } else {
            bytes.copy_within(self.used..self.used + count, self.end);
        }
        self.end += count;
        self.used += count;
    }
}

impl ChunkPosition {
    /// The position after one byte of framing; `None` after the last one.
    fn next_position(self, byte: u8) -> Result<Option<ChunkPosition>, ResponseReadError> {
        let next = match (self, byte) {
            (ChunkPosition::Start, _) => ChunkPosition::Size(hex_digit(byte)?),
            (ChunkPosition::Size(size), b'\r') => ChunkPosition::SizeEnd(size),
            (ChunkPosition::Size(size), b' ' | b'\t') => ChunkPosition::Space(size, 0),
            (ChunkPosition::Size(size), b';') => ChunkPosition::Extension(size, 0),
            (ChunkPosition::Size(size), _) => {
                let digit = hex_digit(byte)?;
                let more = size
                    .checked_mul(16)
                    .ok_or(ResponseReadError::malformed("a chunk is too long"))?;
                ChunkPosition::Size(more | digit)
            }
            (ChunkPosition::Space(size, _) | ChunkPosition::Extension(size, _), b'\r') => {
                ChunkPosition::SizeEnd(size)
            }
            (ChunkPosition::Space(size, length), b' ' | b'\t') => {
                ChunkPosition::Space(size, count_line_byte(length)?)
            }
            (ChunkPosition::Space(size, length), b';') => {
                ChunkPosition::Extension(size, count_line_byte(length)?)
            }
            (ChunkPosition::Space(..), _) => return Err(NO_LENGTH),
            (ChunkPosition::Extension(..), b'\n') => return Err(NO_LINE_END),
            (ChunkPosition::Extension(size, length), _) => {
                ChunkPosition::Extension(size, count_line_byte(length)?)
            }
            (ChunkPosition::SizeEnd(0), b'\n') => ChunkPosition::Trailer(0),
            (ChunkPosition::SizeEnd(size), b'\n') => ChunkPosition::Data(size),
            // Content is consumed before this is called.
            (ChunkPosition::Data(_), _) => return Err(NO_LINE_END),
            (ChunkPosition::DataEnd, b'\r') => ChunkPosition::DataFeed,
            (ChunkPosition::DataFeed, b'\n') => ChunkPosition::Start,
            (ChunkPosition::Trailer(_), b'\r') => ChunkPosition::LastFeed,
            (ChunkPosition::TrailerLine(length), b'\r') => ChunkPosition::TrailerFeed(length),
            (ChunkPosition::Trailer(_) | ChunkPosition::TrailerLine(_), b'\n') => {
                return Err(NO_LINE_END);
            }
            (ChunkPosition::Trailer(length) | ChunkPosition::TrailerLine(length), _) => {
                ChunkPosition::TrailerLine(count_trailer_byte(length)?)
            }
            (ChunkPosition::TrailerFeed(length), b'\n') => {
                ChunkPosition::Trailer(count_trailer_byte(length)?)
            }
            (ChunkPosition::LastFeed, b'\n') => return Ok(None),
            (
                ChunkPosition::SizeEnd(_)
                | ChunkPosition::DataEnd
                | ChunkPosition::DataFeed
                | ChunkPosition::TrailerFeed(_)
                | ChunkPosition::LastFeed,
                _,
            ) => return Err(NO_LINE_END),
        };
        Ok(Some(next))
    }
}

const NO_LENGTH: ResponseReadError =
    ResponseReadError::malformed("the length of a chunk is not a number");
const NO_LINE_END: ResponseReadError =
    ResponseReadError::malformed("a line among the chunks does not end as it must");

fn hex_digit(byte: u8) -> Result<u64, ResponseReadError> {
    char::from(byte).to_digit(16).map(u64::from).ok_or(NO_LENGTH)
}

fn count_line_byte(length: u32) -> Result<u32, ResponseReadError> {
    if length < MAX_CHUNK_LINE {
        Ok(length + 1)
    } else {
        Err(ResponseReadError::too_large("a chunk's line is too long"))
    }
}

fn count_trailer_byte(length: u32) -> Result<u32, ResponseReadError> {
    if length < MAX_TRAILERS {
        Ok(length + 1)
    } else {
        Err(ResponseReadError::too_large("too many trailers"))
    }
}

fn bounded_length(left: u64, length: usize) -> usize {
    usize::try_from(left).map_or(length, |left| left.min(length))
}

#[cfg(test)]
mod tests;
