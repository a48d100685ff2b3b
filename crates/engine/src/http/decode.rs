//! Takes the framing off a body: a number of bytes, chunks, or everything until the end of the
//! connection. It knows no socket: bytes come in as they were cut, and it remembers where it is.

use crate::http::Kind;

/// Bytes of one line that says how long a chunk is.
const LINE: u32 = 4 << 10;
/// Bytes of all that comes behind the last chunk.
const TRAILERS: u32 = 64 << 10;

/// Where in a body we are.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum Decoder {
    /// So many bytes are to come.
    Length(u64),
    /// Chunks.
    Chunked(Chunk),
    /// Everything until the connection closes.
    UntilClose,
    /// Nothing more comes.
    Ended,
    /// It cannot be read any further.
    Broken(Fault),
}

/// Where among the chunks we are.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Chunk {
    /// Before the first digit of a length.
    Start,
    /// Behind a digit of a length.
    Size(u64),
    /// Behind the length, in the spaces that some put there.
    Space(u64, u32),
    /// In an extension, which nobody needs.
    Extension(u64, u32),
    /// Before the line feed of that line.
    SizeEnd(u64),
    /// So many bytes of the chunk are to come.
    Data(u64),
    /// Behind the bytes.
    DataEnd,
    /// Before the line feed behind the bytes.
    DataFeed,
    /// Behind the last chunk, at the beginning of a line.
    Trailer(u32),
    /// In a line behind the last chunk.
    TrailerLine(u32),
    /// Before the line feed of such a line.
    TrailerFeed(u32),
    /// Before the very last line feed.
    LastFeed,
}

/// Why a reply cannot be read.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Fault {
    pub(super) kind: Kind,
    pub(super) detail: &'static str,
}

impl Fault {
    pub(super) const fn malformed(detail: &'static str) -> Fault {
        Fault { kind: Kind::Malformed, detail }
    }

    pub(super) const fn too_large(detail: &'static str) -> Fault {
        Fault { kind: Kind::TooLarge, detail }
    }
}

/// What was found in some bytes: content in `start..end`, and `used` bytes are done with.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(super) struct Decoded {
    pub(super) start: usize,
    pub(super) end: usize,
    pub(super) used: usize,
}

impl Decoder {
    /// A body in chunks.
    pub(super) const CHUNKED: Decoder = Decoder::Chunked(Chunk::Start);

    /// Takes the framing off. The contents of several chunks are moved together, over the framing
    /// that stood between them. What came before a fault is given first, the fault with the next
    /// call.
    pub(super) fn decode(&mut self, bytes: &mut [u8]) -> Result<Decoded, Fault> {
        match self {
            Decoder::Length(left) => {
                let take = fitting(*left, bytes.len());
                *left -= take as u64;
                if *left == 0 {
                    *self = Decoder::Ended;
                }
                Ok(Decoded { start: 0, end: take, used: take })
            }
            Decoder::UntilClose => Ok(Decoded { start: 0, end: bytes.len(), used: bytes.len() }),
            Decoder::Chunked(_) => {
                let found = self.chunks(bytes);
                match self {
                    Decoder::Broken(fault) if found.start == found.end => Err(*fault),
                    Decoder::Broken(_)
                    | Decoder::Chunked(_)
                    | Decoder::Ended
                    | Decoder::Length(_)
                    | Decoder::UntilClose => Ok(found),
                }
            }
            Decoder::Ended => Ok(Decoded::default()),
            Decoder::Broken(fault) => Err(*fault),
        }
    }

    /// The connection was closed. Whether the body is whole.
    pub(super) fn close(&mut self) -> Result<(), Fault> {
        match self {
            Decoder::UntilClose | Decoder::Ended => {
                *self = Decoder::Ended;
                Ok(())
            }
            Decoder::Length(_) | Decoder::Chunked(_) => Err(Fault {
                kind: Kind::Closed,
                detail: "the connection was closed before its end",
            }),
            Decoder::Broken(fault) => Err(*fault),
        }
    }

    fn chunks(&mut self, bytes: &mut [u8]) -> Decoded {
        let Decoder::Chunked(mut chunk) = *self else { return Decoded::default() };
        let mut found = Decoded::default();
        while let Some(&byte) = bytes.get(found.used) {
            if let Chunk::Data(left) = chunk {
                let take = fitting(left, bytes.len() - found.used);
                found.keep(bytes, take);
                let left = left - take as u64;
                chunk = if left == 0 { Chunk::DataEnd } else { Chunk::Data(left) };
                continue;
            }
            found.used += 1;
            match chunk.after(byte) {
                Ok(Some(next)) => chunk = next,
                Ok(None) => {
                    *self = Decoder::Ended;
                    return found;
                }
                Err(fault) => {
                    *self = Decoder::Broken(fault);
                    return found;
                }
            }
        }
        *self = Decoder::Chunked(chunk);
        found
    }
}

impl Decoded {
    /// Puts the next bytes behind those that were found before.
    fn keep(&mut self, bytes: &mut [u8], count: usize) {
        if self.start == self.end {
            (self.start, self.end) = (self.used, self.used);
        } else {
            bytes.copy_within(self.used..self.used + count, self.end);
        }
        self.end += count;
        self.used += count;
    }
}

impl Chunk {
    /// The place behind one byte of framing; `None` behind the last of all.
    fn after(self, byte: u8) -> Result<Option<Chunk>, Fault> {
        let next = match (self, byte) {
            (Chunk::Start, _) => Chunk::Size(digit(byte)?),
            (Chunk::Size(size), b'\r') => Chunk::SizeEnd(size),
            (Chunk::Size(size), b' ' | b'\t') => Chunk::Space(size, 0),
            (Chunk::Size(size), b';') => Chunk::Extension(size, 0),
            (Chunk::Size(size), _) => {
                let digit = digit(byte)?;
                let more = size.checked_mul(16).ok_or(Fault::malformed("a chunk is too long"))?;
                Chunk::Size(more | digit)
            }
            (Chunk::Space(size, _) | Chunk::Extension(size, _), b'\r') => Chunk::SizeEnd(size),
            (Chunk::Space(size, length), b' ' | b'\t') => Chunk::Space(size, line(length)?),
            (Chunk::Space(size, length), b';') => Chunk::Extension(size, line(length)?),
            (Chunk::Space(..), _) => return Err(NO_LENGTH),
            (Chunk::Extension(..), b'\n') => return Err(NO_LINE_END),
            (Chunk::Extension(size, length), _) => Chunk::Extension(size, line(length)?),
            (Chunk::SizeEnd(0), b'\n') => Chunk::Trailer(0),
            (Chunk::SizeEnd(size), b'\n') => Chunk::Data(size),
            // Content is taken in one piece, before this is asked.
            (Chunk::Data(_), _) => return Err(NO_LINE_END),
            (Chunk::DataEnd, b'\r') => Chunk::DataFeed,
            (Chunk::DataFeed, b'\n') => Chunk::Start,
            (Chunk::Trailer(_), b'\r') => Chunk::LastFeed,
            (Chunk::TrailerLine(length), b'\r') => Chunk::TrailerFeed(length),
            (Chunk::Trailer(_) | Chunk::TrailerLine(_), b'\n') => return Err(NO_LINE_END),
            (Chunk::Trailer(length) | Chunk::TrailerLine(length), _) => {
                Chunk::TrailerLine(trailers(length)?)
            }
            (Chunk::TrailerFeed(length), b'\n') => Chunk::Trailer(trailers(length)?),
            (Chunk::LastFeed, b'\n') => return Ok(None),
            (
                Chunk::SizeEnd(_)
                | Chunk::DataEnd
                | Chunk::DataFeed
                | Chunk::TrailerFeed(_)
                | Chunk::LastFeed,
                _,
            ) => return Err(NO_LINE_END),
        };
        Ok(Some(next))
    }
}

const NO_LENGTH: Fault = Fault::malformed("the length of a chunk is not a number");
const NO_LINE_END: Fault = Fault::malformed("a line among the chunks does not end as it must");

fn digit(byte: u8) -> Result<u64, Fault> {
    char::from(byte).to_digit(16).map(u64::from).ok_or(NO_LENGTH)
}

fn line(length: u32) -> Result<u32, Fault> {
    if length < LINE { Ok(length + 1) } else { Err(Fault::too_large("a chunk's line is too long")) }
}

fn trailers(length: u32) -> Result<u32, Fault> {
    if length < TRAILERS { Ok(length + 1) } else { Err(Fault::too_large("too many trailers")) }
}

fn fitting(left: u64, length: usize) -> usize {
    usize::try_from(left).map_or(length, |left| left.min(length))
}

#[cfg(test)]
mod tests;
