//! A request to the gateway's own API.

use std::borrow::Cow;

use bytes::Bytes;
use http::{HeaderMap, Method};

use crate::{ApiError, ConnectionAddresses, access::Principal, error};

/// The longest value of a query parameter, in bytes and as it is written.
const MAX_PARAMETER_BYTES: usize = 512;

/// A request to the API or the console.
#[derive(Debug)]
pub(crate) struct ApiRequest<'a> {
    /// HTTP method.
    pub(crate) method: &'a Method,
    /// Path of the URL.
    pub(crate) path: &'a str,
    /// Query string, without the `?`.
    pub(crate) query: Option<&'a str>,
    /// Headers; credentials are already removed.
    pub(crate) headers: &'a HeaderMap,
    /// Headers as the client sent them, where another node may have to answer.
    pub(crate) client_headers: Option<&'a HeaderMap>,
    /// The authenticated client.
    pub(crate) principal: &'a Principal,
    /// Request body, decompressed.
    pub(crate) body: Bytes,
    /// Request id.
    pub(crate) id: &'a str,
    /// Addresses of the connection.
    pub(crate) peer: ConnectionAddresses,
}

/// The value of a parameter in a query string.
pub(crate) fn query_parameter<'q>(
    query: Option<&'q str>,
    name: &str,
) -> Result<Option<Cow<'q, str>>, ApiError> {
    let pairs = query.unwrap_or_default().split('&');
    let mut found = pairs.filter_map(|pair| {
        let (key, value) = pair.split_once('=').unwrap_or((pair, ""));
        (key == name).then_some(value)
    });
    match (found.next(), found.next()) {
        (None, _) => Ok(None),
        (Some(value), None) => match decode_parameter(value) {
            Ok(value) => Ok(Some(value)),
            Err(_) => Err(error::bad_parameter(name, "cannot be decoded")),
        },
        (Some(_), Some(_)) => Err(error::bad_parameter(name, "is given more than once")),
    }
}

/// Decodes the percent escapes of a path segment. One that cannot be decoded stays as it is.
pub(crate) fn decode_path_segment(segment: &str) -> Cow<'_, str> {
    decode_escapes(segment, PlusSign::Itself).unwrap_or(Cow::Borrowed(segment))
}

/// Decodes percent escapes. All accepted values are short.
pub(crate) fn decode_parameter(value: &str) -> Result<Cow<'_, str>, ApiError> {
    let invalid = || error::bad_request("a query parameter cannot be decoded");
    if value.len() > MAX_PARAMETER_BYTES {
        return Err(invalid());
    }
    decode_escapes(value, PlusSign::Space).ok_or_else(invalid)
}

/// What a `+` stands for.
#[derive(Clone, Copy, PartialEq, Eq)]
enum PlusSign {
    Space,
    Itself,
}

fn decode_escapes(value: &str, plus: PlusSign) -> Option<Cow<'_, str>> {
    if !value.contains(['%', '+']) {
        return Some(Cow::Borrowed(value));
    }
    let mut bytes = value.bytes();
    let mut out = Vec::with_capacity(value.len());
    while let Some(byte) = bytes.next() {
        out.push(match byte {
            b'+' if plus == PlusSign::Space => b' ',
            b'%' => {
                let digit = |byte: Option<u8>| char::from(byte?).to_digit(16);
                let (high, low) = (digit(bytes.next())?, digit(bytes.next())?);
                u8::try_from(high * 16 + low).ok()?
            }
            byte => byte,
        });
    }
    String::from_utf8(out).map(Cow::Owned).ok()
}
