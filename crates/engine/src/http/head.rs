//! Reads the head of a reply: its status, its headers, and how its body is framed. A head that two
//! readers could understand differently is refused.

use std::mem::MaybeUninit;

use bytes::{Buf as _, Bytes, BytesMut};
use http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode, header};

use crate::http::decode::{Decoder, Fault};

/// Headers of a reply.
const MOST_HEADERS: usize = 128;
const BEGINNING: &[u8] = b"HTTP/1.";

/// The head of a reply.
#[derive(PartialEq, Eq, Debug)]
pub(super) struct Head {
    pub(super) status: StatusCode,
    /// Without those that say something about the connection only.
    pub(super) headers: HeaderMap,
    pub(super) body: Decoder,
    pub(super) after: After,
}

/// What becomes of a connection behind a reply.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum After {
    /// It can carry another request.
    Rest,
    /// It closes.
    Close,
}

/// Reads heads from bytes that come cut anywhere.
#[derive(Debug)]
pub(super) struct HeadReader {
    most: usize,
    /// How many bytes were looked at in vain.
    seen: usize,
}

impl HeadReader {
    /// A reader of heads that have at most so many bytes, with the provisional ones before them.
    pub(super) fn new(most: usize) -> HeadReader {
        HeadReader { most, seen: 0 }
    }

    /// Takes a head from the beginning of the buffer, once it is whole. Provisional heads are
    /// skipped.
    pub(super) fn read(
        &mut self,
        buffer: &mut BytesMut,
        method: &Method,
    ) -> Result<Option<Head>, Fault> {
        loop {
            if buffer.iter().zip(BEGINNING).any(|(one, two)| one != two) {
                return Err(Fault::malformed("it is not HTTP/1.1"));
            }
            // A head mostly comes in one piece. If not, it is not read again for every byte.
            let worth = self.seen == 0 || has_end(buffer, self.seen);
            let parsed = if worth { parse(buffer, method)? } else { None };
            let Some((length, head)) = parsed else {
                self.seen = buffer.len();
                self.spend(0, buffer.len())?;
                return Ok(None);
            };
            self.spend(length, length)?;
            buffer.advance(length);
            if let Some(head) = head {
                return Ok(Some(head));
            }
            self.seen = 0;
        }
    }

    fn spend(&mut self, spent: usize, length: usize) -> Result<(), Fault> {
        if length > self.most {
            return Err(Fault::too_large("it is too long"));
        }
        self.most -= spent;
        Ok(())
    }
}

/// Whether an empty line ends behind the bytes that were looked at before.
fn has_end(buffer: &[u8], seen: usize) -> bool {
    let fresh = buffer.get(seen.saturating_sub(3)..).unwrap_or_default();
    fresh.windows(2).any(|pair| pair == b"\n\n") || fresh.windows(3).any(|three| three == b"\n\r\n")
}

/// A head and its length; the head is missing if it is a provisional one.
fn parse(buffer: &[u8], method: &Method) -> Result<Option<(usize, Option<Head>)>, Fault> {
    let mut headers = [const { MaybeUninit::uninit() }; MOST_HEADERS];
    let mut response = httparse::Response::new(&mut []);
    let config = httparse::ParserConfig::default();
    let length =
        match config.parse_response_with_uninit_headers(&mut response, buffer, &mut headers) {
            Ok(httparse::Status::Complete(length)) => length,
            Ok(httparse::Status::Partial) => return Ok(None),
            Err(httparse::Error::TooManyHeaders) => {
                return Err(Fault::too_large("it has too many headers"));
            }
            Err(_) => return Err(Fault::malformed("it cannot be read")),
        };
    let status = response.code.and_then(|code| StatusCode::from_u16(code).ok());
    let status = status.ok_or(Fault::malformed("its status is not one"))?;
    if status == StatusCode::SWITCHING_PROTOCOLS {
        return Err(Fault::malformed("it changes the protocol, which nobody asked for"));
    }
    if status.is_informational() {
        return Ok(Some((length, None)));
    }
    let mut framing = Framing::new(response.version == Some(0));
    // One copy of its own size: a header that somebody keeps does not keep the read buffer.
    let shared = Bytes::copy_from_slice(buffer.get(..length).unwrap_or_default());
    let mut map = HeaderMap::with_capacity(response.headers.len());
    for header in response.headers.iter() {
        let name = HeaderName::from_bytes(header.name.as_bytes())
            .map_err(|_| Fault::malformed("a header's name is not one"))?;
        let from = header.value.as_ptr().addr().wrapping_sub(buffer.as_ptr().addr());
        let value = match shared.get(from..from.wrapping_add(header.value.len())) {
            Some(value) => HeaderValue::from_maybe_shared(shared.slice_ref(value)),
            None => HeaderValue::from_bytes(header.value),
        };
        let value = value.map_err(|_| Fault::malformed("a header's value is not one"))?;
        if framing.take(&name, &value)? {
            map.append(name, value);
        }
    }
    for name in &framing.hop {
        map.remove(name);
    }
    let (body, after) = framing.settle(status, method)?;
    Ok(Some((length, Some(Head { status, headers: map, body, after }))))
}

/// What the headers say of the body.
struct Framing {
    old: bool,
    length: Option<u64>,
    chunked: bool,
    after: After,
    /// Headers that are for this connection alone.
    hop: Vec<HeaderName>,
}

impl Framing {
    fn new(old: bool) -> Framing {
        let after = if old { After::Close } else { After::Rest };
        Framing { old, length: None, chunked: false, after, hop: Vec::new() }
    }

    /// Reads a header. Whether it says something to others, too.
    fn take(&mut self, name: &HeaderName, value: &HeaderValue) -> Result<bool, Fault> {
        if name == header::CONTENT_LENGTH {
            let length =
                number(value.as_bytes()).ok_or(Fault::malformed("its length is not one"))?;
            if self.length.replace(length).is_some() {
                return Err(Fault::malformed("it has two lengths"));
            }
            return Ok(true);
        }
        if name == header::TRANSFER_ENCODING {
            if self.chunked || !value.as_bytes().eq_ignore_ascii_case(b"chunked") {
                return Err(Fault::malformed("its transfer encoding is not known"));
            }
            self.chunked = true;
            return Ok(false);
        }
        if name == header::CONNECTION {
            let words = value.as_bytes().split(|byte| *byte == b',').map(<[u8]>::trim_ascii);
            for word in words {
                if word.eq_ignore_ascii_case(b"close") {
                    self.after = After::Close;
                }
                // What a body is cannot be for one connection alone.
                let is_content =
                    word.get(..8).is_some_and(|it| it.eq_ignore_ascii_case(b"content-"));
                self.hop.extend(HeaderName::from_bytes(word).ok().filter(|_| !is_content));
            }
            return Ok(false);
        }
        Ok(name.as_str() != "keep-alive")
    }

    fn settle(self, status: StatusCode, method: &Method) -> Result<(Decoder, After), Fault> {
        if self.chunked && self.length.is_some() {
            return Err(Fault::malformed("it has a length and chunks"));
        }
        if self.chunked && self.old {
            return Err(Fault::malformed("HTTP/1.0 has no chunks"));
        }
        if status == StatusCode::NO_CONTENT {
            // A body where none may be: whoever sends one has lost count.
            let sound = !self.chunked && self.length.unwrap_or(0) == 0;
            return Ok((Decoder::Ended, if sound { self.after } else { After::Close }));
        }
        if status == StatusCode::NOT_MODIFIED || method == Method::HEAD {
            return Ok((Decoder::Ended, self.after));
        }
        Ok(match (self.chunked, self.length) {
            (true, _) => (Decoder::CHUNKED, self.after),
            (false, Some(0)) => (Decoder::Ended, self.after),
            (false, Some(length)) => (Decoder::Length(length), self.after),
            (false, None) => (Decoder::UntilClose, After::Close),
        })
    }
}

/// Digits and nothing else.
fn number(text: &[u8]) -> Option<u64> {
    if text.is_empty() || !text.iter().all(u8::is_ascii_digit) {
        return None;
    }
    std::str::from_utf8(text).ok()?.parse().ok()
}

#[cfg(test)]
mod tests;
