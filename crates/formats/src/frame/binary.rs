//! Amazon's event stream: messages with headers and checksums.
//!
//! ```text
//! total length    4 bytes; all numbers are big endian
//! header length   4
//! checksum        4, of the two lengths
//! headers         each: name length 1, name, type 1, value
//! payload
//! checksum        4, of all bytes before it
//! ```

use super::{FrameHandler, frame_text, malformed};
use super::{StreamError, StreamFrame};
use foxwedge_json::quote;

/// Stateless: each message starts with its length.
#[derive(Debug)]
pub(crate) struct BinaryFraming;

/// The kind of a message.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum BinaryMessageKind<'k> {
    /// An event of this type.
    Event(&'k str),
    /// An exception of this type.
    Exception(&'k str),
}

/// Appends a message.
pub(crate) fn write(out: &mut Vec<u8>, kind: BinaryMessageKind<'_>, payload: &[u8]) {
    let (key, name, message) = match kind {
        BinaryMessageKind::Event(name) => (":event-type", name, "event"),
        BinaryMessageKind::Exception(name) => (":exception-type", name, "exception"),
    };
    let start = out.len();
    out.extend_from_slice(&[0; PRELUDE]);
    for (key, value) in
        [(key, name), (":content-type", "application/json"), (":message-type", message)]
    {
        out.push(u8::try_from(key.len()).unwrap_or(u8::MAX));
        out.extend_from_slice(key.as_bytes());
        out.push(STRING);
        let length = u16::try_from(value.len()).unwrap_or(u16::MAX);
        out.extend_from_slice(&length.to_be_bytes());
        out.extend_from_slice(&value.as_bytes()[..length as usize]);
    }
    let headers = out.len() - start - PRELUDE;
    out.extend_from_slice(payload);
    let total = out.len() - start + CHECKSUM;
    put_number(out, start, total);
    put_number(out, start + 4, headers);
    let sum = checksum(&out[start..start + 8]);
    put_number(out, start + 8, sum as usize);
    let sum = checksum(&out[start..]);
    out.extend_from_slice(&sum.to_be_bytes());
}

const PRELUDE: usize = 12;
const CHECKSUM: usize = 4;
/// The type code of a header with a text value.
const STRING: u8 = 7;

fn put_number(out: &mut [u8], at: usize, number: usize) {
    let number = u32::try_from(number).unwrap_or(u32::MAX);
    out[at..at + 4].copy_from_slice(&number.to_be_bytes());
}

/// Number of bytes up to the end of the message that starts at `at` in the stream.
pub(crate) fn message_end(
    buffered: &[u8],
    bytes: &[u8],
    at: u64,
) -> Result<Option<usize>, StreamError> {
    let mut prelude = [0; PRELUDE];
    let known = buffered.len().min(PRELUDE);
    let more = bytes.len().min(PRELUDE - known);
    prelude[..known].copy_from_slice(&buffered[..known]);
    prelude[known..known + more].copy_from_slice(&bytes[..more]);
    if known + more < PRELUDE {
        return Ok(None);
    }
    if read_number(&prelude, 8) != checksum(&prelude[..8]) {
        return Err(malformed(at + 8, "the checksum of a message's lengths is wrong"));
    }
    let (total, headers) = (read_number(&prelude, 0) as usize, read_number(&prelude, 4) as usize);
    if total < PRELUDE + CHECKSUM || headers > total - PRELUDE - CHECKSUM {
        return Err(malformed(at, "the lengths of a message do not fit together"));
    }
    let needed = total - buffered.len();
    Ok((needed <= bytes.len()).then_some(needed))
}

/// Passes on a message: its type as the name, its payload as the data.
pub(crate) fn emit_frame(
    bytes: &[u8],
    at: u64,
    each: &mut FrameHandler<'_>,
) -> Result<(), StreamError> {
    let end = bytes.len().saturating_sub(CHECKSUM);
    if read_number(bytes, end) != checksum(&bytes[..end]) {
        return Err(malformed(at + end as u64, "the checksum of a message is wrong"));
    }
    let start = PRELUDE + read_number(bytes, 4) as usize;
    let headers = BinaryHeaders::read(&bytes[PRELUDE..start], at + PRELUDE as u64)?;
    let data_at = at + start as u64;
    // An event without fields may have an empty payload.
    let data = Some(frame_text(&bytes[start..end], data_at)?).filter(|data| !data.is_empty());
    let data = data.unwrap_or("{}");
    match headers.kind {
        Some("exception") => each(StreamFrame { name: headers.exception, data, at: data_at }),
        // A connection error has its message in the headers, not in the payload.
        Some("error") => {
            let data = format!("{{\"message\":{}}}", quote(headers.message.unwrap_or_default()));
            each(StreamFrame { name: headers.error.or(Some("Error")), data: &data, at: data_at })
        }
        _ => each(StreamFrame { name: headers.event, data, at: data_at }),
    }
}

/// The headers that readers need.
#[derive(Default)]
struct BinaryHeaders<'h> {
    kind: Option<&'h str>,
    event: Option<&'h str>,
    exception: Option<&'h str>,
    error: Option<&'h str>,
    message: Option<&'h str>,
}

impl<'h> BinaryHeaders<'h> {
    /// Reads headers that start at `at` in the stream.
    fn read(bytes: &'h [u8], at: u64) -> Result<BinaryHeaders<'h>, StreamError> {
        let mut headers = BinaryHeaders::default();
        let mut rest = bytes;
        while !rest.is_empty() {
            let at = at + (bytes.len() - rest.len()) as u64;
            let Some(header) = BinaryHeader::first(&mut rest) else {
                return Err(malformed(at, "a header of a message extends past its end"));
            };
            let Some(value) = header.text else { continue };
            let field = match header.name {
                b":message-type" => &mut headers.kind,
                b":event-type" => &mut headers.event,
                b":exception-type" => &mut headers.exception,
                b":error-code" => &mut headers.error,
                b":error-message" => &mut headers.message,
                _ => continue,
            };
            *field = Some(frame_text(value, at)?);
        }
        Ok(headers)
    }
}

/// A header.
struct BinaryHeader<'h> {
    name: &'h [u8],
    /// Its value, if that is text.
    text: Option<&'h [u8]>,
}

impl<'h> BinaryHeader<'h> {
    /// Splits off the first header.
    fn first(bytes: &mut &'h [u8]) -> Option<BinaryHeader<'h>> {
        let (length, rest) = bytes.split_first()?;
        let (name, rest) = rest.split_at_checked(*length as usize)?;
        let (kind, rest) = rest.split_first()?;
        let (length, rest) = match kind {
            // True and false.
            0 | 1 => (0, rest),
            // Numbers of one, two, four and eight bytes.
            2 => (1, rest),
            3 => (2, rest),
            4 => (4, rest),
            5 => (8, rest),
            // Bytes and text.
            6 | &STRING => {
                let (length, rest) = rest.split_first_chunk::<2>()?;
                (u16::from_be_bytes(*length) as usize, rest)
            }
            // A time, and an id.
            8 => (8, rest),
            9 => (16, rest),
            _ => return None,
        };
        let (value, rest) = rest.split_at_checked(length)?;
        *bytes = rest;
        Some(BinaryHeader { name, text: (*kind == STRING).then_some(value) })
    }
}

/// The number at an offset; zero if it is out of range.
fn read_number(bytes: &[u8], at: usize) -> u32 {
    bytes.get(at..).and_then(|rest| rest.first_chunk()).map_or(0, |four| u32::from_be_bytes(*four))
}

/// CRC-32, as in zip files.
fn checksum(bytes: &[u8]) -> u32 {
    !bytes.iter().fold(u32::MAX, |sum, byte| TABLE[(sum as u8 ^ byte) as usize] ^ (sum >> 8))
}

const TABLE: [u32; 256] = {
    let mut table = [0; 256];
    let mut index = 0;
    while index < 256 {
        let mut sum = index as u32;
        let mut bit = 0;
        while bit < 8 {
            sum = if sum & 1 == 1 { 0xedb8_8320 ^ (sum >> 1) } else { sum >> 1 };
            bit += 1;
        }
        table[index] = sum;
        index += 1;
    }
    table
};
