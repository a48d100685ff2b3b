//! Reads a response head: its status, its headers, and the framing of its body. An ambiguous head
//! is refused.

use std::mem::MaybeUninit;

use bytes::{Buf as _, Bytes, BytesMut};
use http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode, header};

use crate::http::decode::{BodyDecoder, ResponseReadError};

/// Maximum headers of a response.
const MAX_HEADERS: usize = 128;
const HTTP_VERSION_PREFIX: &[u8] = b"HTTP/1.";

/// A response head.
#[derive(PartialEq, Eq, Debug)]
pub(super) struct ResponseHead {
    pub(super) status: StatusCode,
    /// Without connection headers.
    pub(super) headers: HeaderMap,
    pub(super) body: BodyDecoder,
    pub(super) reuse: ConnectionReuse,
}

/// Whether a connection can be reused after a response.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum ConnectionReuse {
    /// It can carry another request.
    Reuse,
    /// It closes.
    Close,
}

/// Reads heads from bytes that may be split anywhere.
#[derive(Debug)]
pub(super) struct ResponseHeadReader {
    max_length: usize,
    /// Bytes that were already scanned for the end of the head.
    scanned: usize,
}

impl ResponseHeadReader {
    /// A reader for heads of at most `max_length` bytes, informational heads included.
    pub(super) fn new(max_length: usize) -> ResponseHeadReader {
        ResponseHeadReader { max_length, scanned: 0 }
    }

    /// Takes a head from the start of the buffer, once it is complete. Informational heads are
    /// skipped.
    pub(super) fn read(
        &mut self,
        buffer: &mut BytesMut,
        method: &Method,
    ) -> Result<Option<ResponseHead>, ResponseReadError> {
        loop {
            if buffer.iter().zip(HTTP_VERSION_PREFIX).any(|(one, two)| one != two) {
                return Err(ResponseReadError::malformed("it is not HTTP/1.1"));
            }
            // A head mostly arrives in one read. If not, it is not parsed again for every read.
            let worth = self.scanned == 0 || has_end(buffer, self.scanned);
            let parsed = if worth { parse_head(buffer, method)? } else { None };
            let Some((length, head)) = parsed else {
                self.scanned = buffer.len();
                self.charge_length(0, buffer.len())?;
                return Ok(None);
            };
            self.charge_length(length, length)?;
            buffer.advance(length);
            if let Some(head) = head {
                return Ok(Some(head));
            }
            self.scanned = 0;
        }
    }

    fn charge_length(&mut self, spent: usize, length: usize) -> Result<(), ResponseReadError> {
        if length > self.max_length {
            return Err(ResponseReadError::too_large("it is too long"));
        }
        self.max_length -= spent;
        Ok(())
    }
}

/// Whether an empty line ends after the bytes that were already scanned.
fn has_end(buffer: &[u8], seen: usize) -> bool {
    let fresh = buffer.get(seen.saturating_sub(3)..).unwrap_or_default();
    fresh.windows(2).any(|pair| pair == b"\n\n") || fresh.windows(3).any(|three| three == b"\n\r\n")
}

/// A head and its length; `None` as head if it is informational.
fn parse_head(
    buffer: &[u8],
    method: &Method,
) -> Result<Option<(usize, Option<ResponseHead>)>, ResponseReadError> {
    let mut headers = [const { MaybeUninit::uninit() }; MAX_HEADERS];
    let mut response = httparse::Response::new(&mut []);
    let config = httparse::ParserConfig::default();
    let length =
        match config.parse_response_with_uninit_headers(&mut response, buffer, &mut headers) {
            Ok(httparse::Status::Complete(length)) => length,
            Ok(httparse::Status::Partial) => return Ok(None),
            Err(httparse::Error::TooManyHeaders) => {
                return Err(ResponseReadError::too_large("it has too many headers"));
            }
            Err(_) => return Err(ResponseReadError::malformed("it cannot be read")),
        };
    let status = response.code.and_then(|code| StatusCode::from_u16(code).ok());
    let status = status.ok_or(ResponseReadError::malformed("its status is not one"))?;
    if status == StatusCode::SWITCHING_PROTOCOLS {
        return Err(ResponseReadError::malformed("it switches the protocol without a request"));
    }
    if status.is_informational() {
        return Ok(Some((length, None)));
    }
    let mut framing = BodyFraming::new(response.version == Some(0));
    // A copy of exact size: a retained header must not retain the read buffer.
    let shared = Bytes::copy_from_slice(buffer.get(..length).unwrap_or_default());
    let mut map = HeaderMap::with_capacity(response.headers.len());
    for header in response.headers.iter() {
        let name = HeaderName::from_bytes(header.name.as_bytes())
            .map_err(|_| ResponseReadError::malformed("a header's name is not one"))?;
        let from = header.value.as_ptr().addr().wrapping_sub(buffer.as_ptr().addr());
        let value = match shared.get(from..from.wrapping_add(header.value.len())) {
            Some(value) => HeaderValue::from_maybe_shared(shared.slice_ref(value)),
            None => HeaderValue::from_bytes(header.value),
        };
        let value =
            value.map_err(|_| ResponseReadError::malformed("a header's value is not one"))?;
        if framing.read_header(&name, &value)? {
            map.append(name, value);
        }
    }
    for name in &framing.hop_headers {
        map.remove(name);
    }
    let (body, after) = framing.into_decoder(status, method)?;
    Ok(Some((length, Some(ResponseHead { status, headers: map, body, reuse: after }))))
}

/// Body framing from the headers.
struct BodyFraming {
    is_http_1_0: bool,
    length: Option<u64>,
    chunked: bool,
    reuse: ConnectionReuse,
    /// Headers that the `connection` header names.
    hop_headers: Vec<HeaderName>,
}

impl BodyFraming {
    fn new(old: bool) -> BodyFraming {
        let after = if old { ConnectionReuse::Close } else { ConnectionReuse::Reuse };
        BodyFraming {
            is_http_1_0: old,
            length: None,
            chunked: false,
            reuse: after,
            hop_headers: Vec::new(),
        }
    }

    /// Reads a header. Returns whether it is end-to-end.
    fn read_header(
        &mut self,
        name: &HeaderName,
        value: &HeaderValue,
    ) -> Result<bool, ResponseReadError> {
        if name == header::CONTENT_LENGTH {
            let length = parse_length(value.as_bytes())
                .ok_or(ResponseReadError::malformed("its length is not one"))?;
            if self.length.replace(length).is_some() {
                return Err(ResponseReadError::malformed("it has two lengths"));
            }
            return Ok(true);
        }
        if name == header::TRANSFER_ENCODING {
            if self.chunked || !value.as_bytes().eq_ignore_ascii_case(b"chunked") {
                return Err(ResponseReadError::malformed("its transfer encoding is not known"));
            }
            self.chunked = true;
            return Ok(false);
        }
        if name == header::CONNECTION {
            let words = value.as_bytes().split(|byte| *byte == b',').map(<[u8]>::trim_ascii);
            for word in words {
                if word.eq_ignore_ascii_case(b"close") {
                    self.reuse = ConnectionReuse::Close;
                }
                // Framing and content headers cannot be hop-by-hop.
                let is_content =
                    word.get(..8).is_some_and(|it| it.eq_ignore_ascii_case(b"content-"));
                self.hop_headers.extend(HeaderName::from_bytes(word).ok().filter(|_| !is_content));
            }
            return Ok(false);
        }
        Ok(name.as_str() != "keep-alive")
    }

    fn into_decoder(
        self,
        status: StatusCode,
        method: &Method,
    ) -> Result<(BodyDecoder, ConnectionReuse), ResponseReadError> {
        if self.chunked && self.length.is_some() {
            return Err(ResponseReadError::malformed("it has a length and chunks"));
        }
        if self.chunked && self.is_http_1_0 {
            return Err(ResponseReadError::malformed("HTTP/1.0 has no chunks"));
        }
        if status == StatusCode::NO_CONTENT {
            // A body where none is allowed: the framing cannot be trusted.
            let has_no_body = !self.chunked && self.length.unwrap_or(0) == 0;
            return Ok((
                BodyDecoder::Ended,
                if has_no_body { self.reuse } else { ConnectionReuse::Close },
            ));
        }
        if status == StatusCode::NOT_MODIFIED || method == Method::HEAD {
            return Ok((BodyDecoder::Ended, self.reuse));
        }
        Ok(match (self.chunked, self.length) {
            (true, _) => (BodyDecoder::CHUNKED, self.reuse),
            (false, Some(0)) => (BodyDecoder::Ended, self.reuse),
            (false, Some(length)) => (BodyDecoder::Length(length), self.reuse),
            (false, None) => (BodyDecoder::UntilClose, ConnectionReuse::Close),
        })
    }
}

/// Parses a number that consists of digits only.
fn parse_length(text: &[u8]) -> Option<u64> {
    if text.is_empty() || !text.iter().all(u8::is_ascii_digit) {
        return None;
    }
    std::str::from_utf8(text).ok()?.parse().ok()
}

#[cfg(test)]
mod tests;
